"""Locators and receipts: how the one who was disguised finds the way back, and nobody else does.

Keeps: a locator is 32 random bytes; the indexes under which bags are stored are derived from it one way
(docs/format.md, "Locator", "Receipt"). Whoever has a locator can find the bags but not open them; whoever has the
table can do neither. Does not know: where bags are stored, whose the locator is.
"""

from __future__ import annotations

import base64
import enum
import hmac
import re
from dataclasses import dataclass
from typing import Self

import nacl.utils

from edna.crypto import hybrid
from edna.crypto.keys import (
    KEY_BYTES,
    HybridPublicKey,
    HybridSecretKey,
    PublicKey,
    Secret,
    SecretKey,
    derive,
    fingerprint,
)
from edna.crypto.sealing import open_small, seal_secret
from edna.errors import ReceiptMalformed, WrongKey

SEALED_LOCATOR_BYTES = 80
#: In lists of those whose key is of the hybrid kind: behind a tag by which it is known.
HYBRID_LOCATOR_BYTES = 2 * KEY_BYTES + hybrid.OVERHEAD_BYTES

_PREFIX = "edna1"
_CHECKSUM_BYTES = 4
_HYBRID_PURPOSE = b"edna locator item 1"
_DISGUISE_NAME = re.compile(r"[^\s:]+")


class BagKind(enum.IntEnum):
    """What a bag holds: diff records, speaks-for records, or rows that several owners removed together. The numbers are
    part of the format."""

    DIFF = 1
    SPEAKS_FOR = 2
    SHARED = 3


class Locator(Secret):
    """32 random bytes that name one (principal, disguise). Redacted and unpicklable like a key; hashable."""

    __slots__ = ()

    @classmethod
    def new(cls) -> Self:
        """Return a fresh random locator."""
        return cls(nacl.utils.random(KEY_BYTES))

    def index(self, kind: BagKind, sequence: int) -> bytes:
        """Return the 32 bytes under which the bag of that kind and number is stored: one way, unlinkable to one
        another.

        `sequence` counts the segments of a disguise that was done in chunks, from 0 to 2**32 - 1.
        """
        return derive(self.expose(), purpose=b"edna.index.1", data=bytes((kind,)) + int.to_bytes(sequence, 4, "big"))

    def first_indexes(self) -> set[bytes]:
        """Return under which indexes the bags of a disguise begin: while any of them is stored, one of these is."""
        return {self.index(kind, 0) for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR)}

    def chunk(self, number: int) -> Self:
        """Return the locator of that chunk of a disguise that was applied in several transactions; of the first, this one.

        `number` counts from 0 to 2**32 - 1. Whoever has a receipt can find all chunks, and from a later chunk no other.
        """
        if number == 0:
            return self
        return type(self)(derive(self.expose(), purpose=b"edna.chunk.1", data=int.to_bytes(number, 4, "big")))

    def shared_key(self) -> SecretKey:
        """The key pair of a shared bag: whoever has its locator, which no receipt ever shows, is one of its owners."""
        return SecretKey(derive(self.expose(), purpose=b"edna.shared.1", data=b""))

    def __hash__(self) -> int:
        return hash(self.expose())

    # Applications keep receipts in variables that frameworks copy (Django's setUpTestData deep-copies). A copy of an
    # immutable value inside the process is the value itself; what must not happen is that it is serialised.
    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


def split_items(items: bytes, *, hybrid: bool) -> list[bytes]:
    """Return the items of a list; ``hybrid`` if it belongs to a key of that kind."""
    size = HYBRID_LOCATOR_BYTES if hybrid else SEALED_LOCATOR_BYTES
    return [items[start : start + size] for start in range(0, len(items), size)]


def seal_locator(locator: Locator, *, recipient: PublicKey) -> bytes:
    """Return the 80 bytes that are kept for `recipient` in locator mode `server` (docs/format.md, "Locator item"); 1200 for one of the
    hybrid kind.

    Of the 80 all, of the 1200 the first 32 are the same each time: whoever is told a locator can see whether it is the one inside an item.
    """
    if isinstance(recipient, HybridPublicKey):
        sealed = hybrid.seal(locator.expose(), key=recipient.sealer(), purpose=_HYBRID_PURPOSE)
        return _tag_of(locator, recipient) + sealed
    return seal_secret(locator, recipient=recipient, purpose=b"edna.item.1")


