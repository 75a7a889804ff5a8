"""Which rows are a pseudoprincipal's own: the one that it is, and its companions. They are edna's, and nobody's data.

Invariant: a row is one only if it names somebody of whom a key is known to speak for them, so that nobody's data is taken for a
placeholder. Works on records and rows that were read; reads no tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna.companions import links_to
from edna.db.rows import Row, table_of
from edna.engine.graph.references import recognisable, reference_of
from edna.records.diff import Changed, Removed


class PlaceholderRows:
    """The rows of these pseudoprincipals, and those beside them: ``references`` by the label of a principal model."""

    def __init__(self, references: Mapping[str, Collection[str]]) -> None:
        self._spoken = {model: keys for label, keys in references.items() if keys and (model := _model(label))}
        self._columns: dict[str, list[tuple[str, type[Model], bool]]] = {}

    @classmethod
    def spoken_for(cls, voices: Iterable[tuple[str, Iterable[Sequence[Any]]]]) -> PlaceholderRows:
        """Of those for whom speaks-for records speak, by the label of their model."""
        references: dict[str, set[str]] = {}
        for label, records in voices:
            if (model := _model(label)) is not None:
                references.setdefault(label, set()).update([reference_of(model, record[0]) for record in records])
        return cls(references)

    def __bool__(self) -> bool:
        return bool(self._spoken)

    def in_batch(self, batch: Removed | Changed, keys: Sequence[Row]) -> set[Row]:
        """Those of its rows' primary keys."""
        return self.among(batch.model, batch.layout, batch.rows, keys)

    def among(self, label: str, names: Sequence[str], rows: Sequence[Sequence[Any]], keys: Sequence[Row]) -> set[Row]:
        """Those of some rows of a table, with values of the columns ``names``, by their primary keys."""
        found: set[Row] = set()
        for column, model, is_drawn in self._columns_of(label):
            spoken = self._spoken[model]
            if column in names:
                place = names.index(column)
                whom = ((key, row[place]) for key, row in zip(keys, rows, strict=True))
                found.update(key for key, one in whom if one is not None and reference_of(model, one) in spoken)
            elif is_drawn:
                # A change says nothing of a column that it left alone; a key that edna has drawn tells.
                found.update(key for key in keys if key[0] < 0)
        return found

    def _columns_of(self, label: str) -> list[tuple[str, type[Model], bool]]:
        if label not in self._columns:
            self._columns[label] = list(columns_of(label, self._spoken))
        return self._columns[label]


def columns_of(label: str, models: Iterable[type[Model]]) -> Iterator[tuple[str, type[Model], bool]]:
    """The columns by which a row of this table says whether it is a placeholder of one of ``models``: each with that model, and whether
    the row's own key tells where the column is not known."""
    for model in models:
        table = table_of(model)
        if table.label == label:
            yield table.key_names[0], model, False
        for link in links_to(model):
            if link.target_field.primary_key and table_of(link.model).label == label:
                yield link.name, model, recognisable(link.model)


def _model(label: str) -> type[Model] | None:
    """None if there is no such model any more."""
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):
        return None
