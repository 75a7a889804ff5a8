"""Rows whose primary key a disguise has changed, because it says whose the row is: where each of them is to be found now.

A record names its row by the key that the row had right after its own disguise. Later disguises of the same principal may have
moved the row on, from key to key; their records tell. When a record is taken out from below, because it was revealed or folded,
those above it speak of a row whose key is now partly another one: they are rewritten. Works on opened records, and writes nothing
but records. Nothing is done, row by row, for tables whose keys no record changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from edna.db.rows import Row
from edna.engine.bags.opened import Opened
from edna.records.diff import Changed

#: A row of a record, with the bag it belongs to.
Place = tuple[Opened, Sequence[Any]]


class Moves:
    """What the records of ``others`` tell about keys."""

    def __init__(self, others: Sequence[Opened]) -> None:
        self._others = others
        self._next: dict[str, dict[Row, Row]] | None = None
        self._records: dict[str, dict[Row, list[Place]]] = {}
        #: For rows that `located` found elsewhere: the keys that their records had.
        self._origin: dict[tuple[str, Row], Row] = {}

    def concern(self, model: str) -> bool:
        """Whether any record changes keys of this table."""
        return model in self._known()

    def way(self, model: str, key: Row) -> list[Row]:
        """The keys that the row has had since it had ``key``, this first; the last is where it is, or where it was removed."""
        following = self._known().get(model, {})
        keys = [key]
        while (after := following.get(keys[-1])) is not None and after not in keys:
            keys.append(after)
        return keys

    def located(self, batch: Changed) -> Changed:
        """The batch with the keys under which its rows are now."""
        if not self.concern(batch.model):
            return batch
        width = len(batch.key)
        rows = []
        for row in batch.rows:
            key = tuple(row[:width])
            now = self.way(batch.model, key)[-1]
            if now != key:
                self._origin[batch.model, now] = key
            rows.append([*now, *row[width:]])
        return replace(batch, rows=rows)

    def found(self, model: str, key: Row, *, now: Row) -> None:
        """Somebody else's disguise has moved the row, of which no record here tells."""
        self._origin[model, now] = self._origin.get((model, key), key)

    def recorded(self, model: str, key: Row) -> Row:
        """The key that the row's record has, of a row that was `located` or `found` elsewhere."""
        return self._origin.get((model, key), key)

    def put_back(self, batch: Changed, rows: Sequence[Sequence[Any]]) -> None:
        """The key columns of these rows of ``batch`` have their old values again: say so in the records above."""
        columns = batch.key_columns()
        for row in rows if columns else ():
            key = tuple(row[: len(batch.key)])
            first = self._origin.get((batch.model, key), key)
            self.rewrite(batch, row, self.way(batch.model, first))
        if columns:
            self.forget()

    def rewrite(self, batch: Changed, row: Sequence[Any], keys: Sequence[Row]) -> None:
        """Put the old values of ``row``'s key columns into all records of the same row under these keys."""
        width = len(batch.key)
        old = {place: row[width + position] for place, position in batch.key_columns().items()}
        records = self._records_of(batch.model)
        for key in keys:
            for opened, found in records.get(key, ()):
                for place, value in old.items():
                    opened.put(found, place, value)

    def forget(self) -> None:
        """Records were rewritten, or moved between bags."""
        self._next = None
        self._records = {}

    def _known(self) -> dict[str, dict[Row, Row]]:
        if self._next is None:
            self._next = {}
            for _, batch in self._changes():
                columns = batch.key_columns()
                width = len(batch.key)
                for row in batch.rows if columns else ():
                    before = list(row[:width])
                    for place, position in columns.items():
                        before[place] = row[width + position]
                    self._next.setdefault(batch.model, {})[tuple(before)] = tuple(row[:width])
        return self._next

    def _records_of(self, model: str) -> dict[Row, list[Place]]:
        if model not in self._records:
            found: dict[Row, list[Place]] = {}
            for opened, batch in self._changes():
                for row in batch.rows if batch.model == model else ():
                    found.setdefault(tuple(row[: len(batch.key)]), []).append((opened, row))
            self._records[model] = found
        return self._records[model]

    def _changes(self) -> Iterator[tuple[Opened, Changed]]:
        for opened in self._others:
            yield from ((opened, batch) for batch in opened.diffs if isinstance(batch, Changed))
