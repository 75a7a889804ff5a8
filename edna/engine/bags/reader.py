"""Everything that an unlocked principal can open: their own bags, those of everyone they speak for, and shared ones.

A reveal reads it whole, because bags lie on top of each other: what one of them says about a row may stand in another one
as that row's old value. Invariant (nothing forged): what was forged, moved, changed or put back is refused as a whole and stays
where it is. Locks what it reads; changes nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

from edna.db.cursors import connection_of
from edna.engine.bags import unlisted_bags
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import Holder, KeyGraph, Segment
from edna.engine.bags.opened_bag import Opened
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.forwarding import vendors
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.errors import BagError, BagMisplaced, ConfigurationError, ReceiptForeign, ReceiptMalformed, WrongKey
from edna.records.bag import BagKind
from edna.records.chain import Chunk, chunks_of
from edna.records.diff import RowBatch
from edna.records.locator import Locator, Receipt
from edna.records.speaksfor import SpeaksFor
from edna.store import later_bucket


@dataclass(eq=False)
class Journal:
    """What was opened: ``current`` is what the receipt names, ``others`` the rest, oldest first.

    Of a disguise in chunks, ``current`` is one, and earlier ones were not read; ``later`` are those of ``others`` that came after it
    and are held, ``tell`` says that the application is to be told for whom, and ``partly`` that earlier ones are left.
    """

    current: Opened
    others: list[Opened]
    holders: dict[bytes, Holder]
    #: Public keys of those whom a bag may name that does not open, or whose receipt was not given: they must not be let go of.
    damaged: set[bytes]
    later: tuple[Opened, ...] = ()
    tell: bool = True
    partly: bool = False
    #: Whether something does not open that may tell of other owners.
    blind: bool = False
    #: Opens the records of the earlier chunks, for whoever has to know what lies there: nothing of them can be rewritten.
    earlier: Callable[[], list[RowBatch]] = list
    #: By bag, as far as it was asked for: the same is asked for many voices of one bag.
    _before: dict[Opened, list[Locator]] = field(default_factory=dict, repr=False)

    @property
    def own(self) -> Holder:
        """The principal who unlocked: the only one whose key does not lie in a bag."""
        return next(iter(self.holders.values()))

    @functools.cached_property
    def placeholder_rows(self) -> PlaceholderRows:
        """The rows that its pseudoprincipals are, and those beside them, as the bags say that were opened."""
        return PlaceholderRows.spoken_for(
            (opened.head.principal_model, opened.speaks_for) for opened in (self.current, *self.others)
        )

    def chunks_before(self, opened: Opened) -> list[Locator]:
        """Of the disguise of which this bag is a chunk, those before it, the first of all first. A shared bag is nobody's, and no chunk."""
        if opened not in self._before:
            items = self.holders[opened.holder.public_key].items if opened.holder else ()
            chains = ([first.chunk(number) for number in chunks_of(first, items)] for first in items)
            found = (chain[: chain.index(opened.locator)] for chain in chains if opened.locator in chain[1:])
            self._before[opened] = next(found, [])
        return self._before[opened]

    def holder_of(self, voice: SpeaksFor) -> Holder | None:
        return self.holders.get(bytes(voice.public_key))


@dataclass(eq=False)
class Everything:
    """All that a key opens, and by locator why something that its lists lead to does not; of what has ``expired``, a part is left."""

    opened: list[Opened]
    holders: dict[bytes, Holder]
    refused: dict[Locator, BagError]
    expired: set[Locator]
    #: Indexes of bags that no list leads to, which are there, and whose receipts were not given.
    unopened: set[bytes]
    #: Whether something does not open that may tell of other owners: a shared bag, or one with the key of a pseudoprincipal, in whose list
    #: it may stand.
    blind: bool

    @property
    def damaged(self) -> set[bytes]:
        """Public keys of those whom a bag may name that does not open, or whose receipt was not given."""
        # Whoever has a bag in their list that does not open may still be needed by what is in it.
        listing = (
            key
            for key, holder in self.holders.items()
            if not self.refused.keys().isdisjoint(holder.items) or holder.opener.hides(holder.entry)
        )
        noting = (opened for opened in self.opened if not self.unopened.isdisjoint(opened.unlisted))
        return {*listing, *(bytes(voice.public_key) for opened in noting for voice in opened.speaks_for)}


def read(receipt: Receipt, unlocked: Unlocked, *, chunk: Chunk | None = None, lock: bool = True) -> Journal | None:
    """Open everything, the receipt's bags among it; those of one ``chunk`` of it without those of earlier ones, which know nothing
    of what was made later. None if the disguise was done in several chunks, and none was asked for. Without ``lock`` for who only looks.

    Raises:
        ReceiptUnknown, ReceiptForeign, ReceiptMalformed: there is nothing to open, or not with this key.
        EntryForged: somebody has changed an entry of those whom the key speaks for.
        BagError: a bag of the receipt was changed, moved or forged.
        ConfigurationError: it was made on another kind of database, and its values cannot be brought here.
    """
    locator = receipt.locator if chunk is None else chunk.locator
    graph = unlocked.key_graph(lock_entries=lock, lock_bags=lock)
    if chunk is None and len(chunks_of(locator, graph.own.items)) > 1:
        return None
    everything = _follow(graph, unlocked, start=[locator], without=chunk.earlier if chunk else ())
    return _journal(receipt, chunk, graph, everything, using=unlocked.using)


