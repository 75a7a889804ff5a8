"""After a test with transactions of its own the database is emptied: to the same as by Django's `flush`, in a tenth of its time.

`flush` empties every table, and `migrate`'s receivers fill some of them again: content types, permissions, the server's keys that the
database knows. They write the same each time, so they are asked once: after that, what they wrote stays, or is put back where a test has
changed it. Where they have something else to go by (applications, settings, disguises, another database), they are asked again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connections, transaction
from django.test import TransactionTestCase

from edna import registry, serverkeys

Rows = list[tuple[Any, ...]]

#: So many may be free in SQLite's file: about as many as hold the empty tables.
_FREE_PAGES = 500

#: By what the receivers go by: what they have written, by table.
_filled: dict[tuple[Any, ...], dict[str, Rows]] = {}


def install(patch: pytest.MonkeyPatch) -> None:
    """For every test of this process."""
    flush = TransactionTestCase._fixture_teardown

    def empty(case: TransactionTestCase) -> None:
        aliases = case._databases_names(include_mirrors=False)
        if case.available_apps is not None or case.serialized_rollback or not all(map(_emptied, aliases)):
            flush(case)
            for alias in aliases:
                rows = {table: _rows(alias, table) for table in _tables(alias)}
                _filled[_basis(alias)] = {table: found for table, found in rows.items() if found}
        for alias in aliases:
            _shrink(alias)

    patch.setattr(TransactionTestCase, "_fixture_teardown", empty)


def empty_now() -> None:
    """In the middle of a test, as after it."""
    TransactionTestCase("run")._fixture_teardown()


def _emptied(alias: str) -> bool:
    """Whether it is as `flush` would leave it by now."""
    filled = _filled.get(_basis(alias))
    if filled is None:
        return False
    connection = connections[alias]
    changed = {table for table, rows in filled.items() if _rows(alias, table) != rows}
    tables = [table for table in _tables(alias) if table not in filled or table in changed]
    tables = tables if connection.vendor != "postgresql" else _truncated(alias, tables)
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))
    again = filled.keys() & tables
    with connection.constraint_checks_disabled(), transaction.atomic(using=alias), connection.cursor() as cursor:
        for table in again:
            marks = ", ".join(["%s"] * len(filled[table][0]))
            cursor.executemany(f"INSERT INTO {connection.ops.quote_name(table)} VALUES ({marks})", filled[table])
        models = [model for model in apps.get_models() if model._meta.db_table in again]
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)
    # What this process remembers of these tables is what the receivers let it remember.
    ContentType.objects.clear_cache()
    serverkeys.introduce(using=alias)
    return all(_rows(alias, table) == filled[table] for table in again)


def _shrink(alias: str) -> None:
    """SQLite's file keeps the pages of rows that are gone. After a test with very many, each one that copies the file, or looks through it
    as a thief would, would do so with megabytes of nothing."""
    connection = connections[alias]
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        [free] = cursor.execute("PRAGMA freelist_count").fetchone()
        if free > _FREE_PAGES:
            cursor.execute("VACUUM")


def _basis(alias: str) -> tuple[Any, ...]:
    place = connections[alias].settings_dict
    database = (place["HOST"], place["NAME"])
    return (alias, *database, tuple(settings.INSTALLED_APPS), repr(settings.EDNA), tuple(sorted(registry.disguises())))


def _tables(alias: str) -> list[str]:
    """Those that `flush` empties."""
    return list(connections[alias].introspection.django_table_names(only_existing=True, include_views=False))


def _truncated(alias: str, tables: Collection[str]) -> list[str]:
    """On PostgreSQL, those of them with anything in their files, and all that refer to these: each that is truncated gets new files.
    Rows that are gone keep their places until then."""
    with connections[alias].cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE filled(oid) AS ("
            " SELECT oid FROM pg_class WHERE relkind = 'r' AND relname = ANY(%s) AND pg_relation_size(oid) > 0"
            " UNION SELECT conrelid FROM pg_constraint JOIN filled ON confrelid = filled.oid WHERE contype = 'f'"
            ") SELECT relname FROM pg_class JOIN filled USING (oid) WHERE pg_table_is_visible(oid)",
            [list(tables)],
        )
        return [name for (name,) in cursor.fetchall()]


def _rows(alias: str, table: str) -> Rows:
    connection = connections[alias]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
        return sorted(cursor.fetchall(), key=repr)
