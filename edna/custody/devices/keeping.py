"""How a site keeps the log of a group, and what devices leave there: sealed, at places that tell nothing.

Keeps: who reads the records cannot tell which belong together, what kind each is, or whose (docs/format.md, "Groups of devices").
Whoever knows a group's id reads its log; whoever has a device's key, its state. Does not know tables.
"""

from __future__ import annotations

import contextlib
import struct
from typing import Final

from edna.crypto.keys import PublicKey, SecretKey, derive, fingerprint
from edna.crypto.sealing import open_sealed, seal
from edna.custody.base import pepper_key
from edna.custody.cards import CARD_BYTES
from edna.custody.devices import states
from edna.custody.devices.device import Device
from edna.custody.devices.operations import ID_BYTES, Card
from edna.custody.recovery import number_of, printed
from edna.errors import BagError, DeviceCodeRefused, DeviceStateRefused, OperationRefused
from edna.records import values

#: A code is the beginning of a device's id: 60 bits. Nobody makes another device with the same.
CODE_SYMBOLS: Final = 12

_SHIFT = 8 * ID_BYTES - 5 * CODE_SYMBOLS
_NUMBER = struct.Struct(">Q")


# The log


def entry_place(group: bytes, number: int) -> bytes:
    """Where the operation of that number lies."""
    return derive(group, purpose=b"edna.group.idx.1", data=_NUMBER.pack(number))


def seal_for_group(raw: bytes, group: bytes) -> bytes:
    """Return what whoever knows the group's id can open."""
    return seal(raw, recipients=[_group_key(group).public_key])


def open_of_group(sealed: bytes, group: bytes) -> bytes:
    """
    Raises: BagError if it was changed, or is another group's.
    """
    return open_sealed(sealed, secret_key=_group_key(group))


def _group_key(group: bytes) -> SecretKey:
    return SecretKey(derive(group, purpose=b"edna.group.read1", data=b""))


# Which group a key is the present one of


def key_place(public_key: PublicKey, *, pepper: bytes) -> bytes:
    """Where lies which group has this public key. ``pepper`` is a key of the server: the tables alone do not tell who has devices."""
    return derive(pepper_key(pepper), purpose=b"edna.group.pub.1", data=bytes(public_key))


def seal_group(group: bytes, *, public_key: PublicKey, pepper: bytes) -> bytes:
    return seal(group, recipients=[_server_key(public_key, pepper).public_key])


def open_group(sealed: bytes, *, public_key: PublicKey, pepper: bytes) -> bytes:
    """
    Raises: BagError if it was changed.
    """
    return open_sealed(sealed, secret_key=_server_key(public_key, pepper))


def _server_key(public_key: PublicKey, pepper: bytes) -> SecretKey:
    return SecretKey(derive(pepper_key(pepper), purpose=b"edna.group.pub.k", data=bytes(public_key)))


# What the members see of a device


def note_place(group: bytes, device: bytes) -> bytes:
    """Where lies what the members call a device, and the month in which it was here last."""
    return derive(group, purpose=b"edna.group.note1", data=device)


def seal_note(name: str, month: str, *, group: bytes) -> bytes:
    return seal_for_group(values.encode([name, month]), group)


def open_note(sealed: bytes, *, group: bytes) -> tuple[str, str]:
    """
    Raises: BagError if it was changed.
    """
    name, month = values.decode(open_of_group(sealed, group))
    return str(name), str(month)


# The state of a device


def state_place(key: SecretKey) -> bytes:
    """Where the state lies that this key of a device opens."""
    return derive(key.expose(), purpose=b"edna.group.own.1", data=b"")


def seal_state(device: Device, *, key: SecretKey) -> bytes:
    return seal(states.to_bytes(device), recipients=[key.public_key])


def open_state(sealed: bytes, *, key: SecretKey) -> Device:
    """
    Raises: DeviceStateRefused if it is none, or was changed.
    """
    try:
        return states.from_bytes(open_sealed(sealed, secret_key=key))
    except BagError as error:
        raise DeviceStateRefused("The stored state of this device was changed. Restore it from a backup.") from error


