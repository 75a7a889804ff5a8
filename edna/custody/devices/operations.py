"""An operation: what one member does to the group, as it stands in the log.

Keeps: the layout of docs/format.md ("Groups of devices"); everything but the signature is under it: group, place, what came before, who
does it, and the messages in the order of their readers. Does not know: who is a member, whether it may be done.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self

import nacl.signing
from nacl.exceptions import BadSignatureError

from edna.crypto.keys import KEY_BYTES, PublicKey, fingerprint
from edna.custody.cards import CARD_BYTES, halves
from edna.custody.devices.messages import MESSAGE_BYTES
from edna.errors import KeyMalformed, OperationForged, OperationRefused

VERSION: Final = 1
ID_BYTES: Final = 16
HASH_BYTES: Final = 32
#: As many as the count of a create can say.
MAX_MEMBERS: Final = 65_535

_HEAD = struct.Struct(f">BB{ID_BYTES}sQ{HASH_BYTES}s{ID_BYTES}s")
_COUNT = struct.Struct(">H")
_SIGNATURE_BYTES = 64
_SIGNED_AS: Final = b"edna devices operation 1\n"


class Kind(enum.IntEnum):
    """What is done."""

    CREATE = 1
    ADD = 2
    REMOVE = 3
    UPDATE = 4


@dataclass(frozen=True, slots=True)
class Card:
    """What others have to know of a device before they write to it: the key that it signs with, and the one for first messages."""

    verify_key: bytes
    prekey: PublicKey
    #: The id of a device that comes with this card. It keeps it when its keys change.
    device: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Once, and not by a cached property, which takes a lock: who reads how a large group was made asks each card twice.
        object.__setattr__(self, "device", fingerprint(bytes(self), purpose=b"edna.group.dev.1", size=ID_BYTES))

    def __bytes__(self) -> bytes:
        return self.verify_key + bytes(self.prekey)

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """
        Raises: OperationRefused if it is no card.
        """
        return cls(*halves(raw, of="device", refused=OperationRefused))


@dataclass(frozen=True, slots=True)
class Head:
    """What every operation begins with. ``sequence`` is its place in the log, ``previous`` the head of the log before it."""

    kind: Kind
    group: bytes
    sequence: int
    previous: bytes
    sender: bytes

    def __bytes__(self) -> bytes:
        return _HEAD.pack(VERSION, self.kind, self.group, self.sequence, self.previous, self.sender)

    def context(self, reader: bytes) -> bytes:
        """What a message in this operation is bound to."""
        return bytes(self) + reader


@dataclass(frozen=True, slots=True)
class Operation:
    """``cards`` are, in a create, those of all members, the sender's first; in an add, that of who comes; in an update, the sender's next.

    ``public_key`` is that of the secret that begins here; an add begins none.
    """

    head: Head
    ephemeral: PublicKey
    messages: Sequence[bytes]
    cards: Sequence[Card] = ()
    removed: bytes = b""
    public_key: PublicKey | None = None
    signature: bytes = b""
    #: All but the signature, which is of it.
    unsigned: bytes = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        count = _COUNT.pack(len(self.cards)) if self.head.kind is Kind.CREATE else b""
        keys = [bytes(key) for key in (self.public_key, self.ephemeral) if key is not None]
        unsigned = b"".join((bytes(self.head), count, *map(bytes, self.cards), self.removed, *keys, *self.messages))
        object.__setattr__(self, "unsigned", unsigned)

    def __bytes__(self) -> bytes:
        return self.unsigned + self.signature

    def signed(self, key: nacl.signing.SigningKey) -> Operation:
        """This operation with its signature."""
        signature = key.sign(_SIGNED_AS + self.unsigned).signature
        return Operation(
            self.head, self.ephemeral, self.messages, self.cards, self.removed, self.public_key, bytes(signature)
        )

    def check_signature(self, verify_key: bytes) -> None:
        """
        Raises: OperationForged if whoever has that key did not sign it.
        """
        if not self._is_signed_by(verify_key):
            raise OperationForged(
                f"Operation {self.head.sequence} is not signed by device {self.head.sender.hex()}: somebody has made or changed "
                "it. Nothing of it was taken over; restore the log from a backup."
            )

    def _is_signed_by(self, verify_key: bytes) -> bool:
        try:
            nacl.signing.VerifyKey(verify_key).verify(_SIGNED_AS + self.unsigned, self.signature)
        except (BadSignatureError, ValueError):
            return False
        return True

    @classmethod
    def parse(cls, raw: bytes) -> Operation:
        """
        Raises: OperationRefused if it is no operation that this release reads.
        """
        if len(raw) < _HEAD.size + _SIGNATURE_BYTES or raw[0] != VERSION:
            raise OperationRefused("This is no operation of a group that this release of edna reads.")
        _, number, *rest = _HEAD.unpack_from(raw)
        if number not in {*Kind}:
            raise OperationRefused(f"This release knows no operation of kind {number}.")
        head = Head(Kind(number), *rest)
        return _Reader(raw[_HEAD.size : -_SIGNATURE_BYTES], head).operation(raw[-_SIGNATURE_BYTES:])


class _Reader:
    """Takes the body of an operation apart; every byte of it is something."""

    def __init__(self, body: bytes, head: Head) -> None:
        self._body, self._head, self._at = body, head, 0

    def operation(self, signature: bytes) -> Operation:
        kind, cards, removed, public_key = self._head.kind, [], b"", None
        if kind is Kind.CREATE:
            (count,) = _COUNT.unpack(self._take(_COUNT.size))
            cards = [self._card() for _ in range(count)]
        elif kind is Kind.REMOVE:
            removed = self._take(ID_BYTES)
        else:
            cards = [self._card()]
        if kind is not Kind.ADD:
            public_key = self._key()
        ephemeral = self._key()
        messages = [self._rest()] if kind is Kind.ADD else self._messages()
        return Operation(self._head, ephemeral, messages, cards, removed, public_key, bytes(signature))

    def _take(self, size: int) -> bytes:
        piece = self._body[self._at : self._at + size]
        if len(piece) < size:
            raise OperationRefused(f"Operation {self._head.sequence} ends too early.")
        self._at += size
        return bytes(piece)

    def _card(self) -> Card:
        return Card.parse(self._take(CARD_BYTES))

    def _key(self) -> PublicKey:
        try:
            return PublicKey(self._take(KEY_BYTES))
        except KeyMalformed as error:
            raise OperationRefused(f"Operation {self._head.sequence} holds what is no public key.") from error

    def _rest(self) -> bytes:
        return self._take(len(self._body) - self._at)

    def _messages(self) -> list[bytes]:
        rest = self._rest()
        if len(rest) % MESSAGE_BYTES:
            raise OperationRefused(f"Operation {self._head.sequence} ends inside a message.")
        return [rest[start : start + MESSAGE_BYTES] for start in range(0, len(rest), MESSAGE_BYTES)]
