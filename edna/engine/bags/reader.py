"""Everything that an unlocked principal can open: their own bags, those of everyone they speak for, and shared ones.

A reveal reads it whole, because bags lie on top of each other: what one of them says about a row may stand in another one
as that row's old value. Reading takes two statements for each level of speaking-for, however much there is. Invariant
(nothing forged): what was forged, moved, changed or put back is refused as a whole and stays where it is. Locks what it reads;
changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db import connections

from edna import conf, store
from edna.crypto.keys import SecretKey
from edna.engine.bags import unlisted
from edna.engine.bags.capability import SEGMENTS_AT_ONCE, Unlocked, listed_locators, require_meant
from edna.engine.bags.chain import Chunk, chunks_of
from edna.engine.bags.opened import Opened
from edna.engine.books.expiry_dates import nothing_kept, today
from edna.engine.forwarding import vendors
from edna.errors import (
    BagError,
    BagMisplaced,
    BagMissing,
    ConfigurationError,
    ReceiptForeign,
    ReceiptMalformed,
    WrongKey,
)
from edna.records.bag import BagKind, open_bag
from edna.records.locator import Locator, Receipt
from edna.records.speaksfor import SpeaksFor
from edna.store import Entry, StoredBag, later_bucket


@dataclass(eq=False)
class Holder:
    """The principal, or somebody they speak for: entry, key, and the locators in the entry's list with their items."""

    entry: Entry
    secret_key: SecretKey
    items: dict[Locator, bytes]


@dataclass(eq=False)
class Journal:
    """What was opened: ``current`` is what the receipt names, ``others`` the rest, oldest first.

    Of a disguise in chunks, ``current`` is one, and earlier ones were not read; ``later`` are those of ``others`` that came after it
    and are held, ``tell`` says that the application is to be told for whom.
    """

    current: Opened
    others: list[Opened]
    holders: dict[bytes, Holder]
    #: Public keys of those whom a bag may name that does not open, or whose receipt was not given: they must not be let go of.
    damaged: set[bytes] = field(default_factory=set)
    later: tuple[Opened, ...] = ()
    tell: bool = True

    @property
    def own(self) -> Holder:
        """The principal who unlocked: the only one whose key does not lie in a bag."""
        return next(iter(self.holders.values()))

    def held_by(self, voice: SpeaksFor) -> Holder | None:
        return self.holders.get(bytes(voice.public_key))


@dataclass(eq=False)
class Everything:
    """All that a key opens, and by locator why something that its lists lead to does not; of what has ``expired``, a part is left."""

    opened: list[Opened]
    holders: dict[bytes, Holder]
    refused: dict[Locator, BagError]
    expired: set[Locator] = field(default_factory=set)
    #: Indexes of bags that no list leads to, which are there, and whose receipts were not given.
    unopened: set[bytes] = field(default_factory=set)


def read(receipt: Receipt, unlocked: Unlocked, *, chunk: Chunk | None = None) -> Journal | None:
    """Open everything, the receipt's bags among it; those of one ``chunk`` of it without those of earlier ones, which know nothing
    of what was made later. None if the disguise was done in several chunks, and none was asked for.

    Raises:
        ReceiptUnknown, ReceiptForeign, ReceiptMalformed: there is nothing to open, or not with this key.
        BagError: a bag of the receipt was changed, moved or forged.
        ConfigurationError: it was made on another kind of database, and its values cannot be brought here.
    """
    reader = _Reader(receipt if chunk is None else Receipt(receipt.disguise, chunk.locator), unlocked)
    if chunk is None and len(chunks_of(receipt.locator, reader.own.items)) > 1:
        return None
    reader.follow(without=chunk.earlier if chunk else ())
    current = reader.current()
    if current.head.disguise != receipt.disguise:
        raise ReceiptMalformed(
            f"This receipt says {receipt.disguise}, but was issued for another disguise; use it as it was issued."
        )
    for locator in current.pointers:
        if locator in reader.refused:
            raise reader.refused[locator]
    vendor = connections[unlocked.using].vendor
    for opened in reader.opened.values():
        if opened.head.database != vendor:
            _bring_here(opened, needed=opened is current or opened.locator in current.pointers, using=unlocked.using)
    assert current.holder is not None
    holder = reader.holders[current.holder.public_key]
    if current.head.listed and current.locator not in holder.items:
        # Somebody with access to the database has put back a bag that was revealed before.
        raise BagMisplaced(
            "This bag was revealed before and has been put back: it is not among its principal's disguises. Nothing was changed."
        )
    others = [opened for opened in reader.opened.values() if opened is not current and opened.head.database == vendor]
    others.sort(key=lambda opened: opened.head.applied_at)
    # What cannot be brought here from another kind of database cannot be rewritten, and must not lose the key to it.
    reader.damaged |= {
        opened.holder.public_key
        for opened in reader.opened.values()
        if opened.holder and opened.head.database != vendor
    }
    if chunk is None:
        return Journal(current, others, reader.holders, reader.damaged)
    numbers = [number for number in chunks_of(chunk.first, holder.items) if number > chunk.number]
    later = [reader.opened[locator] for locator in map(chunk.first.chunk, numbers) if locator in reader.opened]
    return Journal(current, others, reader.holders, reader.damaged, tuple(later), tell=chunk.tell)


