"""Turns records into sealed bags: in segments that fit a packet and memory, each saying how many there are.

Invariant (nothing readable): what leaves here is sealed and authenticated, under a key that the database knows. Knows records, keys and
settings; stores nothing, but has copies kept where a disguise declares an audience.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from edna import conf, policy_seals, registry
from edna.crypto.keys import ContentKey, PublicKey
from edna.db import rows as raw
from edna.engine.bags import held_copies
from edna.engine.bags.openers import Handover
from edna.records.bag import Bag, BagKind, seal_bag
from edna.records.diff import Changed, RowBatch
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import serverkeys

#: Index and sealed bytes of one segment.
Sealed = tuple[bytes, bytes]


def seal_records(
    head: Bag,
    diffs: Sequence[RowBatch],
    speaks_for: Sequence[SpeaksFor],
    *,
    locator: Locator,
    recipient: PublicKey,
    using: str,
    unlisted: Collection[bytes] = (),
    handover: Handover | None = None,
    is_new: bool = False,
) -> list[Sealed]:
    """Both bags of one (principal, disguise), in segments. No diff bag where only voices are left: nothing can be revealed
    by it any more. An empty one where there is nothing at all: it says that the disguise happened. What is ``unlisted`` stands beside
    the first voices, and nowhere if there are none. A ``handover`` gets the keys of what is sealed. What ``is_new`` is held for an audience
    that the disguise declares; what is sealed again, if it was held before."""
    batches = list(_segments(merged(diffs)))
    size = conf.chunk_rows()
    voices = [speaks_for[start : start + size] for start in range(0, len(speaks_for), size)]
    if not batches and not voices:
        batches = [()]
    head = replace(head, segments=(len(batches), len(voices)))
    bags = [replace(head, kind=BagKind.DIFF, batches=segment) for segment in batches]
    spoken = [
        replace(head, kind=BagKind.SPEAKS_FOR, batches=(SpeaksForBatch(head.principal_model, rows, noted),))
        for number, rows in enumerate(voices)
        for noted in [() if number else tuple(sorted(unlisted))]
    ]
    return [
        seal_segment(bag, sequence, locator=locator, recipient=recipient, using=using, handover=handover, is_new=is_new)
        for part in (bags, spoken)
        for sequence, bag in enumerate(part)
    ]


def seal_shared(head: Bag, diffs: Sequence[RowBatch], *, locator: Locator, using: str) -> list[Sealed]:
    """A bag for several owners, each of whom knows its locator and nothing else about it.

    It names no principal, disguise or parameter: its owners may read it, and are not told what the others did.
    """
    batches = list(_segments(merged(diffs)))
    head = replace(head, disguise="", principal=None, params={}, listed=True, segments=(len(batches), 0))
    bags = [replace(head, kind=BagKind.SHARED, batches=segment) for segment in batches]
    recipient = locator.shared_key().public_key
    return [
        seal_segment(bag, sequence, locator=locator, recipient=recipient, using=using)
        for sequence, bag in enumerate(bags)
    ]


def seal_segment(
    bag: Bag,
    sequence: int,
    *,
    locator: Locator,
    recipient: PublicKey,
    using: str,
    handover: Handover | None = None,
    is_new: bool = False,
) -> Sealed:
    """One bag. In browser custody the secret keys in it are sealed once more, to the same recipient, as far as they are not yet."""
    if bag.kind is BagKind.SPEAKS_FOR and conf.custody() != "server":
        bag = replace(bag, batches=tuple(_with_sealed_keys(batch, recipient) for batch in bag.batches))
    index = locator.index(bag.kind, sequence)
    content_key = handover.new_content_key(index) if handover else None
    if bag.kind is BagKind.DIFF and _audience_of(bag.disguise) is not None:
        content_key = content_key or ContentKey.new()
        held_copies.keep(
            bag,
            sequence,
            locator=locator,
            content_key=content_key,
            recipient=recipient,
            is_new=is_new,
            using=using,
        )
    made = seal_bag(
        bag,
        locator=locator,
        sequence=sequence,
        public_key=recipient,
        mac_key=serverkeys.signing_key(using=using),
        compress=conf.compress(),
        content_key=content_key,
    )
    return made.index, policy_seals.put_on(made.sealed, name=_policy_of(bag.disguise), index=made.index)


def _audience_of(disguise: str) -> str | None:
    """Which audience a disguise declares. A bag of several owners is held for none."""
    found = registry.find(disguise) if disguise else None
    return None if found is None else found.audience


def _policy_of(disguise: str) -> str | None:
    """The name of the policy that a disguise asks for. A bag of several owners is of none.

    Raises:
        UnknownDisguise: there are policies, and nobody knows any more which one this disguise has.
    """
    if not disguise:
        return None
    found = registry.find(disguise)
    if found is None and not conf.policies():
        return None
    # Also without policies: one that is asked for and is not there is refused.
    return (registry.get(disguise) if found is None else found).policy


def _with_sealed_keys(batch: RowBatch | SpeaksForBatch, recipient: PublicKey) -> SpeaksForBatch:
    assert isinstance(batch, SpeaksForBatch)
    return replace(batch, rows=[voice.sealed_to(recipient) for voice in batch.voices()])


def merged(diffs: Sequence[RowBatch]) -> list[RowBatch]:
    """Neighbours that say the same of different rows as one: a reveal works batch by batch, and what is held, or has moved, comes
    row by row."""
    done: list[RowBatch] = []
    keys: set[tuple[Any, ...]] = set()
    for batch in diffs:
        last = done[-1] if done else None
        own = batch.primary_keys() if isinstance(batch, Changed) else []
        if last is not None and own and _alike(last, batch) and keys.isdisjoint(own):
            if not isinstance(last.rows, _Rows):
                last = done[-1] = replace(last, rows=_Rows(last.rows))
            last.rows.extend(batch.rows)  # type: ignore[attr-defined]  # a list of our own
        else:
            done.append(batch)
            keys = set()
        keys.update(own)
    return done


class _Rows(list[Any]):
    """Rows that belong to nobody else yet."""


def _alike(one: RowBatch, other: RowBatch) -> bool:
    return (type(one), one.model, one.stamp, one.key, one.columns) == (
        type(other),
        other.model,
        other.stamp,
        other.key,
        other.columns,
    )


def _segments(batches: Sequence[RowBatch]) -> Iterator[tuple[RowBatch, ...]]:
    """Split into bags of at most ``CHUNK_ROWS`` rows and a few MiB, so that each fits a packet and memory."""
    most = conf.chunk_rows()
    batches = [batch for batch in batches if batch.rows]
    few = sum(len(batch.rows) for batch in batches) <= most
    if few and sum(raw.total_bytes(batch.rows) for batch in batches) < raw.MAX_STATEMENT_BYTES:
        yield from [tuple(batches)] if batches else []
        return
    segment: list[RowBatch] = []
    rows, size = 0, 0
    for batch in batches:
        start = 0
        for end, row in enumerate(batch.rows, start=1):
            rows += 1
            size += raw.row_bytes(row)
            if rows >= most or size >= raw.MAX_STATEMENT_BYTES:
                yield (*segment, replace(batch, rows=batch.rows[start:end]))
                segment, rows, size, start = [], 0, 0, end
        if start < len(batch.rows):
            segment.append(replace(batch, rows=batch.rows[start:]) if start else batch)
    if segment:
        yield tuple(segment)
