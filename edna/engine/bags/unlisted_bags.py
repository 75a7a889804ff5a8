"""Bags that no list leads to (locator mode ``client``), and the pseudoprincipals that they may name.

Somebody who takes back what made a pseudoprincipal, and has not brought the receipt of what was disguised later, must not let go of
it: the later bag may name it. Beside its key stands under which index that bag is, from which nobody finds more than whether it is
there. Invariant (nothing linkable): no row of the pseudoprincipals tells that there is one, or their lists would show who belong together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from edna import store
from edna.crypto.keys import PublicKey
from edna.engine.bags.seal import seal_segment
from edna.engine.planning.steps import Opener, Speaking
from edna.errors import BagError
from edna.records.bag import Bag, BagKind
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksForBatch


def indexes_of(locator: Locator) -> set[bytes]:
    """While anything lies under the locator, it is under one of these."""
    return {locator.index(kind, 0) for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR)}


def note(new: Iterable[tuple[Speaking, Locator]], *, using: str) -> None:
    """Write into the bags that speak for them which new bag may name these pseudoprincipals. Three statements, or none.

    Raises:
        BagError: one of the bags does not open any more.
    """
    wanted = {
        speaking.index(BagKind.SPEAKS_FOR, 0): (speaking, openers, indexes_of(locator))
        for voices, locator in new
        for speaking, openers in voices.items()
    }
    stored = store.stored_bags(wanted, using=using, lock=True) if wanted else {}
    noted = [_noted(bag.sealed, *wanted[index], using=using) for index, bag in stored.items()]
    if noted:
        store.replace_bags(noted, using=using)


def _noted(
    sealed: bytes, locator: Locator, openers: Sequence[Opener], indexes: set[bytes], *, using: str
) -> tuple[bytes, bytes]:
    bag, owner = _opened(sealed, locator, openers)
    first, *others = bag.batches
    assert isinstance(first, SpeaksForBatch)
    first = replace(first, unlisted=tuple(sorted(indexes.union(first.unlisted))))
    return seal_segment(replace(bag, batches=(first, *others)), 0, locator=locator, recipient=owner, using=using)


def _opened(sealed: bytes, locator: Locator, openers: Sequence[Opener]) -> tuple[Bag, PublicKey]:
    """A locator may be in several lists, and what opens for one of their owners opens the bag."""
    for number, opener in enumerate(openers, start=1):
        try:
            return opener.open(sealed, locator=locator, kind=BagKind.SPEAKS_FOR, sequence=0), opener.public_key
        except BagError:
            if number == len(openers):
                raise
    raise AssertionError


def still_there(noted: Collection[bytes], *, opened: Collection[bytes], using: str) -> set[bytes]:
    """Of those that were ``noted``, which are stored and were not ``opened``. No statement if there are none."""
    left = set(noted).difference(opened)
    return store.indexes_there(left, using=using) if left else set()
