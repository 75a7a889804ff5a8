"""What MySQL and MariaDB say of tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from edna.checks.catalogue.description import Column, Description


def read(cursor: Any, tables: Collection[str]) -> Mapping[str, Description]:
    # Names are compared as the server stores them: on some systems it folds their case.
    named = {table.casefold(): table for table in tables}
    found: dict[str, Description] = {}

    def described(name: str) -> Description | None:
        table = named.get(name.casefold())
        return None if table is None else found.setdefault(table, Description())

    cursor.execute(
        "SELECT table_name, column_name, data_type, extra FROM information_schema.columns WHERE table_schema = DATABASE() "
        "ORDER BY table_name, ordinal_position"
    )
    for table, column, kind, extra in cursor.fetchall():
        if (one := described(table)) is None:
            continue
        words = extra.upper()
        one.columns[column] = Column("GENERATED" in words and "DEFAULT_GENERATED" not in words, kind.lower() == "float")
        if "ON UPDATE" in words:
            one.acts.append(f"column {column} ON UPDATE")
    cursor.execute(
        "SELECT event_object_table, trigger_name FROM information_schema.triggers WHERE event_object_schema = DATABASE()"
    )
    for table, name in cursor.fetchall():
        if (one := described(table)) is not None:
            one.acts.append(f"trigger {name}")
    cursor.execute("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = DATABASE()")
    for table, kind in cursor.fetchall():
        if kind == "SYSTEM VERSIONED" and (one := described(table)) is not None:
            one.acts.append("SYSTEM VERSIONING")
    cursor.execute(
        "SELECT r.referenced_table_name, k.table_name, k.column_name FROM information_schema.referential_constraints r "
        "JOIN information_schema.key_column_usage k ON k.constraint_schema = r.constraint_schema AND k.constraint_name = "
        "r.constraint_name AND k.table_name = r.table_name "
        "WHERE r.constraint_schema = DATABASE() AND r.delete_rule IN ('CASCADE', 'SET NULL', 'SET DEFAULT')"
    )
    for table, other, column in cursor.fetchall():
        if (one := described(table)) is not None:
            one.changes_along.append((other, column))
    return found
