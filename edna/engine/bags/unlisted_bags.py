"""Bags that no list leads to (locator mode ``client``), and the pseudoprincipals that they may name.

Somebody who takes back what made a pseudoprincipal, and has not brought the receipt of what was disguised later, must not let go of
it: the later bag may name it. Beside its key stands under which index that bag is, from which nobody finds more than whether it is
there. Invariant (nothing linkable): no row of the pseudoprincipals tells that there is one, or their lists would show who belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from edna import policy_seals, store
from edna.crypto.keys import PublicKey
from edna.engine.bags.openers import HandedOpener, recipient_of
from edna.engine.bags.seal import seal_segment
from edna.engine.planning.steps import Opener, Speaking
from edna.errors import BagError
from edna.records.bag import Bag, BagKind
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksForBatch


def note(new: Iterable[tuple[Speaking, Locator]], *, using: str) -> None:
    """Write into the bags that speak for them which new bag may name these pseudoprincipals. Three statements, or none; one
    more where a browser handed over what opens them.

    Raises:
        BagError: one of the bags does not open any more.
    """
    wanted = {
        speaking.index(BagKind.SPEAKS_FOR, 0): (speaking, openers, locator.first_indexes())
        for voices, locator in new
        for speaking, openers in voices.items()
    }
    stored = store.stored_bags(wanted, using=using, lock=True) if wanted else {}
    opened = [_opened(bag.sealed, *wanted[index]) for index, bag in stored.items()]
    recipients = _recipients([opener for _, opener, _, _ in opened], using=using)
    noted = [
        seal_segment(bag, 0, locator=locator, recipient=recipient, using=using)
        for (bag, _, locator, _), recipient in zip(map(_noted, opened), recipients, strict=True)
    ]
    if noted:
        store.replace_bags(noted, using=using)


_Found = tuple[Bag, Opener, Locator, set[bytes]]


def _noted(found: _Found) -> _Found:
    bag, opener, locator, indexes = found
    first, *others = bag.batches
    assert isinstance(first, SpeaksForBatch)
    first = replace(first, unlisted=tuple(sorted(indexes.union(first.unlisted))))
    return replace(bag, batches=(first, *others)), opener, locator, indexes


def _recipients(openers: Sequence[Opener], *, using: str) -> list[PublicKey]:
    """To whom their bags are sealed. What a browser hands over does not say whether the key has a second half; its entry does."""
    names = {bytes(opener.public_key) for opener in openers if isinstance(opener, HandedOpener)}
    entries = store.entries_by_public_key(names, using=using) if names else ()
    whole = {entry.public_key: recipient_of(entry) for entry in entries}
    return [whole.get(bytes(opener.public_key), opener.public_key) for opener in openers]


def _opened(sealed: bytes, locator: Locator, openers: Sequence[Opener], indexes: set[bytes]) -> _Found:
    """A locator may be in several lists, and what opens for one of their owners opens the bag."""
    _, sealed = policy_seals.take_off(sealed, index=locator.index(BagKind.SPEAKS_FOR, 0))
    for number, opener in enumerate(openers, start=1):
        try:
            return opener.open(sealed, locator=locator, kind=BagKind.SPEAKS_FOR, sequence=0), opener, locator, indexes
        except BagError:
            if number == len(openers):
                raise
    raise AssertionError


def still_there(noted: Collection[bytes], *, opened: Collection[bytes], using: str) -> set[bytes]:
    """Of those that were ``noted``, which are stored and were not ``opened``. No statement if there are none."""
    left = set(noted).difference(opened)
    return store.indexes_there(left, using=using) if left else set()
