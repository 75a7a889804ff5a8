"""Reads raw rows of any table in bulk: by key, by a column, and whether there are any.

Invariant: each function takes a number of statements that does not depend on the rows, but for packets that grow too large.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field

from edna import json_keys
from edna.db.cursors import connection_of, cursor_of
from edna.db.rows.arrays import GIVEN
from edna.db.rows.binding import (
    BIGINT,
    along_index,
    among,
    array_types,
    arrays_of,
    between,
    ends_of,
    listed,
    most_parameters,
    packets,
    plain,
)
from edna.db.rows.tables import Row, Table

#: Values that one statement may mention, each as often as it does: about as many bytes, if they are keys.
_MOST_MENTIONS: Final = 100_000

# Rows


def read(
    table: Table, names: Sequence[str], keys: Sequence[Row], *, lock: bool, keys_stay: bool = False, using: str
) -> list[Row]:
    """The named columns of the rows with these primary keys, in key order.

    With ``keys_stay``, whoever locks them changes nothing that others may refer to, and deletes none: on PostgreSQL, who adds a row that
    refers to one does not wait then.
    """
    return _read(table, names, table.key, keys, lock=lock, keys_stay=keys_stay, using=using)


def read_where(
    table: Table,
    names: Sequence[str],
    column: str,
    values: Sequence[Any],
    *,
    lock: bool,
    using: str,
    also: tuple[str, Any] | None = None,
) -> list[Row]:
    """The named columns of the rows whose ``column`` has one of ``values``, in key order; with ``also``, of those only that have this
    value in this column."""
    wanted = [(value,) for value in values]
    return _read(table, names, (table.field(column),), wanted, lock=lock, using=using, also=also)


def _read(
    table: Table,
    names: Sequence[str],
    match: Sequence[Field[Any, Any]],
    wanted: Sequence[Row],
    *,
    lock: bool,
    keys_stay: bool = False,
    using: str,
    also: tuple[str, Any] | None = None,
) -> list[Row]:
    connection = connection_of(using)
    lock = lock and connection.features.has_select_for_update
    keys_stay = keys_stay and connection.features.has_select_for_no_key_update
    how = "" if not lock else " FOR NO KEY UPDATE" if keys_stay else " FOR UPDATE"
    begin, end = _around_condition(table, tuple(names), tuple(match), connection.vendor, using, lock=how)
    rows: list[Row] = []
    for packet in packets(wanted, connection, other_parameters=1 if also else 0):
        condition, params = among(match, packet, connection)
        if also is not None:
            name, value = also
            condition += f" AND {connection.ops.quote_name(table.field(name).column)} = %s"
            params = [*params, value]
        with cursor_of(connection) as cursor:
            cursor.execute(begin + condition + end, params)
            rows += plain(cursor.fetchall(), connection)
    return json_keys.taken(rows, names) if json_keys.any_of(names) else rows


@functools.lru_cache(maxsize=1024)
def _around_condition(
    table: Table, names: Sequence[str], match: Sequence[Field[Any, Any]], vendor: str, using: str, *, lock: str
) -> tuple[str, str]:
    """What stands before and after the condition in a statement of `_read`; for each ``vendor``, of which a test may have several."""
    connection = connection_of(using)
    quote = connection.ops.quote_name
    columns = ", ".join(table.quoted(names, quote))
    order = ", ".join([quote(field.column) for field in table.key])
    begin = f"SELECT {columns} FROM {along_index(table, match, connection)} WHERE "
    return begin, f" ORDER BY {order}{lock}"


def read_from(table: Table, names: Sequence[str], column: str, least: Any, *, using: str) -> list[Row]:
    """The named columns of the rows whose ``column`` has this raw value or a greater one. Locks nothing."""
    connection = connection_of(using)
    quote = connection.ops.quote_name
    columns, source = ", ".join(table.quoted(names, quote)), quote(table.model._meta.db_table)
    with cursor_of(connection) as cursor:
        cursor.execute(f"SELECT {columns} FROM {source} WHERE {quote(table.field(column).column)} >= %s", [least])
        return plain(cursor.fetchall(), connection)


def take(
    table: Table, names: Sequence[str], match: Mapping[str, Any], *, index: str, after: int, most: int, using: str
) -> list[Row]:
    """The first ``most`` rows with these values and a key beyond ``after``, locked, but for those that others have locked (if the
    database can do that; otherwise it waits). In the order of ``index``, which is over the columns of ``match`` and the key.
    """
    connection = connection_of(using)
    quote = connection.ops.quote_name
    columns = ", ".join(table.quoted(names, quote))
    order = table.quoted((*match, *table.key_names), quote)
    conditions = " AND ".join([f"{column} = %s" for column in order[:-1]])
    # Left alone, MariaDB looks at all rows with these values from the first one on.
    source = quote(table.model._meta.db_table) + (
        f" FORCE INDEX ({quote(index)})" if connection.vendor == "mysql" else ""
    )
    skip = " SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    suffix = f" FOR UPDATE{skip}" if connection.features.has_select_for_update else ""
    sql = f"SELECT {columns} FROM {source} WHERE {conditions} AND {order[-1]} > %s ORDER BY {', '.join(order)} LIMIT %s{suffix}"
    with cursor_of(connection) as cursor:
        cursor.execute(sql, [*match.values(), after, most])
        return plain(cursor.fetchall(), connection)


# Whether there are any


def holding(places: Sequence[tuple[Table, str]], values: Sequence[Any], *, lock: bool = False, using: str) -> set[int]:
    """The positions of those (table, column) ``places`` that hold any of ``values``.

    In one statement for all places, unless there are very many values. With ``lock``, rows that somebody is writing are waited for,
    where the database can.
    """
    lock = lock and connection_of(using).features.has_select_for_update
    connection = connection_of(using)
    quote = connection.ops.quote_name
    positions: set[int] = set()
    most = min(max(1, _MOST_MENTIONS // max(1, len(places))), most_parameters(connection))
    for start in range(0, len(values) if places else 0, most):
        types = array_types([table.field(name) for table, name in places], connection, count=len(values))
        question, named = _named_values(values[start : start + most], connection, lock=lock, types=types)
        asked = [
            question.format(table=quote(table.model._meta.db_table), column=quote(table.field(name).column))
            for table, name in places
        ]
        with cursor_of(connection) as cursor:
            cursor.execute(f"SELECT {', '.join(asked)}", named)
            positions |= {position for position, answer in enumerate(cursor.fetchone()) if answer}
    return positions


def _named_values(
    values: Sequence[Any], connection: BaseDatabaseWrapper, *, lock: bool, types: Sequence[str] | None
) -> tuple[str, dict[str, Any]]:
    """A condition with places for a ``table`` and its ``column``: that this holds any of the values, which have names, for they are
    looked for in several places. ``types`` are the `array_types` of the places."""
    suffix = " FOR UPDATE" if lock else ""
    numbers_alone = all(type(value) is int and abs(value) < BIGINT for value in values)
    if connection.vendor == "sqlite" and numbers_alone:
        # It looks through all names of parameters for each one: 15,000 take six seconds.
        condition = "{column} IN (SELECT value FROM json_each(%(values)s))"
        return f"EXISTS (SELECT 1 FROM {{table}} WHERE {condition})", {"values": json.dumps(values)}
    if connection.vendor == "mysql" and numbers_alone:
        # Along the column's index. For a list, MariaDB estimates first how many rows each value has, or reads, and locks, all of a table.
        numbers = f"JSON_TABLE(%(values)s, '$[*]' COLUMNS (k BIGINT PATH '$')) AS {GIVEN}"
        joined = f"STRAIGHT_JOIN {{table}} ON {{table}}.{{column}} = {GIVEN}.k"
        if lock and connection.features.has_select_for_update_of:
            suffix = " FOR UPDATE OF {table}"  # MySQL would lock the list, too, and cannot; MariaDB has no such words
        return f"EXISTS (SELECT 1 FROM {numbers} {joined}{suffix})", {"values": json.dumps(values)}
    if types and len(set(types)) == 1 and (arrays := arrays_of([(value,) for value in values], types[:1])):
        bound_by_name: dict[str, Any] = {"values": arrays[0]}
        condition = f"{{column}} = ANY (%(values)s::{types[0]}[])"
        if ends := ends_of([(value,) for value in values], types[:1]):
            condition += f" AND {between('{column}', '%(least)s', '%(greatest)s')}"
            bound_by_name |= {"least": ends[0], "greatest": ends[1]}
        return f"EXISTS (SELECT 1 FROM {{table}} WHERE {condition}{suffix})", bound_by_name
    marks, bound = listed(values, connection)
    named = {f"v{position}": value for position, value in enumerate(bound)}
    places = marks % tuple(f"%({name})s" for name in named)
    return f"EXISTS (SELECT 1 FROM {{table}} WHERE {{column}} IN ({places}){suffix})", named


def held_values(table: Table, column: str, values: Sequence[Any], *, lock: bool, using: str) -> set[Any]:
    """Those of ``values`` that ``column`` has in any row, each once, however many rows have it.

    With ``lock``, rows that somebody is writing are waited for, where the database can.
    """
    connection = connection_of(using)
    quote = connection.ops.quote_name
    field = table.field(column)
    held: set[Any] = set()
    for packet in packets([(value,) for value in values], connection):
        condition, params = among((field,), packet, connection)
        # PostgreSQL takes no FOR UPDATE with DISTINCT.
        name, distinct, suffix = quote(field.column), "DISTINCT ", ""
        if lock and connection.features.has_select_for_update:
            distinct, suffix = "", " FOR UPDATE"
        sql = f"SELECT {distinct}{name} FROM {quote(table.model._meta.db_table)} WHERE {condition}{suffix}"
        with cursor_of(connection) as cursor:
            cursor.execute(sql, params)
            held |= {value for (value,) in plain(cursor.fetchall(), connection)}
    return held


def keep(table: Table, match: Mapping[str, Any], *, using: str) -> bool:
    """Whether a row has these values. Until the transaction ends nobody changes or deletes it, where the database can lock; others may ask
    for the same, and do not wait for each other."""
    connection = connection_of(using)
    quote = connection.ops.quote_name
    condition = " AND ".join([f"{column} = %s" for column in table.quoted(tuple(match), quote)])
    # As both MariaDB and MySQL spell it.
    share = {"postgresql": " FOR SHARE", "mysql": " LOCK IN SHARE MODE"}.get(connection.vendor, "")
    with cursor_of(connection) as cursor:
        cursor.execute(
            f"SELECT 1 FROM {quote(table.model._meta.db_table)} WHERE {condition}{share}", list(match.values())
        )
        return bool(cursor.fetchall())


def asking_for_any(queries: Sequence[str]) -> str:
    """A statement that says of each query whether it finds a row."""
    return "SELECT " + ", ".join([f"EXISTS ({query})" for query in queries])


def counting(query: str, *, most: int) -> str:
    """A statement that says how many rows a query finds, or ``most`` if there are more."""
    return f"SELECT COUNT(*) FROM ({query} LIMIT {most}) counted"


def any_rows(places: Sequence[tuple[Table, str, Sequence[Any]]], *, using: str) -> list[bool]:
    """For each (table, column, values), whether a row has one of the values in that column; one statement for all. Locks nothing."""
    connection = connection_of(using)
    quote = connection.ops.quote_name
    asked: list[str] = []
    params: list[Any] = []
    for table, name, values in places:
        condition, bound = among((table.field(name),), [(value,) for value in values], connection)
        asked.append(
            f"EXISTS (SELECT 1 FROM {quote(table.model._meta.db_table)} WHERE {condition})" if values else "NULL"
        )
        params += bound
    with cursor_of(connection) as cursor:
        cursor.execute(f"SELECT {', '.join(asked)}", params)
        return list(map(bool, cursor.fetchone()))
