"""Rows whose primary key a disguise has changed, because it says whose the row is: where each of them is to be found now.

A record names its row by the key that the row had right after its own disguise. Later disguises of the same principal may have
moved the row on, from key to key; their records tell. When a record is taken out from below, because it was revealed or folded,
those above it speak of a row whose key is now partly another one: they are rewritten. Works on opened records, and writes nothing
but records. Nothing is done, row by row, for tables whose keys no record changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from edna.db.rows import Row
from edna.engine.layers.stack import Stack
from edna.records.diff import Changed


class Moves:
    """Where the rows of a revealed bag are, as the records in ``stack`` tell."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        #: For rows that `located` found elsewhere: the keys that their records had.
        self._origin: dict[tuple[str, Row], Row] = {}

    def located(self, batch: Changed) -> Changed:
        """The batch with the keys under which its rows are now."""
        if not self._stack.changes_keys(batch.model):
            return batch
        width = len(batch.key)
        rows = []
        for row in batch.rows:
            key = tuple(row[:width])
            now = self._stack.way(batch.model, key)[-1]
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
            self._stack.rewrite(batch, row, self._stack.way(batch.model, first))
        if columns:
            self._stack.forget(batch.model)
