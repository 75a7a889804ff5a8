"""The rows that a reveal is about to change, as they stand in their tables: read, and locked, once for all records about a table,
before anything is written.

Invariant: what it answers is what a statement would read now, for it is told what the reveal writes there. Knows records and tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from edna import json_keys
from edna.db import rows as raw
from edna.db.rows import Row, Table
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.order import deletion_order
from edna.engine.graph.uniqueness import columns_that_must_be_unique
from edna.records.diff import Changed, RowBatch


class CurrentRows:
    """The rows that records of changes are about. Where keys change, or a row is not there yet, it is read when its turn comes."""

    def __init__(self, *, lock: bool = True) -> None:
        self.lock = lock
        #: By model and key, the values of columns.
        self._known: dict[str, dict[Row, dict[str, Any]]] = {}
        #: Models with records of single keys of JSON columns: what stands there stands in the whole document, too.
        self._with_keys: set[str] = set()

    def look(self, batches: Iterable[RowBatch], *, using: str) -> None:
        """Read and lock all rows, those of tables that others refer to first: whoever writes a row locks those that it refers to as well,
        and two who do that in different orders would wait for each other."""
        together: dict[Table, list[Changed]] = {}
        for batch in batches:
            if not isinstance(batch, Changed):
                continue
            table = table_by_label(batch.model)
            if table is not None and not table.unknown(batch.columns):
                together.setdefault(table, []).append(batch)
        tables = {table.model: table for table in sorted(together, key=lambda table: table.label)}
        for model in reversed(deletion_order(list(tables))):
            found = together[tables[model]]
            if all(batch.key == tables[model].key_names for batch in found) and not any(
                batch.key_columns() for batch in found
            ):
                self._read(tables[model], found, using=using)

    def _read(self, table: Table, batches: Sequence[Changed], *, using: str) -> None:
        names = tuple(dict.fromkeys(name for batch in batches for name in batch.columns))
        width = len(table.key)
        keys = [tuple(row[:width]) for batch in batches for row in changed_rows(batch)]
        if json_keys.any_of(names):
            self._with_keys.add(table.label)
        self._known[table.label] = {
            row[:width]: dict(zip(names, row[width:], strict=True))
            for row in self._locked(table, (*table.key_names, *names), list(dict.fromkeys(keys)), names, using=using)
        }

    def _locked(
        self, table: Table, read: Sequence[str], keys: Sequence[Row], changed: Sequence[str], *, using: str
    ) -> list[Row]:
        """What is read of the rows, of which these columns change. As an UPDATE of them would lock: whoever refers to a row needs its keys
        alone, and with a stronger lock, two who give back rows and insert some that refer to the other's would wait for each other."""
        keys_stay = {*table.key_names, *columns_that_must_be_unique(table)}.isdisjoint(changed)
        return raw.read(table, read, keys, lock=self.lock, keys_stay=keys_stay, using=using)

    def read(self, batch: RowBatch, table: Table, keys: Sequence[Row], *, using: str) -> dict[Row, Row]:
        """What stands in the columns of the batch, by key; rows that are not there are left out."""
        known = self._known.get(batch.model, {})
        try:
            return {key: tuple(map(known[key].__getitem__, batch.columns)) for key in keys}
        except KeyError:
            pass  # one was not there, or without some of these columns
        found = self._locked(table, (*batch.key, *batch.columns), keys, batch.columns, using=using)
        there = {row[: len(batch.key)]: row[len(batch.key) :] for row in found}
        return there | self._supposed(batch, keys)

    def suppose(self, label: str, names: Sequence[str], key: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """These rows would be there: a rehearsal inserts none."""
        for row in rows:
            values = dict(zip(names, row, strict=True))
            self._known.setdefault(label, {})[tuple(values[name] for name in key)] = values

    def _supposed(self, batch: RowBatch, keys: Sequence[Row]) -> dict[Row, Row]:
        known = {} if self.lock else self._known.get(batch.model, {})
        there = [key for key in keys if known.get(key, {}).keys() >= {*batch.columns}]
        return {key: tuple(known[key][name] for name in batch.columns) for key in there}

    def wrote(self, batch: RowBatch, rows: Iterable[Sequence[Any]]) -> None:
        """The columns of the batch have these values now: rows of key and values."""
        known = self._known.get(batch.model, {})
        width = len(batch.key)
        if batch.model in self._with_keys:
            for values in known.values():
                for name in [name for name in values if any(json_keys.overlap(name, one) for one in batch.columns)]:
                    del values[name]
            return
        for row in rows:
            if tuple(row[:width]) in known:
                known[tuple(row[:width])].update(zip(batch.columns, row[width:], strict=False))

    def forget(self, model: str) -> None:
        """Something else was written to rows of this table."""
        self._known.pop(model, None)


def changed_rows(batch: Changed) -> list[Sequence[Any]]:
    """The rows of which the disguise has made something else."""
    old = slice(len(batch.key), len(batch.key) + len(batch.columns))
    new = slice(old.stop, None)
    return [row for row in batch.rows if row[old] != row[new] or not same_values(row[old], row[new])]


def left_standing(row: Sequence[Any], found: Row, places: Collection[int], *, width: int, count: int) -> Row:
    """The record with what stands there now in the columns that the disguise left as they were: they go on as they are."""
    if not places:
        return tuple(row)
    stand = list(row)
    for place in places:
        stand[width + place] = stand[width + count + place] = found[place]
    return tuple(stand)


def same_values(one: Sequence[Any], other: Sequence[Any]) -> bool:
    # 1, 1.0 and True are equal to Python and are not the same value of a column.
    return list(one) == list(other) and list(map(type, one)) == list(map(type, other))
