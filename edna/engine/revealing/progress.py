"""What one reveal is given, what has happened in it so far, and what is held.

The steps of a reveal pass it on; everything that brings rows back writes here.
Knows records and the other bags of the principal; reads and writes no tables.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from django.db.models import Model

from edna.db.rows import Row, Table
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import Journal
from edna.engine.books.announcements import News
from edna.engine.forwarding.walk import Stuck, table_by_label
from edna.engine.graph.outcome import Held, Outcome, Reason, named
from edna.engine.graph.tally import Recorded, former
from edna.engine.layers.acceptance import Rows
from edna.engine.layers.folding import Folding
from edna.engine.layers.new_keys import Given
from edna.engine.layers.terms_of_return import Altered, Overrides
from edna.engine.planning.terms import Terms
from edna.engine.surroundings.current_rows import CurrentRows
from edna.engine.surroundings.files import Incoming
from edna.engine.surroundings.handed_over import can_wait
from edna.engine.surroundings.owners import Others
from edna.records.chain import Chunk
from edna.records.diff import Changed, Decorrelated, Removed, RowBatch, values_at
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor
from edna.store import Entry


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
    #: Rows that were deleted with the pseudoprincipal to whom they came, by model: nothing else needs to come back in them.
    deleted: dict[str, set[Row]] = field(default_factory=dict)
    #: By model and column, what named a row of a pseudoprincipal and is to name the owner's: one that the owner had already, or the same
    #: one, under the key that it has now.
    passed_on: dict[tuple[str, str], dict[Any, Any]] = field(default_factory=dict)
    #: What to tell the application.
    news: News = field(default_factory=News)
    #: The rows whose changes are undone.
    current_rows: CurrentRows = field(default_factory=CurrentRows)
    #: Nothing is written or locked: it is only asked what would be in the way.
    rehearsed: bool = False
    #: What the specification has changed in rows that are to come back.
    altered: Altered = field(default_factory=dict)
    #: The files of the rows that are to come back.
    files: Incoming = field(default_factory=Incoming)

    #: The other owners of its rows; None where nothing has any.
    others: Others | None = None
    #: Rows that do not come back before what lies over them, by model and key, and in which column.
    covered: dict[str, dict[Row, str]] = field(default_factory=dict)
    #: What waits for one of them.
    waiting: list[RowBatch] = field(default_factory=list)
    #: Pseudoprincipals whom sealed records of somebody else name, by model and column: these follow whoever they stand for.
    mentioned: set[tuple[str, str, Any]] = field(default_factory=set)
    #: Rows that were handed over and that the receipt does not lead to, by model and key: tried in passing, and nobody is told.
    passing: set[tuple[str, Row]] = field(default_factory=set)
    #: Rows of which the person gives up what was held, and those of them that the outcome counts.
    given_up: Collection[tuple[str, Any]] = ()
    accepted: set[tuple[str, Any]] = field(default_factory=set)
    #: Pseudoprincipals with whom such a row stays, by the label of the relation, as the row names them.
    left_with: dict[str, set[Any]] = field(default_factory=dict)

    def fold(
        self, batch: Changed, *, at_any_time: bool = False, found: Mapping[str, Any] | None = None
    ) -> list[Changed]:
        """What later disguises of the same principal do not lie on; the rest goes into their records."""
        if not self.folding:
            return [batch]
        left = self.folding.take(batch, at_any_time=at_any_time, found=found)
        whole = [part for part in left if len(part.columns) == len(batch.columns)]
        if sum(len(part.rows) for part in whole) < len(batch.rows):
            stays = {key for part in whole for key in part.primary_keys()}
            folded = [key for key in batch.primary_keys() if key not in stays]
            self.outcome.waiting.add(batch.model, self.former(batch.model, folded))
        return left

    def is_mentioned(self, batch: Changed, *, new: Sequence[Any]) -> bool:
        """Whether a row is gone with somebody else who can tell by a mention whom it names, and goes to that one when it comes back."""
        return isinstance(batch, Decorrelated) and (batch.model, batch.columns[-1], new[-1]) in self.mentioned

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

    def forget_held(self, batch: RowBatch, left: RowBatch) -> None:
        """Of what is held, what is not among the rows that are ``left`` has gone: nothing waits there."""
        if isinstance(batch, Removed | Changed):
            keys = self.former(batch.model, batch.primary_keys())
            gone = set(keys).difference(self.former(batch.model, replace(batch, rows=left.rows).primary_keys()))
            rows = {(batch.model, named(key)) for key in gone}
            self.outcome.held = [each for each in self.outcome.held if (each.model, each.pk) not in rows]

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


class Listing(NamedTuple):
    """A bag that the principal takes over, and in whose list it was before; or a mention, which an ``heir`` follows, the next one who may
    go; or what tells of others, to the holder of the revealed bag."""

    opened: Opened
    former: bytes | None = None
    heir: Entry | None = None


@dataclass
class LetGo:
    """``remaining`` voices stay in the bag; ``gone`` are public keys whose entries are deleted; ``adopted`` bags, which were
    theirs, are to be listed for whom they belong to now."""

    remaining: list[SpeaksFor]
    gone: set[bytes]
    adopted: list[Listing]


@dataclass(repr=False)
class Reveal:
    """One reveal: what it is given, and what each of its steps leaves for later ones."""

    journal: Journal
    unlocked: Unlocked
    overrides: Overrides
    allow_partial: bool
    #: Which chunk of its disguise it is about, if there are several.
    chunk: Chunk | None = None
    #: Rows of which the person gives up what was held, as far as nobody else can bring them back.
    given_up: Rows = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    #: On which terms the specifications of today let rows come back.
    terms: Terms = field(default_factory=dict)
    #: Shared bags whose rows it brings back.
    coming: Sequence[Opened] = ()
    #: Shared bags into which it has put what waits for others.
    handed_over: Sequence[Opened] = ()
    #: Removed rows that others have handed over and that are not tried, with the bag that has them.
    apart: list[tuple[Opened, RowBatch]] = field(default_factory=list)
    #: The rows that the records are about.
    recorded: Recorded = field(default_factory=Recorded)
    #: Keys that were given to rows that a rule has made.
    given: Given = field(default_factory=dict)
    #: Mentions by which a record that is revealed names somebody.
    mentions: Sequence[Opened] = ()
    #: The public keys of those whom any bag speaks for, by reference.
    voices: Mapping[str, bytes] = field(default_factory=dict)
    released: LetGo = field(default_factory=lambda: LetGo([], set(), []))
    #: Entries that have changed, by public key.
    entries: dict[bytes, Entry] = field(default_factory=dict)
    #: The locators of items that it puts into lists.
    new_items: dict[bytes, Locator] = field(default_factory=dict)

    @functools.cached_property
    def others(self) -> Others:
        """The other owners of its rows."""
        return Others(self.journal, using=self.using)

    @property
    def using(self) -> str:
        return self.unlocked.using

    @property
    def current(self) -> Opened:
        return self.journal.current

    @property
    def outcome(self) -> Outcome:
        return self.progress.outcome

    @property
    def bags(self) -> list[Opened]:
        """Those whose records are revealed."""
        return [self.current, *self.coming]

    @property
    def shared(self) -> list[RowBatch]:
        return [batch for opened in self.coming for batch in opened.diffs]


def hold(
    progress: Progress,
    batch: RowBatch,
    rows: Iterable[Sequence[Any]],
    reason: Reason,
    name: str | None,
    *,
    waits: bool = False,
) -> None:
    """``waits``: it is for what is sealed as well."""
    held = [tuple(row) for row in rows]
    if not held:
        return
    kept = replace(batch, rows=held)
    waiting = _waiting(progress, kept, reason, name)
    if waiting:
        progress.waiting.append(kept.only(waiting))
    if len(waiting) < len(held):
        progress.kept.append(kept.without(waiting) if waiting else kept)
    if progress.passing and isinstance(batch, Removed):
        # A change of such a row is the person's own.
        kept = kept.without({key for model, key in progress.passing if model == batch.model})
    progress.outcome.stopped.add(batch.model, progress.former(batch.model, kept.primary_keys()))
    for key in kept.primary_keys():
        held_row = Held.of(batch.model, key, reason, name)
        progress.outcome.held.append(held_row)
        if waits:
            progress.outcome.behind_sealed.add(held_row)


def _waiting(progress: Progress, batch: RowBatch, reason: Reason, name: str | None) -> set[Row]:
    """Rows that come back with somebody else, and not by themselves."""
    others = progress.others
    return {key for key in batch.primary_keys() if can_wait(others, batch, key, reason, name)} if others else set()


def hold_stuck(current: Opened, coming: Sequence[Opened], progress: Progress) -> None:
    """Say what is stuck. That of shared bags stays where it is; the revealed bag's own is sealed again with the rest."""
    for stuck in reversed(current.stuck):
        hold(progress, stuck.batch, stuck.batch.rows, stuck.reason, stuck.field)
    for opened in coming:
        for stuck in opened.stuck:
            for key in stuck.batch.primary_keys():
                held = Held.of(stuck.batch.model, key, stuck.reason, stuck.field)
                progress.outcome.held.append(held)
            progress.outcome.stopped.add(stuck.batch.model, stuck.batch.primary_keys())
    for stuck in (*current.stuck, *[stuck for opened in coming for stuck in opened.stuck]):
        stays_absent(stuck, progress)


