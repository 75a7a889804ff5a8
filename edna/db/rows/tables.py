"""Tables as raw rows are of them: a model's stored columns and its key. Knows models; sends no statement."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Field, ForeignKey, JSONField, Model, TimeField

from edna import json_keys
from edna.errors import ConstraintRefused

Row = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """A model's own table, of which there is one: its stored columns, generated ones left out because the database computes them."""

    model: type[Model]
    fields: tuple[Field[Any, Any], ...]
    key: tuple[Field[Any, Any], ...]

    @functools.cached_property
    def label(self) -> str:
        return self.model._meta.label_lower

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields)

    @functools.cached_property
    def key_names(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.key)

    @functools.cached_property
    def links_within(self) -> tuple[str, ...]:
        """Foreign keys from the table to itself that may be NULL: a tree's parents."""
        links = [f for f in self.fields if isinstance(f, ForeignKey) and f.null and getattr(f, "db_constraint", True)]
        return tuple(f.name for f in links if f.target_field.model is self.model)

    def field(self, name: str) -> Field[Any, Any]:
        """The column, also of a single key in it."""
        if name not in self._by_name:
            self._by_name[name] = self.model._meta.get_field(json_keys.column(name))  # type: ignore[assignment]  # no relation
        return self._by_name[name]

    def quoted(self, names: Iterable[str], quote: Callable[[str], str]) -> list[str]:
        """Columns as statements name them."""
        return [quote(self.field(name).column) for name in names]

    @functools.cached_property
    def times_of_day(self) -> frozenset[str]:
        return frozenset(field.name for field in self.fields if isinstance(field, TimeField))

    @functools.cached_property
    def _by_name(self) -> dict[str, Field[Any, Any]]:
        return {field.name: field for field in self.fields}

    def unknown(self, names: Iterable[str]) -> list[str]:
        """Those of ``names`` that are no column of the table, nor a key of a JSON column."""
        return [name for name in names if name not in self.names and not self._has_key(name)]

    def _has_key(self, name: str) -> bool:
        column = json_keys.column(name)
        if not json_keys.is_key(name) or column not in self.names:
            return False
        return isinstance(self.field(column), JSONField) or json_keys.is_element_of_text(name)


def not_done(table: Table, what: str) -> ConstraintRefused:
    """For a statement that did less than it was told, and said nothing: whoever was told that rows are gone would be deceived."""
    return ConstraintRefused(
        f"The database was told to {what} rows of {table.label}, and left some as they were. Is there a trigger, a rule or a policy of its "
        "own on that table, or a key that cannot be compared exactly, such as FLOAT? Nothing was changed."
    )


@functools.cache
def table_of(model: type[Model]) -> Table:
    model = model._meta.concrete_model or model
    meta = model._meta
    fields = tuple(field for field in meta.local_concrete_fields if not getattr(field, "generated", False))
    key = tuple(getattr(meta, "pk_fields", None) or [meta.pk])
    return Table(model, fields, key)
