"""What stands in the way of revealing a record, and how the outcome says so.

Invariant (nothing overwritten): nothing overwrites a change made since, breaks a constraint or leaves a reference dangling. What
cannot be revealed is *held*: it stays sealed, with a machine-readable reason. Decides on values; reads no tables.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import DataError, IntegrityError, transaction

from edna.db.rows import Row, in_one_statement
from edna.engine.graph.tally import Tally
from edna.errors import RevealRefused


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
    OWNER_AWAY = "owner_away"
    BAG_DAMAGED = "bag_damaged"
    CALLBACK_MISSING = "callback_missing"
    CALLBACK_REFUSED = "callback_refused"

    @property
    def can_be_accepted(self) -> bool:
        """Not what the application's function decides anew each time, nor what is another owner's as well."""
        return self not in (Reason.CALLBACK_MISSING, Reason.CALLBACK_REFUSED, Reason.OWNER_AWAY, Reason.BAG_DAMAGED)


def named(key: Row) -> Any:
    """A primary key as outcomes and messages have it: a composite one is a tuple."""
    return key[0] if len(key) == 1 else key


@dataclass(frozen=True, slots=True)
class Held:
    """A record that stays sealed: the row, why, and the field that is in the way (None where it is the row itself)."""

    model: str
    pk: Any
    reason: Reason
    field: str | None = None

    @classmethod
    def of(cls, model: str, key: Row, reason: Reason, field: str | None = None) -> Held:
        return cls(model, named(key), reason, field)


@dataclass(slots=True)
class Outcome:
    """What a reveal did. ``restored`` counts rows by model, each once; ``deferred`` those of which something comes back when another
    disguise of the same principal is revealed. A row of which something is ``held`` counts in neither, and can be revealed later.

    What the specification wants otherwise than it was sealed is no failure: ``altered`` counts, by model and column, rows that
    came back with the value that it gives, ``dropped`` rows that it does not let come back. ``accepted`` counts, by model, rows of
    which the person, or the specification, gave up what was held.
    """

    restored: dict[str, int] = field(default_factory=dict)
    held: list[Held] = field(default_factory=list)
    deferred: dict[str, int] = field(default_factory=dict)
    altered: dict[str, dict[str, int]] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    accepted: dict[str, int] = field(default_factory=dict)
    #: The rows of ``accepted``: several chunks may each have something of one.
    given_up: Tally = field(default_factory=Tally, repr=False, compare=False)
    #: The rows that were to come back, those that wait for another disguise, and those that are held.
    due: Tally = field(default_factory=Tally, repr=False, compare=False)
    waiting: Tally = field(default_factory=Tally, repr=False, compare=False)
    stopped: Tally = field(default_factory=Tally, repr=False, compare=False)
    #: Of what is held, that which only waits for what is sealed as well, and may come back.
    behind_sealed: set[Held] = field(default_factory=set, repr=False, compare=False)
    #: Somebody waits for what an earlier chunk of the same disguise brings back.
    postponed: bool = field(default=False, repr=False, compare=False)

    @property
    def complete(self) -> bool:
        return not self.held

    @property
    def rows_held(self) -> int:
        """How many rows there are in ``held``, each once: of one row several things may be held."""
        return len({(row.model, str(row.pk)) for row in self.held})

    def count(self) -> None:
        """Say in numbers what is known of the rows."""
        self.restored = self.due.without(self.waiting, self.stopped).counts()
        self.deferred = self.waiting.without(self.stopped).counts()

    def forget_held(self) -> None:
        """What was held is tried again, or given up."""
        self.due, self.held, self.stopped = self.due.without(self.stopped), [], Tally()
        self.behind_sealed = set()

    def require_complete(self, disguise: str) -> None:
        """
        Raises:
            RevealRefused: something is held.
        """
        if self.held:
            raise RevealRefused(
                f"{in_rows(self.rows_held)} of {disguise} cannot be revealed now, so none was; see the outcome for the reasons.",
                outcome=self,
            )

    def drop(self, model: str, rows: int) -> None:
        if rows:
            self.dropped[model] = self.dropped.get(model, 0) + rows

    def accept(self, model: str, row: Any) -> None:
        """``row`` is its key, as `Held` names it."""
        self.given_up.add(model, [row])
        self.accepted = self.given_up.counts()

    def alter(self, model: str, columns: Iterable[str], *, by: int = 1) -> None:
        for name in columns:
            counts = self.altered.setdefault(model, {})
            counts[name] = counts.get(name, 0) + by
            if not counts[name]:
                del counts[name]
        if not self.altered.get(model, True):
            del self.altered[model]

    def include(self, other: Outcome) -> None:
        """Add what another part of the same reveal did, after this one."""
        self.waiting = self.waiting.without(other.due.without(other.waiting, other.stopped))
        self.due.include(other.due)
        self.waiting.include(other.waiting)
        self.stopped.include(other.stopped)
        for model, rows in other.dropped.items():
            self.drop(model, rows)
        self.given_up.include(other.given_up)
        self.accepted = self.given_up.counts()
        for model, columns in other.altered.items():
            for name, rows in columns.items():
                self.alter(model, (name,), by=rows)
        self.held += other.held
        self.behind_sealed |= other.behind_sealed
        self.postponed = self.postponed or other.postponed
        self.count()

    def as_dict(self) -> dict[str, Any]:
        held = [{"model": h.model, "pk": h.pk, "reason": str(h.reason), "field": h.field} for h in self.held]
        return {
            "restored": self.restored,
            "deferred": self.deferred,
            "altered": self.altered,
            "dropped": self.dropped,
            "accepted": self.accepted,
            "held": held,
            "complete": self.complete,
        }


def in_rows(number: int) -> str:
    """``in_rows(1)`` is "1 row"."""
    return f"{number:,} {'row' if number == 1 else 'rows'}"


def fits(write: Callable[[Sequence[Row]], object], rows: Sequence[Row], *, using: str, undoes: bool = False) -> bool:
    """Write all of ``rows`` in one go, or none if the database refuses any. ``undoes``: then ``write`` itself leaves none."""
    try:
        if undoes or in_one_statement(rows, using=using):
            write(rows)  # a savepoint would be two statements more
        elif rows:
            with transaction.atomic(using=using):
                write(rows)
    except (IntegrityError, DataError):
        return False
    return True


def write_what_fits(write: Callable[[Sequence[Row]], object], rows: Sequence[Row], *, using: str) -> list[Row]:
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
