"""Rows as the database has them, for tests that compare what was with what is; and all that a thief would read."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Model

from edna.testing.search import cells

#: Who comes back is logged in: the moment of the last login is not meant.
LAST_LOGIN = ("last_login", "lastLogin")

Rows = list[tuple[Any, ...]]


def dump(label: str, *others: str) -> dict[str, Rows]:
    """Every row of the application's tables, as the database has them, but when people logged in last; and of other models."""
    models = [*apps.get_app_config(label).get_models(include_auto_created=True), *map(apps.get_model, others)]
    return {model._meta.db_table: _rows(model) for model in models}


def _rows(model: type[Model]) -> Rows:
    """By primary key."""
    quote = connection.ops.quote_name
    key = ", ".join(quote(field.column) for field in model._meta.pk_fields)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {quote(model._meta.db_table)} ORDER BY {key}")
        kept = [place for place, column in enumerate(cursor.description) if column[0] not in LAST_LOGIN]
        return [tuple(_plain(row[place]) for place in kept) for row in cursor.fetchall()]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value


def thief() -> str:
    """Everything that somebody with a copy of the database can read: each value on a line of its own."""
    return "\n".join(["", *(content.decode("utf-8", "replace") for _, content in cells()), ""])
