"""Where operators' acts are noted, if anything keeps a trail: the way from the door to `edna.operations.audit`, which is above it.

Keeps: what is noted is noted in the transaction of what was done, last, and a failure of it undoes that. Knows no trail.
"""

from __future__ import annotations

from collections.abc import Callable

_note: Callable[..., None] | None = None


def connect(note: Callable[..., None]) -> None:
    """Have ``note(action, operator=..., disguise=..., **details)`` called for each act."""
    global _note
    _note = note


def add(action: str, *, operator: str, disguise: str = "", **details: int | str) -> None:
    if _note is not None:
        _note(action, operator=operator, disguise=disguise, **details)
