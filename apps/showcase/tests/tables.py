"""Rows as the database has them, for tests that compare what was with what is."""

from __future__ import annotations

from typing import Any


def rows_of(cursor: Any, *, last_login: bool) -> list[tuple[Any, ...]]:
    """What a statement found; without the moment of the last login where that is not meant: who comes back is logged in."""
    names = [column[0] for column in cursor.description]
    kept = [index for index, name in enumerate(names) if last_login or name not in ("last_login", "lastLogin")]
    return [tuple(row[index] for index in kept) for row in cursor.fetchall()]
