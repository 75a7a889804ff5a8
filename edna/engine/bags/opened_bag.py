"""One bag, opened: its records, and every way in which they change.

Invariant (nothing lost): whatever changes a record marks its bag, and a bag that is marked is sealed again. So the marking is done here,
and cannot be forgotten elsewhere: nobody else holds the list of records or writes into a row. What only brings records to the tables of
today, or to this kind of database, marks nothing: the sealed bag says the same, and is brought here again next time.
Knows records; reads and writes no tables, and seals nothing.
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna.engine.forwarding.walk import Forwarded, Stuck
from edna.records.bag import Bag
from edna.records.diff import Changed, Listed, Mentions, Modified, Owners, Removed, RowBatch, Shares
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.records.values import Value
from edna.store import Entry, later_bucket


class Opened:
    """All records under one locator. ``holder`` is whom they are sealed to; None for a shared bag."""

    def __init__(
        self,
        locator: Locator,
        bags: Sequence[Bag],
        *,
        holder: Entry | None,
        indexes: Sequence[bytes] = (),
        expires_on: datetime.date | None = None,
    ) -> None:
        batches = [batch for bag in bags for batch in bag.batches]
        voices = [batch for batch in batches if isinstance(batch, SpeaksForBatch)]
        self.locator = locator
        #: As it was stored: a bag for each of ``indexes``.
        self.bags = tuple(bags)
        self.indexes = tuple(indexes)
        self._head = bags[0]
        self._holder = holder
        self._expires_on = expires_on
        self._diffs = [_copied(batch) for batch in batches if isinstance(batch, RowBatch)]
        self._speaks_for = [voice for batch in voices for voice in batch.voices()]
        self._unlisted = frozenset(index for batch in voices for index in batch.unlisted)
        self._stuck: tuple[Stuck, ...] = ()
        self._changed = False

    @property
    def changed(self) -> bool:
        """Whether the bag has to be sealed again."""
        return self._changed

    @property
    def head(self) -> Bag:
        return self._head

    @property
    def holder(self) -> Entry | None:
        return self._holder

    @property
    def expires_on(self) -> datetime.date | None:
        """The bucket that it is stored in."""
        return self._expires_on

    @property
    def diffs(self) -> tuple[RowBatch, ...]:
        return tuple(self._diffs)

    @property
    def speaks_for(self) -> tuple[SpeaksFor, ...]:
        return tuple(self._speaks_for)

    @property
    def stuck(self) -> tuple[Stuck, ...]:
        """Records that nothing brings forward to the tables of today, as they were sealed; they are not among ``diffs``."""
        return self._stuck

    @property
    def unlisted(self) -> frozenset[bytes]:
        """Indexes of bags that no list leads to and that may name those of ``speaks_for``."""
        return self._unlisted

    @property
    def shared(self) -> bool:
        return self._holder is None

    @property
    def is_mention(self) -> bool:
        """Whether it says nothing but who somebody's pseudoprincipal is now."""
        return self.shared and all(isinstance(batch, Mentions) for batch in self._diffs)

    @property
    def tells_of_more(self) -> bool:
        """Whether it says nothing but that somebody else's disguise lies over rows: changes without a value, and who was told."""
        return (
            self.shared
            and any(isinstance(batch, Listed) for batch in self._diffs)
            and all(
                isinstance(batch, Listed)
                or (
                    isinstance(batch, Modified)
                    and all(value is None for row in batch.rows for value in row[len(batch.key) :])
                )
                for batch in self._diffs
            )
        )

    @property
    def owners(self) -> list[Owners]:
        """Who owns rows of its records beside its holder; of a shared bag, who has to be there for them to come back."""
        return [batch for batch in self._diffs if isinstance(batch, Owners)]

    @property
    def listings(self) -> list[tuple[bytes, bytes]]:
        """Public keys of those in whose lists it is, and the items there, as far as it says so."""
        return [item for batch in self._diffs if self.shared and isinstance(batch, Listed) for item in batch.items()]

    @property
    def handed_over(self) -> bool:
        """Whether it holds records that wait for somebody else, who has it in their list."""
        return self.shared and bool(self.owners)

    @property
    def changed_by_all(self) -> bool:
        """Whether it holds changes of rows that several had left: whoever comes back first brings them back."""
        return (
            self.shared
            and not self.handed_over
            and not self.tells_of_more
            and any(isinstance(batch, Modified) for batch in self._diffs)
        )

    @property
    def mentions(self) -> list[Mentions]:
        return [batch for batch in self._diffs if isinstance(batch, Mentions)]

    @property
    def empty(self) -> bool:
        records = (batch for batch in self._diffs if not isinstance(batch, Owners | Listed))
        return not self._speaks_for and not self._stuck and not any(batch.rows for batch in records)

    @property
    def pointers(self) -> tuple[Locator, ...]:
        """The locators of shared bags that this one points at."""
        shares = [batch for batch in self._diffs if isinstance(batch, Shares)]
        return tuple(Locator(locator) for batch in shares for locator in batch.locators())

    # What says the same in the words of today

    def translate(self, head: Bag, diffs: Iterable[RowBatch], speaks_for: Iterable[SpeaksFor]) -> None:
        """Everything, as another kind of database has it."""
        self._head, self._diffs, self._speaks_for = head, [_rewritable(batch) for batch in diffs], list(speaks_for)

    def bring_forward(self, forwarded: Forwarded) -> None:
        """The records as the tables of today have them."""
        self._diffs, self._stuck = [_rewritable(batch) for batch in forwarded.batches], tuple(forwarded.stuck)

    def rename_files(self, diffs: Iterable[RowBatch]) -> None:
        """The records with what leads to files under the names that the rows give them now."""
        self._diffs = [_rewritable(batch) for batch in diffs]

    def keep_until(self, bucket: datetime.date | None) -> None:
        """Where it is stored if it is sealed again: no earlier than ``bucket``."""
        self._expires_on = later_bucket(self._expires_on, bucket)

    # What changes records, and marks the bag

    def put(self, row: Sequence[Value], position: int, value: Value) -> None:
        """Write into a row of one of its records."""
        row[position] = value  # type: ignore[index]  # rows are lists here, and nobody else writes into them
        self._changed = True

    def substitute(self, batch: RowBatch, position: int, now: Mapping[Any, Any]) -> None:
        """Where a row of ``batch`` has a value of ``now`` at the position: write what it is now."""
        for row in batch.rows:
            if row[position] in now:
                self.put(row, position, now[row[position]])

    def exchange(self, batch: RowBatch, new: RowBatch) -> None:
        number = next(number for number, each in enumerate(self._diffs) if each is batch)
        self._diffs[number] = _rewritable(new)
        self._changed = True

    def keep_stuck(self, stuck: Iterable[Stuck]) -> None:
        """These instead of everything that is stuck, as far as they have rows."""
        self._stuck = tuple(each for each in stuck if each.batch.rows)
        self._changed = True

    def keep(self, diffs: Iterable[RowBatch]) -> None:
        """These instead of all records; what is stuck, and the voices, stay."""
        self._diffs = [_rewritable(batch) for batch in diffs]
        self._changed = True

    def reduce_to(self, diffs: Iterable[RowBatch], speaks_for: Iterable[SpeaksFor]) -> None:
        """These instead of everything that it held: what was stuck is among ``diffs``."""
        self.keep(diffs)
        self._speaks_for, self._stuck = list(speaks_for), ()

    def add(self, *batches: RowBatch) -> None:
        if batches:
            self._diffs += map(_rewritable, batches)
            self._changed = True

    def add_below(self, batch: RowBatch) -> None:
        """In front: what it changed lies below whatever these records changed."""
        self._diffs.insert(0, _rewritable(batch))
        self._changed = True

    def add_voice(self, voice: SpeaksFor, *, unlisted: frozenset[bytes]) -> None:
        """A voice of another bag, and what that has ``unlisted`` for its voices."""
        self._speaks_for.append(voice)
        self._unlisted |= unlisted.difference(self.indexes)
        self._changed = True

    def drop_voice(self, voice: SpeaksFor) -> None:
        self._speaks_for.remove(voice)
        self._changed = True

    def exchange_voices(self, exchanged: Callable[[SpeaksFor], SpeaksFor]) -> None:
        for number, voice in enumerate(self._speaks_for):
            new = exchanged(voice)
            if (new.principal, new.owner) != (voice.principal, voice.owner):
                self._speaks_for[number] = new
                self._changed = True

    def forget_unlisted(self, indexes: Collection[bytes]) -> None:
        if not self._unlisted.isdisjoint(indexes):
            self._unlisted -= frozenset(indexes)
            self._changed = True

    def hand_over(self, entry: Entry) -> None:
        """Seal it to somebody else, in whose list it will be."""
        self._holder = entry
        self._head = replace(self._head, listed=True)
        self._changed = True

    def name_principal(self, principal: Any) -> None:
        """Say that it is this principal's."""
        self._head = replace(self._head, principal=principal)
        self._changed = True