def stays_absent(stuck: Stuck, progress: Progress) -> None:
    """A row that has the key of a removed one now is another one: nothing may be restored below it."""
    table = table_by_label(stuck.batch.model)
    if table is not None and isinstance(stuck.batch, Removed) and stuck.batch.key == table.key_names:
        note_absent(stuck.batch, progress)


def note_taken(given_up: Rows, progress: Progress) -> None:
    """Nothing goes to a row that has the key of one that was given up."""
    for (label, pk), why in given_up.items():
        table = table_by_label(label)
        if table is not None and any(reason is Reason.ROW_EXISTS for reason, _ in why):
            for name, value in zip(table.key_names, pk if isinstance(pk, tuple) else (pk,), strict=True):
                progress.absent.setdefault((table.model, name), set()).add(value)


def note_absent(batch: RowBatch, progress: Progress, *, done: Sequence[Row] = ()) -> None:
    """The keys of removed rows that did not come back, all but those that are ``done``: who has one of them now is another row."""
    table = table_by_label(batch.model)
    if table is None or not set(table.key_names) <= set(batch.columns):
        return
    positions = [batch.columns.index(name) for name in table.key_names]
    gone = set(values_at(positions, batch.rows)).difference(values_at(positions, done))
    for number, name in enumerate(table.key_names):
        progress.absent.setdefault((table.model, name), set()).update([key[number] for key in gone])
