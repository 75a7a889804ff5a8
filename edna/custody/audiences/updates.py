"""An update: what one member does to the audience, signed, as it is stored and sent.

Keeps: the layout of docs/format.md ("Audiences"); everything but the signature is under it: audience, place, what came before, who does it,
who comes or goes, the new keys and wraps. Does not know the tree: which nodes the keys are of follows from it.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

import nacl.signing
from nacl.exceptions import BadSignatureError

from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey, fingerprint
from edna.custody.cards import CARD_BYTES, halves
from edna.errors import AudienceForged, AudienceRefused

VERSION: Final = 1
ID_BYTES: Final = 16
HASH_BYTES: Final = 32
#: A node's secret in a libsodium sealed box.
WRAP_BYTES: Final = KEY_BYTES + 48
#: As many as a count can say.
MAX_MEMBERS: Final = 65_535

_HEAD = struct.Struct(f">BB{ID_BYTES}sQ{HASH_BYTES}s{ID_BYTES}sHH")
_SIGNATURE_BYTES: Final = 64
_SIGNED_AS: Final = b"edna audience update 1\n"


class Kind(enum.IntEnum):
    """What is done."""

    CREATE = 1
    JOIN = 2
    LEAVE = 3


@dataclass(frozen=True, slots=True)
class Card:
    """What others know of a member: the key that it signs with, and the one at its leaf."""

    verify_key: bytes
    public_key: PublicKey

    @property
    def member(self) -> bytes:
        """The id of the member with this card."""
        return fingerprint(bytes(self), purpose=b"edna.aud.membr.1", size=ID_BYTES)

    def __bytes__(self) -> bytes:
        return self.verify_key + bytes(self.public_key)

    @classmethod
    def parse(cls, raw: bytes) -> Self:
        """
        Raises: AudienceRefused if it is no card.
        """
        return cls(*halves(raw, of="member", refused=AudienceRefused))


@dataclass(frozen=True, slots=True, repr=False)
class Member:
    """A member, as whoever is it keeps it: one secret, from which both of its keys follow."""

    secret_key: SecretKey

    @classmethod
    def new(cls) -> Self:
        return cls(SecretKey.generate())

    @property
    def signing_key(self) -> nacl.signing.SigningKey:
        return nacl.signing.SigningKey(fingerprint(self.secret_key.expose(), purpose=b"edna.aud.sign.1"))

    @property
    def card(self) -> Card:
        return Card(bytes(self.signing_key.verify_key), self.secret_key.public_key)

    @property
    def id(self) -> bytes:
        return self.card.member


@dataclass(frozen=True, slots=True)
class Update:
    """``cards`` are those of who comes, ``removed`` the ids of who goes; ``body`` are the new public keys, then the wraps, of the
    nodes that the tree says, from below, then the former secret for who has the new one."""

    kind: Kind
    audience: bytes
    sequence: int
    previous: bytes
    sender: bytes
    cards: Sequence[Card] = ()
    removed: Sequence[bytes] = ()
    body: bytes = b""
    signature: bytes = b""

    def __bytes__(self) -> bytes:
        return self._unsigned() + self.signature

    def _unsigned(self) -> bytes:
        counts = len(self.cards), len(self.removed)
        head = _HEAD.pack(VERSION, self.kind, self.audience, self.sequence, self.previous, self.sender, *counts)
        return b"".join((head, *map(bytes, self.cards), *self.removed, self.body))

    def signed(self, key: nacl.signing.SigningKey) -> Update:
        """This update with its signature."""
        return replace(self, signature=bytes(key.sign(_SIGNED_AS + self._unsigned()).signature))

    def check_signature(self, verify_key: bytes) -> None:
        """
        Raises: AudienceForged if whoever has that key did not sign it.
        """
        if not self._is_signed_by(verify_key):
            raise AudienceForged(
                f"Update {self.sequence} of the audience is not signed by member {self.sender.hex()}: somebody has made or changed it. "
                "Nothing of it was taken over; restore the table from a backup."
            )

    def _is_signed_by(self, verify_key: bytes) -> bool:
        try:
            nacl.signing.VerifyKey(verify_key).verify(_SIGNED_AS + self._unsigned(), self.signature)
        except (BadSignatureError, ValueError):
            return False
        return True

    @classmethod
    def parse(cls, raw: bytes) -> Update:
        """
        Raises: AudienceRefused if it is no update that this release reads.
        """
        if len(raw) < _HEAD.size + _SIGNATURE_BYTES or raw[0] != VERSION:
            raise AudienceRefused("This is no update of an audience that this release of edna reads.")
        _, number, audience, sequence, previous, sender, coming, going = _HEAD.unpack_from(raw)
        if number not in {*Kind}:
            raise AudienceRefused(f"This release knows no update of kind {number}.")
        rest, signature = raw[_HEAD.size : -_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
        first = coming * CARD_BYTES
        second = first + going * ID_BYTES
        if len(rest) < second:
            raise AudienceRefused("This update of an audience ends too early.")
        cards = [Card.parse(rest[start : start + CARD_BYTES]) for start in range(0, first, CARD_BYTES)]
        removed = [bytes(rest[start : start + ID_BYTES]) for start in range(first, second, ID_BYTES)]
        return cls(
            Kind(number), audience, sequence, previous, sender, cards, removed, bytes(rest[second:]), bytes(signature)
        )


def head_after(before: bytes, update: bytes) -> bytes:
    return fingerprint(before + update, purpose=b"edna.aud.head.1", size=HASH_BYTES)
