"""All of edna's tables, read and filled page by page, in values that are the same on every database.

Every function takes the database alias. Pages are bounded in rows and in bytes, so that memory does not grow with a table; they come
by primary key, which is random, so that their order tells nothing about when a row was written. Knows no files and no keys.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.core.management.color import no_style
from django.db import connections, transaction
from django.db.models import BinaryField, Model, QuerySet, Value
from django.db.models.functions import Coalesce, Length

from edna import conf
from edna.db.rows import Row, Table, table_of
from edna.models import FixedBinaryField

_ROWS_AT_ONCE: Final = 1_000
_BYTES_AT_ONCE: Final = 2 * 1024 * 1024


def tables() -> list[Table]:
    return sorted((table_of(model) for model in conf.own_models()), key=label_of)


def label_of(table: Table) -> str:
    """What files call it: as they did when all tables were of one application."""
    return f"edna.{table.model._meta.model_name}"


@contextmanager
def snapshot(*, using: str) -> Iterator[None]:
    """A transaction that sees all tables as they are at one moment, and writes nothing, where the database can promise it.

    Inside a transaction of the caller it is theirs.
    """
    connection = connections[using]
    outermost = not connection.in_atomic_block
    if outermost and connection.vendor == "mysql":
        with connection.cursor() as cursor:  # about the next transaction
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    with transaction.atomic(using=using):
        if outermost and connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def count(table: Table, *, using: str) -> int:
    return _rows(table, using).count()


def is_empty(table: Table, *, using: str) -> bool:
    return not _rows(table, using).exists()


def pages(table: Table, *, using: str) -> Iterator[list[Row]]:
    """Rows of Python's values, in the order of ``table.names``."""
    wide = [
        field.name
        for field in table.fields
        if isinstance(field, BinaryField) and not isinstance(field, FixedBinaryField)
    ]
    lengths = [Coalesce(Length(name), 0) for name in wide]
    size: Any = functools.reduce(operator.add, lengths) if lengths else Value(0)
    rows, last = _rows(table, using).order_by("pk"), None
    while True:
        left = rows if last is None else rows.filter(pk__gt=last)
        sizes = list(left.annotate(_size=size).values_list("pk", "_size")[:_ROWS_AT_ONCE])
        if not sizes:
            return
        for first, last in _runs(sizes):
            page = rows.filter(pk__gte=first, pk__lte=last).values_list(*table.names)
            yield [tuple(map(_plain, row)) for row in page]


def add(table: Table, rows: Iterable[Sequence[Any]], *, using: str) -> None:
    """
    Raises:
        IntegrityError: somebody else has written to the table.
    """
    model: type[Model] = table.model
    _rows(table, using).bulk_create([model(**dict(zip(table.names, row, strict=True))) for row in rows])


def filled(*, using: str) -> None:
    """After rows were added with their keys: the database numbers new ones from there on."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for sql in connection.ops.sequence_reset_sql(no_style(), [table.model for table in tables()]):
            cursor.execute(sql)


def _rows(table: Table, using: str) -> QuerySet[Any]:
    # Past the model's own manager, which may refuse to change anything.
    return QuerySet(table.model, using=using)


def _runs(sizes: Sequence[tuple[Any, int]]) -> Iterator[tuple[Any, Any]]:
    """The first and last keys of runs that are small enough, or a single row."""
    start, total = 0, 0
    for position, (_, size) in enumerate(sizes):
        if position > start and total + size > _BYTES_AT_ONCE:
            yield sizes[start][0], sizes[position - 1][0]
            start, total = position, 0
        total += size
    yield sizes[start][0], sizes[-1][0]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value
