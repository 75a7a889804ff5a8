"""How rows and lists of values stand in a statement: their places, their parameters, and how many fit in one.

Invariant: values travel as the driver hands them over and takes them. Knows what each database can bind; sends no statement of its own.
"""

from __future__ import annotations

import datetime
import functools
import sqlite3
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, Field, Model, TextField, UniqueConstraint

from edna import conf
from edna.db.cursors import connection_of
from edna.db.packed_values import packed
from edna.db.rows.arrays import MANY, array_of
from edna.db.rows.tables import Row, Table

#: Well below the 16 MiB that MariaDB accepts in one packet by default, escapes included.
MAX_STATEMENT_BYTES: Final = 4 * 1024 * 1024
_TEXTS: Final = frozenset({str, bytes})
BIGINT: Final = 2**63
#: By a column's type, that of the array. Numbers too large for the column are among no rows, and no error.
_ARRAYS: Final = {"smallint": "bigint", "integer": "bigint", "bigint": "bigint", "uuid": "uuid", "bytea": "bytea"}
_KINDS: Final[dict[str, type]] = {"bigint": int, "uuid": uuid.UUID, "bytea": bytes}
#: Numbers that lie further apart than this, on an average, nobody has counted: they were drawn by lot.
_FAR_APART: Final = 1_000

# Places and parameters


