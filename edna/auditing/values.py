"""The values of one person, to be looked for: from the rows that a disguise would take, from what is sealed, or as they are given.

Which are worth looking for: what stands in text columns and is long enough to say something. Holds plaintext: what is made of it tells
where each value comes from, and never the value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import connections
from django.db.models import CharField, Field, FileField, ForeignKey, GenericIPAddressField, JSONField, Model, TextField

from edna import api, inner_door, json_keys, personal_columns, registry, shards
from edna.auditing.matching import leaves, needle
from edna.auditing.treatment import principals
from edna.coverage import tables_of_object
from edna.personal_columns import Looks

#: By the name of a table: its rows by their keys as text, each with the columns (or `meta__name`, a key of one) that are meant, or None
#: for all.
Rows = dict[str, dict[tuple[str, ...], set[str] | None]]


@dataclass(frozen=True)
class Value:
    """``origin`` is the column that it comes from. ``table`` and ``column`` are the names in the database, if it has any.

    ``only_in``: it is looked for in these rows alone; elsewhere it may stand.
    """

    text: str = field(repr=False)
    origin: str
    table: str = ""
    column: str = ""
    only_in: bool = False


@dataclass
class Values:
    """What to look for, and where not. ``hidden``: what the disguise takes away, and is not there any more once it is applied.

    ``touched``: rows that stay and have been given away or changed. ``unopened``: bags of the person that could not be opened.
    """

    of: str
    disguise: str = ""
    by_needle: dict[str, list[Value]] = field(default_factory=dict, repr=False)
    #: By table, the key of the person's own row.
    own: dict[str, tuple[str, ...]] = field(default_factory=dict)
    hidden: Rows = field(default_factory=dict)
    touched: Rows = field(default_factory=dict)
    files: set[str] = field(default_factory=set, repr=False)
    too_short: int = 0
    unopened: int = 0
    #: By table, the disguises that may have given rows of it away before: without the key, nobody knows what stands in them.
    beyond_reach: dict[str, list[str]] = field(default_factory=dict)

    def add(self, value: Value) -> None:
        wanted = needle(value.text)
        if wanted is None:
            self.too_short += bool(value.text.strip())
            return
        known = self.by_needle.setdefault(wanted, [])
        if value not in known:
            known.append(value)

    def add_cell(self, model: type[Model] | None, name: str, raw: Any, *, label: str, only_in: bool = False) -> None:
        """What stands in a column of a row, if it is text."""
        column = _column(model, name)
        if raw is None or (column is not None and not _is_worth_looking_for(column)):
            return
        table = column.model._meta.db_table if column is not None else ""
        stored = column.column if column is not None else ""
        if isinstance(column, JSONField) and isinstance(raw, str):
            raw = _document(raw)
        elif column is not None and not isinstance(raw, str | dict | list):
            raw = str(raw)
        for text in leaves(raw):
            self.add(Value(text, f"{label}.{name}", table, stored, only_in))

    def hide(self, model: type[Model], key: tuple[str, ...], columns: Iterable[str] | None) -> None:
        _note(self.hidden, model, key, columns)

    def touch(self, model: type[Model], key: tuple[str, ...]) -> None:
        _note(self.touched, model, key, None)


def given(lines: Iterable[str]) -> Values:
    """One a line, known by their numbers."""
    values = Values("the given values")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            values.add(Value(line.strip(), f"line {number}"))
    return values


def of_plan(plan: api.Plan, principal: Model) -> Values:
    """Of somebody in plain sight: what a disguise would take from them."""
    of = f"{principal._meta.label} {principal.pk}{shards.in_words()}"
    values = Values(of, plan.disguise.name, beyond_reach=plan.beyond_reach)
    removes_account = False
    for step in plan.steps:
        model, word = step.table.model, step.operation.word
        if word == "remove" and model is plan.principal_model._meta.concrete_model:
            removes_account = True
        hidden = None if word == "remove" else [*step.columns[len(step.table.key) :]]
        names = step.columns if word == "remove" else hidden if word == "modify" else ()
        for key, row in zip(step.primary_keys(), step.rows, strict=True):
            values.hide(model, as_key(key), hidden)
            if word != "remove":
                values.touch(model, as_key(key))
            for name, raw in zip(step.columns, row, strict=True):
                if name in (names or ()):
                    values.add_cell(model, name, raw, label=model._meta.label)
                    if isinstance(_column(model, name), FileField):
                        values.files.add(str(raw))
    _add_who_they_are(values, principal, everywhere=removes_account)
    _note_own_row(values, principal)
    return values


def of_sealed(unlocked: api.Unlocked) -> Values:
    """Of somebody who is disguised, and has given their key: what their bags hold."""
    sealed = inner_door.sealed_values(unlocked)
    values = Values(f"who has given the key{shards.in_words(unlocked.using)}", unopened=sealed.unopened)
    for label, name, raw in sealed.values:
        model = _model(label)
        values.add_cell(model, name, raw, label=model._meta.label if model else label)
    principal = api.principal(unlocked)
    if principal is not None:
        _note_own_row(values, principal)
    return values


def known_by() -> set[tuple[str, str]]:
    """The columns, by table, of what tells principals from each other: the name they log in with, and their e-mail address."""
    return {
        (column.model._meta.db_table, column.column)
        for model in principals()
        for column in model._meta.concrete_fields
        if isinstance(column, CharField | TextField)
        and (
            column.name == getattr(model, "USERNAME_FIELD", "")
            or personal_columns.looks(column) is Looks.EMAIL
            or (column.unique and personal_columns.says_who(column))
        )
    }


def _add_who_they_are(values: Values, principal: Model, *, everywhere: bool) -> None:
    """What says who somebody is, in their own row. As long as the account stays, it is not looked for but in what was taken from it."""
    for column in principal._meta.concrete_fields:
        if personal_columns.says_who(column):
            raw = column.value_from_object(principal)
            values.add_cell(column.model, column.name, raw, label=principal._meta.label, only_in=not everywhere)


def _note_own_row(values: Values, principal: Model) -> None:
    """Of an account that stays: what stands there names nobody else."""
    connection = connections[registry.database_of(principal, type(principal))]
    for table in tables_of_object(principal._meta.concrete_model or type(principal)):
        key = principal._meta.pk.get_db_prep_value(principal.pk, connection)
        values.own[table._meta.db_table] = as_key([key])


def as_key(key: Iterable[Any]) -> tuple[str, ...]:
    """A primary key as text: drivers give the same key in several types."""
    return tuple(str(bytes(part) if isinstance(part, memoryview) else part) for part in key)


def _note(rows: Rows, model: type[Model], key: tuple[str, ...], columns: Iterable[str] | None) -> None:
    known = rows.setdefault(model._meta.db_table, {})
    if columns is None:
        known[key] = None
        return
    names = {
        column.column + name.removeprefix(json_keys.column(name))
        for name in columns
        if (column := _column(model, name)) is not None
    }
    before = known.get(key, set())
    known[key] = None if before is None else before | names


def _is_worth_looking_for(column: Field[Any, Any]) -> bool:
    if isinstance(column, ForeignKey) or column.choices:
        return False
    return isinstance(column, CharField | TextField | FileField | GenericIPAddressField | JSONField)


def _model(label: str) -> type[Model] | None:
    try:
        return apps.get_model(label)
    except (LookupError, ValueError):
        return None


def _document(raw: str) -> Any:
    """Of a JSON column, or of a key of one: null and numbers are nobody's name."""
    try:
        return json.loads(raw)
    except ValueError:
        return raw


def _column(model: type[Model] | None, name: str) -> Field[Any, Any] | None:
    try:
        column = model._meta.get_field(json_keys.column(name)) if model is not None else None
    except FieldDoesNotExist:
        return None
    return column if isinstance(column, Field) else None
