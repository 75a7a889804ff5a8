"""Raw rows of any table, the application's or our own: read, inserted, updated and deleted in bulk.

Values travel exactly as the database driver hands them over and takes them (no converters, no model instances, no
signals), so that what was read can be written back to the byte. Each function issues a number of statements that does
not depend on the number of rows, but for packets that would grow beyond `MAX_STATEMENT_BYTES` or hold more parameters than
the database binds (SQLite; PostgreSQL with server-side binding). Knows no disguises, bags or keys. Longer than most modules,
for all SQL that is not Django's is here.
"""

from __future__ import annotations

import datetime
import functools
import json
import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field, ForeignKey, Model, TimeField

from edna.db.packed import is_one_value, packed

Row = tuple[Any, ...]

#: Well below the 16 MiB that MariaDB accepts in one packet by default, escapes included.
MAX_STATEMENT_BYTES: Final = 4 * 1024 * 1024
_BIGINT: Final = 2**63
#: Values that one statement may mention, each as often as it does: about as many bytes, if they are keys.
_MOST_MENTIONS: Final = 100_000
#: What a statement calls the values that it brings along; no application has a table of this name.
GIVEN: Final = "edna_given"


@dataclass(frozen=True)
class Table:
    """A model's own table: its stored columns, generated ones left out because the database computes them."""

    model: type[Model]
    fields: tuple[Field[Any, Any], ...]
    key: tuple[Field[Any, Any], ...]

    @property
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
        found: Field[Any, Any] = self.model._meta.get_field(name)  # type: ignore[assignment]
        return found


@functools.cache
def table_of(model: type[Model]) -> Table:
    model = model._meta.concrete_model or model
    meta = model._meta
    fields = tuple(field for field in meta.local_concrete_fields if not getattr(field, "generated", False))
    key = tuple(getattr(meta, "pk_fields", None) or [meta.pk])
    return Table(model, fields, key)


# Reading


def read(table: Table, names: Sequence[str], keys: Sequence[Row], *, lock: bool, using: str) -> list[Row]:
    """The named columns of the rows with these primary keys, in key order."""
    return _read(table, names, table.key, keys, lock=lock, using=using)


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
    using: str,
    also: tuple[str, Any] | None = None,
) -> list[Row]:
    connection = connections[using]
    quote = connection.ops.quote_name
    columns = ", ".join([quote(table.field(name).column) for name in names])
    order = ", ".join([quote(field.column) for field in table.key])
    suffix = " FOR UPDATE" if lock and connection.features.has_select_for_update else ""
    source = _along_index(table, match, connection)
    found: list[Row] = []
    for packet in packets(wanted, connection, other_parameters=1 if also else 0):
        condition, params = _condition(match, packet, connection)
        if also is not None:
            name, value = also
            condition, params = f"{condition} AND {quote(table.field(name).column)} = %s", [*params, value]
        sql = f"SELECT {columns} FROM {source} WHERE {condition} ORDER BY {order}{suffix}"
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            found += plain(cursor.fetchall(), connection)
    return found


def _along_index(table: Table, match: Sequence[Field[Any, Any]], connection: BaseDatabaseWrapper) -> str:
    """The table, to be read along the index over these columns, where that can be said.

    Left alone, MariaDB reads all of a small table for a few hundred keys. A read that locks then waits for whoever holds any row of it,
    and two that lock come to deadlock over rows that neither of them wants.
    """
    name = connection.ops.quote_name(table.model._meta.db_table)
    # A table that others have made may lack the index.
    if connection.vendor != "mysql" or not table.model._meta.managed:
        return name
    if tuple(match) == tuple(table.key):
        return f"{name} FORCE INDEX (PRIMARY)"
    # The database names the index of a unique column after it, if the column was made so, as ours are.
    own = len(match) == 1 and match[0].unique and table.model._meta.app_label == "edna"
    return f"{name} FORCE INDEX ({connection.ops.quote_name(str(match[0].column))})" if own else name


