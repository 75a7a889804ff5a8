"""A device as bytes, to be stored where the device stores its secrets: sealed, or on the device alone.

Keeps: what is read is what was written (docs/format.md, "Groups of devices"). Does not know: where it is stored, what protects it.
"""

from __future__ import annotations

from typing import Any, Final

import nacl.signing

from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.devices.device import Device, Keys, Pending
from edna.custody.devices.group_secrets import GroupSecret
from edna.custody.devices.membership import Membership, Removal
from edna.custody.devices.messages import Pair
from edna.custody.devices.operations import Card
from edna.errors import BagCorrupt, DeviceStateRefused, KeyMalformed, OperationRefused
from edna.records import values

_VERSION: Final = 1


def to_bytes(device: Device) -> bytes:
    """Return all that the device is. Whoever has these bytes is the device: seal them."""
    pending = device.pending
    return values.encode(
        [
            _VERSION,
            device.id,
            _keys(device.keys),
            _membership(device.membership),
            _pairs(device),
            [[number, secret.expose()] for number, secret in device.secrets.items()],
            pending
            and [
                pending.operation,
                _keys(pending.keys),
                _pairs(pending),
                pending.secret and pending.secret.expose(),
            ],
        ]
    )


def from_bytes(raw: bytes) -> Device:
    """
    Raises: DeviceStateRefused if it is not what `to_bytes` makes.
    """
    device = _read(raw)
    del raw  # the state of a device is its secrets
    if device is None:
        raise DeviceStateRefused("This is no state of a device that this release of edna reads. Nothing was changed.")
    return device


def _read(raw: bytes) -> Device | None:
    """Never raises: its variables are secrets."""
    try:
        version, device, keys, membership, pairs, secrets, pending = values.decode(raw)
        if version != _VERSION:
            return None
        return Device(
            device,
            _keys_of(keys),
            _membership_of(membership),
            _pairs_of(pairs),
            {number: GroupSecret(secret) for number, secret in secrets},
            pending and _pending_of(*pending),
        )
    except (BagCorrupt, KeyMalformed, OperationRefused, TypeError, ValueError):
        return None


def _keys(keys: Keys) -> list[bytes]:
    return [bytes(keys.signing_key), keys.prekey.expose()]


def _keys_of(said: Any) -> Keys:
    seed, prekey = said
    return Keys(nacl.signing.SigningKey(seed), SecretKey(prekey))


def _pairs(holder: Device | Pending) -> list[list[bytes]]:
    return [[other, pair.own.expose(), bytes(pair.theirs)] for other, pair in holder.pairs.items()]


def _pairs_of(said: Any) -> dict[bytes, Pair]:
    return {other: Pair(SecretKey(own), PublicKey(theirs)) for other, own, theirs in said}


def _pending_of(operation: bytes, keys: Any, pairs: Any, secret: bytes | None) -> Pending:
    return Pending(operation, _keys_of(keys), _pairs_of(pairs), GroupSecret(secret) if secret else None)


def _membership(group: Membership) -> list[Any]:
    removal = group.removal
    return [
        group.group,
        group.sequence,
        group.head,
        group.before,
        [[device, bytes(card)] for device, card in group.members.items()],
        [[number, bytes(key)] for number, key in group.public_keys.items()],
        removal and [removal.sender, removal.removed, bytes(removal.card)],
        group.due,
    ]


def _membership_of(said: Any) -> Membership:
    group, sequence, head, before, members, public_keys, removal, due = said
    return Membership(
        group,
        sequence,
        head,
        before,
        {device: Card.parse(card) for device, card in members},
        {number: PublicKey(key) for number, key in public_keys},
        removal and Removal(removal[0], removal[1], Card.parse(removal[2])),
        due,
    )
