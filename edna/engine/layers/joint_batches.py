"""Alike records of several bags as one batch, so that what is asked and written does not grow with the number of bags.

What several people own lies in a bag for each set of them: a thousand rows, each with somebody else's pseudoprincipal, are a thousand bags.
Invariant: no key stands twice in a batch, so that each row is known to be one bag's. Works on opened records; reads and writes no tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, Generic, TypeVar

from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.layers.owners import Need, needs_of
from edna.records.diff import RowBatch

Batch = TypeVar("Batch", bound=RowBatch)


@dataclass(frozen=True)
class JointBatch(Generic[Batch]):
    """Records that are about the same columns, of bags of one moment."""

    batch: Batch
    parts: Mapping[Opened, Batch]

    @property
    def opened(self) -> Opened:
        """Any of the bags."""
        return next(iter(self.parts))

    @cached_property
    def whose(self) -> Mapping[Row, Opened]:
        return {key: opened for opened, part in self.parts.items() for key in part.primary_keys()}

    @cached_property
    def needs(self) -> dict[tuple[str, Row], list[Need]]:
        """Who owned the rows, as their own bags say."""
        return {
            row: needs
            for opened in self.parts
            for row, needs in needs_of(opened).items()
            if row[0] == self.batch.model and self.whose.get(row[1]) is opened
        }

    def take(self, keys: Set[Row]) -> Iterator[tuple[Opened, Batch]]:
        """Take the records with these keys out of the bags, and tell from which."""
        for opened, part in self.parts.items():
            taken = part.only(keys)
            if taken.rows:
                opened.exchange(part, part.without(keys))
                yield opened, taken


@dataclass
class _Rows(Generic[Batch]):
    parts: dict[Opened, Batch] = field(default_factory=dict)
    keys: set[Row] = field(default_factory=set)


def joint_batches(bags: Sequence[Opened], kind: type[Batch]) -> Iterator[JointBatch[Batch]]:
    """The records of this kind; those that a bag has last come first."""
    of_kind = ([batch for batch in reversed(opened.diffs) if isinstance(batch, kind)] for opened in bags)
    for batches in zip_longest(*of_kind):
        alike: dict[Any, list[_Rows[Batch]]] = {}
        for opened, batch in zip(bags, batches, strict=True):
            if batch is None:
                continue
            keys = set(batch.primary_keys())
            those = alike.setdefault((type(batch), batch.model, batch.stamp, batch.key, batch.columns), [])
            rows = next((each for each in those if each.keys.isdisjoint(keys)), None)
            if rows is None:
                those.append(rows := _Rows())
            rows.parts[opened] = batch
            rows.keys |= keys
        for those in alike.values():
            for each in those:
                rows_of_all = [row for part in each.parts.values() for row in part.rows]
                yield JointBatch(replace(next(iter(each.parts.values())), rows=rows_of_all), each.parts)
