"""What everybody can see of a group, without any secret: who is in it, which public key is the present one, where its log ends.

Keeps: what may follow what. An operation counts if a member signed it at the end of the very log that everybody has. Two members who remove
each other at one place are both out. Does not know: secrets, where a log is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from edna.crypto.keys import PublicKey, fingerprint
from edna.custody.devices.operations import HASH_BYTES, Card, Kind, Operation
from edna.errors import (
    DeviceLogForked,
    DeviceLogTruncated,
    OperationRefused,
    OperationReplayed,
    SequenceTaken,
)

_NO_HASH: Final = bytes(HASH_BYTES)


def head_after(head: bytes, raw: bytes) -> bytes:
    """The head of a log that had this one before an operation was appended."""
    return fingerprint(head + raw, purpose=b"edna.group.log.1", size=HASH_BYTES)


@dataclass(frozen=True, slots=True)
class Removal:
    """The last operation, if it was a remove: by whom, of whom, who had these keys. The one who was removed may have done the same."""

    sender: bytes
    removed: bytes
    card: Card


@dataclass(frozen=True, slots=True)
class Membership:
    """A group after ``sequence``, the last place of its log; -1 before there is one, or before a device that was told of it has read any.
    ``members`` are today's cards by device, in order.

    ``public_keys`` are by the operation that began with them. ``due``: two have removed each other; one of them made the present secret.
    """

    group: bytes = b""
    sequence: int = -1
    head: bytes = _NO_HASH
    before: bytes = _NO_HASH
    members: Mapping[bytes, Card] = field(default_factory=dict)
    public_keys: Mapping[int, PublicKey] = field(default_factory=dict)
    removal: Removal | None = None
    due: bool = False

    @property
    def public_key(self) -> PublicKey:
        """The present one.

        Raises: OperationRefused if there is no group yet.
        """
        if not self.public_keys:
            raise OperationRefused("This group has not begun yet.")
        return self.public_keys[max(self.public_keys)]

    def readers(self, operation: Operation) -> Sequence[bytes]:
        """To whom the messages of an operation are, in their order. This is the group before it."""
        if operation.head.kind is Kind.ADD:
            return [operation.cards[0].device]
        is_first = operation.head.kind is Kind.CREATE
        members = [card.device for card in operation.cards] if is_first else self.members
        return [device for device in members if device not in (operation.head.sender, operation.removed)]

    def crosses(self, operation: Operation) -> bool:
        """Whether it is a remove of the one who removed its sender, at the same place: neither knew of the other's."""
        last, head = self.removal, operation.head
        return (
            last is not None
            and head.kind is Kind.REMOVE
            and (head.sequence, head.previous) == (self.sequence, self.before)
            and (head.sender, operation.removed) == (last.removed, last.sender)
        )

    def check_place(self, operation: Operation) -> None:
        """
        Raises: SequenceTaken if somebody else's stands where this one was to stand: whoever made it makes it anew.
        """
        if operation.head.sequence <= self.sequence and not self.crosses(operation):
            raise SequenceTaken(
                f"Place {operation.head.sequence} of the log is taken: another device was quicker. Nothing was changed; catch up, and try "
                "again."
            )

    def follow(self, operation: Operation) -> Membership:
        """Return the group after an operation.

        Raises:
            OperationReplayed: an earlier one, once more.
            DeviceLogTruncated: something is missing before it.
            DeviceLogForked: it continues another log.
            OperationForged: its sender did not sign it.
            OperationRefused: of another group, or nothing that may be done now.
        """
        head = operation.head
        if self.group and head.group != self.group:
            raise OperationRefused(f"Operation {head.sequence} is of another group.")
        if self.crosses(operation):
            return self._crossed(operation)
        if head.sequence <= self.sequence:
            raise OperationReplayed(f"Operation {head.sequence} comes a second time, behind {self.sequence}.")
        if head.sequence > self.sequence + 1:
            raise DeviceLogTruncated(
                f"The log has no operation {self.sequence + 1}, but {head.sequence}. Restore it from a backup."
            )
        if head.previous != self.head:
            raise DeviceLogForked(
                f"Operation {head.sequence} continues another log than the one that is known up to {self.sequence}."
            )
        operation.check_signature(self._card_of_sender(operation).verify_key)
        members = self._members_after(operation)
        if len(operation.messages) != len(self.readers(operation)):
            raise _refused(operation, "has not one message for each who is to read it")
        removal = None
        if head.kind is Kind.REMOVE:
            removal = Removal(head.sender, operation.removed, self.members[operation.removed])
        keys = self.public_keys
        if operation.public_key is not None:
            if operation.public_key in keys.values():
                raise _refused(operation, "begins with a secret that the group had before")
            keys = {**keys, head.sequence: operation.public_key}
        return Membership(
            head.group, head.sequence, head_after(self.head, bytes(operation)), self.head, members, keys, removal
        )

    def _card_of_sender(self, operation: Operation) -> Card:
        if operation.head.kind is Kind.CREATE and operation.cards:
            return operation.cards[0]
        if (card := self.members.get(operation.head.sender)) is None:
            raise _refused(operation, "is of a device that is not in the group")
        return card

    def _members_after(self, operation: Operation) -> Mapping[bytes, Card]:
        head, members = operation.head, dict(self.members)
        match head.kind:
            case Kind.CREATE:
                members = {card.device: card for card in operation.cards}
                if (
                    self.sequence >= 0
                    or next(iter(members), None) != head.sender
                    or len(members) < len(operation.cards)
                ):
                    raise _refused(operation, "does not begin a group")
            case Kind.ADD:
                card = operation.cards[0]
                if self.due:
                    raise _refused(operation, "adds a device before the group has a new secret")
                if card.device in members:
                    raise _refused(operation, "adds a device that is there")
                members[card.device] = card
            case Kind.REMOVE:
                if head.sender == operation.removed or operation.removed not in members:
                    raise _refused(operation, "removes a device that is not there, or itself")
                del members[operation.removed]
            case Kind.UPDATE:
                members[head.sender] = operation.cards[0]
        return members

    def _crossed(self, operation: Operation) -> Membership:
        assert self.removal is not None
        operation.check_signature(self.removal.card.verify_key)
        members = {device: card for device, card in self.members.items() if device != operation.removed}
        if not members:
            raise _refused(operation, "would leave nobody in the group")
        return replace(
            self,
            sequence=self.sequence + 1,
            head=head_after(self.head, bytes(operation)),
            before=self.head,
            members=members,
            removal=None,
            due=True,
        )


def _refused(operation: Operation, why: str) -> OperationRefused:
    return OperationRefused(f"Operation {operation.head.sequence} {why}. Nothing was changed.")
