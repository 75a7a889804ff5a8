"""Finds and opens everything that lies under a receipt, whoever of the unlocked principal's voices it is sealed to.

Invariant (DESIGN 2.4): what was forged, moved, changed or put back is refused as a whole and stays where it is. Locks what it
reads; changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connections

from edna import conf, store
from edna.crypto.keys import SecretKey
from edna.engine.unlocked import SEGMENTS_AT_ONCE, Unlocked, listed_locators
from edna.errors import (
    BagMisplaced,
    BagMissing,
    ConfigurationError,
    ReceiptForeign,
    ReceiptMalformed,
    ReceiptUnknown,
    WrongKey,
)
from edna.records.bag import Bag, BagKind, open_bag
from edna.records.diff import DiffBatch
from edna.records.locator import Receipt
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import Entry

#: Kind, sequence number and sealed bytes of one stored part of a bag.
Segment = tuple[BagKind, int, bytes]


@dataclass(frozen=True)
class Opened:
    """All records of one (principal, disguise), and what is needed to seal again what cannot be revealed."""

    receipt: Receipt
    head: Bag
    entry: Entry
    item: bytes | None
    indexes: tuple[bytes, ...]
    diffs: tuple[DiffBatch, ...]
    speaks_for: tuple[SpeaksFor, ...]


def open_receipt(receipt: Receipt, unlocked: Unlocked) -> Opened:
    """Find, lock and open everything under a receipt."""
    own = unlocked.entry(lock=True)
    sealed = _sealed_under(receipt, unlocked)
    if not sealed:
        raise ReceiptUnknown(
            f"Nothing is kept under this receipt of {receipt.disguise}: it was revealed already, has expired, or is another site's."
        )
    entry, secret_key, head = _opener(receipt, sealed[0], own, unlocked)
    rest = [_open(receipt, segment, secret_key) for segment in sealed[1:]]
    if head.disguise != receipt.disguise:
        raise ReceiptMalformed(
            f"This receipt says {receipt.disguise}, but was issued for another disguise; use it as it was issued."
        )
    vendor = connections[unlocked.using].vendor
    if head.database != vendor:
        raise ConfigurationError(
            f"This bag holds values of a {head.database} database, and this one is {vendor}: "
            "reveal it where it was made. Nothing was changed."
        )
    item = next((item for item, locator in listed_locators(entry, secret_key) if locator == receipt.locator), None)
    if head.listed and item is None:
        # Somebody with access to the database has put back a bag that was revealed before.
        raise BagMisplaced(
            "This bag was revealed before and has been put back: it is not among its principal's disguises. Nothing was changed."
        )
    batches = [batch for bag in (head, *rest) for batch in bag.batches]
    diffs = tuple(batch for batch in batches if isinstance(batch, DiffBatch))
    speaks_for = tuple(SpeaksFor(*row) for batch in batches if isinstance(batch, SpeaksForBatch) for row in batch.rows)
    indexes = tuple(receipt.locator.index(kind, sequence) for kind, sequence, _ in sealed)
    return Opened(receipt, head, entry, item, indexes, diffs, speaks_for)


def _open(receipt: Receipt, segment: Segment, secret_key: SecretKey) -> Bag:
    kind, sequence, body = segment
    return open_bag(
        body, locator=receipt.locator, kind=kind, sequence=sequence, secret_key=secret_key, mac_keys=conf.mac_keys()
    )


def _opener(receipt: Receipt, segment: Segment, own: Entry, unlocked: Unlocked) -> tuple[Entry, SecretKey, Bag]:
    """Whose bags these are: the principal's own, or those of someone they speak for."""
    try:
        return own, unlocked.secret_key, _open(receipt, segment, unlocked.secret_key)
    except WrongKey:
        pass
    # Whoever lists the locator first: thousands of keys need not be tried.
    for voice in sorted(unlocked.spoken_for(), key=lambda voice: receipt.locator not in voice.locators):
        try:
            head = _open(receipt, segment, voice.secret_key)
        except WrongKey:
            continue
        # Read again, locked: what the capability remembers may be older than somebody else's disguise.
        for entry in store.entries_by_public_key([voice.entry.public_key], using=unlocked.using, lock=True):
            return entry, voice.secret_key, head
    raise ReceiptForeign(
        f"This receipt of {receipt.disguise} does not open with this key: it belongs to another person, or its bag was "
        "damaged. Unlock with the key of the person it was issued to."
    )


def _sealed_under(receipt: Receipt, unlocked: Unlocked) -> list[Segment]:
    """Every stored segment under the locator, diff bags first, in order."""
    found: list[Segment] = []
    start, more = 0, True
    while more:
        places = {
            receipt.locator.index(kind, sequence): (kind, sequence)
            for kind in BagKind
            for sequence in range(start, start + SEGMENTS_AT_ONCE)
        }
        stored = store.bags_by_index(places, using=unlocked.using, lock=True)
        found += [(*places[index], sealed) for index, sealed in stored.items()]
        start += SEGMENTS_AT_ONCE
        more = any(places[index][1] == start - 1 for index in stored)
    found.sort(key=lambda segment: segment[:2])
    for kind in BagKind:
        numbers = [number for found_kind, number, _ in found if found_kind is kind]
        if numbers != list(range(len(numbers))):
            raise BagMissing(
                f"One of the bags of this {receipt.disguise} is not in the table any more. Nothing was changed; restore it from a backup."
            )
    return found
