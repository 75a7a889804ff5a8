"""What has happened so far in one reveal, and what is held.

Everything that brings rows back writes here. Knows records and the other bags of the principal; reads and writes no tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db.models import Model

from edna.db.rows import Row, Table
from edna.engine.books.announcements import News
from edna.engine.graph.outcome import Held, Outcome, Reason
from edna.engine.graph.tally import former
from edna.engine.revealing.current_rows import Standing
from edna.engine.revealing.files import Incoming
from edna.engine.revealing.layers import Folding
from edna.records.diff import Changed, Removed, RowBatch

Overrides = Mapping[str, Any]
#: By label and key, the columns in which a row comes back otherwise than it was sealed: the specification says so.
Altered = dict[tuple[str, Row], list[str]]


@dataclass
class Progress:
    """What has happened so far in one reveal."""

    outcome: Outcome = field(default_factory=Outcome)
    kept: list[RowBatch] = field(default_factory=list)
    #: Values that this reveal has brought back, by the column that others refer to.
    present: dict[tuple[type[Model], str], set[Any]] = field(default_factory=dict)
    came_back: list[Any] = field(default_factory=list)
    #: Values that were found in the database, by column, so that they need not be looked for again; until a row is taken back.
    seen: dict[tuple[type[Model], str], set[Any]] = field(default_factory=dict)
    #: Keys of removed rows that were held: a row that has the same key now is another one.
    absent: dict[tuple[type[Model], str], set[Any]] = field(default_factory=dict)
    #: The principal's other bags, which may hold what a record waits for.
    folding: Folding | None = None
    #: Rows of shared bags, by model and key: they must not move into a bag of one owner.
    shared: dict[str, set[Row]] = field(default_factory=dict)
    #: The keys that rows had before the disguise, where it changed them, by those that its records have.
    before: dict[str, dict[Row, Row]] = field(default_factory=dict)
    #: What to tell the application.
    news: News = field(default_factory=News)
    #: The rows whose changes are undone.
    standing: Standing = field(default_factory=Standing)
    #: What the specification has changed in rows that are to come back.
    altered: Altered = field(default_factory=dict)
    #: The files of the rows that are to come back.
    files: Incoming = field(default_factory=Incoming)

    def fold(self, batch: Changed, *, at_any_time: bool = False) -> list[Changed]:
        """What later disguises of the same principal do not lie on; the rest goes into their records."""
        if not self.folding:
            return [batch]
        left = self.folding.take(batch, at_any_time=at_any_time)
        if sum(len(part.rows) for part in left) < len(batch.rows):
            stays = {key for part in left for key in part.primary_keys()}
            folded = [key for key in batch.primary_keys() if key not in stays]
            self.outcome.waiting.add(batch.model, self.former(batch.model, folded))
        return left

    def former(self, model: str, keys: list[Row]) -> list[Row]:
        """The keys that rows had before the disguise."""
        if self.folding:
            keys = [self.folding.moves.recorded(model, key) for key in keys]
        return former(self.before, model, keys)

    def count_altered(self, batch: RowBatch, rows: Sequence[Row], *, by: int = 1) -> None:
        """Rows that the specification has changed are back, or taken back again (``by=-1``)."""
        if self.altered:
            for key in replace(batch, rows=rows).primary_keys():
                self.outcome.alter(batch.model, self.altered.get((batch.model, key), ()), by=by)

    def under_disguise(self, target: Table, name: str) -> set[Any]:
        """Values of a column of rows that this principal's disguises have removed, as far as they are not back."""
        gone = set(self.absent.get((target.model, name), ()))
        return gone | self.folding.removed(target.label, name) if self.folding else gone

    def move(self, batch: RowBatch, rows: list[Row], target: Table, refers_to: str, position: int) -> list[Row]:
        """Move rows into the bag that holds what they refer to; return those for which there is none."""
        if not self.folding or not rows:
            return rows
        free = {
            id(row)
            for key, row in zip(replace(batch, rows=rows).primary_keys(), rows, strict=True)
            if not isinstance(batch, Removed) or key not in self.shared.get(batch.model, ())
        }
        movable = [row for row in rows if id(row) in free]
        staying = self.folding.move(batch, movable, model=target.label, name=refers_to, position=position)
        stay = {id(row) for row in staying}
        moved = replace(batch, rows=[row for row in movable if id(row) not in stay])
        self.outcome.waiting.add(batch.model, self.former(batch.model, moved.primary_keys()))
        kept = {id(row) for row in staying}
        return [row for row in rows if id(row) not in free or id(row) in kept]


def hold(progress: Progress, batch: RowBatch, rows: Iterable[Sequence[Any]], reason: Reason, name: str | None) -> None:
    held = [tuple(row) for row in rows]
    if not held:
        return
    kept = replace(batch, rows=held)
    progress.kept.append(kept)
    progress.outcome.stopped.add(batch.model, progress.former(batch.model, kept.primary_keys()))
    for key in kept.primary_keys():
        progress.outcome.held.append(Held(batch.model, key[0] if len(key) == 1 else key, reason, name))
