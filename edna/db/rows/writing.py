"""Inserts and deletes raw rows of any table in bulk.

Invariant: each function takes a number of statements that does not depend on the rows, but for packets that grow too large.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from typing import Any, Final

from django.db import DataError, IntegrityError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import Field

from edna.db.cursors import connection_of, cursor_of
from edna.db.packed_values import packed
from edna.db.rows.arrays import rows_of_arrays
from edna.db.rows.binding import among, as_single, bindable, binds_on_the_server, marks_for, one_key, packets, plain
from edna.db.rows.reading import read
from edna.db.rows.tables import Row, Table, not_done

_SAVEPOINT: Final = "edna_insert"


def in_one_statement(rows: Sequence[Row], *, using: str) -> bool:
    """Whether `insert` and `update` write these rows in one statement that the database undoes by itself if it refuses a row.

    PostgreSQL would not go on in the transaction; SQLite takes a statement for each row.
    """
    connection = connection_of(using)
    return connection.vendor == "mysql" and len(list(packets(rows, connection))) == 1


def insert(table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str) -> None:
    connection = connection_of(using)
    head = _head(table, names, rows, connection)
    # One of its own: a cursor keeps what was sent through it last, and a piece of a file is large.
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executemany(f"{head}VALUES ({marks_for(len(names))})", bindable(table, names, rows))
            return
        for packet in packets(rows, connection):
            given, params = _given(table, names, packet, connection)
            cursor.execute(head + given, params)


def _head(table: Table, names: Sequence[str], rows: Sequence[Row], connection: BaseDatabaseWrapper) -> str:
    """An INSERT up to the columns, under the very keys that rows have, also where the database likes to count by itself."""
    quote = connection.ops.quote_name
    columns = ", ".join(table.quoted(names, quote))
    head = f"INSERT INTO {quote(table.model._meta.db_table)} ({columns}) "
    if connection.vendor == "postgresql":
        # A column of others' tables may be GENERATED ALWAYS AS IDENTITY.
        return f"{head}OVERRIDING SYSTEM VALUE "
    keys = [names.index(name) for name in table.key_names if name in names]
    # For zero it would count on instead.
    if getattr(connection, "mysql_is_mariadb", False) and any(0 in [row[key] for row in rows] for key in keys):
        return f"SET STATEMENT sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO') FOR {head}"
    return head


def _given(
    table: Table, names: Sequence[str], rows: Sequence[Row], connection: BaseDatabaseWrapper
) -> tuple[str, list[Any]]:
    """What stands behind the columns of an INSERT, and its parameters."""
    if connection.vendor == "mysql":
        return "VALUES (%s)", [packed(rows, connection, between="),(")]
    if (selected := rows_of_arrays(table, names, rows, connection)) is not None:
        return selected
    values = ", ".join([f"({marks_for(len(row))})" for row in rows])
    return f"VALUES {values}", as_single([value for row in rows for value in row], connection)


def insert_free(
    table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str, with_savepoint: bool = False
) -> set[Row]:
    """Insert those rows whose unique values are free, and return their keys.

    For PostgreSQL, which writes a statement that fails into its log, with the values in it: this one does not fail. ``with_savepoint``, if
    `can_send_savepoints`, the transaction goes on where a row is refused for another reason, and none of them is there.
    """
    connection = connection_of(using)
    keys = ", ".join(connection.ops.quote_name(field.column) for field in table.key)
    head = _head(table, names, rows, connection)
    inserted: set[Row] = set()
    with cursor_of(connection) as cursor:
        for packet in (rows,) if with_savepoint else packets(rows, connection):
            given, params = _given(table, names, packet, connection)
            sql = f"{head}{given} ON CONFLICT DO NOTHING RETURNING {keys}"
            if with_savepoint:
                _execute_with_savepoint(cursor, sql, params)
            else:
                cursor.execute(sql, params)
            inserted |= set(plain(cursor.fetchall(), connection))
    return inserted


@functools.lru_cache(maxsize=256)
def can_leave_taken(table: Table, *, using: str) -> bool:
    """Whether PostgreSQL lets `insert_free` have this table: none of its constraints can be deferred, and no rule writes instead of it.
    Asked once."""
    connection = connection_of(using)
    with cursor_of(connection) as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass(%(name)s) AND condeferrable"
            " AND contype IN ('p', 'u', 'x'))"
            " OR EXISTS (SELECT 1 FROM pg_rewrite WHERE ev_class = to_regclass(%(name)s) AND ev_type IN ('2', '3'))",
            {"name": connection.ops.quote_name(table.model._meta.db_table)},
        )
        [(refused,)] = cursor.fetchall()
    return not refused


def can_send_savepoints(rows: Sequence[Row], *, using: str) -> bool:
    """Whether PostgreSQL takes these rows in one packet, and a savepoint with it. A driver that binds on the server sends one statement at
    a time; psycopg2 keeps the last answer alone."""
    connection = connection_of(using)
    if connection.vendor != "postgresql" or binds_on_the_server(connection):
        return False
    driver = type(connection.connection).__module__.partition(".")[0]
    return driver == "psycopg" and len(list(packets(rows, connection))) == 1


def _execute_with_savepoint(cursor: CursorWrapper, sql: str, params: Sequence[Any]) -> None:
    """To and fro once, where Django's savepoints take three times. The cursor has the answer to ``sql``."""
    try:
        cursor.execute(f"SAVEPOINT {_SAVEPOINT}; {sql}; RELEASE SAVEPOINT {_SAVEPOINT}", params)
    except (IntegrityError, DataError):
        cursor.execute(f"ROLLBACK TO SAVEPOINT {_SAVEPOINT}; RELEASE SAVEPOINT {_SAVEPOINT}")
        raise
    cursor.nextset()