class Overview:
    """Everything that a key and these receipts open, read once, for whoever looks at several disguises. Locks nothing."""

    def __init__(self, receipts: Iterable[Receipt], unlocked: Unlocked) -> None:
        self._graph, self._using = unlocked.key_graph(), unlocked.using
        self._everything = _follow(self._graph, unlocked, start=[receipt.locator for receipt in receipts])

    @property
    def items(self) -> Collection[Locator]:
        """What is in the person's own list."""
        return self._graph.own.items

    @property
    def locators(self) -> set[Locator]:
        """Of all bags that opened."""
        return {opened.locator for opened in self._everything.opened}

    def journal(self, receipt: Receipt, chunk: Chunk | None) -> Journal:
        """What `read` returns, with earlier chunks.

        Raises:
            What `read` raises.
        """
        return _journal(receipt, chunk, self._graph, self._everything, using=self._using)


def _journal(receipt: Receipt, chunk: Chunk | None, graph: KeyGraph, everything: Everything, *, using: str) -> Journal:
    locator = receipt.locator if chunk is None else chunk.locator
    if not graph.seen[locator].segments or graph.seen[locator].expired:
        raise nothing_kept(receipt.disguise)
    current = _current(receipt, locator, everything)
    vendor = connection_of(using).vendor
    elsewhere = [opened for opened in everything.opened if opened.head.database != vendor]
    pointed = set(current.pointers)
    for opened in elsewhere:
        _bring_here(opened, needed=opened is current or opened.locator in pointed, using=using)
    assert current.holder is not None
    items = everything.holders[current.holder.public_key].items
    if current.head.listed and locator not in items:
        # Somebody with access to the database has put back a bag that was revealed before.
        raise BagMisplaced(
            "This bag was revealed before and has been put back: it is not among its principal's disguises. Nothing was changed."
        )
    # What cannot be brought here from another kind of database cannot be rewritten, and must not lose the key to it.
    elsewhere = [opened for opened in elsewhere if opened.head.database != vendor]
    damaged = everything.damaged | {opened.holder.public_key for opened in elsewhere if opened.holder}
    left = {current, *elsewhere}
    others = [opened for opened in everything.opened if opened not in left]
    # What one disguise took out of a row lies below the row, which others have as well: be it the person's alone, or of all who had left.
    others.sort(key=lambda opened: (opened.head.applied_at, opened.shared, not opened.changed_by_all))
    if chunk is None:
        return Journal(current, others, everything.holders, damaged, blind=everything.blind)
    after = [chunk.first.chunk(number) for number in chunks_of(chunk.first, items) if number > chunk.number]
    bags = {opened.locator: opened for opened in everything.opened}
    later = tuple(bags[locator] for locator in after if locator in bags)
    partly = not chunk.earlier.isdisjoint(items)
    before = [chunk.first.chunk(number) for number in chunks_of(chunk.first, items) if number < chunk.number]
    earlier = functools.partial(_records_of, graph, before)
    return Journal(current, others, everything.holders, damaged, later, chunk.tell, partly, everything.blind, earlier)


def _records_of(graph: KeyGraph, locators: Sequence[Locator]) -> list[RowBatch]:
    return [
        batch
        for _, segments in graph.open(locators, [BagKind.DIFF])
        for segment in segments
        for batch in segment.bag.batches
        if isinstance(batch, RowBatch)
    ]


def _current(receipt: Receipt, locator: Locator, everything: Everything) -> Opened:
    """What the receipt names, or one chunk of it, whose ``locator`` that is."""
    refused = everything.refused
    if locator in refused and not isinstance(refused[locator], WrongKey):
        raise refused[locator]
    current = next((opened for opened in everything.opened if opened.locator == locator and not opened.shared), None)
    if current is None:
        raise ReceiptForeign(
            f"This receipt of {receipt.disguise} does not open with this key: it belongs to another person, or its bag was "
            "damaged. Unlock with the key of the person it was issued to."
        )
    if current.head.disguise != receipt.disguise:
        raise ReceiptMalformed(
            f"This receipt says {receipt.disguise}, but was issued for another disguise; use it as it was issued."
        )
    for pointer in current.pointers:
        if pointer in refused:
            raise refused[pointer]
    return current


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
        EntryForged: somebody has changed an entry of those whom the key speaks for.
        ReceiptForeign: one of the receipts given to `unlock` does not open.
    """
    return _follow(unlocked.key_graph(lock_entries=True, lock_bags=True), unlocked)


def _follow(
    graph: KeyGraph, unlocked: Unlocked, *, start: Sequence[Locator] = (), without: Collection[Locator] = ()
) -> Everything:
    start = (*unlocked.locators, *start)
    bags = [
        _opened(locator, segments)
        for locator, segments in graph.follow(tuple(BagKind), start=start, without=without, only_whole=True)
    ]
    # What is held is sealed to them again, and whose it is is believed.
    for forged in graph.forged.values():
        raise forged
    graph.require_own(unlocked.locators)
    if not without:  # what speaks for some may lie in the chunks that are left out
        graph.require_handed()
    expired = {locator for locator, seen in graph.seen.items() if seen.expired}
    noted = {index for opened in bags for index in opened.unlisted}
    indexes = {index for opened in bags for index in opened.indexes} if noted else set()
    unopened = unlisted_bags.still_there(noted, opened=indexes, using=unlocked.using)
    refused = graph.refused
    blind = any(graph.seen[locator].may_tell for locator in refused)
    return Everything(bags, graph.holders, refused, expired, unopened, blind)


def _opened(locator: Locator, segments: Sequence[Segment]) -> Opened:
    shared = segments[0].kind is BagKind.SHARED
    return Opened(
        locator,
        [segment.bag for segment in segments],
        holder=None if shared else segments[0].holder.entry,
        indexes=[locator.index(segment.kind, segment.sequence) for segment in segments],
        expires_on=functools.reduce(later_bucket, (segment.stored.expires_on for segment in segments)),
    )