def guard_place(place: bytes, *, pepper: bytes) -> bytes:
    """Where lies who may replace the state at ``place``. ``pepper`` is a key of the server, as in `key_place`."""
    return derive(pepper_key(pepper), purpose=b"edna.group.grd.1", data=place)


def seal_guard(public_key: PublicKey, *, place: bytes, pepper: bytes) -> bytes:
    """``public_key`` is that of the device's key: whoever proves to have it replaces the state, and nobody who has copied the tables."""
    return seal(bytes(public_key), recipients=[_guard_key(place, pepper).public_key])


def open_guard(sealed: bytes, *, place: bytes, pepper: bytes) -> bytes:
    """
    Raises: BagError if it was changed.
    """
    return open_sealed(sealed, secret_key=_guard_key(place, pepper))


def _guard_key(place: bytes, pepper: bytes) -> SecretKey:
    return SecretKey(derive(pepper_key(pepper), purpose=b"edna.group.grd.k", data=place))


# How a device comes in


def code_of(device: bytes) -> str:
    """What a new device shows, and somebody types on another."""
    return printed(int.from_bytes(device, "big") >> _SHIFT, symbols=CODE_SYMBOLS)


def code_of_group(group: bytes) -> str:
    """What devices of one group show alike, for people to compare. It does not lead to the group."""
    digest = fingerprint(group, purpose=b"edna.group.say.1", size=ID_BYTES)
    return printed(int.from_bytes(digest, "big") >> _SHIFT, symbols=CODE_SYMBOLS)


def card_place(code: str) -> bytes:
    """Where the card of the device lies that shows a code.

    Raises: DeviceCodeRefused if it is none.
    """
    return fingerprint(_spelled(code).encode(), purpose=b"edna.group.crd.1")


def seal_card(card: Card, *, until: int | None = None) -> bytes:
    """``until`` is the second, in Unix time, from which nobody takes it."""
    said = bytes(card) + (b"" if until is None else _NUMBER.pack(until))
    return seal(said, recipients=[_code_key(code_of(card.device)).public_key])


def open_card(sealed: bytes, *, code: str, now: int | None = None) -> Card:
    """
    Raises: DeviceCodeRefused if it is not the card of the device that shows the code: somebody has put another one there; or it is too old
        ``now``.
    """
    card, until = None, None
    with contextlib.suppress(BagError, OperationRefused, struct.error):
        said = open_sealed(sealed, secret_key=_code_key(code))
        until = _NUMBER.unpack(said[CARD_BYTES:])[0] if len(said) > CARD_BYTES else None
        card = Card.parse(said[:CARD_BYTES])
    if card is None or code_of(card.device) != _spelled(code):
        raise DeviceCodeRefused(
            "What lies under this code is not the device that shows it. Begin anew on the new device."
        )
    if until is not None and now is not None and now >= until:
        raise DeviceCodeRefused("This code was shown too long ago. Begin anew on the new device.")
    return card


def _code_key(code: str) -> SecretKey:
    return SecretKey(fingerprint(_spelled(code).encode(), purpose=b"edna.group.crd.k"))


def _spelled(code: str) -> str:
    number = number_of(code, symbols=CODE_SYMBOLS)
    if number is None:
        raise DeviceCodeRefused(f"The code of a device has {CODE_SYMBOLS} letters and digits; this one is mistyped.")
    return printed(number, symbols=CODE_SYMBOLS)


def welcome_place(device: bytes) -> bytes:
    """Where a new device finds to which group it was added."""
    return fingerprint(device, purpose=b"edna.group.wel.1")


def seal_welcome(group: bytes, *, prekey: PublicKey) -> bytes:
    # As long as any other record.
    return seal(group, recipients=[prekey])


def open_welcome(sealed: bytes, *, device: Device) -> bytes:
    """Return the id of the group.

    Raises: BagError if it was changed.
    """
    return open_sealed(sealed, secret_key=device.keys.prekey)
