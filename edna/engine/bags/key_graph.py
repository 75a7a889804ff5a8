"""The key graph: whom a key leads to. A list of locators leads to bags, a speaks-for record in one to an entry with a list of its own.

It is walked level by level, with two statements a level, however much a level has. Invariants (nothing forged): nobody is a holder whose
entry was not written by this site, or names somebody else than the sealed record with its key does; a bag that does not open, or that is
not whole, is said to be so and stays where it is. Reads, and locks if it is told to; changes nothing. Does not know what damage means to
whoever follows it, or what becomes of the records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.core.exceptions import ValidationError

from edna import store
from edna.clock import today
from edna.engine.bags.memory import Memory
from edna.engine.bags.openers import KeyOpener, Opener
from edna.engine.books import former_keys
from edna.engine.books.former_keys import FormerKey
from edna.engine.graph.references import reference_of
from edna.errors import BagError, BagMissing, EntryForged, ReceiptForeign, WrongKey
from edna.records.bag import Bag, BagKind
from edna.records.diff import Shares
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import Entry, StoredBag

#: Segments of a bag that are asked for at once; a bag with more takes another round.
SEGMENTS_AT_ONCE = 4


@dataclass(eq=False, slots=True)
class Holder:
    """The principal, or somebody they speak for: entry, what opens their bags, and the locators in the entry's list with their items.

    ``model`` and ``key`` are those of its row, and ``spoken_under`` is where its own key lies; the principal has none of the three.
    """

    entry: Entry
    opener: Opener
    items: dict[Locator, bytes]
    model: str | None = None
    key: Any = None
    spoken_under: Locator | None = None


@dataclass(frozen=True, eq=False)
class Segment:
    """One stored part of a bag, opened, and by whom."""

    kind: BagKind
    sequence: int
    stored: StoredBag
    bag: Bag
    holder: Holder


@dataclass(eq=False)
class Seen:
    """What was seen under one locator: the segments of the ``kinds`` that were asked for, each with the reason if it does not open."""

    kinds: set[BagKind] = field(default_factory=set)
    segments: dict[tuple[BagKind, int], BagError | None] = field(default_factory=dict)
    #: How many segments of diff (or shared) and of speaks-for records there are, according to one that opened.
    counts: tuple[int, int] | None = None
    is_due: bool = False

    def ask(self, kinds: Collection[BagKind]) -> None:
        self.kinds |= set(kinds)
        self.segments = {place: refusal for place, refusal in self.segments.items() if place[0] not in kinds}

    @property
    def whole(self) -> bool:
        return self._problem(self.kinds) is None

    @property
    def expired(self) -> bool:
        """Whether a part of it is gone, and the rest is due."""
        return self.is_due and isinstance(self._problem(self.kinds), BagMissing)

    @property
    def may_tell(self) -> bool:
        """Whether it may say where more is to be found: anything but records alone."""
        return self.counts is None or self.counts[1] > 0 or any(kind is BagKind.SHARED for kind, _ in self.segments)

    def refusal(self, *kinds: BagKind) -> BagError | None:
        """Why not all of it opens, or of these kinds; None if it does, or has expired."""
        problem = self._problem(set(kinds) or self.kinds)
        return None if isinstance(problem, BagMissing) and self.is_due else problem

    def _problem(self, kinds: Set[BagKind]) -> BagError | None:
        there = sorted(place for place in self.segments if place[0] in kinds)
        for place in there:
            if (refusal := self.segments[place]) is not None:
                return refusal
        if self.counts is None:
            return None
        first = BagKind.SHARED if there and there[0][0] is BagKind.SHARED else BagKind.DIFF
        counts = zip((first, BagKind.SPEAKS_FOR), self.counts, strict=True)
        if there == [(kind, sequence) for kind, count in counts if kind in kinds for sequence in range(count)]:
            return None
        return BagMissing(
            "One of the bags of a disguise is not in the table any more. Nothing was changed; restore it from a backup."
        )


class KeyGraph:
    """What one secret key leads to, or what was handed over instead of it, as far as it was followed."""

    def __init__(
        self,
        own: Entry,
        opener: Opener,
        *,
        memory: Memory,
        using: str,
        lock_entries: bool = False,
        lock_bags: bool = False,
    ) -> None:
        self._memory, self._using, self._today = memory, using, today()
        self._lock_entries, self._lock_bags = lock_entries, lock_bags
        self.holders: dict[bytes, Holder] = {}
        #: In whose list each locator is: anybody may have put it there, and one of them can open what lies under it.
        self.listed: dict[Locator, list[Holder]] = {}
        self.seen: dict[Locator, Seen] = {}
        #: By public key, those whom nobody speaks for because of that.
        self.forged: dict[bytes, EntryForged] = {}
        #: Under which locators speaks-for bags note that a bag that no list leads to may name those whose keys are there.
        self.noted: set[Locator] = set()
        #: What speaks for anybody, of those who were swept as well.
        self.voices: list[SpeaksForBatch] = []
        #: What opens bags that have not got their new recipients yet. None: nobody has asked.
        self._former: dict[Locator, FormerKey] | None = None
        self.own = self._add(own, opener)

    def follow(
        self,
        kinds: Collection[BagKind],
        *,
        start: Collection[Locator],
        without: Collection[Locator] = (),
        only_whole: bool = False,
    ) -> Iterator[tuple[Locator, list[Segment]]]:
        """From the own list, and from ``start``, to everything; what opens under each locator on the way.

        With ``only_whole``, nothing of what does not open as a whole, and nobody whose key lies there.
        """
        for locator in start:
            self.listed.setdefault(locator, [self.own])
        wanted = [locator for locator in dict.fromkeys((*start, *self.own.items)) if locator not in without]
        asked = set(without)
        while wanted:
            asked.update(wanted)
            more: dict[Locator, None] = {}
            voices: dict[bytes, tuple[str, SpeaksFor, Opener, Locator]] = {}
            for locator, segments in self.open(wanted, kinds):
                if only_whole and not self.seen[locator].whole:
                    continue
                yield locator, segments
                opener = segments[0].holder.opener
                for batch in (batch for segment in segments for batch in segment.bag.batches):
                    if isinstance(batch, SpeaksForBatch):
                        self.voices.append(batch)
                        voices |= {
                            bytes(each.public_key): (batch.model, each, opener, locator) for each in batch.voices()
                        }
                        self.noted |= {locator} if batch.unlisted else set()
                    elif isinstance(batch, Shares):
                        more |= dict.fromkeys(map(Locator, batch.locators()))
            new = [public_key for public_key in voices if public_key not in self.holders]
            for entry in store.entries_by_public_key(new, using=self._using, lock=self._lock_entries):
                model, voice, opener, under = voices[entry.public_key]
                try:
                    require_meant(entry, model=model, key=voice.principal)
                    own = opener.voice(voice)
                    own.require_half(entry)
                except EntryForged as error:
                    self.forged[entry.public_key] = error.with_traceback(None)
                else:
                    added = self._add(entry, own, model, voice.principal, under)
                    more |= dict.fromkeys(added.items)
            # What did not open may open with the key of somebody else who has it in their list.
            refused = self.refused
            wanted = [locator for locator in more if locator not in asked or locator in refused]

    def open(
        self, wanted: Collection[Locator], kinds: Collection[BagKind], *, first_only: bool = False
    ) -> Iterator[tuple[Locator, list[Segment]]]:
        """What opens under each locator; in ``seen`` is what does not. With ``first_only`` the first segment of each bag, and only of what
        opens more is known afterwards."""
        stored = stored_segments(wanted, kinds, lock=self._lock_bags, using=self._using, first_only=first_only)
        for locator in wanted:
            self.seen.setdefault(locator, Seen()).ask(() if first_only else kinds)
        for locator, parts in stored.items():
            seen = self.seen[locator]
            segments: list[Segment] = []
            for kind, sequence, bag in sorted(parts, key=lambda part: part[:2]):
                opened = self._opened(locator, kind, sequence, bag)
                if isinstance(opened, Segment) and segments and opened.holder is not segments[0].holder:
                    opened = WrongKey("Parts of a bag are sealed to different keys.")
                seen.is_due = seen.is_due or bag.is_due(self._today)
                seen.segments[kind, sequence] = None if isinstance(opened, Segment) else opened
                if isinstance(opened, Segment):
                    segments.append(opened)
                    seen.counts = seen.counts or opened.bag.segments
            if segments:
                yield locator, segments

    def require_own(self, receipts: Iterable[Locator]) -> None:
        """
        Raises:
            ReceiptForeign: what lies under one of these receipts, given to `unlock`, is somebody else's.
        """
        refused = self.refused
        if any(isinstance(refused.get(locator), WrongKey) for locator in receipts):
            raise ReceiptForeign(
                "One of the receipts given to unlock() does not open with this key; leave it out, or unlock with its owner's key."
            )

    @property
    def refused(self) -> dict[Locator, BagError]:
        """Why something that the lists lead to does not open."""
        return {locator: refusal for locator, seen in self.seen.items() if (refusal := seen.refusal()) is not None}

    def require_handed(self) -> None:
        """
        Raises:
            HandoverRefused: somebody's list was handed over, and no bag that was speaks for them.
        """
        self.own.opener.require_holders(self.holders)

    def _add(self, entry: Entry, opener: Opener, *voice: Any) -> Holder:
        self.holders[entry.public_key] = holder = Holder(entry, opener, opener.items(entry), *voice)
        for locator in holder.items:
            self.listed.setdefault(locator, []).append(holder)
        return holder

    def _opened(self, locator: Locator, kind: BagKind, sequence: int, stored: StoredBag) -> Segment | BagError:
        refusal: BagError | None = None
        for holder, opener in self._openers(locator, kind):
            try:
                bag = self._memory.open(stored.sealed, locator=locator, kind=kind, sequence=sequence, opener=opener)
                return Segment(kind, sequence, stored, bag, holder)
            except BagError as error:
                if refusal is None or isinstance(refusal, WrongKey):
                    refusal = error.with_traceback(None)
        assert refusal is not None
        return refusal

    def _openers(self, locator: Locator, kind: BagKind) -> Iterator[tuple[Holder, Opener]]:
        """Those in whose list it is, each with what may open it. A key of before is looked for when none of today has: hardly ever."""
        holders = self.listed.get(locator, [self.own])
        yield from ((holder, holder.opener) for holder in holders)
        if kind is BagKind.DIFF and isinstance(self.own.opener, KeyOpener):
            if self._former is None:
                left = former_keys.read(self.own.opener.secret_key, using=self._using)
                self._former = {locator: each for each in left.all() for locator in each.locators}
            former = self._former.get(locator)
            for holder in holders:
                if former is not None and former.public_key == holder.entry.public_key:
                    yield holder, KeyOpener(former.secret_key)


def stored_segments(
    wanted: Iterable[Locator], kinds: Collection[BagKind], *, lock: bool, using: str, first_only: bool = False
) -> dict[Locator, list[tuple[BagKind, int, StoredBag]]]:
    """Every stored segment under each locator. One statement unless a bag has many segments."""
    parts: dict[Locator, list[tuple[BagKind, int, StoredBag]]] = {}
    start, step, more = 0, 1 if first_only else SEGMENTS_AT_ONCE, list(wanted)
    while more:
        places = {
            locator.index(kind, sequence): (locator, kind, sequence)
            for locator in more
            for kind in kinds
            for sequence in range(start, start + step)
        }
        stored = store.stored_bags(places, using=using, lock=lock)
        for index, bag in stored.items():
            locator, kind, sequence = places[index]
            parts.setdefault(locator, []).append((kind, sequence, bag))
        start += step
        more = [] if first_only else list({places[index][0] for index in stored if places[index][2] == start - 1})
    return parts


def require_meant(entry: Entry, *, model: str, key: Any) -> None:
    """That an entry is the one of whom a sealed speaks-for record says that it has this public key: ``key`` is their row's.

    Its tag says so; the record says it again, and cannot be vouched for by mistake.

    Raises:
        EntryForged: somebody has made it another's.
    """
    store.require_sound([entry])
    if entry.reference is None or (type(key) is int and (entry.model, entry.reference) == (model, str(key))):
        return
    try:
        named = (model, reference_of(apps.get_model(model), key))
    except (LookupError, ValidationError):
        return  # no model of this project any more, or one with keys of another kind: the tag alone tells
    if named != (entry.model, entry.reference):
        raise EntryForged(
            f"Entry {entry.id} names somebody else than the sealed record does that has its key: it was changed past edna, and vouched for "
            "since, perhaps. Nothing was changed, and nobody speaks for whom it names. Find out who wrote to the table, and restore the "
            "row from a backup."
        )