def take(
    table: Table, names: Sequence[str], match: Mapping[str, Any], *, index: str, after: int, most: int, using: str
) -> list[Row]:
    """The first ``most`` rows with these values and a key beyond ``after``, locked, but for those that others have locked (if the
    database can do that; otherwise it waits). In the order of ``index``, which is over the columns of ``match`` and the key.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    columns = ", ".join([quote(table.field(name).column) for name in names])
    order = [quote(table.field(name).column) for name in (*match, *table.key_names)]
    conditions = " AND ".join([f"{column} = %s" for column in order[:-1]])
    # Left alone, MariaDB looks at all rows with these values from the first one on.
    source = quote(table.model._meta.db_table) + (
        f" FORCE INDEX ({quote(index)})" if connection.vendor == "mysql" else ""
    )
    skip = " SKIP LOCKED" if connection.features.has_select_for_update_skip_locked else ""
    suffix = f" FOR UPDATE{skip}" if connection.features.has_select_for_update else ""
    sql = f"SELECT {columns} FROM {source} WHERE {conditions} AND {order[-1]} > %s ORDER BY {', '.join(order)} LIMIT %s{suffix}"
    with connection.cursor() as cursor:
        cursor.execute(sql, [*match.values(), after, most])
        return plain(cursor.fetchall(), connection)


def holding(places: Sequence[tuple[Table, str]], values: Sequence[Any], *, lock: bool = False, using: str) -> set[int]:
    """The positions of those (table, column) ``places`` that hold any of ``values``.

    In one statement for all places, unless there are very many values. With ``lock``, rows that somebody is writing are waited for,
    where the database can.
    """
    lock = lock and connections[using].features.has_select_for_update
    connection = connections[using]
    quote = connection.ops.quote_name
    found: set[int] = set()
    most = min(max(1, _MOST_MENTIONS // max(1, len(places))), _most_parameters(connection))
    for start in range(0, len(values) if places else 0, most):
        among, named = _named_values(values[start : start + most], connection, lock=lock)
        asked = [
            among.format(table=quote(table.model._meta.db_table), column=quote(table.field(name).column))
            for table, name in places
        ]
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {', '.join(asked)}", named)
            found |= {position for position, answer in enumerate(cursor.fetchone()) if answer}
    return found


def _named_values(values: Sequence[Any], connection: BaseDatabaseWrapper, *, lock: bool) -> tuple[str, dict[str, Any]]:
    """A condition with places for a ``table`` and its ``column``: that this holds any of the values, which have names, for they are
    looked for in several places."""
    suffix = " FOR UPDATE" if lock else ""
    if connection.vendor == "mysql" and all(type(value) is int and abs(value) < _BIGINT for value in values):
        # Along the column's index. For a list, MariaDB estimates first how many rows each value has, or reads, and locks, all of a table.
        numbers = f"JSON_TABLE(%(values)s, '$[*]' COLUMNS (k BIGINT PATH '$')) AS {GIVEN}"
        joined = f"STRAIGHT_JOIN {{table}} ON {{table}}.{{column}} = {GIVEN}.k"
        return f"EXISTS (SELECT 1 FROM {numbers} {joined}{suffix})", {"values": json.dumps(values)}
    marks, bound = listed(values, connection)
    named = {f"v{position}": value for position, value in enumerate(bound)}
    among = marks % tuple(f"%({name})s" for name in named)
    return f"EXISTS (SELECT 1 FROM {{table}} WHERE {{column}} IN ({among}){suffix})", named


def held_values(table: Table, column: str, values: Sequence[Any], *, lock: bool, using: str) -> set[Any]:
    """Those of ``values`` that ``column`` has in any row, each once, however many rows have it.

    With ``lock``, rows that somebody is writing are waited for, where the database can.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    field = table.field(column)
    found: set[Any] = set()
    for packet in packets([(value,) for value in values], connection):
        condition, params = _condition((field,), packet, connection)
        # PostgreSQL takes no FOR UPDATE with DISTINCT.
        name, distinct, suffix = quote(field.column), "DISTINCT ", ""
        if lock and connection.features.has_select_for_update:
            distinct, suffix = "", " FOR UPDATE"
        sql = f"SELECT {distinct}{name} FROM {quote(table.model._meta.db_table)} WHERE {condition}{suffix}"
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            found |= {value for (value,) in plain(cursor.fetchall(), connection)}
    return found


def asking_for_any(queries: Sequence[str]) -> str:
    """A statement that says of each query whether it finds a row."""
    return "SELECT " + ", ".join([f"EXISTS ({query})" for query in queries])


