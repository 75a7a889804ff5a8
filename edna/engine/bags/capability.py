"""An unlocked principal: the short-lived capability, in memory only, to open a principal's bags.

From one secret key it follows the speaks-for records, transitively, to the keys of every pseudoprincipal the principal
speaks for. Two statements a level, however many pseudoprincipals a level has. Invariant (nothing forged): nobody is a voice whose entry was
not written by this site, or names somebody else than the sealed record with its key does. Reads, never writes; forgets
everything when closed. A little long: whom a key leads to, and what is refused on the way, belong together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from django.apps import apps
from django.core.exceptions import ValidationError

from edna import conf, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.engine.books.expiry_dates import today
from edna.engine.graph.references import reference_of
from edna.errors import (
    BagError,
    BagMissing,
    CapabilityClosed,
    EntryForged,
    PrincipalNotRegistered,
    ReceiptForeign,
    WrongKey,
)
from edna.records.bag import Bag, BagKind, open_bag
from edna.records.locator import SEALED_LOCATOR_BYTES, Locator, open_locator
from edna.records.speaksfor import SpeaksForBatch
from edna.store import Entry

#: Segments of a bag that are asked for at once; a bag with more takes another round.
SEGMENTS_AT_ONCE = 4


@dataclass(frozen=True)
class Voice:
    """One principal that the unlocked one is, or speaks for. ``model`` and ``key`` are its row's, None for the first."""

    entry: Entry
    secret_key: SecretKey
    model: str | None
    key: Any
    locators: tuple[Locator, ...]
    #: Where its key lies; None for the first.
    spoken_under: Locator | None = None


