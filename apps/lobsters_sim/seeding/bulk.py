"""Stores many rows quickly: plain tuples in, statements with many rows out. Knows no application.

No model instance is made, no signal is sent, and no more than one batch of rows is in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from django.conf import settings
from django.core.management.color import no_style
from django.db import connections, reset_queries, router
from django.db.models import DateTimeField, DecimalField, Field, Model

#: Cells of one statement: some 100 to 500 KB for these tables, and far below what servers take in one packet.
CELLS = 20_000


def insert(
    model: type[Model], names: Sequence[str], rows: Iterable[tuple[Any, ...]], *, done: Callable[[int], None]
) -> int:
    """Insert rows whose values are in the order of the columns ``names``; how many there were. ``done`` is told after each batch.

    Values are what the column holds in Python: a datetime, a Decimal, the key of what a foreign key refers to. Columns without a
    name become NULL where they may, or else what the model says.
    """
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    fields = [model._meta.get_field(name) for name in names]
    others = [field for field in model._meta.concrete_fields if field not in fields and not field.null]
    defaults = tuple(field.get_db_prep_save(field.get_default(), connection) for field in others)
    fields += others
    columns = ", ".join(quote(field.column) for field in fields)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES "  # noqa: S608 - names of this application's own tables
    one = f"({', '.join(['%s'] * len(fields))})"
    converters = _converters(fields, connection)
    size = CELLS // len(fields)
    total, source = 0, iter(rows)
    with connection.cursor() as cursor:
        while batch := [_prepared(row, converters) + defaults for row in islice(source, size)]:
            if connection.vendor == "sqlite":
                # It limits how many values a statement has, and there is no round trip to save.
                cursor.executemany(head + one, batch)
            else:
                cursor.execute(head + ", ".join([one] * len(batch)), [value for row in batch for value in row])
            total += len(batch)
            done(len(batch))
            if settings.DEBUG:
                reset_queries()  # Django keeps the text of every statement
    return total


def _converters(fields: Sequence[Field[Any, Any]], connection: Any) -> list[tuple[int, Callable[[Any], Any]]]:
    """For the columns whose values the database takes in another form only."""

    def of(field: Field[Any, Any]) -> Callable[[Any], Any]:
        return lambda value: field.get_db_prep_save(value, connection)

    return [
        (place, of(field)) for place, field in enumerate(fields) if isinstance(field, (DateTimeField, DecimalField))
    ]


def _prepared(row: tuple[Any, ...], converters: Sequence[tuple[int, Callable[[Any], Any]]]) -> tuple[Any, ...]:
    if not converters:
        return row
    values = list(row)
    for place, convert in converters:
        values[place] = convert(values[place])
    return tuple(values)


def count_on(models: Iterable[type[Model]]) -> None:
    """Let the databases go on counting behind the primary keys that were inserted."""
    for model in models:
        connection = connections[router.db_for_write(model)]
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
                cursor.execute(statement)
