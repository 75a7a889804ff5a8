"""Changes of rows that wait to be written together: what several steps of a disguise do to one table is one statement, if it can be.

Invariant: a change of what others refer to comes before all that were added later, and after all that were added earlier; changes of
one table keep their order. Knows tables and rows; writes the application's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import Row, Table


@dataclass
class _Change:
    """New values by key, in the order of ``names``; a column in ``partial`` stays as it is where its value is None."""

    names: tuple[str, ...]
    rows: dict[Row, Row]
    partial: frozenset[str] = frozenset()

    def with_other(self, other: _Change) -> _Change | None:
        """Both at once; None if the one has to come before the other, or values cannot tell which rows it is about."""
        if set(self.names) & set(other.names):
            return None
        keys = dict.fromkeys([*self.rows, *other.rows])
        lacking = [each for each in (self, other) if len(each.rows) < len(keys)]
        if not all(type(value) in (int, bool) for each in lacking for row in each.rows.values() for value in row):
            return None
        first, second = (None,) * len(self.names), (None,) * len(other.names)
        rows = {key: (*self.rows.get(key, first), *other.rows.get(key, second)) for key in keys}
        partial = self.partial | other.partial | {name for each in lacking for name in each.names}
        return _Change((*self.names, *other.names), rows, partial)


@dataclass
class Writes:
    """What is to be written: stage by stage, in each by table."""

    using: str
    _stages: list[dict[Table, list[_Change]]] = field(default_factory=lambda: [{}])

    def add(self, table: Table, names: Sequence[str], rows: Sequence[Row]) -> None:
        """As for `rows.update`; the key is not among the columns."""
        width = len(table.key)
        change = _Change(tuple(names), {row[:width]: row[width:] for row in rows})
        if not rows:
            return
        if any(relation.field.target_field.name in names for relation in relations_to(table.model)):
            # Rows of other tables must have been led away from the old values before, or are led to the new ones after.
            self._stages += [{table: [change]}, {}]
            return
        waiting = self._stages[-1].setdefault(table, [])
        both = waiting[-1].with_other(change) if waiting else None
        waiting[-1:] = [both] if both else [*waiting[-1:], change]

    def flush(self) -> None:
        for stage in self._stages:
            for table, changes in stage.items():
                for change in changes:
                    rows = [(*key, *values) for key, values in change.rows.items()]
                    raw.update_each(table, change.names, rows, kept=change.partial, using=self.using)
        self._stages = [{}]
