"""Reads all that somebody with a copy of the database can read: every row of every table, a page at a time, and what sessions hold.

Knows no model but the sessions': tables that no model stands for are read, too.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

from django.apps import apps
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model, UUIDField

_ROWS_AT_ONCE: Final = 2_000

Row = tuple[Any, ...]


def tables(*, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    connection = connections[using]
    with connection.cursor() as cursor:
        # How many rows each of SQLite's indexes has, once somebody has asked for it: names of tables, and numbers.
        return sorted({*connection.introspection.table_names(cursor)} - {"sqlite_stat1"})


def columns(table: str, *, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    # Not by Django's introspection, which on SQLite parses the definition of every table, and takes longer than all else here.
    connection = connections[using]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)} LIMIT 0")
        return [column[0] for column in cursor.description]


def keys(table: str, *, using: str = DEFAULT_DB_ALIAS) -> list[str]:
    """The columns of the primary key; none if there is none."""
    if (model := _model(table)) is not None:
        return [field.column for field in getattr(model._meta, "pk_fields", None) or [model._meta.pk]]
    connection = connections[using]
    with connection.cursor() as cursor:
        return list(connection.introspection.get_primary_key_columns(cursor, table) or ())


def has_uuid_key(table: str) -> bool:
    """Some databases keep it as text."""
    model = _model(table)
    return model is not None and isinstance(model._meta.pk, UUIDField)


@functools.cache
def _model(table: str) -> type[Model] | None:
    models = apps.get_models(include_auto_created=True, include_swapped=True)
    return next((model for model in models if model._meta.db_table == table), None)


def pages(table: str, *, using: str = DEFAULT_DB_ALIAS) -> Iterator[tuple[list[str], list[Row]]]:
    """Columns and rows, some thousand rows at a time: by the primary key where it is one column, else as the driver hands them out."""
    connection = connections[using]
    key = keys(table, using=using)
    if len(key) == 1:
        yield from _by_key(table, key[0], connection)
        return
    with connection.chunked_cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            yield [column[0] for column in cursor.description], list(rows)


def _by_key(table: str, key: str, connection: BaseDatabaseWrapper) -> Iterator[tuple[list[str], list[Row]]]:
    quote = connection.ops.quote_name
    condition, last = "", list[Any]()
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT * FROM {quote(table)}{condition} ORDER BY {quote(key)} LIMIT {_ROWS_AT_ONCE}", last or None
            )
            names = [column[0] for column in cursor.description]
            rows = list(cursor.fetchall())
        if rows:
            yield names, rows
        if len(rows) < _ROWS_AT_ONCE:
            return
        condition, last = f" WHERE {quote(key)} > %s", [rows[-1][names.index(key)]]


def session_table() -> str | None:
    if not apps.is_installed("django.contrib.sessions"):
        return None
    return str(_session_model()._meta.db_table)


def session_contents(*, using: str = DEFAULT_DB_ALIAS) -> list[Any]:
    return [session.get_decoded() for session in _session_model().objects.using(using)]


def session_content(session_data: str) -> Any:
    """What a session holds, which its column has in an encoded form."""
    return _session_model()(session_data=session_data).get_decoded()


def _session_model() -> Any:
    return import_module("django.contrib.sessions.models").Session
