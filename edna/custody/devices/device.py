"""One device in a group: its keys, the group secrets it knows, and what it does.

A device makes an operation ready (`create`, `add`, `remove`, `update`), is stored with it, appends it to the log, and then reads the log
(`catch_up`) as everybody does. Only when it meets the operation there has it happened; if another stands in its place, nothing has.
Keeps: whoever was removed learns nothing that comes later; whoever updates is healed. Does not know: where it and the log are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import nacl.signing
import nacl.utils

from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.devices.group_secrets import GroupSecret
from edna.custody.devices.membership import Membership, head_after
from edna.custody.devices.messages import Pair, Received, open_message, seal_message
from edna.custody.devices.operations import ID_BYTES, MAX_MEMBERS, Card, Head, Kind, Operation
from edna.errors import (
    DeviceCopied,
    DeviceLogForked,
    DeviceLogTruncated,
    DeviceRemoved,
    DirectMessageRefused,
    OperationRefused,
)


@dataclass(frozen=True, slots=True, repr=False)
class Keys:
    """What a device signs with, and what first messages to it are sealed to. An update replaces both."""

    signing_key: nacl.signing.SigningKey
    prekey: SecretKey

    @classmethod
    def new(cls) -> Self:
        return cls(nacl.signing.SigningKey.generate(), SecretKey.generate())

    @property
    def card(self) -> Card:
        return Card(bytes(self.signing_key.verify_key), self.prekey.public_key)


@dataclass(frozen=True, slots=True, repr=False)
class Pending:
    """An operation that was made ready, and what the device will have once it stands in the log."""

    operation: bytes
    keys: Keys
    pairs: Mapping[bytes, Pair]
    secret: GroupSecret | None


@dataclass(frozen=True, slots=True, repr=False)
class Device:
    """A device, as it is stored. An immutable value: what changes it returns another.

    ``pairs`` are by the other device; with whom it has not spoken, the prekeys count. ``secrets`` are by the operation that began with
    them.
    """

    id: bytes
    keys: Keys
    membership: Membership = field(default_factory=Membership)
    pairs: Mapping[bytes, Pair] = field(default_factory=dict)
    secrets: Mapping[int, GroupSecret] = field(default_factory=dict)
    pending: Pending | None = None

    @classmethod
    def new(cls) -> Self:
        """Return a device that is in no group yet. Its `card` is what others need to add it."""
        keys = Keys.new()
        return cls(keys.card.device, keys)

    def __repr__(self) -> str:
        return f"<Device {self.id.hex()} redacted>"

    @property
    def card(self) -> Card:
        return self.keys.card

    @property
    def is_member(self) -> bool:
        return self.id in self.membership.members

    @property
    def secret(self) -> GroupSecret:
        """The present secret of the group.

        Raises: DeviceRemoved if it is not in the group.
        """
        self._require_member()
        return self.secrets[max(self.membership.public_keys)]

    def secret_keys(self) -> Mapping[PublicKey, SecretKey]:
        """What opens bags, by the public keys that they were sealed to: of every secret that it knows."""
        return {self.membership.public_keys[number]: secret.secret_key() for number, secret in self.secrets.items()}

    # --- what it does --------------------------------------------------------------------------------------------------

    def create(self, others: Iterable[Card] = ()) -> Device:
        """Make ready a new group of this device and others.

        Raises: OperationRefused if it was in a group, or there are too many, or one twice.
        """
        cards = [self.card, *others]
        if (
            self.membership.sequence >= 0
            or len({card.device for card in cards}) < len(cards)
            or len(cards) > MAX_MEMBERS
        ):
            raise OperationRefused("This device has a group, or somebody is named twice, or there are too many.")
        begun = Membership(group=nacl.utils.random(ID_BYTES), members={card.device: card for card in cards})
        return replace(self, membership=begun)._begin(Kind.CREATE, cards=cards, leaving=self.membership)

    def add(self, card: Card, *, with_history: bool = True) -> Device:
        """Make ready that a device comes in. It is handed all secrets, or the present one alone: then it opens nothing that was sealed
        before.

        Raises: DeviceRemoved; OperationRefused if it is there, or an update is due.
        """
        self._require_member()
        if card.device in self.membership.members or self.membership.due:
            raise OperationRefused("This device is in the group, or the group needs an update first.")
        head = self._head(Kind.ADD)
        ephemeral = SecretKey.generate()
        handed = [self.secrets[number] for number in sorted(self.secrets)] if with_history else [self.secret]
        message, pair = seal_message(handed, to=card.prekey, ephemeral=ephemeral, context=head.context(card.device))
        operation = Operation(head, ephemeral.public_key, [message], [card]).signed(self.keys.signing_key)
        pairs = {**self.pairs, card.device: pair}
        return replace(self, pending=Pending(bytes(operation), self.keys, pairs, None))

    def remove(self, device: bytes) -> Device:
        """Make ready that a device goes: the others get a new secret.

        Raises: DeviceRemoved; OperationRefused if it is not there, or is this one.
        """
        self._require_member()
        if device == self.id or device not in self.membership.members:
            raise OperationRefused("This device is not in the group, or is the one that would remove it.")
        return self._begin(Kind.REMOVE, removed=device)

    def update(self) -> Device:
        """Make ready new keys of this device and a new secret of the group: whoever has a copy of it is locked out of what follows.

        Raises: DeviceRemoved.
        """
        self._require_member()
        keys = Keys.new()
        return self._begin(Kind.UPDATE, cards=[keys.card], keys=keys)

    def _begin(
        self,
        kind: Kind,
        *,
        cards: Sequence[Card] = (),
        removed: bytes = b"",
        keys: Keys | None = None,
        leaving: Membership | None = None,
    ) -> Device:
        """An operation with a new secret, for everybody who is in the group after it."""
        head, ephemeral, secret = self._head(kind), SecretKey.generate(), GroupSecret.new()
        messages, pairs = [], {}
        for device in self.membership.members:
            if device not in (self.id, removed):
                to = self._pair(device).theirs
                message, pairs[device] = seal_message(
                    [secret], to=to, ephemeral=ephemeral, context=head.context(device)
                )
                messages.append(message)
        public_key = secret.secret_key().public_key
        operation = Operation(head, ephemeral.public_key, messages, cards, removed, public_key)
        signed = operation.signed(self.keys.signing_key)
        pending = Pending(bytes(signed), keys or self.keys, pairs, secret)
        return replace(self, membership=leaving or self.membership, pending=pending)

    def _head(self, kind: Kind) -> Head:
        group = self.membership
        return Head(kind, group.group, group.sequence + 1, group.head, self.id)

    def _pair(self, device: bytes) -> Pair:
        return self.pairs.get(device) or Pair(self.keys.prekey, self.membership.members[device].prekey)

    def _require_member(self) -> None:
        if not self.is_member:
            raise DeviceRemoved(
                f"Device {self.id.hex()} is not in the group: it was removed, or was not added yet. Ask another device to add it."
            )

    # --- what it reads -------------------------------------------------------------------------------------------------

    def catch_up(self, entries: Sequence[bytes]) -> Device:
        """Return this device after all operations of a log. ``entries`` begin with the last one that it knows; with the
        first one if it knows none.

        A device that was removed goes on to see who is in the group, and learns no secret.

        Raises:
            DeviceLogTruncated: what it knows is missing, or something in between.
            DeviceLogForked: the log is another one than it knows.
            DirectMessageRefused: a message to it does not open, or says another secret than the log.
            DeviceCopied: it has done something that it did not do.
            OperationReplayed, OperationForged, OperationRefused: see `Membership.follow`.
        """
        device, known = self, self.membership
        if known.sequence >= 0:
            if not entries:
                raise DeviceLogTruncated(f"The log ends before operation {known.sequence}, which this device knows.")
            if head_after(known.before, entries[0]) != known.head:
                raise DeviceLogForked(f"Operation {known.sequence} is another one than this device knows.")
            entries = entries[1:]
        for raw in entries:
            device = device._after(raw)
        return device

    def appended(self) -> Device:
        """This device once what it made ready stands in the log: for whoever appends it and stores this together.

        Raises: OperationRefused if it has made nothing ready.
        """
        if self.pending is None:
            raise OperationRefused("This device has made no operation ready.")
        return self._after(self.pending.operation)

    def _after(self, raw: bytes) -> Device:
        operation = Operation.parse(raw)
        before, crossing = self.membership, self.membership.crosses(operation)
        after = before.follow(operation)
        staying = {device: pair for device, pair in self.pairs.items() if device in after.members}
        # What was made ready for this place has happened, or never will.
        moved = replace(self, membership=after, pairs=staying, pending=None)
        if self.pending is not None and self.pending.operation == raw and not crossing:
            done = self.pending
            secrets = {**self.secrets, after.sequence: done.secret} if done.secret else self.secrets
            pairs = {device: pair for device, pair in done.pairs.items() if device in after.members}
            return replace(moved, keys=done.keys, pairs=pairs, secrets=secrets)
        if crossing:
            return moved
        if operation.head.sender == self.id:
            raise DeviceCopied(
                f"Operation {operation.head.sequence} is signed by this device, which has not made it: somebody has a copy of it. "
                "Remove it from another device, and add it anew."
            )
        readers = before.readers(operation)
        if self.id not in readers:
            return moved
        return moved._told(operation, operation.messages[readers.index(self.id)], own=self._own_key(operation, before))

    def _own_key(self, operation: Operation, before: Membership) -> SecretKey:
        pair = self.pairs.get(operation.head.sender)
        return pair.own if pair is not None else self.keys.prekey

    def _told(self, operation: Operation, message: bytes, *, own: SecretKey) -> Device:
        head = operation.head
        received = open_message(message, own=own, ephemeral=operation.ephemeral, context=head.context(self.id))
        secrets = self._checked(received) if received is not None else None
        if received is None or secrets is None:
            raise DirectMessageRefused(
                f"What operation {head.sequence} says to device {self.id.hex()} does not open, or is not what it says to the others. "
                "Nothing of it was taken over. Remove this device from another one, and add it anew."
            )
        return replace(self, pairs={**self.pairs, head.sender: received.pair}, secrets={**self.secrets, **secrets})

    def _checked(self, received: Received) -> Mapping[int, GroupSecret] | None:
        """The secrets by the operations that began with them; None if the present one is missing, or one is of no operation. Never
        raises."""
        keys = self.membership.public_keys
        numbers = {public_key: number for number, public_key in keys.items()}
        found = {numbers.get(secret.secret_key().public_key): secret for secret in received.secrets}
        if None in found or max(keys) not in found:
            return None
        return {number: secret for number, secret in found.items() if number is not None}
