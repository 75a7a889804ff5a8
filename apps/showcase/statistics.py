"""What the database knows about its tables: right after many rows were stored, nothing, and its plans are as bad."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connections, router
from django.db.models import Model


def refresh(models: Iterable[type[Model]]) -> None:
    """Let the database count. Not inside a transaction, which MariaDB would commit."""
    for model in models:
        connection = connections[router.db_for_write(model)]
        if not connection.in_atomic_block:
            table = connection.ops.quote_name(model._meta.db_table)
            with connection.cursor() as cursor:
                cursor.execute(f"ANALYZE TABLE {table}" if connection.vendor == "mysql" else f"ANALYZE {table}")
