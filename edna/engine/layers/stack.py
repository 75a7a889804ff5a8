"""What lies over the rows of revealed bags: the records of the other bags, one on top of the other, found by the keys that a row has had.

A row is a truth, and over each of its columns lie the layers that disguises have put there; a reveal takes a receipt's layers out. One
index of them for each table, made when somebody first asks about the table. It is forgotten when a key in its records was rewritten or
records have moved between bags. Works on opened records; knows no tables' contents, and writes nothing but records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edna import json_keys
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.records.diff import Changed, Removed


@dataclass(frozen=True)
class Layer:
    """A row of a record in another bag, and where in it the earlier value of each column stands."""

    opened: Opened
    row: Sequence[Any]
    old: Mapping[str, int]
    #: And where the later one does; of a removed row there is none.
    new: Mapping[str, int]
    #: Those of them that are single keys of JSON columns.
    keys: tuple[str, ...] = ()


class Stack:
    """The records of ``others`` as seen from the bags that are being revealed."""

    def __init__(self, current: Sequence[Opened], others: Sequence[Opened]) -> None:
        self._current = current
        self._others = others
        self._tables: dict[str, _Table] = {}

    def lies_over(self, model: str) -> bool:
        """Whether there is a layer over any row of this table that the revealed bags changed."""
        return bool(self._others and self._table(model).layers)

    def layers(self, model: str, key: Row) -> Sequence[Layer]:
        """Of a row that the revealed bags changed, those in which it had this key before them, oldest first."""
        return self._table(model).layers.get(key, ())

    def removed(self, model: str, name: str) -> Mapping[Any, Opened]:
        """Values of a column in the rows of ``model`` that the principal's other bags hold, and which bag it is."""
        return self._table(model).removed(name)

    def changes_keys(self, model: str) -> bool:
        """Whether any record changes keys of this table."""
        return bool(self._table(model).moved)

    def way(self, model: str, key: Row) -> list[Row]:
        """The keys that the row has had since it had ``key``, this first; the last is where it is, or where it was removed."""
        return self._table(model).way(key)

    def rewrite(self, batch: Changed, row: Sequence[Any], keys: Sequence[Row]) -> None:
        """Put the old values of ``row``'s key columns into all records of the same row under these keys."""
        width = len(batch.key)
        old = {place: row[width + position] for place, position in batch.key_columns().items()}
        under = self._table(batch.model).by_key
        for key in keys:
            for opened, known in under.get(key, ()):
                for place, value in old.items():
                    opened.put(known, place, value)

    def forget(self, model: str) -> None:
        """Keys in records of this table were rewritten, or records of it have moved."""
        self._tables.pop(model, None)

    def _table(self, model: str) -> _Table:
        if model not in self._tables:
            self._tables[model] = _Table(model, self._current, self._others)
        return self._tables[model]


class _Table:
    """The records about one table, each way of finding them made when it is first needed."""

    def __init__(self, model: str, current: Sequence[Opened], others: Sequence[Opened]) -> None:
        revealed = (batch for opened in current for batch in opened.diffs)
        self._current = [batch for batch in revealed if isinstance(batch, Changed) and batch.model == model]
        about = ((opened, batch) for opened in others for batch in opened.diffs if batch.model == model)
        self._batches = [(opened, batch) for opened, batch in about if isinstance(batch, Removed | Changed)]
        self._changed = [(opened, batch) for opened, batch in self._batches if isinstance(batch, Changed)]
        self._removed_by: dict[str, dict[Any, Opened]] = {}

    @cached_property
    def moved(self) -> Mapping[Row, Row]:
        """Keys that rows had before a record changed them, and after."""
        moved: dict[Row, Row] = {}
        for _, batch in self._changed:
            columns, width = batch.key_columns(), len(batch.key)
            for row in batch.rows if columns else ():
                before = list(row[:width])
                for place, position in columns.items():
                    before[place] = row[width + position]
                moved[tuple(before)] = tuple(row[:width])
        return moved

    def way(self, key: Row) -> list[Row]:
        keys = [key]
        while (after := self.moved.get(keys[-1])) is not None and after not in keys:
            keys.append(after)
        return keys

    @cached_property
    def by_key(self) -> Mapping[Row, list[tuple[Opened, Sequence[Any]]]]:
        """Rows of changes by the key that they have right after their disguise."""
        known: dict[Row, list[tuple[Opened, Sequence[Any]]]] = {}
        for opened, batch in self._changed:
            for row in batch.rows:
                known.setdefault(tuple(row[: len(batch.key)]), []).append((opened, row))
        return known

    @cached_property
    def layers(self) -> Mapping[Row, list[Layer]]:
        """By the key that a row had before them; of rows that the revealed bags changed, for there may be many more."""
        layers: dict[Row, list[Layer]] = {}
        wanted = {tuple(row[: len(batch.key)]) for batch in self._current for row in batch.rows}
        if wanted and self.moved:
            wanted = {later for key in wanted for later in self.way(key)}
        for opened, batch in self._batches if wanted else ():
            for key, layer in _layers(opened, batch, wanted):
                layers.setdefault(key, []).append(layer)
        return layers

    def removed(self, name: str) -> Mapping[Any, Opened]:
        if name not in self._removed_by:
            self._removed_by[name] = {
                row[batch.columns.index(name)]: opened
                for opened, batch in self._batches
                if isinstance(batch, Removed) and not opened.shared and name in batch.columns
                for row in batch.rows
            }
        return self._removed_by[name]


def _layers(opened: Opened, batch: Removed | Changed, wanted: Set[Row]) -> list[tuple[Row, Layer]]:
    old = {name: batch.old_from + position for position, name in enumerate(batch.columns)}
    # The owner may be a part of the key: what counts is the key that the row had before.
    keys = [old.get(name, position) for position, name in enumerate(batch.key)]
    rows = ((tuple(row[position] for position in keys), row) for row in batch.rows)
    single = tuple(name for name in batch.columns if json_keys.is_key(name))
    new = {name: position + len(old) for name, position in old.items()} if isinstance(batch, Changed) else {}
    return [(key, Layer(opened, row, old, new, single)) for key, row in rows if key in wanted]
