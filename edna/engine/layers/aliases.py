"""By which value a foreign key refers to a principal: its primary key, or the column that ``to_field`` names.

Everything else in a reveal speaks of principals by primary key; here is where that is translated. Reads the principals' table, in
one statement, and only if a foreign key does refer to another column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models import Model

from edna import coverage
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.bags.opened_bag import Opened
from edna.records.diff import Removed, RowBatch


class Aliases:
    """The values of these principals, whose rows are in their table or in one of ``bags``."""

    def __init__(self, model: type[Model], keys: Iterable[Any], bags: Sequence[Opened], *, using: str) -> None:
        table = table_of(model)
        self._columns: dict[tuple[str, str], str] = {}
        for relation in relations_to(model):
            target = relation.field.target_field
            if not target.primary_key:
                self._columns[table_of(relation.model).label, relation.field.name] = target.name
        #: By column and primary key.
        self._values: dict[str, dict[Any, Any]] = {}
        columns = list(dict.fromkeys(self._columns.values()))
        if columns:
            wanted = {(key,) for key in keys}
            found = [
                (row[table.names.index(table.key[0].name)], *(row[table.names.index(name)] for name in columns))
                for row in _sealed_rows(table.label, table.names, bags)
            ]
            names = (*table.key_names, *columns)
            found += raw.read(table, names, sorted(wanted, key=str), lock=False, using=using)
            for position, name in enumerate(columns, start=1):
                self._values[name] = {row[0]: row[position] for row in found if (row[0],) in wanted}

    def owners(self, model: str, name: str, owners: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """``owners``, from primary key to primary key, as the values that the column has for them."""
        column = self._columns.get((model, name))
        if column is None:
            return owners
        values = self._values[column]
        return {values[key]: values[owner] for key, owner in owners.items() if key in values and owner in values}

    def keys(self, relation: coverage.Relation, values: Iterable[Any]) -> set[Any]:
        """The primary keys of those whom these values of a foreign key mean."""
        return set(self._translated(table_of(relation.model).label, relation.field.name, values))

    def owners_in(self, batch: RowBatch) -> list[Any]:
        """The primary keys of those at whom a decorrelation has pointed its rows, row by row."""
        return self._translated(batch.model, batch.columns[-1], [row[-1] for row in batch.rows])

    def _translated(self, model: str, name: str, values: Iterable[Any]) -> list[Any]:
        column = self._columns.get((model, name))
        if column is None:
            return list(values)
        keys = {value: key for key, value in self._values[column].items()}
        return [keys.get(value) for value in values]


def _sealed_rows(label: str, names: Sequence[str], bags: Sequence[Opened]) -> list[Sequence[Any]]:
    return [
        [row[batch.columns.index(name)] for name in names]
        for opened in bags
        for batch in opened.diffs
        if isinstance(batch, Removed) and batch.model == label and set(names) <= set(batch.columns)
        for row in batch.rows
    ]
