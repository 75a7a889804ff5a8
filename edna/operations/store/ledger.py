"""Reads and writes the erasure ledger. Bytes in, bytes out: knows neither whom a row is about nor how it is sealed.

Every function takes the database alias; `put` and `delete` run in the caller's transaction, one statement each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from django.db import connections

from edna.db import rows
from edna.db.rows import table_of
from edna.models import random_primary_key
from edna.operations.models import LedgerEntry

_LEDGER: Final = table_of(LedgerEntry)
_ROWS_AT_ONCE: Final = 1_000


def put(notes: Sequence[tuple[bytes, bytes]], *, using: str) -> None:
    """Write (index, sealed) notes, each in the place of the one that has this index already."""
    # By the random key: the order of writing must not say who was disguised first.
    new = sorted((random_primary_key(), index, sealed) for index, sealed in notes)
    targeted = connections[using].features.supports_update_conflicts_with_target
    LedgerEntry.objects.using(using).bulk_create(
        [LedgerEntry(id=pk, index=index, sealed=sealed) for pk, index, sealed in new],
        update_conflicts=True,
        update_fields=["sealed"],
        unique_fields=["index"] if targeted else None,
    )


def delete(indexes: Sequence[bytes], *, using: str) -> None:
    rows.delete_where(_LEDGER, "index", indexes, using=using)


def known(indexes: Sequence[bytes], *, using: str) -> set[bytes]:
    """Those of ``indexes`` that are there."""
    found = rows.read_where(_LEDGER, ("index",), "index", indexes, lock=False, using=using)
    return {bytes(index) for (index,) in found}


def count(*, using: str) -> int:
    return LedgerEntry.objects.using(using).count()


def pages(*, using: str) -> Iterator[list[tuple[int, bytes, bytes]]]:
    """All rows (key, index, sealed), some at a time, by their random keys."""
    last = 0
    while page := list(
        LedgerEntry.objects.using(using)
        .filter(id__gt=last)
        .order_by("id")
        .values_list("id", "index", "sealed")[:_ROWS_AT_ONCE]
    ):
        yield [(pk, bytes(index), bytes(sealed)) for pk, index, sealed in page]
        last = page[-1][0]


def delete_rows(keys: Sequence[int], *, using: str) -> None:
    rows.delete(_LEDGER, [(key,) for key in keys], using=using)
