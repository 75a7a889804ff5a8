"""Automatic primary keys for rows that a record migration has made: of a table that was split off, say.

They are given when the rows are inserted and taken back from what is sealed again, because by the next reveal they may belong
to others. Reads the database's counters; one statement a table (on SQLite and MariaDB two).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import Max, Model

from edna.db.cursors import connection_of
from edna.engine.bags.opened_bag import Opened
from edna.records.diff import Removed, RowBatch

#: Keys that were given, by model.
Given = Mapping[str, set[Any]]


def give_keys(bags: Sequence[Opened], *, among: Sequence[RowBatch], using: str) -> Given:
    """Give a key to every row of ``bags`` that has none yet; return the keys that were given.

    ``among`` are all batches that are known: a key that one of their rows has is not given.
    """
    given: dict[str, set[Any]] = {}
    lacking = {batch.model for bag in bags for batch in bag.diffs if _lacks_keys(batch)}
    taken: dict[str, set[Any]] = {model: set() for model in lacking}
    for batch in among if lacking else ():
        if batch.model in lacking and isinstance(batch, Removed):
            taken[batch.model].update(key for (key,) in batch.primary_keys() if key is not None)
    for bag in bags if lacking else ():
        for batch in bag.diffs:
            if _lacks_keys(batch):
                used, position = taken[batch.model], batch.columns.index(batch.key[0])
                keys = _next_keys(apps.get_model(batch.model), len(batch.rows), used, using=using)
                used.update(keys)
                given.setdefault(batch.model, set()).update(keys)
                rows = [[*row[:position], key, *row[position + 1 :]] for row, key in zip(batch.rows, keys, strict=True)]
                bag.exchange(batch, replace(batch, rows=rows))
    return given


def without_keys(batches: Sequence[RowBatch], given: Given) -> list[RowBatch]:
    """Take the keys back from what is sealed again."""
    done: list[RowBatch] = []
    for batch in batches:
        keys = given.get(batch.model)
        if keys and isinstance(batch, Removed):
            position = batch.columns.index(batch.key[0])
            own = [[*row[:position], None, *row[position + 1 :]] for row in batch.rows if row[position] in keys]
            rest = [row for row in batch.rows if row[position] not in keys]
            done += [replace(batch, rows=rows) for rows in (own, rest) if rows]
        else:
            done.append(batch)
    return done


def _lacks_keys(batch: RowBatch) -> bool:
    # Rows with and without a key never share a batch, so the first row speaks for all.
    return (
        isinstance(batch, Removed)
        and len(batch.key) == 1
        and bool(batch.rows)
        and batch.rows[0][batch.columns.index(batch.key[0])] is None
    )


def _next_keys(model: type[Model], count: int, taken: set[Any], *, using: str) -> list[int]:
    connection = connection_of(using)
    table, column = model._meta.db_table, model._meta.pk.column
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Twice as many as needed at most: a key that a sealed row has is passed over.
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
                [connection.ops.quote_name(table), column, count + len(taken)],
            )
            return [key for (key,) in cursor.fetchall() if key not in taken][:count]
        if connection.vendor == "sqlite":
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table])
        else:
            cursor.execute(
                "SELECT AUTO_INCREMENT - 1 FROM information_schema.TABLES "
                "WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = %s",
                [table],
            )
        counter = cursor.fetchone()
    # The counter knows keys of rows that are gone (disguised, perhaps); where it is not kept, the greatest key has to do.
    greatest = model._base_manager.using(using).aggregate(greatest=Max("pk"))["greatest"]
    first = max([0, *(number for number in (counter and counter[0], greatest, *taken) if number is not None)]) + 1
    return list(range(first, first + count))
