"""Many values as one parameter of a statement, for PostgreSQL: an array of a column, written as text. Single parameters are written by
the driver, read by the server and planned for, one by one, which would be most of what a statement about a hundred rows costs.

Invariant: an element is read as a text in the place of the single value would be, by its column's type. Knows columns; sends no statement.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Field

from edna.db.packed_values import is_one_value
from edna.db.rows.tables import Row, Table

#: What a statement calls the values that it brings along; no application has a table of this name.
GIVEN: Final = "edna_given"
BIGINT: Final = 2**63
#: From so many on an array takes PostgreSQL's client half of what single parameters do; of pairs it is not slower.
MANY: Final = 20
#: By a column's type, that of the array. Numbers too large for the column are among no rows, and no error.
_ARRAYS: Final = {"smallint": "bigint", "integer": "bigint", "bigint": "bigint", "uuid": "uuid", "bytea": "bytea"}
_KINDS: Final[dict[str, type]] = {"bigint": int, "uuid": uuid.UUID, "bytea": bytes}
#: `char` alone would be a single one.
_WITHOUT_SIZE: Final = {"varchar": "varchar", "char": "bpchar", "numeric": "numeric"}


def _quoted(value: object) -> str:
    return f'"{value}"'


_ELEMENTS: Final[dict[type, Callable[[Any], str]]] = {
    type(None): lambda _: "NULL",
    bool: lambda value: "true" if value else "false",
    int: str,
    float: str,
    Decimal: str,
    uuid.UUID: str,
    bytes: lambda value: f'"\\\\x{value.hex()}"',
    str: lambda value: _quoted(value.replace("\\", "\\\\").replace('"', '\\"')),
    datetime.datetime: _quoted,
    datetime.date: _quoted,
    datetime.time: _quoted,
}


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
    return list(map(_array, columns))


def unnested(types: Sequence[str]) -> str:
    """A table of arrays with these types of elements, a column each."""
    return f"UNNEST({', '.join([f'%s::{name}[]' for name in types])})"


def cast(field: Field[Any, Any], connection: BaseDatabaseWrapper) -> str:
    """The column's type as PostgreSQL casts to it: ``rel_db_type`` turns serials into integers. Without its size: a cast would cut off what
    is longer, where a table that others have made has room for it."""
    rel_db_type: Callable[[BaseDatabaseWrapper], str | None] = getattr(field, "rel_db_type", field.db_type)
    kind = str(rel_db_type(connection))
    name, _, size = kind.partition("(")
    return _WITHOUT_SIZE.get(name, kind) if size else kind


def rows_of_arrays(
    table: Table, names: Sequence[str], rows: Sequence[Row], connection: BaseDatabaseWrapper
) -> tuple[str, list[Any]] | None:
    """What selects many rows for an INSERT, and its parameters: an array for each column that varies. None if they are few, or if one of
    their values goes into no array."""
    if connection.vendor != "postgresql" or len(rows) < MANY:
        return None
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    alike = {name: values[0] for name, values in columns.items() if is_one_value(values)}
    varying = [name for name in names if name not in alike]
    given = arrays_of_columns(table, varying, [columns[name] for name in varying], connection) if varying else None
    if given is None:
        return None
    source, params = given
    places = {name: f"{GIVEN}.c{place}" for place, name in enumerate(varying)}
    selected = ", ".join(places.get(name, "%s") for name in names)
    return f"SELECT {selected} FROM {source} AS {GIVEN} ({', '.join(f'c{place}' for place in range(len(varying)))})", [
        *alike.values(),
        *params,
    ]


def arrays_of_columns(
    table: Table, names: Sequence[str], columns: Sequence[Sequence[Any]], connection: BaseDatabaseWrapper
) -> tuple[str, list[str]] | None:
    """A table of these columns, and its parameters, an array each; None if one of the values goes into no array.

    An array has the type that its column has in the database, whatever the model says: it continues an empty one of that column. So a
    text is read as if it stood in the column's place, and what is too long for the column is refused, not cut off.
    """
    if not all(map(_fits, columns)):
        return None
    quote = connection.ops.quote_name
    name = quote(table.model._meta.db_table)
    sources = [f"ARRAY(SELECT {column} FROM {name} WHERE FALSE) || %s" for column in table.quoted(names, quote)]
    return f"UNNEST({', '.join(sources)})", list(map(_array, columns))


def _fits(values: Sequence[Any]) -> bool:
    return all(kind in _ELEMENTS or issubclass(kind, int) for kind in set(map(type, values)))


def _array(values: Sequence[Any]) -> str:
    # Django's numbers for PostgreSQL have types of their own.
    elements = {kind: _ELEMENTS.get(kind, int.__repr__) for kind in set(map(type, values))}
    if len(elements) == 1:
        [element] = elements.values()
        return "{" + ",".join(map(element, values)) + "}"
    return "{" + ",".join([elements[type(value)](value) for value in values]) + "}"
