"""The number that a table gives to its next row: how far it has come, and that it goes on from a larger one.

PostgreSQL counts without looking at the rows, so nothing here is for it. SQLite and InnoDB go on after the largest key that was ever
inserted; neither can be made to go back, but both go on from any larger one that they are shown (docs/decisions/0001).
"""

from __future__ import annotations

import re
from typing import Final

from edna.db.cursors import connection_of, cursor_of
from edna.db.rows.tables import Table

_COUNTER: Final = re.compile(r"\bAUTO_INCREMENT=(\d+)")


def counts_beyond(table: Table, number: int, *, using: str) -> bool:
    """Whether MySQL or MariaDB would call the next row something beyond ``number``."""
    name = connection_of(using).ops.quote_name(table.model._meta.db_table)
    with cursor_of(connection_of(using)) as cursor:
        # As it is now: MySQL answers from the information schema what it was a day ago.
        cursor.execute(f"SHOW CREATE TABLE {name}")
        found = _COUNTER.search(cursor.fetchone()[1])
    return found is not None and int(found[1]) > number


def count_beyond(table: Table, number: int, *, using: str) -> None:
    """Let SQLite call the next row something beyond ``number``; for a table that has had a row."""
    with cursor_of(connection_of(using)) as cursor:
        cursor.execute("SELECT 1 FROM sqlite_master WHERE name = 'sqlite_sequence'")
        if cursor.fetchone():  # none, if no table counts
            statement = "UPDATE sqlite_sequence SET seq = %s WHERE name = %s AND seq < %s"
            cursor.execute(statement, [number, table.model._meta.db_table, number])
