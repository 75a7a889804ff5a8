"""Exact dumps of tables: every row as it is stored, byte for byte, read past the models.

Knows which tables are edna's by their names alone, and nothing of what stands in them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, Final

from django.db import DEFAULT_DB_ALIAS, connections

from edna.auditing.reading import columns, tables

#: SQLite takes no more than 500 parts of one statement.
_TABLES_AT_ONCE: Final = 100

#: By table: its rows in a fixed order, the stored bytes of each column in hexadecimal.
Dump = dict[str, list[tuple[str | None, ...]]]


def is_edna_s(table: str) -> bool:
    return table.startswith("edna_")


def application_dump(*, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> Dump:
    """Every row of every table that is not edna's. Fails if a foreign key dangles.

    ``ignore`` names tables (``django_session``) and columns (``auth_user.last_login``) that may change.
    """
    check_foreign_keys(using=using)
    wanted = [table for table in tables(using=using) if not is_edna_s(table) and table not in ignore]
    return dump(wanted, using=using, ignore=ignore)


def dump(wanted: Sequence[str], *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> Dump:
    """Every row of these tables. Most are empty, as a rule."""
    with_rows = filled(wanted, using=using)
    return {table: rows(table, using=using, ignore=ignore) if table in with_rows else [] for table in wanted}


def filled(wanted: Sequence[str], *, using: str = DEFAULT_DB_ALIAS) -> set[str]:
    """Those of these tables that have rows, in one statement."""
    connection = connections[using]
    found: set[str] = set()
    with connection.cursor() as cursor:
        for first in range(0, len(wanted), _TABLES_AT_ONCE):
            some = wanted[first : first + _TABLES_AT_ONCE]
            parts = (
                f"SELECT {number} FROM (SELECT 1 AS one) AS once WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(table)})"
                for number, table in enumerate(some)
            )
            cursor.execute(" UNION ALL ".join(parts))
            found.update(some[number] for (number,) in cursor.fetchall())
    return found


def rows(table: str, *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> list[tuple[str | None, ...]]:
    with connections[using].cursor() as cursor:
        cursor.execute(dump_query(table, using=using, ignore=ignore), [])
        return sorted(cursor.fetchall(), key=repr)


def dump_query(table: str, *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> str:
    connection = connections[using]
    names = ", ".join(_exact(connection, column) for column in dumped_columns(table, using=using, ignore=ignore))
    return f"SELECT {names} FROM {connection.ops.quote_name(table)}"


def dumped_columns(table: str, *, using: str, ignore: Collection[str]) -> list[str]:
    return [column for column in columns(table, using=using) if f"{table}.{column}" not in ignore]


def _exact(connection: Any, column: str) -> str:
    """The stored bytes of a column in hexadecimal, and on SQLite, where it may differ from row to row, their storage class."""
    name = connection.ops.quote_name(column)
    if connection.vendor == "sqlite":
        # CAST would round a real to 15 digits.
        value = f"CASE typeof({name}) WHEN 'real' THEN printf('%%!.20g', {name}) ELSE hex(CAST({name} AS BLOB)) END"
        return f"typeof({name}) || ' ' || coalesce({value}, '')"
    if connection.vendor == "mysql":
        return f"HEX(CAST({name} AS BINARY))"
    return f"encode(convert_to({name}::text, 'UTF8'), 'hex')"


def check_foreign_keys(tables: Sequence[str] | None = None, *, using: str = DEFAULT_DB_ALIAS) -> None:
    """Fail if a foreign key dangles. MariaDB checks each statement itself; asking it takes two slow questions for each table."""
    connection = connections[using]
    if connection.vendor != "mysql":
        connection.check_constraints(tables)


def differences(before: Dump, after: Dump, *, using: str = DEFAULT_DB_ALIAS, ignore: Collection[str] = ()) -> list[str]:
    """A line for each table that is another one: how many rows are missing and new, and which columns changed."""
    found = []
    for table in sorted(before.keys() | after.keys()):
        missing = Counter(before.get(table, ())) - Counter(after.get(table, ()))
        new = Counter(after.get(table, ())) - Counter(before.get(table, ()))
        if not missing and not new:
            continue
        line = f"{table}: {missing.total()} rows are missing, {new.total()} are new"
        names = dumped_columns(table, using=using, ignore=ignore)
        # A row that is there in both is one whose first column is: the primary key of most tables.
        was = {row[0]: row for row in missing}
        pairs = [(was[row[0]], row) for row in new if row[0] in was]
        changed = [name for place, name in enumerate(names) if any(old[place] != now[place] for old, now in pairs)]
        found.append(f"{line}; changed: {', '.join(changed)}" if changed else line)
    return found