def any_rows(places: Sequence[tuple[Table, str, Sequence[Any]]], *, using: str) -> list[bool]:
    """For each (table, column, values), whether a row has one of the values in that column; one statement for all. Locks nothing."""
    connection = connections[using]
    quote = connection.ops.quote_name
    asked: list[str] = []
    params: list[Any] = []
    for table, name, values in places:
        column = quote(table.field(name).column)
        among, bound = listed(values, connection)
        asked.append(
            f"EXISTS (SELECT 1 FROM {quote(table.model._meta.db_table)} WHERE {column} IN ({among}))"
            if values
            else "NULL"
        )
        params += bound
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(asked)}", params)
        return list(map(bool, cursor.fetchone()))


# Writing


def in_one_statement(rows: Sequence[Row], *, using: str) -> bool:
    """Whether `insert` and `update` write these rows in one statement that the database undoes by itself if it refuses a row.

    PostgreSQL would not go on in the transaction; SQLite takes a statement for each row.
    """
    connection = connections[using]
    return connection.vendor == "mysql" and len(list(packets(rows, connection))) == 1


def insert(table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str) -> None:
    connection = connections[using]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(table.field(name).column) for name in names)
    head = f"INSERT INTO {quote(table.model._meta.db_table)} ({columns}) VALUES "
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.executemany(f"{head}({marks_for(len(names))})", _bindable(table, names, rows))
            return
        params: list[Any]
        for packet in packets(rows, connection):
            if connection.vendor == "mysql":
                values, params = "(%s)", [packed(packet, connection, between="),(")]
            else:
                values = ", ".join([f"({marks_for(len(row))})" for row in packet])
                params = [value for row in packet for value in row]
            cursor.execute(head + values, params)


def insert_free(table: Table, names: Sequence[str], rows: Sequence[Row], *, using: str) -> set[Row]:
    """Insert those rows whose unique values are free, and return their keys.

    For PostgreSQL, which writes a statement that fails into its log, with the values in it: this one does not fail.
    """
    connection = connections[using]
    quote = connection.ops.quote_name
    columns = ", ".join(quote(table.field(name).column) for name in names)
    keys = ", ".join(quote(field.column) for field in table.key)
    head = f"INSERT INTO {quote(table.model._meta.db_table)} ({columns}) VALUES "
    inserted: set[Row] = set()
    with connection.cursor() as cursor:
        for packet in packets(rows, connection):
            values = ", ".join([f"({marks_for(len(row))})" for row in packet])
            tail = f" ON CONFLICT DO NOTHING RETURNING {keys}"
            cursor.execute(head + values + tail, [value for row in packet for value in row])
            inserted |= set(plain(cursor.fetchall(), connection))
    return inserted


def delete(table: Table, keys: Sequence[Row], *, using: str) -> None:
    """Delete the rows with these primary keys."""
    connection = connections[using]
    if keys and connection.vendor == "sqlite":
        name = connection.ops.quote_name(table.model._meta.db_table)
        with connection.cursor() as cursor:
            cursor.executemany(f"DELETE FROM {name} WHERE {_one_key(table, connection)}", keys)
    else:
        _delete(table, table.key, keys, using=using)


def delete_where(table: Table, column: str, values: Sequence[Any], *, using: str) -> None:
    """Delete the rows whose ``column`` has one of ``values``."""
    _delete(table, (table.field(column),), [(value,) for value in values], using=using)


def _delete(table: Table, match: Sequence[Field[Any, Any]], wanted: Sequence[Row], *, using: str) -> None:
    connection = connections[using]
    for packet in packets(wanted, connection):
        condition, params = _condition(match, packet, connection)
        with connection.cursor() as cursor:
            name = connection.ops.quote_name(table.model._meta.db_table)
            cursor.execute(f"DELETE FROM {name} WHERE {condition}", params)


