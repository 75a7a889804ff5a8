"""An unlocked principal: the short-lived capability, in memory only, to open a principal's bags.

It has the secret key, or what a browser handed over instead (`bags.openers`): whatever takes the one takes the other, but for what
needs the key itself. It speaks for whoever that leads to (`bags.key_graph`), and remembers what it has opened until it is closed. A
damaged bag does not keep the others shut: it is said in ``damaged``. Reads, never writes; forgets everything when closed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from edna import shards, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.engine.bags.key_graph import Holder, KeyGraph, require_meant
from edna.engine.bags.memory import Memory
from edna.engine.bags.openers import HandedOpener, Handover, KeyOpener, Opener, items_of, refused
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.errors import (
    BagError,
    CapabilityClosed,
    EntryForged,
    HandoverRefused,
    PolicyError,
    PrincipalError,
    PrincipalNotRegistered,
)
from edna.records.bag import Bag, BagKind
from edna.records.locator import Locator
from edna.store import Entry


class Unlocked:
    """Opens what is sealed to one principal and to the pseudoprincipals it speaks for. Use it in a ``with`` block."""

    def __init__(self, key: SecretKey | Handover, *, using: str, locators: Iterable[Locator] = ()) -> None:
        self._key: SecretKey | Handover | None = key
        self._opener: Opener | None = None
        #: What an earlier act has left of what was handed over.
        self._left: Handover | None = None
        self.start_over()
        #: Those of the receipts that it was unlocked with.
        self.locators = tuple(locators)
        #: Whom it speaks for, as it was when last looked at; that may have been before something was changed.
        self._graph: KeyGraph | None = None
        self._outdated = True
        self.using = using
        self.memory = Memory()
        #: Of whoever holds the key in another way than as a text: what replaces it there. It is told whether to leave what is damaged.
        self.renewed_by: Callable[[bool], Any] | None = None

    def __repr__(self) -> str:
        return f"<Unlocked {'closed' if self.closed else 'open'}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> Any:
        # The keys refuse to be pickled one by one; say it about the capability as a whole.
        raise TypeError("An unlocked principal lives in memory only; it cannot be pickled, cached or sent to a worker.")

    @property
    def closed(self) -> bool:
        return self._key is None

    def close(self) -> None:
        """Forget all keys. Using it afterwards raises `CapabilityClosed`."""
        self._key = self._opener = self._graph = self.renewed_by = self._left = None
        self.locators = ()
        self.memory.clear()

    def start_over(self) -> None:
        """What was handed over is as it was, before an act that is tried again; or as the act before has left it, unless that was rolled
        back: what the tables say counts."""
        if isinstance(self._key, SecretKey):
            self._opener = KeyOpener(self._key)
        elif self._key is not None:
            handover = self._left if self._left is not None and self._stands(self._left) else self._key
            self._opener = HandedOpener(handover.anew())

    def _stands(self, handover: Handover) -> bool:
        entries = store.entries_by_public_key(handover.lists, using=self.using)
        there = {entry.public_key: set(items_of(entry)) for entry in entries}
        return all(there.get(key, set()) == items.keys() for key, items in handover.lists.items())

    @property
    def _opened_by(self) -> Opener:
        if self._opener is None:
            raise CapabilityClosed("This unlocked principal was closed; unlock again.")
        return self._opener

    @property
    def handover(self) -> Handover | None:
        """What a browser handed over; None if the secret key is here."""
        opener = self._opened_by
        return opener.handover if isinstance(opener, HandedOpener) else None

    @property
    def secret_key(self) -> SecretKey:
        """
        Raises:
            SecretKeyNeeded: it did not leave its owner's browser.
        """
        return self._opened_by.secret_key

    @property
    def public_key(self) -> PublicKey:
        return self._opened_by.public_key

    def entry(self, *, lock: bool = False) -> Entry:
        """
        Raises:
            PrincipalNotRegistered: this key belongs to nobody here.
            EntryForged: somebody has written it into that entry, or another half of it.
        """
        entries = store.entries_by_public_key([bytes(self.public_key)], using=self.using, lock=lock)
        if not entries:
            raise of_nobody(shards.in_words(self.using))
        store.require_sound(entries)
        self._opened_by.require_half(entries[0])
        return entries[0]

    def key_graph(self, *, lock_entries: bool = False, lock_bags: bool = False) -> KeyGraph:
        """From this key, not followed yet; the own entry is read now."""
        return KeyGraph(
            self.entry(lock=lock_entries),
            self._opened_by,
            memory=self.memory,
            using=self.using,
            lock_entries=lock_entries,
            lock_bags=lock_bags,
        )

    # Whom it speaks for

    def voices(self, *, lock: bool = False) -> dict[bytes, Holder]:
        """Everyone this capability can speak as, by public key, the principal itself first. To ``lock`` their entries, look anew.

        Raises:
            ReceiptForeign: one of the receipts given to `unlock` is somebody else's.
        """
        return self._followed(lock=lock).holders

    def require_whole(self, *, without: Collection[Locator] = ()) -> None:
        """That a browser has kept back nothing that several people share: each item says where it leads, everybody's list is there, and
        each shared bag is among what the act was given. Whoever has the secret key has it all; nothing ``without`` is opened.

        Raises:
            HandoverRefused: something was kept back.
        """
        handover = self.handover
        if handover is None:
            return
        if handover.whole is None:
            raise refused("Others own rows of this disguise, too: all lists are needed, and were not handed over.")
        opener = HandedOpener(handover.whole)
        graph = KeyGraph(self.entry(), opener, memory=self.memory, using=self.using)
        kinds = (BagKind.SPEAKS_FOR, BagKind.SHARED)
        shared = {
            locator
            for locator, segments in graph.follow(kinds, start=self.locators, without=without)
            if segments[0].kind is BagKind.SHARED
        }
        if not without:  # as in `reader`
            graph.require_handed()
        for public_key, holder in graph.holders.items():
            if opener.withholds(holder.entry):
                raise refused(
                    f"Others own rows of this disguise, too, and an item in the list of entry {holder.entry.id} came without its locator. "
                    "If it does not open, give the key to the site once to renew it (edna.rotate)."
                )
            given = handover.lists.get(public_key, {})
            if any(given.get(item) != locator for locator, item in holder.items.items() if locator in shared):
                raise refused(
                    "Others own rows of this disguise, too: all shared bags are needed, and one was not handed over."
                )

    def forget_voices(self) -> None:
        """Look again: a disguise or a reveal has changed who speaks for whom."""
        self._outdated = True
        if isinstance(self._opener, HandedOpener) and isinstance(self._key, Handover):
            left = self._opener.handover
            self._left = left.anew() if left.is_other_than(self._key) else None

    def _followed(self, *, lock: bool = False) -> KeyGraph:
        if self._graph is None or self._outdated or lock:
            graph = self.key_graph(lock_entries=lock)
            for _ in graph.follow([BagKind.SPEAKS_FOR], start=self.locators):
                pass
            graph.require_own(self.locators)
            graph.require_handed()
            self._graph, self._outdated = graph, False
        return self._graph

    def spoken_for(self) -> list[Holder]:
        """The pseudoprincipals, without the principal itself."""
        return list(self.voices().values())[1:]

    def spoken_for_now(self) -> list[Entry]:
        """The entries of the pseudoprincipals, read again in one statement.

        Raises:
            EntryForged: somebody has written to one of them.
        """
        voices = {voice.entry.public_key: voice for voice in self.spoken_for()}
        entries = store.entries_by_public_key(voices, using=self.using)
        for entry in entries:
            voice = voices[entry.public_key]
            require_meant(entry, model=str(voice.model), key=voice.key)
        return entries

    def placeholder_rows(self) -> PlaceholderRows:
        """The rows that the pseudoprincipals are, and those beside them, to be told by them from the person's own."""
        return PlaceholderRows.spoken_for((batch.model, batch.rows) for batch in self._followed().voices)

    def speaking(self) -> dict[Locator, list[Opener]]:
        """Where the keys of the pseudoprincipals lie, and what may open it: what opens for one of those in whose list it is."""
        listed = self.listed()
        places = [voice.spoken_under for voice in self.spoken_for() if voice.spoken_under]
        return {locator: [holder.opener for holder in listed[locator]] for locator in places}

    def needed(self) -> set[bytes]:
        """The public keys of pseudoprincipals whom a bag may name that no list leads to."""
        noted = self._followed().noted
        return {voice.entry.public_key for voice in self.spoken_for() if voice.spoken_under in noted}

    def require_all_voices(self) -> None:
        """
        Raises:
            BagError: a speaks-for bag is damaged or missing, so that data of this principal would be left out of a disguise.
            EntryForged: so it would for an entry that this site did not write.
        """
        graph = self._followed()
        for forged in graph.forged.values():
            raise forged
        # That all speaks-for bags of a disguise are gone shows in its other bags only: their first segments say it.
        # A browser has looked at them, and hands over none that the act does not need.
        first = (
            (locator, locator.index(BagKind.DIFF, 0)) for locator in graph.listed if graph.seen[locator].counts is None
        )
        mute = [locator for locator, index in first if graph.own.opener.may_open(index)]
        for _ in graph.open(mute, [BagKind.DIFF], first_only=True):
            pass
        for locator in graph.listed:
            refusal = graph.seen[locator].refusal(BagKind.SPEAKS_FOR)
            if refusal is not None:
                raise refusal

    def require_everything(self) -> None:
        """
        Raises:
            HandoverRefused: a browser has handed over a part of what the principal's own list leads to.
        """
        graph = self._followed()
        if graph.own.opener.withholds(graph.own.entry):
            raise HandoverRefused(
                "Not all that the list leads to was handed over. Nothing was changed; look anew, and try again."
            )

    # What is disguised

    def listed(self) -> Mapping[Locator, Sequence[Holder]]:
        """What is in the lists of all whom it speaks for, and the receipts that it was unlocked with, each with those who have it."""
        return self._followed().listed

    def disguises(self) -> Iterator[tuple[Locator, Bag]]:
        """What opens of the diff records under each of the locators; what does not is added to ``damaged``.

        Raises:
            ReceiptForeign: one of the receipts given to `unlock` is somebody else's.
        """
        graph = self._followed()
        for locator, segments in graph.open(graph.listed, [BagKind.DIFF]):
            yield from ((locator, segment.bag) for segment in segments)
        graph.require_own(self.locators)

    def is_damaged(self, locator: Locator) -> bool:
        """Whether a bag under it was found to be missing, if only because it has expired, or not to open."""
        return not self._followed().seen[locator].whole

    @property
    def damaged(self) -> list[BagError | EntryForged]:
        """Why bags could not be opened on the way, and why somebody is no voice: one damaged bag does not keep the others shut."""
        return [*self._graph.refused.values(), *self._graph.forged.values()] if self._graph else []

    @property
    def barred(self) -> list[PolicyError]:
        """Of ``damaged`` what is not: bags that a process with another role opens, one error for each disguise or part of one."""
        return [error for error in self.damaged if isinstance(error, PolicyError)]


def require_unlocked(unlocked: object, what: str) -> None:
    """
    Raises:
        PrincipalError: it is none; ``what`` would have taken one.
    """
    if not isinstance(unlocked, Unlocked):
        raise PrincipalError(
            f"{what} takes what edna.unlock() returns, in its with block; this is a {type(unlocked).__name__}. Nothing was changed."
        )


def of_nobody(where: str) -> PrincipalNotRegistered:
    """For a key that was looked for in vain; ``where`` stands in the middle of the sentence."""
    return PrincipalNotRegistered(
        f"This key belongs to no principal of this site{where}: check that it is the right site's key. "
        "What a removed account has left is erased when it expires, and its key then opens nothing."
    )