def open_locator(sealed: bytes, *, secret_key: SecretKey) -> Locator:
    """Return the locator inside an item that `seal_locator` made.

    Anybody can seal an item to a public key: a locator from here is a place to look at, not a proof of anything.

    Raises: WrongKey if it is not sealed to `secret_key`, was changed, or is no item at all.
    """
    if isinstance(secret_key, HybridSecretKey):
        return _open_hybrid(sealed, secret_key)
    if len(sealed) != SEALED_LOCATOR_BYTES:  # anybody can seal a box of another size
        raise WrongKey(f"An entry of the list of locators has {SEALED_LOCATOR_BYTES} bytes, not {len(sealed)}.")
    return Locator(open_small(sealed, secret_key=secret_key))


def is_item_of(item: bytes, locator: Locator, *, recipient: PublicKey) -> bool:
    """Whether an item in the list of ``recipient`` is the one that `seal_locator` makes of this locator."""
    if isinstance(recipient, HybridPublicKey):
        return len(item) == HYBRID_LOCATOR_BYTES and hmac.compare_digest(item[:KEY_BYTES], _tag_of(locator, recipient))
    return hmac.compare_digest(item, seal_locator(locator, recipient=recipient))


def _tag_of(locator: Locator, recipient: PublicKey) -> bytes:
    """What the item is known by: ML-KEM cannot seal the same thing twice alike. It tells nothing, as nobody guesses a locator."""
    return derive(locator.expose(), purpose=b"edna.item.tag.1", data=bytes(recipient))


def _open_hybrid(sealed: bytes, secret_key: HybridSecretKey) -> Locator:
    if len(sealed) != HYBRID_LOCATOR_BYTES:
        raise WrongKey(f"An entry of this list of locators has {HYBRID_LOCATOR_BYTES} bytes, not {len(sealed)}.")
    raw = hybrid.unseal(sealed[KEY_BYTES:], key=secret_key.opener(), purpose=_HYBRID_PURPOSE)
    locator = None if raw is None or len(raw) != KEY_BYTES else Locator(raw)
    del raw
    if locator is None or not is_item_of(sealed, locator, recipient=secret_key.public_key):
        del locator
        raise WrongKey(
            "This item is not sealed to this key, or it was changed; unlock with the key of the person it belongs to."
        )
    return locator


@dataclass(frozen=True, slots=True)
class Receipt:
    """What applying a disguise returns: the name of the disguise and the locator. A value: compared and hashed as such.

    `str(receipt)` is the printable text; `repr` does not show the locator. Pickling raises SecretKeyLeak: pass the text
    to whom it belongs, and to nobody else.

    Raises: ReceiptMalformed if the name of the disguise is empty or contains white space or a colon.
    """

    disguise: str
    locator: Locator

    def __post_init__(self) -> None:
        if not _DISGUISE_NAME.fullmatch(self.disguise):
            raise ReceiptMalformed("The name of a disguise is not empty and has neither white space nor a colon.")

    def __str__(self) -> str:
        raw = self.locator.expose() + _checksum(self)
        return f"{_PREFIX}:{self.disguise}:{base64.b32encode(raw).decode('ascii').rstrip('=').lower()}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote; white space anywhere is ignored, because mail programs wrap lines.

        Raises: ReceiptMalformed if it was truncated or mistyped: a checksum covers the name and the locator.
        """
        receipt = cls.__read(text)
        del text  # a locator with a typing error is still most of a locator
        if receipt is None:
            raise ReceiptMalformed("This is not a complete receipt; copy it again, from edna1: to its last character.")
        return receipt

    @classmethod
    def of(cls, receipt: Self | str) -> Self:
        """A receipt as it is, or read from its text.

        Raises: ReceiptMalformed if it is neither.
        """
        if isinstance(receipt, str):
            return cls.parse(receipt)
        if not isinstance(receipt, cls):
            raise ReceiptMalformed(f"A receipt is an edna.Receipt or its text; this is a {type(receipt).__name__}.")
        return receipt

    @classmethod
    def __read(cls, text: str) -> Self | None:
        compact = "".join(text.split())
        prefix, _, rest = compact.partition(":")
        disguise, _, code = rest.partition(":")
        if prefix.lower() != _PREFIX or not disguise:
            return None
        try:
            raw = base64.b32decode(code.upper() + "=" * (-len(code) % 8))
        except ValueError:
            return None
        if len(raw) != KEY_BYTES + _CHECKSUM_BYTES:
            return None
        receipt = cls(disguise, Locator(raw[:KEY_BYTES]))
        # Comparing the whole text checks the checksum and also refuses stray bits after the last byte.
        written = str(receipt).rpartition(":")[2]
        return receipt if hmac.compare_digest(written.encode(), code.lower().encode()) else None


def _checksum(receipt: Receipt) -> bytes:
    data = receipt.disguise.encode("utf-8", "surrogatepass") + b"\0" + receipt.locator.expose()
    return fingerprint(data, purpose=b"edna.receipt.1", size=_CHECKSUM_BYTES)