def listed(values: Sequence[Any], connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """Places for the values of a list, and what stands there."""
    if connection.vendor == "mysql" and len(values) == 1:
        return ("_binary %s" if type(values[0]) is bytes else "%s"), list(values)
    if connection.vendor == "mysql" and values:
        return "%s", [packed([(value,) for value in values], connection, between=",")]
    return marks_for(len(values)), as_single(list(values), connection)


def as_single(values: list[Any], connection: BaseDatabaseWrapper) -> list[Any]:
    """Single parameters. A number with a point goes to PostgreSQL as a text: by itself it would be a decimal, which has no -0, and which is
    compared with single precision as with double."""
    if connection.vendor != "postgresql" or float not in set(map(type, values)):
        return values
    return [str(value) if type(value) is float else value for value in values]


def marks_for(count: int) -> str:
    return ", ".join(["%s"] * count)


def among(
    match: Sequence[Field[Any, Any]], wanted: Sequence[Row], connection: BaseDatabaseWrapper
) -> tuple[str, list[Any]]:
    """``match IN (wanted)``, for one column or for several compared together."""
    columns = [connection.ops.quote_name(field.column) for field in match]
    types = array_types(match, connection, count=len(wanted))
    condition, params = in_list(wanted, connection, types=types)
    matched = columns[0] if len(columns) == 1 else f"({', '.join(columns)})"
    # Of a unique column PostgreSQL knows that a value has one row.
    if not match[0].unique and (ends := ends_of(wanted, types)):
        return f"({matched} {condition} AND {between(matched)})", [*params, *ends]
    return f"{matched} {condition}", params


def in_list(
    wanted: Sequence[Row], connection: BaseDatabaseWrapper, *, types: Sequence[str] | None
) -> tuple[str, list[Any]]:
    """What stands behind a column, or behind several, that are to be among these rows; ``types`` are their `array_types`."""
    arrays = arrays_of(wanted, types)
    if types is None or arrays is None:
        marks, params = listed_rows(wanted, connection)
        return f"IN ({marks})", params
    if len(types) == 1:
        return f"= ANY (%s::{types[0]}[])", arrays
    return f"IN (SELECT * FROM {unnested(types)})", arrays


def in_list_of_one(
    column: str, owners: Sequence[Row], connection: BaseDatabaseWrapper, *, types: Sequence[str] | None
) -> tuple[str, list[Any]]:
    """What stands behind ``column``, both in parentheses, that is to be among ``owners``: a person, then the pseudoprincipals of theirs."""
    person, *others = owners
    ends = ends_of(others, types)
    if not ends:
        return in_list(owners, connection, types=types)
    condition, params = in_list(others, connection, types=types)
    return f"= %s OR {column} {condition} AND {between(column)}", [*person, *params, *ends]


def listed_rows(wanted: Sequence[Row], connection: BaseDatabaseWrapper) -> tuple[str, list[Any]]:
    """Places for a list of rows, and what stands there. Rows of one value are that value."""
    if all(len(row) == 1 for row in wanted):
        return listed([value for (value,) in wanted], connection)
    if connection.vendor == "mysql":
        return "(%s)", [packed(wanted, connection, between="),(")]
    rows = ", ".join([f"({marks_for(len(row))})" for row in wanted])
    values = as_single([value for row in wanted for value in row], connection)
    return f"VALUES {rows}" if connection.vendor == "sqlite" else rows, values


# Arrays


def array_types(
    fields: Sequence[Field[Any, Any]], connection: BaseDatabaseWrapper, *, count: int = MANY
) -> list[str] | None:
    """The types of arrays of which PostgreSQL compares the elements with these columns as it does single values; None if there is not one
    for each, or if ``count`` values are too few for an array. Of texts there is none: a column's type may say how they are compared, and an
    array would be of another."""
    if connection.vendor != "postgresql" or count < MANY:
        return None
    types = [_ARRAYS.get(cast(field, connection)) for field in fields]
    return None if None in types else [str(kind) for kind in types]


def arrays_of(rows: Sequence[Row], types: Sequence[str] | None) -> list[str] | None:
    """The columns of many rows, each as the text of an array: one parameter, where each value would be written, read and planned for by
    itself. None if they are few, or if one of their values does not go into such an array."""
    if types is None or len(rows) < MANY:
        return None
    columns = list(zip(*rows, strict=True))
    kinds = [_KINDS[name] for name in types]
    if any(set(map(type, values)) != {kind} for kind, values in zip(kinds, columns, strict=True)):
        return None
    if any(
        kind is int and (min(values) < -BIGINT or max(values) >= BIGINT)
        for kind, values in zip(kinds, columns, strict=True)
    ):
        return None
    return list(map(array_of, columns))


def ends_of(rows: Sequence[Row], types: Sequence[str] | None) -> tuple[int, ...]:
    """The least and the greatest of many numbers that were drawn by lot: those of pseudoprincipals. Nothing, if they are others, or few.

    PostgreSQL expects of each value as many rows as others have: for some hundreds it would read all of a table, or go through it by its
    primary key. But a pseudoprincipal has one row, or none. How few rows lie between these ends, where no person is, it knows.
    """
    if not types or list(types) != ["bigint"] or len(rows) < MANY:
        return ()
    values = [value for (value,) in rows]
    if set(map(type, values)) != {int}:
        return ()
    least, greatest = min(values), max(values)
    in_range = least >= -BIGINT and greatest < BIGINT
    return (least, greatest) if in_range and greatest - least > _FAR_APART * len(values) else ()


def between(column: str, least: str = "%s", greatest: str = "%s") -> str:
    """The condition that goes with `ends_of` beside a list, and leaves nothing out."""
    return f"{column} BETWEEN {least} AND {greatest}"


def unnested(types: Sequence[str]) -> str:
    """A table of arrays with these types of elements, a column each."""
    return f"UNNEST({', '.join([f'%s::{name}[]' for name in types])})"


def one_key(table: Table, connection: BaseDatabaseWrapper) -> str:
    return " AND ".join(f"{connection.ops.quote_name(field.column)} = %s" for field in table.key)


def along_index(table: Table, match: Sequence[Field[Any, Any]], connection: BaseDatabaseWrapper) -> str:
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
    index = _own_index(table.model, match)
    return f"{name} FORCE INDEX ({connection.ops.quote_name(index)})" if index else name


def _own_index(model: type[Model], match: Sequence[Field[Any, Any]]) -> str:
    """Of a column of ours that is unique, or that a unique constraint begins with; "" if there is none."""
    if len(match) != 1 or model._meta.app_label not in conf.OWN_LABELS:
        return ""
    [column] = match
    if column.unique:
        # The database names it after the column, if that was made so, as ours are.
        return str(column.column)
    named = (each for each in model._meta.constraints if isinstance(each, UniqueConstraint))
    return next((each.name for each in named if each.fields[:1] == (column.name,)), "")


def cast(field: Field[Any, Any], connection: BaseDatabaseWrapper) -> str:
    """The column's type as PostgreSQL casts to it: ``rel_db_type`` turns serials into integers."""
    rel_db_type: Callable[[BaseDatabaseWrapper], str | None] = getattr(field, "rel_db_type", field.db_type)
    return str(rel_db_type(connection))


def bindable(table: Table, names: Sequence[str], rows: Sequence[Row]) -> Sequence[Row]:
    """Rows as SQLite's driver takes them: Django teaches it to read times of day, but not to write them."""
    times = {position for position, name in enumerate(names) if name in table.times_of_day}
    if not times:
        return rows
    return [
        tuple(
            str(value) if position in times and isinstance(value, datetime.time) else value
            for position, value in enumerate(row)
        )
        for row in rows
    ]


def prepared(column: Field[Any, Any], values: Sequence[Any], connection: BaseDatabaseWrapper) -> list[Any]:
    """Values of the application for one column, as the driver takes them."""
    if set(map(type, values)) == {str} and _leaves_texts(type(column)):  # type: ignore[arg-type]  # classes are hashable
        return list(values)
    return [column.get_db_prep_save(value, connection) for value in values]


@functools.cache
def _leaves_texts(kind: type[Field[Any, Any]]) -> bool:
    """Whether such a column has a text written as it is: Django's own do, and nobody has to ask them of each of many texts."""
    return issubclass(kind, CharField | TextField) and all(
        getattr(kind, name) is getattr(CharField if issubclass(kind, CharField) else TextField, name)
        for name in ("get_db_prep_save", "get_db_prep_value", "get_prep_value", "to_python")
    )


# How many


def packets(
    rows: Sequence[Row], connection: BaseDatabaseWrapper, *, other_parameters: int = 0
) -> Iterable[Sequence[Row]]:
    """Runs of rows that fit one statement: one run unless the rows are large, or more than the database can bind."""
    if not rows:
        return ()
    most = (most_parameters(connection) - other_parameters) // max(1, len(rows[0]))
    if len(rows) <= most and total_bytes(rows) <= MAX_STATEMENT_BYTES:
        return (rows,)
    return _divided(rows, most)


def _divided(rows: Sequence[Row], most: int) -> Iterator[Sequence[Row]]:
    start, size = 0, 0
    for position, row in enumerate(rows):
        length = row_bytes(row)
        if position - start == most or (size and size + length > MAX_STATEMENT_BYTES):
            yield rows[start:position]
            start, size = position, 0
        size += length
    if start < len(rows):
        yield rows[start:]


def most_parameters(connection: BaseDatabaseWrapper) -> int:
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        limit: int = connection.connection.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER)
        return limit
    # PostgreSQL's protocol counts parameters in 16 bits; other parameters are written into the statement's text.
    return 65_535 if connection.vendor == "postgresql" and binds_on_the_server(connection) else sys.maxsize


