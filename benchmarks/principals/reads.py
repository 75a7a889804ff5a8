"""How much MariaDB and PostgreSQL read for a piece of work: counted by the server itself, so the machine's moods do not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from django.db import connection

from benchmarks.kit.driver import Driver

_ROWS: Final = "Handler_read_"
_PAGES: Final = "Innodb_buffer_pool_read_requests"
#: What a session has counted is told when it is idle, and at most once a second: unless it is asked to.
_TOLD_NOW: Final = "SELECT pg_stat_force_next_flush()"
_OLDEST_POSTGRESQL: Final = 150_000
_COUNTED: Final = """
SELECT (SELECT SUM(idx_tup_read) FROM pg_stat_user_indexes),
       (SELECT SUM(heap_blks_hit + heap_blks_read + COALESCE(idx_blks_hit + idx_blks_read, 0)
                   + COALESCE(toast_blks_hit + toast_blks_read + tidx_blks_hit + tidx_blks_read, 0)) FROM pg_statio_user_tables),
       (SELECT SUM(seq_tup_read) FROM pg_stat_user_tables)
"""


@dataclass(frozen=True)
class Reads:
    """``rows`` that were asked of an index, on MariaDB also those of scanned tables; ``pages`` that the whole server looked at, its purge
    or vacuum included. ``scanned``: rows of tables without an index; PostgreSQL does that to those of few pages.

    On MariaDB rows of this connection. On PostgreSQL of all of them: nobody else may be at work.
    """

    rows: int
    pages: int
    scanned: int = 0

    def __sub__(self, other: Self) -> Reads:
        return Reads(self.rows - other.rows, self.pages - other.pages, self.scanned - other.scanned)


def reads_so_far(driver: Driver) -> Reads | None:
    """None where the database does not tell. ``driver``: the other connection, what it has read counts before."""
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute(f"SHOW SESSION STATUS WHERE Variable_name LIKE '{_ROWS}%' OR Variable_name = '{_PAGES}'")
            found = {name: int(value) for name, value in cursor.fetchall()}
            return Reads(sum(value for name, value in found.items() if name.startswith(_ROWS)), found[_PAGES])
        if connection.vendor == "postgresql" and connection.pg_version >= _OLDEST_POSTGRESQL:
            driver.cursor.execute(_TOLD_NOW)
            driver.commit()
            cursor.execute(_TOLD_NOW)
            cursor.execute(_COUNTED)
            return Reads(*map(int, cursor.fetchone()))
    return None


def reads_of_asking(driver: Driver) -> Reads | None:
    """What asking itself adds, to be taken off."""
    asked = [reads_so_far(driver) for _ in range(3)]
    return None if asked[-1] is None or asked[-2] is None else asked[-1] - asked[-2]