def update(table: Table, names: Sequence[str], rows: Sequence[Row], *, kept: Collection[str] = (), using: str) -> None:
    """Set the named columns; each row is its key values followed by the new values. In columns that are ``kept``, None leaves a row
    as it is."""
    connection = connections[using]
    quote = connection.ops.quote_name
    name = quote(table.model._meta.db_table)
    columns = [quote(table.field(column).column) for column in names]
    width = len(table.key)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            marks = [
                f"COALESCE(%s, {column})" if name in kept else "%s" for name, column in zip(names, columns, strict=True)
            ]
            assignments = ", ".join([f"{column} = {value}" for column, value in zip(columns, marks, strict=True)])
            statement = f"UPDATE {name} SET {assignments} WHERE {_one_key(table, connection)}"
            rows = _bindable(table, (*table.key_names, *names), rows)
            cursor.executemany(statement, [(*row[width:], *row[:width]) for row in rows])
            return
        match = " AND ".join([f"{name}.{quote(field.column)} = {GIVEN}.k{i}" for i, field in enumerate(table.key)])
        source = _along_index(table, table.key, connection)
        # PostgreSQL takes no table here, and MariaDB wants one beside a join.
        prefix = "" if connection.vendor == "postgresql" else f"{name}."
        for packet in packets(rows, connection):
            new = {place: tuple(row[place] for row in packet) for place in range(width, width + len(columns))}
            # Not those that are to stay as they are in all of these rows.
            new = {
                place: values
                for place, values in new.items()
                if names[place - width] not in kept or set(values) != {None}
            }
            varying = [place for place, values in new.items() if len(packet) > 1 and not is_one_value(values)]
            changes: list[str] = []
            params: list[Any] = []
            for place in new:
                column = columns[place - width]
                if place in varying:
                    value = f"{GIVEN}.c{place}"
                    if names[place - width] in kept:
                        value = f"COALESCE({value}, {name}.{column})"
                    changes.append(f"{prefix}{column} = {value}")
                    continue
                mark, bound = listed([packet[0][place]], connection)
                if connection.vendor == "postgresql":
                    mark = f"CAST({mark} AS {_cast(table.field(names[place - width]), connection)})"
                changes.append(f"{prefix}{column} = {mark}")
                params += bound
            if not varying:
                condition, keys = _condition(table.key, [row[:width] for row in packet], connection)
                cursor.execute(f"UPDATE {source} SET {', '.join(changes)} WHERE {condition}", [*params, *keys])
                continue
            places = [*range(width), *varying]
            given = [tuple([row[place] for place in places]) for row in packet]
            aliases = [f"k{i}" if i < width else f"c{i}" for i in places]
            if connection.vendor == "postgresql":
                # The first row's casts give the columns of VALUES their types; PostgreSQL would guess text.
                fields = [*table.key, *(table.field(names[place - width]) for place in varying)]
                first = ", ".join([f"CAST(%s AS {_cast(field, connection)})" for field in fields])
                values = ", ".join([f"({first})", *[f"({marks_for(len(fields))})"] * (len(packet) - 1)])
                params += [value for row in given for value in row]
                joined = (
                    f"SET {', '.join(changes)} FROM (VALUES {values}) AS {GIVEN} ({', '.join(aliases)}) WHERE {match}"
                )
            else:
                listed_rows, bound = _listed_rows(aliases, given, connection)
                params = [*bound, *params]
                joined = f"JOIN ({listed_rows}) AS {GIVEN} ON {match} SET {', '.join(changes)}"
            cursor.execute(f"UPDATE {source} {joined}", params)


def _listed_rows(columns: Sequence[str], rows: Sequence[Row], connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """Rows that stand in the statement, as something to select from, and its parameters."""
    if getattr(connection, "mysql_is_mariadb", False):
        names = ", ".join(columns)
        # A seventh faster than UNION ALL from a hundred rows on (decision 7); MySQL writes it in another way, of late.
        select = f"WITH listed ({names}) AS (VALUES (%s)) SELECT {names} FROM listed"
        return select, [packed(rows, connection, between="), (")]
    first = ", ".join([f"%s AS {column}" for column in columns])
    bound = [packed([[value]], connection, between="") for value in rows[0]]
    bound.append(packed(rows[1:], connection, between=" UNION ALL SELECT "))
    return f"SELECT {first} UNION ALL SELECT %s", bound


def check_deferred(constraints: Sequence[str], *, using: str) -> None:
    """Check these deferred constraints (PostgreSQL's) now, and go on deferring them.

    Raises:
        IntegrityError
    """
    connection = connections[using]
    names = ", ".join(map(connection.ops.quote_name, constraints))
    with connection.cursor() as cursor:
        cursor.execute(f"SET CONSTRAINTS {names} IMMEDIATE")
        cursor.execute(f"SET CONSTRAINTS {names} DEFERRED")


# Helpers


def python_value(column: Field[Any, Any], value: Any, *, using: str) -> Any:
    """A raw value as the application's code sees it on a model instance."""
    return python_values(column, [value], using=using)[0]


def python_values(column: Field[Any, Any], values: Iterable[Any], *, using: str) -> list[Any]:
    """Raw values of one column as `python_value` makes them."""
    connection = connections[using]
    expression = column.get_col(column.model._meta.db_table)
    found = list(values)
    for convert in (*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection)):
        found = [convert(value, expression, connection) for value in found]
    return found