def binds_on_the_server(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("server_side_binding"))


def row_bytes(row: Sequence[Any]) -> int:
    """About how many bytes a row takes in a statement or a bag."""
    return 12 * len(row) + sum([len(value) for value in row if type(value) in _TEXTS])


def total_bytes(rows: Sequence[Sequence[Any]]) -> int:
    """The sum of `row_bytes`, column by column: most hold the same in all rows, text alone, or no text."""
    total = 12 * sum(map(len, rows))
    for values in zip(*rows, strict=True):
        first = values[0]
        if values.count(first) == len(values):  # no text equals anything else
            total += len(first) * len(values) if type(first) in _TEXTS else 0
            continue
        kinds = set(map(type, values))
        if kinds <= _TEXTS:
            total += sum(map(len, values))
        elif kinds & _TEXTS:
            total += sum([len(value) for value in values if type(value) in _TEXTS])
    return total


# What comes back


def plain(rows: Sequence[Row], connection: BaseDatabaseWrapper) -> list[Row]:
    """Rows without driver-owned buffers: PostgreSQL's memoryviews become bytes."""
    if connection.vendor == "postgresql" and any(isinstance(value, memoryview) for row in rows for value in row):
        return [tuple(bytes(value) if isinstance(value, memoryview) else value for value in row) for row in rows]
    return list(rows)


def python_value(column: Field[Any, Any], value: Any, *, using: str) -> Any:
    """A raw value as the application's code sees it on a model instance."""
    return python_values(column, [value], using=using)[0]


def python_values(column: Field[Any, Any], values: Iterable[Any], *, using: str) -> list[Any]:
    """Raw values of one column as `python_value` makes them."""
    connection = connection_of(using)
    expression = column.get_col(column.model._meta.db_table)
    converted = list(values)
    for convert in (*connection.ops.get_db_converters(expression), *expression.get_db_converters(connection)):
        converted = [convert(value, expression, connection) for value in converted]
    return converted
