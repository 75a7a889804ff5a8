"""An unlocked principal: the short-lived capability, in memory only, to open a principal's bags.

From one secret key it follows the speaks-for records, transitively, to the keys of every pseudoprincipal the principal
speaks for. Two statements a level, however many pseudoprincipals a level has. Reads, never writes; forgets everything
when closed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from edna import conf, store
from edna.crypto.keys import PublicKey, SecretKey
from edna.errors import BagError, CapabilityClosed, PrincipalNotRegistered, ReceiptForeign, WrongKey
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


class Unlocked:
    """Opens what is sealed to one principal and to the pseudoprincipals it speaks for. Use it in a ``with`` block."""

    def __init__(self, secret_key: SecretKey, *, using: str, locators: Iterable[Locator] = ()) -> None:
        self._secret_key: SecretKey | None = secret_key
        self._locators = tuple(locators)
        self._voices: dict[bytes, Voice] | None = None
        self.using = using
        self._damaged: dict[tuple[Locator, BagKind], BagError] = {}

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

    def forget_voices(self) -> None:
        """Look again: a disguise or a reveal has changed who speaks for whom."""
        self._voices = None

    def entry(self, *, lock: bool = False) -> Entry:
        """
        Raises:
            PrincipalNotRegistered: this key belongs to nobody here.
        """
        entries = store.entries_by_public_key([bytes(self.public_key)], using=self.using, lock=lock)
        if not entries:
            raise PrincipalNotRegistered(
                "This key belongs to no principal of this site; check that it is the right site's key."
            )
        return entries[0]

    def voices(self) -> dict[bytes, Voice]:
        """Everyone this capability can speak as, by public key, the principal itself first."""
        if self._voices is None:
            self.secret_key  # noqa: B018 - raises when closed
            self._voices = self._follow()
        return self._voices

    @property
    def damaged(self) -> list[BagError]:
        """Why bags could not be opened on the way: one damaged bag does not keep the others shut."""
        return list(self._damaged.values())

    def require_all_voices(self) -> None:
        """
        Raises:
            BagError: a speaks-for bag is damaged, so that data of this principal would be left out of a disguise.
        """
        self.voices()
        for (_, kind), error in self._damaged.items():
            if kind is BagKind.SPEAKS_FOR:
                raise error

    def spoken_for(self) -> list[Voice]:
        """The pseudoprincipals, without the principal itself."""
        return list(self.voices().values())[1:]

    def _follow(self) -> dict[bytes, Voice]:
        own = self.entry()
        first = Voice(own, self.secret_key, None, None, (*self._listed(own, self.secret_key), *self._locators))
        voices = {own.public_key: first}
        level = [first]
        while level:
            wanted = {locator: voice.secret_key for voice in level for locator in voice.locators}
            found: dict[bytes, tuple[str, Any, SecretKey]] = {}
            for _, bag in self.open_all(wanted, BagKind.SPEAKS_FOR):
                for batch in bag.batches:
                    assert isinstance(batch, SpeaksForBatch)
                    found |= {bytes(public): (batch.model, key, secret) for key, public, secret in batch.rows}
            new = [public_key for public_key in found if public_key not in voices]
            level = []
            for entry in store.entries_by_public_key(new, using=self.using):
                model, key, secret_key = found[entry.public_key]
                level.append(Voice(entry, secret_key, model, key, self._listed(entry, secret_key)))
            voices |= {voice.entry.public_key: voice for voice in level}
        return voices

    def open_all(self, wanted: dict[Locator, SecretKey], kind: BagKind) -> Iterator[tuple[Locator, Bag]]:
        """What opens of one kind under each locator; what does not is added to ``damaged``.

        Raises:
            ReceiptForeign: it is under a receipt given to `unlock` that is somebody else's.
        """
        for locator in wanted:
            self._damaged.pop((locator, kind), None)
        for locator, bag in open_bags(wanted, kind, using=self.using):
            if isinstance(bag, Bag):
                yield locator, bag
            elif isinstance(bag, WrongKey) and locator in self._locators:
                raise ReceiptForeign(
                    "One of the receipts given to unlock() does not open with this key; leave it out, or unlock with its owner's key."
                )
            else:
                self._damaged[locator, kind] = bag

    @staticmethod
    def _listed(entry: Entry, secret_key: SecretKey) -> tuple[Locator, ...]:
        return tuple(locator for _, locator in listed_locators(entry, secret_key))


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
    wanted: dict[Locator, SecretKey], kind: BagKind, *, using: str
) -> Iterator[tuple[Locator, Bag | BagError]]:
    """All segments of one kind under each locator, opened by its key, or the error that says why a segment does not open.

    One statement unless a bag has many segments.
    """
    start = 0
    while wanted:
        places = {
            locator.index(kind, sequence): (locator, sequence)
            for locator in wanted
            for sequence in range(start, start + SEGMENTS_AT_ONCE)
        }
        stored = store.bags_by_index(places, using=using)
        for index, sealed in stored.items():
            locator, sequence = places[index]
            yield locator, _opened(sealed, locator, kind, sequence, wanted[locator])
        start += SEGMENTS_AT_ONCE
        full = {places[index][0] for index in stored if places[index][1] == start - 1}
        wanted = {locator: key for locator, key in wanted.items() if locator in full}


def _opened(sealed: bytes, locator: Locator, kind: BagKind, sequence: int, secret_key: SecretKey) -> Bag | BagError:
    try:
        # The server's keys get no name here: error pages print variables.
        return open_bag(
            sealed, locator=locator, kind=kind, sequence=sequence, secret_key=secret_key, mac_keys=conf.mac_keys()
        )
    except BagError as error:
        return error.with_traceback(None)
