"""Names of principals: the raw primary key of a row, and the text form that entries and bags keep of it.

The text is the same on every database. Reads the principal model only; knows no disguises, entries or bags.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connections
from django.db.models import Model

from edna.db import rows as raw
from edna.db.rows import table_of


def reference_of(model: type[Model], key: Any) -> str:
    """The text form of a raw primary key, the same on every database."""
    return str(key) if type(key) is int else str(model._meta.pk.to_python(key))


def key_of(model: type[Model], reference: str, *, using: str) -> Any:
    """The raw primary key that `reference_of` wrote as text."""
    pk = model._meta.pk
    # Prepared here: on MariaDB, Django refuses to prepare an automatic key of 0, and columns are full of references to it.
    return pk.get_db_prep_value(pk.get_prep_value(pk.to_python(reference)), connections[using], prepared=True)


def without_row(model: type[Model], references: Sequence[str], *, using: str) -> list[str]:
    """Those of ``references`` that no row of the principal model has."""
    table = table_of(model)
    keys = [(key_of(model, reference, using=using),) for reference in references]
    there = {reference_of(model, key) for (key,) in raw.read(table, table.key_names, keys, lock=False, using=using)}
    return [reference for reference in references if reference not in there]