def _bring_here(opened: Opened, *, needed: bool, using: str) -> None:
    """Of a site that has moved from another kind of database; what is not ``needed`` and cannot be brought here is left as it is."""
    try:
        opened.translate(*vendors.brought_here(opened.head, opened.diffs, opened.speaks_for, using=using))
    except ConfigurationError:
        if needed:
            raise


def read_all(unlocked: Unlocked) -> Everything:
    """Open everything, for whoever rewrites it whatever it says.

    Raises:
        ReceiptForeign: one of the receipts given to `unlock` does not open.
    """
    reader = _Reader(None, unlocked)
    reader.follow()
    return Everything(list(reader.opened.values()), reader.holders, reader.refused, reader.expired, reader.unopened)


#: Kind, sequence number and content of one stored part of a bag.
Segment = tuple[BagKind, int, StoredBag]


class _Reader:
    """Follows lists of locators to bags, and speaks-for records to further lists, level by level."""

    def __init__(self, receipt: Receipt | None, unlocked: Unlocked) -> None:
        self.receipt = receipt
        self.unlocked = unlocked
        self._current = None if receipt is None else receipt.locator
        self.holders: dict[bytes, Holder] = {}
        self.opened: dict[Locator, Opened] = {}
        self.damaged: set[bytes] = set()
        self.refused: dict[Locator, BagError] = {}
        self.expired: set[Locator] = set()
        self.unopened: set[bytes] = set()
        self._found = False
        self._today = today()

    @functools.cached_property
    def own(self) -> Holder:
        """The principal who unlocked, locked."""
        return self._hold(self.unlocked.entry(lock=True), self.unlocked.secret_key)

    def follow(self, *, without: Collection[Locator] = ()) -> None:
        own = self.own
        given = [self._current] if self._current is not None else []
        # With everybody in whose list it is: anybody may have put it there, and only one of them can open it.
        wanted = {locator: [own] for locator in (*self.unlocked.locators, *given, *own.items) if locator not in without}
        asked: set[Locator] = set(without)
        while wanted:
            asked |= set(wanted)
            leading, voices = self._open_level(wanted)
            wanted = {locator: [own] for locator in leading if locator not in asked}
            new = {public: voice for public, voice in voices.items() if public not in self.holders}
            for entry in store.entries_by_public_key(new, using=self.unlocked.using, lock=True):
                model, voice = new[entry.public_key]
                # What is held is sealed to it again, and whose it is is believed.
                require_meant(entry, model=model, key=voice.principal)
                holder = self._hold(entry, voice.secret_key)
                for locator in holder.items:
                    if locator not in asked or locator in self.refused:
                        wanted.setdefault(locator, []).append(holder)
        if any(isinstance(self.refused.get(locator), WrongKey) for locator in self.unlocked.locators):
            raise ReceiptForeign(
                "One of the receipts given to unlock() does not open with this key; leave it out, or unlock with its owner's key."
            )
        # Whoever has a bag in their list that does not open may still be needed by what is in it.
        self.damaged |= {
            holder.entry.public_key
            for holder in self.holders.values()
            if self.refused and not self.refused.keys().isdisjoint(holder.items)
        }
        everything = self.opened.values()
        noted = {index for opened in everything for index in opened.unlisted}
        found = {index for opened in everything for index in opened.indexes} if noted else set()
        self.unopened = unlisted.still_there(noted, opened=found, using=self.unlocked.using)
        self.damaged |= {
            bytes(voice.public_key)
            for opened in everything
            if not self.unopened.isdisjoint(opened.unlisted)
            for voice in opened.speaks_for
        }

    def current(self) -> Opened:
        assert self.receipt is not None
        if not self._found:
            raise nothing_kept(self.receipt.disguise)
        refused = self.refused.get(self.receipt.locator)
        if refused is not None and not isinstance(refused, WrongKey):
            raise refused
        opened = self.opened.get(self.receipt.locator)
        if opened is None or opened.shared:
            raise ReceiptForeign(
                f"This receipt of {self.receipt.disguise} does not open with this key: it belongs to another person, or its bag was "
                "damaged. Unlock with the key of the person it was issued to."
            )
        return opened

    def _hold(self, entry: Entry, secret_key: SecretKey) -> Holder:
        items = {locator: item for item, locator in listed_locators(entry, secret_key)}
        self.holders[entry.public_key] = holder = Holder(entry, secret_key, items)
        return holder

    def _open_level(
        self, wanted: Mapping[Locator, Sequence[Holder]]
    ) -> tuple[list[Locator], dict[bytes, tuple[str, SpeaksFor]]]:
        """Open what lies under these locators; return the shared bags and the voices, with their models, that it leads to."""
        stored = self._stored(wanted)
        leading: list[Locator] = []
        voices: dict[bytes, tuple[str, SpeaksFor]] = {}
        for locator, segments in stored.items():
            opened = self._open(locator, segments, wanted[locator])
            if opened is None:
                continue
            self.opened[locator] = opened
            self.refused.pop(locator, None)
            leading += opened.pointers
            model = opened.head.principal_model
            voices |= {bytes(voice.public_key): (model, voice) for voice in opened.speaks_for}
        return leading, voices

    def _open(self, locator: Locator, segments: list[Segment], holders: Sequence[Holder]) -> Opened | None:
        """None if it does not open; or if a part of it is gone and the rest is due: then all of it has expired."""
        for holder in holders:
            try:
                opened = _opened(locator, segments, holder)
            except BagError as error:
                if isinstance(error, BagMissing) and any(stored.is_due(self._today) for _, _, stored in segments):
                    self.refused.pop(locator, None)
                    self.expired.add(locator)
                    return None
                before = self.refused.get(locator)
                if before is None or isinstance(before, WrongKey):
                    self.refused[locator] = error.with_traceback(None)
            else:
                self._found = self._found or locator == self._current
                return opened
        self._found = self._found or locator == self._current
        return None

    def _stored(self, wanted: Iterable[Locator]) -> dict[Locator, list[Segment]]:
        """Every stored segment under each locator, by kind and number. One statement unless a bag has many segments."""
        found: dict[Locator, list[Segment]] = {}
        start, more = 0, list(wanted)
        while more:
            places = {
                locator.index(kind, sequence): (locator, kind, sequence)
                for locator in more
                for kind in BagKind
                for sequence in range(start, start + SEGMENTS_AT_ONCE)
            }
            stored = store.stored_bags(places, using=self.unlocked.using, lock=True)
            for index, bag in stored.items():
                locator, kind, sequence = places[index]
                found.setdefault(locator, []).append((kind, sequence, bag))
            start += SEGMENTS_AT_ONCE
            more = list({places[index][0] for index in stored if places[index][2] == start - 1})
        for segments in found.values():
            segments.sort(key=lambda segment: segment[:2])
        return found


def _opened(locator: Locator, segments: list[Segment], holder: Holder) -> Opened:
    shared = segments[0][0] is BagKind.SHARED
    secret_key = locator.shared_key() if shared else holder.secret_key
    bags = [
        open_bag(
            stored.sealed,
            locator=locator,
            kind=kind,
            sequence=sequence,
            secret_key=secret_key,
            mac_keys=conf.mac_keys(),
        )
        for kind, sequence, stored in segments
    ]
    numbers = [(kind, sequence) for kind, sequence, _ in segments]
    first, second = bags[0].segments
    expected = [(BagKind.SHARED if shared else BagKind.DIFF, number) for number in range(first)]
    expected += [(BagKind.SPEAKS_FOR, number) for number in range(second)]
    if numbers != expected:
        raise BagMissing(
            "One of the bags under this receipt is not in the table any more. Nothing was changed; restore it from a backup."
        )
    return Opened(
        locator,
        bags,
        holder=None if shared else holder.entry,
        indexes=[locator.index(kind, sequence) for kind, sequence in numbers],
        expires_on=functools.reduce(later_bucket, (stored.expires_on for _, _, stored in segments)),
    )