def plain(rows: Sequence[Row], connection: BaseDatabaseWrapper) -> list[Row]:
    """Rows without driver-owned buffers: PostgreSQL's memoryviews become bytes."""
    if connection.vendor == "postgresql" and any(isinstance(value, memoryview) for row in rows for value in row):
        return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in rows]
    return list(rows)


def _bindable(table: Table, names: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
    """Rows as SQLite's driver takes them: Django teaches it to read times of day, but not to write them."""
    times = {position for position, name in enumerate(names) if isinstance(table.field(name), TimeField)}
    if not times:
        return rows
    return [
        tuple(
            str(value) if position in times and isinstance(value, datetime.time) else value
            for position, value in enumerate(row)
        )
        for row in rows
    ]


def listed(values: Sequence[Any], connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """Places for the values of a list, and what stands there."""
    if connection.vendor == "mysql" and len(values) == 1:
        return ("_binary %s" if type(values[0]) is bytes else "%s"), list(values)
    if connection.vendor == "mysql" and values:
        return "%s", [packed([(value,) for value in values], connection, between=",")]
    return marks_for(len(values)), list(values)


def marks_for(count: int) -> str:
    return ", ".join(["%s"] * count)


def _one_key(table: Table, connection: BaseDatabaseWrapper) -> str:
    return " AND ".join(f"{connection.ops.quote_name(field.column)} = %s" for field in table.key)


def _condition(
    match: Sequence[Field[Any, Any]], wanted: Sequence[Row], connection: BaseDatabaseWrapper
) -> tuple[str, list[Any]]:
    """``match IN (wanted)``, for one column or for several compared together."""
    columns = [connection.ops.quote_name(field.column) for field in match]
    if len(columns) == 1:
        marks, params = listed([value for (value,) in wanted], connection)
        return f"{columns[0]} IN ({marks})", params
    if connection.vendor == "mysql":
        return f"({', '.join(columns)}) IN ((%s))", [packed(wanted, connection, between="),(")]
    rows = ", ".join([f"({marks_for(len(row))})" for row in wanted])
    rows = f"VALUES {rows}" if connection.vendor == "sqlite" else rows
    return f"({', '.join(columns)}) IN ({rows})", [value for row in wanted for value in row]


def _cast(field: Field[Any, Any], connection: BaseDatabaseWrapper) -> str:
    """The column's type as PostgreSQL casts to it: ``rel_db_type`` turns serials into integers."""
    rel_db_type: Callable[[BaseDatabaseWrapper], str | None] = getattr(field, "rel_db_type", field.db_type)
    return str(rel_db_type(connection))


def row_bytes(row: Sequence[Any]) -> int:
    """About how many bytes a row takes in a statement or a bag."""
    return total_bytes([row])


def total_bytes(rows: Sequence[Sequence[Any]]) -> int:
    """The sum of `row_bytes`, column by column: most hold no text, or text alone."""
    total = 12 * sum(map(len, rows))
    for values in zip(*rows, strict=True):
        kinds = set(map(type, values))
        if kinds == {str} or kinds == {bytes}:
            total += sum(map(len, values))
        elif str in kinds or bytes in kinds:
            total += sum([len(value) for value in values if type(value) is str or type(value) is bytes])
    return total


def packets(
    rows: Sequence[Row], connection: BaseDatabaseWrapper, *, other_parameters: int = 0
) -> Iterator[Sequence[Row]]:
    """Runs of rows that fit one statement: one run unless the rows are large, or more than the database can bind."""
    most = (_most_parameters(connection) - other_parameters) // max(1, len(rows[0])) if rows else 0
    if len(rows) <= most and total_bytes(rows) <= MAX_STATEMENT_BYTES:
        yield from [rows] if rows else []
        return
    start, size = 0, 0
    for position, row in enumerate(rows):
        length = row_bytes(row)
        if position - start == most or (size and size + length > MAX_STATEMENT_BYTES):
            yield rows[start:position]
            start, size = position, 0
        size += length
    if start < len(rows):
        yield rows[start:]


def _most_parameters(connection: BaseDatabaseWrapper) -> int:
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        limit: int = connection.connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        return limit
    # PostgreSQL's protocol counts parameters in 16 bits; other parameters are written into the statement's text.
    return 65_535 if connection.settings_dict["OPTIONS"].get("server_side_binding") else sys.maxsize
