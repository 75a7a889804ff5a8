"""Checks of tables as the database has them: what its own description says, and the models do not.

A schema that others have made does more than models tell: it computes columns, deletes rows of other tables along, notes each change in a
copy. Knows models and what each database says of its tables (one module each); writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning
from django.db import DatabaseError, connections
from django.db.models import Field, ForeignKey, Model

from edna import registry
from edna.checks.catalogue import mysql, postgresql, sqlite
from edna.checks.catalogue.description import Description
from edna.checks.settings import homes_of, principal_models
from edna.checks.steps import usable_steps
from edna.spec import Keep, Remove

_READERS: Final = {"mysql": mysql.read, "postgresql": postgresql.read, "sqlite": sqlite.read}
Tables = Mapping[str, list[type[Model]]]


def check_tables(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Asks the databases themselves. Tagged ``database``."""
    messages: list[CheckMessage] = []
    for alias in databases or ():
        models = _models() if any(alias in homes_of(model) for model in principal_models()) else {}
        read = _READERS.get(connections[alias].vendor)
        if not models or read is None:
            continue
        try:
            with connections[alias].cursor() as cursor:
                found = read(cursor, {model._meta.db_table for model in models})
        except DatabaseError:
            continue  # may not read the schema's description: then there is nothing to say
        owners = _by_table()
        for model, is_removed in models.items():
            if (described := found.get(model._meta.db_table)) is not None:
                messages += _of_one(model, described, owners, is_removed=is_removed)
    return messages


def _models() -> dict[type[Model], bool]:
    """Whose rows disguises change, and whether one removes them; of several tables for one model, each."""
    found: dict[type[Model], bool] = {}
    for disguise in registry.disguises().values():
        for step in usable_steps(disguise):
            if isinstance(step, Keep):
                continue
            concrete = step.model._meta.concrete_model or step.model
            for model in (concrete, *concrete._meta.get_parent_list()) if isinstance(step, Remove) else (concrete,):
                found[model] = found.get(model, False) or isinstance(step, Remove)
    return found


def _by_table() -> Tables:
    tables: dict[str, list[type[Model]]] = {}
    for model in apps.get_models(include_auto_created=True):
        tables.setdefault(model._meta.db_table.casefold(), []).append(model)
    return tables


def _columns(models: Sequence[type[Model]]) -> dict[str, Field[Any, Any]]:
    return {str(field.column).casefold(): field for model in models for field in model._meta.local_concrete_fields}


def _of_one(model: type[Model], described: Description, owners: Tables, *, is_removed: bool) -> Iterator[CheckMessage]:
    own = _columns(owners[model._meta.db_table.casefold()])
    if is_removed:
        yield from _of_columns(model, described, own)
        yield from _of_other_tables(model, described, owners)
    if described.acts:
        yield Warning(
            f"The database does something by itself in the table {model._meta.db_table}: {_listed(described.acts)}. It may keep what a "
            "disguise takes away, or change what a reveal puts back.",
            hint="Look at each: does it copy rows, or values, or set a column? edna sees neither, and notices only rows that it keeps. "
            "Silence edna.W078 if none does.",
            obj=model,
            id="edna.W078",
        )
    inexact = [name for name, column in described.columns.items() if column.inexact and name.casefold() in own]
    if inexact:
        yield Warning(
            f"The database's driver does not give the whole of each value in {_listed(inexact)} of the table {model._meta.db_table}: FLOAT "
            "of MySQL and MariaDB comes with six digits, an interval of PostgreSQL without its months. That is what comes back.",
            hint="ALTER the columns: to DOUBLE, or to a number of seconds.",
            obj=model,
            id="edna.W079",
        )


def _of_columns(
    model: type[Model], described: Description, own: Mapping[str, Field[Any, Any]]
) -> Iterator[CheckMessage]:
    label, table = model._meta.label, model._meta.db_table
    columns = described.columns.items()
    if unknown := [name for name, column in columns if name.casefold() not in own and not column.generated]:
        yield Warning(
            f"{label} has no field for {_listed(unknown)} of the table {table}: rows that a disguise removes come back without what "
            "stands there.",
            hint="Add the fields to the model. manage.py inspectdb does not see columns that are INVISIBLE.",
            obj=model,
            id="edna.W074",
        )
    computed = [name for name, column in columns if column.generated and name.casefold() in own]
    if plain := [name for name in computed if not getattr(own[name.casefold()], "generated", False)]:
        yield Error(
            f"The database computes {_listed(plain)} of the table {table}, and {label} has plain fields for that: it would refuse removed "
            "rows when they come back.",
            hint="Make each a models.GeneratedField, or take it out of the model.",
            obj=model,
            id="edna.E075",
        )


def _of_other_tables(model: type[Model], described: Description, owners: Tables) -> Iterator[CheckMessage]:
    table = model._meta.db_table
    along = [
        f"{other}.{column}"
        for other, column in described.changes_along
        if not isinstance(_columns(owners.get(other.casefold(), ())).get(column.casefold()), ForeignKey)
    ]
    if along:
        yield Error(
            f"Where a row of the table {table} goes, the database deletes or empties what refers to it by {_listed(along)}. No model says "
            "so, so edna does not keep that, and it does not come back.",
            hint="Give these tables models with foreign keys, and cover them in the disguise.",
            obj=model,
            id="edna.E076",
        )
    if described.inheriting:
        yield Error(
            f"Rows of {_listed(described.inheriting)}, which inherit from the table {table}, are its rows, too: they would go with them, "
            "and come back to this table without what is their own.",
            hint="PostgreSQL's INHERITS is not supported in tables of which a disguise removes rows.",
            obj=model,
            id="edna.E077",
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names))
