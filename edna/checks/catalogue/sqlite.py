"""What SQLite says of tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from edna.checks.catalogue.description import Column, Description

#: In the answer about columns: computed when it is read, and stored.
_GENERATED = (2, 3)


def read(cursor: Any, tables: Collection[str]) -> Mapping[str, Description]:
    cursor.execute("SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('table', 'trigger')")
    all_of_them = cursor.fetchall()
    there = [name for kind, name, _ in all_of_them if kind == "table"]
    found = {table: Description() for table in tables if table in there}
    for table, one in found.items():
        cursor.execute("SELECT name, hidden FROM pragma_table_xinfo(%s)", [table])
        one.columns |= {name: Column(hidden in _GENERATED) for name, hidden in cursor.fetchall()}
    for kind, name, table in all_of_them:
        if kind == "trigger" and table in found:
            found[table].acts.append(f"trigger {name}")
    for other in there:
        cursor.execute('SELECT "table", "from", on_delete FROM pragma_foreign_key_list(%s)', [other])
        for table, column, action in cursor.fetchall():
            if table in found and action not in ("NO ACTION", "RESTRICT"):
                found[table].changes_along.append((other, column))
    return found