def delete(table: Table, keys: Sequence[Row], *, using: str) -> int:
    """Delete the rows with these primary keys, and return how many there were."""
    connection = connection_of(using)
    if keys and connection.vendor == "sqlite":
        name = connection.ops.quote_name(table.model._meta.db_table)
        with cursor_of(connection) as cursor:
            cursor.executemany(f"DELETE FROM {name} WHERE {one_key(table, connection)}", keys)
            return int(cursor.rowcount)
    return _delete(table, table.key, keys, connection)


def delete_each(table: Table, keys: Sequence[Row], *, using: str) -> None:
    """Delete the rows with these primary keys, all of which are there.

    Raises:
        ConstraintRefused: some are there still, and the database said nothing.
    """
    if delete(table, keys, using=using) >= len(set(keys)):
        return
    # A row that went with another one, as in a tree, is not counted. A key that is no exact value finds nothing.
    exact = not any(type(value) in (float, bytes, datetime.timedelta) for key in keys for value in key)
    if not exact or read(table, table.key_names, keys, lock=False, using=using):
        raise not_done(table, "delete")


def delete_where(table: Table, column: str, values: Sequence[Any], *, using: str) -> None:
    """Delete the rows whose ``column`` has one of ``values``."""
    _delete(table, (table.field(column),), [(value,) for value in values], connection_of(using))


def _delete(
    table: Table, match: Sequence[Field[Any, Any]], wanted: Sequence[Row], connection: BaseDatabaseWrapper
) -> int:
    deleted = 0
    for packet in packets(wanted, connection):
        condition, params = among(match, packet, connection)
        with cursor_of(connection) as cursor:
            name = connection.ops.quote_name(table.model._meta.db_table)
            cursor.execute(f"DELETE FROM {name} WHERE {condition}", params)
            deleted += cursor.rowcount
    return deleted


def check_deferred(constraints: Sequence[str], *, using: str) -> None:
    """Check these deferred constraints (PostgreSQL's) now, and go on deferring them.

    Raises:
        IntegrityError
    """
    connection = connection_of(using)
    names = ", ".join(map(connection.ops.quote_name, constraints))
    with cursor_of(connection) as cursor:
        cursor.execute(f"SET CONSTRAINTS {names} IMMEDIATE")
        cursor.execute(f"SET CONSTRAINTS {names} DEFERRED")
