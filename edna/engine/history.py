"""What of a principal is disguised: every disguise that their key can reveal, read from the bags that it opens.

Invariant: what it says of a disguise is what its bags hold now, so each row counts once. Reads and opens; changes nothing.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from edna.engine.bags.capability import Unlocked
from edna.engine.graph.tally import Recorded
from edna.records.bag import BagKind
from edna.records.chain import chunks_of
from edna.records.diff import Listed, Modified, Removed, RowBatch, Shares
from edna.records.locator import Locator, Receipt


@dataclasses.dataclass(frozen=True)
class HistoryEntry:
    """One disguise that can be revealed. ``counts`` are rows by model, each once."""

    receipt: Receipt
    name: str
    applied_at: datetime.datetime
    counts: dict[str, int]
    params: dict[str, Any]
    _recorded: Recorded = dataclasses.field(default_factory=Recorded, repr=False, compare=False)
    #: A reveal has tried it, and something of it is held.
    _tried: bool = dataclasses.field(default=False, repr=False, compare=False)

    def disowned(self) -> dict[str, list[Any]]:
        """By model, the keys of the rows that it gave to a placeholder: as a rule their owner may still change them (`edna.speak_as`)."""
        return self._recorded.disowned()

    @staticmethod
    def counts_together(entries: Iterable[HistoryEntry]) -> dict[str, int]:
        """The rows of several entries of one history by model, each once: the same disguise may be there twice, say.

        Given in the order of the history, newest first.
        """
        together = Recorded()
        for entry in reversed(list(entries)):
            together.include(entry._recorded)
        return together.counts()


def of(unlocked: Unlocked) -> list[HistoryEntry]:
    """Newest first. Of a disguise in chunks there is one entry, with the receipt that leads to all of them."""
    unlocked.forget_voices()  # what was disguised since the key was opened is history, too
    listed = unlocked.listed()
    chunked = {locator.chunk(number): locator for locator in listed for number in chunks_of(locator, listed.keys())[1:]}
    entries_by_first: dict[Locator, HistoryEntry] = {}
    placeholders = unlocked.placeholder_rows()
    tried: set[Locator] = set()
    pointers: dict[Locator, list[Locator]] = {}
    for locator, bag in unlocked.disguises():
        first = chunked.get(locator, locator)
        known = entries_by_first.get(first)
        if any(isinstance(batch, Listed) for batch in bag.batches):
            tried.add(first)
        if known is None or bag.applied_at < known.applied_at:
            recorded = known._recorded if known else Recorded(bag.principal_model, bag.principal, placeholders)
            entries_by_first[first] = HistoryEntry(
                Receipt(bag.disguise, first), bag.disguise, bag.applied_at, {}, dict(bag.params), recorded
            )
        entries_by_first[first]._recorded.add(batch for batch in bag.batches if isinstance(batch, RowBatch))
        leading = (pointer for batch in bag.batches if isinstance(batch, Shares) for pointer in batch.locators())
        pointers.setdefault(first, []).extend(map(Locator, leading))
    _name_shared(entries_by_first.values(), pointers, unlocked)
    for entry in entries_by_first.values():
        entry.counts.update(entry._recorded.counts())
    damaged = {chunked.get(locator, locator) for locator in listed if unlocked.is_damaged(locator)}
    entries = [
        dataclasses.replace(entry, _tried=True) if first in tried else entry
        for first, entry in entries_by_first.items()
        if first not in damaged
    ]
    return sorted(entries, key=lambda entry: entry.applied_at, reverse=True)


def _name_shared(
    entries: Iterable[HistoryEntry], pointers: Mapping[Locator, Sequence[Locator]], unlocked: Unlocked
) -> None:
    """Count rows of shared bags by their keys where a number does not do. Everything is opened then; mostly nothing is."""
    unclear = [entry for entry in entries if entry._recorded.needs_shared]
    if not unclear:
        return
    graph = unlocked.key_graph()
    bags = dict(graph.follow(tuple(BagKind), start=unlocked.locators))
    for entry in unclear:
        for locator in pointers[entry.receipt.locator]:
            for segment in bags.get(locator, ()):
                entry._recorded.name_shared(batch for batch in segment.bag.batches if isinstance(batch, RowBatch))


@dataclasses.dataclass(frozen=True)
class SealedValues:
    """What is under disguise: (label of the model, column, value as the driver gave it). ``unopened``: bags that do not open."""

    values: list[tuple[str, str, Any]] = dataclasses.field(repr=False)
    unopened: int


def sealed_values(unlocked: Unlocked) -> SealedValues:
    """The old values of every removed and modified row, in the own bags, those of pseudoprincipals, and the shared ones."""
    graph = unlocked.key_graph()
    values: list[tuple[str, str, Any]] = []
    for _, segments in graph.follow(tuple(BagKind), start=unlocked.locators):
        for batch in (batch for segment in segments for batch in segment.bag.batches):
            if isinstance(batch, Removed):
                values += [(batch.model, *cell) for row in batch.rows for cell in zip(batch.columns, row, strict=True)]
            elif isinstance(batch, Modified):
                values += [
                    (batch.model, *cell)
                    for row in batch.rows
                    for cell in zip(batch.columns, batch.old(row), strict=True)
                ]
    return SealedValues(values, len(graph.refused) + len(graph.forged))
