"""How much MariaDB reads for a piece of work: counted by the server itself, so the machine's moods do not matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

from django.db import connection

_ROWS: Final = "Handler_read_"
_PAGES: Final = "Innodb_buffer_pool_read_requests"


@dataclass(frozen=True)
class Reads:
    """``rows`` that this connection asked an index or a table for; ``pages`` that the whole server looked at, its purge included."""

    rows: int
    pages: int

    def __sub__(self, other: Self) -> Reads:
        return Reads(self.rows - other.rows, self.pages - other.pages)


def reads_so_far() -> Reads | None:
    """None where the database does not tell."""
    if connection.vendor != "mysql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(f"SHOW SESSION STATUS WHERE Variable_name LIKE '{_ROWS}%' OR Variable_name = '{_PAGES}'")
        found = {name: int(value) for name, value in cursor.fetchall()}
    return Reads(sum(value for name, value in found.items() if name.startswith(_ROWS)), found[_PAGES])


def reads_of_asking() -> Reads | None:
    """What asking itself adds, to be taken off."""
    asked = [reads_so_far() for _ in range(3)]
    return None if asked[-1] is None or asked[-2] is None else asked[-1] - asked[-2]