class Unlocked:
    """Opens what is sealed to one principal and to the pseudoprincipals it speaks for. Use it in a ``with`` block."""

    def __init__(self, secret_key: SecretKey, *, using: str, locators: Iterable[Locator] = ()) -> None:
        self._secret_key: SecretKey | None = secret_key
        self._locators = tuple(locators)
        self._voices: dict[bytes, Voice] | None = None
        self.using = using
        self._damaged: dict[tuple[Locator, BagKind], BagError] = {}
        #: Of pseudoprincipals, by public key: they are no voices.
        self._forged: dict[bytes, EntryForged] = {}
        #: Under receipts given to `unlock`: not sealed to this key, and perhaps to that of a pseudoprincipal.
        self._foreign: set[tuple[Locator, BagKind]] = set()
        #: Of which bags are due: what is missing of these has expired.
        self._due: set[Locator] = set()
        self._expired: set[Locator] = set()
        #: Of which locators a bag says that one that no list leads to may name its pseudoprincipals.
        self._noted: set[Locator] = set()
        #: How many segments of both kinds there are, according to the bags that were opened.
        self._counts: dict[tuple[Locator, BagKind], tuple[int, int]] = {}

    def __repr__(self) -> str:
        return f"<Unlocked {'closed' if self._secret_key is None else 'open'}>"

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
        return self._secret_key is None

    def close(self) -> None:
        """Forget all keys. Using it afterwards raises `CapabilityClosed`."""
        self._secret_key = None
        self._voices = None
        self._locators = ()

    @property
    def secret_key(self) -> SecretKey:
        if self._secret_key is None:
            raise CapabilityClosed("This unlocked principal was closed; unlock again.")
        return self._secret_key

    @property
    def public_key(self) -> PublicKey:
        return self.secret_key.public_key

    @property
    def locators(self) -> tuple[Locator, ...]:
        """Those of the receipts that it was unlocked with."""
        return self._locators

    def forget_voices(self) -> None:
        """Look again: a disguise or a reveal has changed who speaks for whom."""
        self._voices = None

    def entry(self, *, lock: bool = False) -> Entry:
        """
        Raises:
            PrincipalNotRegistered: this key belongs to nobody here.
            EntryForged: somebody has written it into that entry.
        """
        entries = store.entries_by_public_key([bytes(self.public_key)], using=self.using, lock=lock)
        if not entries:
            raise PrincipalNotRegistered(
                "This key belongs to no principal of this site: check that it is the right site's key. What a removed account has "
                "left is erased when it expires, and its key then opens nothing."
            )
        store.require_sound(entries)
        return entries[0]

    def voices(self, *, lock: bool = False) -> dict[bytes, Voice]:
        """Everyone this capability can speak as, by public key, the principal itself first. To ``lock`` their entries, look anew."""
        if self._voices is None or lock:
            self.secret_key  # noqa: B018 - raises when closed
            self._voices = self._follow(lock=lock)
        return self._voices

    @property
    def damaged(self) -> list[BagError | EntryForged]:
        """Why bags could not be opened on the way, and why somebody is no voice: one damaged bag does not keep the others shut."""
        return [*self._damaged.values(), *self._forged.values()]

    def require_all_voices(self) -> None:
        """
        Raises:
            BagError: a speaks-for bag is damaged or missing, so that data of this principal would be left out of a disguise.
            EntryForged: so it would for an entry that this site did not write.
        """
        wanted = self.keys_by_locator()
        for forged in self._forged.values():
            raise forged
        # That all speaks-for bags of a disguise are gone shows in its other bags only: their first segments say it.
        mute = {locator: key for locator, key in wanted.items() if (locator, BagKind.SPEAKS_FOR) not in self._counts}
        for locator, bag in open_bags(
            mute, BagKind.DIFF, using=self.using, due=self._due, expired=self._expired, first_only=True
        ):
            if isinstance(bag, Bag) and bag.segments[1] and locator not in self._due:
                self._damaged.setdefault((locator, BagKind.SPEAKS_FOR), _missing())
        for (_, kind), error in self._damaged.items():
            if kind is BagKind.SPEAKS_FOR:
                raise error

    def keys_by_locator(self) -> dict[Locator, list[SecretKey]]:
        """Where to look, and with which keys: a locator may be in several lists, and only one of their keys opens the bag."""
        return _keys_by_locator(self.voices().values())

    def spoken_for(self) -> list[Voice]:
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

    def speaking(self) -> dict[Locator, list[SecretKey]]:
        """Where the keys of the pseudoprincipals lie, and with which keys to open it."""
        keys = self.keys_by_locator()
        return {voice.spoken_under: keys[voice.spoken_under] for voice in self.spoken_for() if voice.spoken_under}

    def needed(self) -> set[bytes]:
        """The public keys of pseudoprincipals whom a bag may name that no list leads to."""
        return {bytes(voice.secret_key.public_key) for voice in self.spoken_for() if voice.spoken_under in self._noted}

    def _follow(self, *, lock: bool) -> dict[bytes, Voice]:
        own = self.entry(lock=lock)
        self._foreign.clear()
        self._counts.clear()
        self._noted.clear()
        self._forged.clear()
        first = Voice(own, self.secret_key, None, None, (*self._listed(own, self.secret_key), *self._locators))
        voices = {own.public_key: first}
        level = [first]
        while level:
            # A locator may be in several lists, of which one key opens the bag: what is open already is not asked for again.
            asked = _keys_by_locator(level)
            wanted = {
                locator: keys for locator, keys in asked.items() if (locator, BagKind.SPEAKS_FOR) not in self._counts
            }
            found: dict[bytes, tuple[str, Any, SecretKey, Locator]] = {}
            for locator, bag in self.open_all(wanted, BagKind.SPEAKS_FOR):
                for batch in bag.batches:
                    assert isinstance(batch, SpeaksForBatch)
                    rows = batch.rows
                    found |= {bytes(public): (batch.model, key, secret, locator) for key, public, secret, _ in rows}
                    self._noted |= {locator} if batch.unlisted else set()
            new = [public_key for public_key in found if public_key not in voices]
            level = []
            for entry in store.entries_by_public_key(new, using=self.using, lock=lock):
                model, key, secret_key, under = found[entry.public_key]
                try:
                    require_meant(entry, model=model, key=key)
                except EntryForged as error:
                    self._forged[entry.public_key] = error.with_traceback(None)
                    continue
                level.append(Voice(entry, secret_key, model, key, self._listed(entry, secret_key), under))
            voices |= {voice.entry.public_key: voice for voice in level}
        self._require_own_receipts()
        return voices

    def open_all(self, wanted: Mapping[Locator, Sequence[SecretKey]], kind: BagKind) -> Iterator[tuple[Locator, Bag]]:
        """What opens of one kind under each locator; what does not is added to ``damaged``.

        Raises:
            ReceiptForeign: it is under a receipt given to `unlock` that is somebody else's.
        """
        for locator in wanted:
            self._damaged.pop((locator, kind), None)
            self._counts.pop((locator, kind), None)
        for locator, bag in open_bags(wanted, kind, using=self.using, due=self._due, expired=self._expired):
            if isinstance(bag, Bag):
                self._counts[locator, kind] = bag.segments
                self._foreign.discard((locator, kind))
                yield locator, bag
            elif isinstance(bag, WrongKey) and locator in self._locators:
                self._foreign.add((locator, kind))
            else:
                self._damaged.setdefault((locator, kind), bag)
        if kind is BagKind.DIFF:
            self._require_own_receipts()
            self._compare_counts(wanted)

    def _require_own_receipts(self) -> None:
        if self._foreign:
            raise ReceiptForeign(
                "One of the receipts given to unlock() does not open with this key; leave it out, or unlock with its owner's key."
            )

    def _compare_counts(self, locators: Iterable[Locator]) -> None:
        """Bags of one kind say whether there must be some of the other."""
        for locator in locators:
            for kind, other in ((BagKind.DIFF, BagKind.SPEAKS_FOR), (BagKind.SPEAKS_FOR, BagKind.DIFF)):
                counts = self._counts.get((locator, other))
                if counts and counts[kind is BagKind.SPEAKS_FOR] and (locator, kind) not in self._counts:
                    if locator in self._due:
                        self._expired.add(locator)
                    else:
                        self._damaged.setdefault((locator, kind), _missing())

    def is_damaged(self, locator: Locator) -> bool:
        """Whether a bag under it was found to be missing, if only because it has expired, or not to open."""
        return locator in self._expired or any((locator, kind) in self._damaged for kind in BagKind)

    @staticmethod
    def _listed(entry: Entry, secret_key: SecretKey) -> tuple[Locator, ...]:
        return tuple(locator for _, locator in listed_locators(entry, secret_key))


