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
from django.db.models import CharField, JSONField, TextField

from edna.db.packed_values import is_one_value
from edna.db.rows.tables import Row, Table

#: What a statement calls the values that it brings along; no application has a table of this name.
GIVEN: Final = "edna_given"
#: From so many on an array takes PostgreSQL's client half of what single parameters do; of pairs it is not slower.
MANY: Final = 20
#: Django's own columns for texts.
_TEXTS: Final = (CharField, TextField, JSONField)
_OPENING: Final = frozenset("{[(")


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
    if not all(_fits(table, name, values) for name, values in zip(names, columns, strict=True)):
        return None
    quote = connection.ops.quote_name
    name = quote(table.model._meta.db_table)
    sources = [f"ARRAY(SELECT {column} FROM {name} WHERE FALSE) || %s" for column in table.quoted(names, quote)]
    return f"UNNEST({', '.join(sources)})", list(map(array_of, columns))


def _fits(table: Table, name: str, values: Sequence[Any]) -> bool:
    kinds = set(map(type, values))
    if not all(kind in _ELEMENTS or issubclass(kind, int) for kind in kinds):
        return False
    if str not in kinds or (table.model._meta.managed and isinstance(table.field(name), _TEXTS)):
        return True
    # The text of an array, of a composite value or of a box: of such columns an array of arrays comes apart in another way.
    return not any(type(value) is str and value[:1] in _OPENING for value in values)


def array_of(values: Sequence[Any]) -> str:
    # Django's numbers for PostgreSQL have types of their own.
    elements = {kind: _ELEMENTS.get(kind, int.__repr__) for kind in set(map(type, values))}
    if len(elements) == 1:
        [element] = elements.values()
        return "{" + ",".join(map(element, values)) + "}"
    return "{" + ",".join([elements[type(value)](value) for value in values]) + "}"