def pointing_at(bags: Iterable[Opened]) -> dict[Locator, Opened]:
    """The bag that points at each shared bag, as far as one of ``bags`` does."""
    return {locator: opened for opened in bags for locator in opened.pointers}


def _rewritable(batch: RowBatch) -> RowBatch:
    """Records lie on top of each other, and are put together in place: so rows are lists."""
    if set(map(type, batch.rows)) <= {list}:
        return batch
    return replace(batch, rows=[list(row) for row in batch.rows])


def places_of(batch: RowBatch, names: Container[str]) -> list[tuple[int, str]]:
    """The positions of a batch's rows at which values of these columns stand, to be restored one day or as part of its key."""
    if isinstance(batch, Removed):
        return [(position, name) for position, name in enumerate(batch.columns) if name in names]
    if isinstance(batch, Changed):
        return [(position, name) for position, name in enumerate((*batch.key, *batch.columns)) if name in names]
    return []


def _copied(batch: RowBatch) -> RowBatch:
    """What was opened is remembered as it was sealed, whatever becomes of its records."""
    rows = [list(row) for row in batch.rows]
    for position, values in enumerate(zip(*rows, strict=True)):
        if not {list, dict}.isdisjoint(map(type, values)):
            for row in rows:
                row[position] = copy.deepcopy(row[position])
    return replace(batch, rows=rows)