def require_meant(entry: Entry, *, model: str, key: Any) -> None:
    """That an entry is the one of whom a sealed speaks-for record says that it has this public key: ``key`` is their row's.

    Its tag says so; the record says it again, and cannot be vouched for by mistake.

    Raises:
        EntryForged: somebody has made it another's.
    """
    store.require_sound([entry])
    if not entry.attached:
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


def _keys_by_locator(voices: Iterable[Voice]) -> dict[Locator, list[SecretKey]]:
    keys: dict[Locator, list[SecretKey]] = {}
    for voice in voices:
        for locator in voice.locators:
            keys.setdefault(locator, []).append(voice.secret_key)
    return keys


def listed_locators(entry: Entry, secret_key: SecretKey) -> list[tuple[bytes, Locator]]:
    """The entry's sealed locators and what is in them. Items that anybody else put there do not open, and are left out."""
    found = []
    for start in range(0, len(entry.locators), SEALED_LOCATOR_BYTES):
        item = entry.locators[start : start + SEALED_LOCATOR_BYTES]
        try:
            found.append((item, open_locator(item, secret_key=secret_key)))
        except WrongKey:
            continue
    return found


def open_bags(
    wanted: Mapping[Locator, Sequence[SecretKey]],
    kind: BagKind,
    *,
    using: str,
    due: set[Locator],
    expired: set[Locator],
    first_only: bool = False,
) -> Iterator[tuple[Locator, Bag | BagError]]:
    """All segments of one kind under each locator (or the first), opened by one of its keys, or the error that says why one does
    not open; BagMissing after those of a locator that are not as many as they say. Those that are due are put into ``due``, and
    into ``expired`` instead of being missed.

    One statement unless a bag has many segments.
    """
    start, step = 0, 1 if first_only else SEGMENTS_AT_ONCE
    numbers: dict[Locator, set[int]] = {}
    expected: dict[Locator, int] = {}
    day = today()
    more = list(wanted)
    while more:
        places = {
            locator.index(kind, sequence): (locator, sequence)
            for locator in more
            for sequence in range(start, start + step)
        }
        stored = store.stored_bags(places, using=using)
        for index, found in stored.items():
            locator, sequence = places[index]
            if found.is_due(day):
                due.add(locator)
            bag = _opened(found.sealed, locator, kind, sequence, wanted[locator])
            numbers.setdefault(locator, set()).add(sequence)
            if isinstance(bag, Bag):
                expected[locator] = bag.segments[kind is BagKind.SPEAKS_FOR]
            yield locator, bag
        start += step
        more = [] if first_only else list({places[index][0] for index in stored if places[index][1] == start - 1})
    for locator, count in expected.items() if not first_only else ():
        if numbers[locator] != set(range(count)):
            if locator in due:
                expired.add(locator)
            else:
                yield locator, _missing()


def _missing() -> BagMissing:
    return BagMissing(
        "One of the bags of a disguise is not in the table any more. Nothing was changed; restore it from a backup."
    )


def _opened(
    sealed: bytes, locator: Locator, kind: BagKind, sequence: int, secret_keys: Sequence[SecretKey]
) -> Bag | BagError:
    refusal: BagError = WrongKey("No key was given.")
    for secret_key in secret_keys:
        try:
            # The server's keys get no name here: error pages print variables.
            return open_bag(
                sealed, locator=locator, kind=kind, sequence=sequence, secret_key=secret_key, mac_keys=conf.mac_keys()
            )
        except BagError as error:
            refusal = error.with_traceback(None)
            if not isinstance(error, WrongKey):
                break
    return refusal
