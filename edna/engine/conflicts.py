"""What stands in the way of revealing a record, and how the outcome says so.

Invariant (DESIGN 2.5): nothing overwrites a change made since, breaks a constraint or leaves a reference dangling. What
cannot be revealed is *held*: it stays sealed, with a machine-readable reason. Decides on values; reads no tables.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DataError, IntegrityError, transaction

from edna.rows import Row, in_one_statement


class Reason(enum.StrEnum):
    """Why a record is held. The values are part of the public interface."""

    ROW_EXISTS = "row_exists"
    ROW_MISSING = "row_missing"
    CHANGED = "changed"
    UNIQUE_TAKEN = "unique_taken"
    REFERENCE_MISSING = "reference_missing"
    CONSTRAINT = "constraint"
    SCHEMA_CHANGED = "schema_changed"
    FILE_EXISTS = "file_exists"
    CALLBACK_MISSING = "callback_missing"
    CALLBACK_REFUSED = "callback_refused"


@dataclass(frozen=True, slots=True)
class Held:
    """A record that stays sealed: the row, why, and the field that is in the way (None where it is the row itself)."""

    model: str
    pk: Any
    reason: Reason
    field: str | None = None


@dataclass(slots=True)
class Outcome:
    """What a reveal did. ``restored`` counts records by model, ``deferred`` those that come back when another disguise of
    the same principal is revealed; what is ``held`` can be revealed later."""

    restored: dict[str, int] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    deferred: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        return not self.held

    def add(self, model: str, rows: int) -> None:
        if rows:
            self.restored[model] = self.restored.get(model, 0) + rows

    def defer(self, model: str, rows: int) -> None:
        if rows:
            self.deferred[model] = self.deferred.get(model, 0) + rows

    def include(self, other: Outcome) -> None:
        """Add what another part of the same reveal did."""
        for model, rows in other.restored.items():
            self.add(model, rows)
        for model, rows in other.deferred.items():
            self.defer(model, rows)
        self.held += other.held

    def as_dict(self) -> dict[str, Any]:
        held = [{"model": h.model, "pk": h.pk, "reason": str(h.reason), "field": h.field} for h in self.held]
        return {
            "restored": self.restored,
            "deferred": self.deferred,
            "held": held,
            "complete": self.complete,
        }


def fits(write: Callable[[Sequence[Row]], None], rows: Sequence[Row], *, using: str) -> bool:
    """Write all of ``rows`` in one go, or none if the database refuses any."""
    try:
        if in_one_statement(rows, using=using):
            write(rows)  # a savepoint would be two statements more
        elif rows:
            with transaction.atomic(using=using):
                write(rows)
    except (IntegrityError, DataError):
        return False
    return True


def write_what_fits(write: Callable[[Sequence[Row]], None], rows: Sequence[Row], *, using: str) -> list[Row]:
    """Write ``rows`` and return those that the database refuses.

    One statement when nothing is in the way. Otherwise halves are tried, so that a few refused rows among many cost a
    few statements, and one bad row never holds back its table.
    """
    if fits(write, rows, using=using):
        return []
    if len(rows) == 1:
        return list(rows)
    middle = len(rows) // 2
    return write_what_fits(write, rows[:middle], using=using) + write_what_fits(write, rows[middle:], using=using)
