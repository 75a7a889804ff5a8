"""Copies of what opens one bag, for members of an audience who act together, where a disguise declares one.

A copy holds locator, number, the key of the bag's content and whose the bag is, so it opens this bag and nothing else: no list, no
placeholder's key, no other bag. Invariants (nothing readable): without a declaration none is made. (Nothing linkable): where a copy lies
follows from whom it is about under a key of the server, and differs from one bag to the next. Knows bags and keys; who keeps copies has
connected.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from typing import Final, Protocol

from edna import conf, registry, shards
from edna.crypto.keys import ContentKey, PublicKey, derive, fingerprint
from edna.errors import ConfigurationError
from edna.records.bag import Bag
from edna.records.diff import Decorrelated
from edna.records.locator import Locator, Receipt
from edna.spec import Disguise
from edna.store import serverkeys

COPY: Final = struct.Struct(">32s32s32sI")

#: Model, in lower case, and primary key in text form.
Subject = tuple[str, str]
#: Which audience, how many of it together, in which month, and why.
Told = tuple[str, int, str, str]


class Keeper(Protocol):
    """Who keeps copies. In the caller's transaction."""

    def keep(
        self,
        index: bytes,
        copy: bytes,
        *,
        subjects: Sequence[Subject],
        audience: str,
        together: int,
        first: bytes | None,
        using: str,
    ) -> None:
        """One for each of these, in place of those that were kept of this bag. ``first`` is None for a new bag. One that is only sealed
        again is held as its first segment, which is there by now, was before: for nobody, if it was not."""

    def require(self, audience: str, together: int, *, using: str) -> None:
        """
        Raises: AudienceUnknown, AudienceTooSmall: what a new bag is refused with.
        """

    def forget(self, indexes: Collection[bytes], *, using: str) -> None:
        """These bags are gone."""

    def uses(self, locators: Collection[Locator], *, using: str) -> list[Told]:
        """How what lies under these was read."""
        ...


_keepers: list[Keeper] = []
#: A disguise in more parts than these tells of what was read in the first ones.
_PARTS: Final = 64


def connect(keeper: Keeper) -> None:
    """Called once the applications are loaded."""
    _keepers[:] = [keeper]


def require(disguise: type[Disguise], *, using: str) -> None:
    """That what a disguise takes away now can be held as it declares; of one that declares nothing, nothing is asked.

    Raises: ConfigurationError if nobody is there to keep it; AudienceUnknown, AudienceTooSmall.
    """
    if disguise.audience is not None:
        _keeper(disguise).require(disguise.audience, disguise.together, using=using)


def keep(
    bag: Bag,
    sequence: int,
    *,
    locator: Locator,
    content_key: ContentKey,
    recipient: PublicKey,
    is_new: bool,
    using: str,
) -> None:
    """Have a copy kept for whom the bag is about: its principal, and the pseudoprincipals that its rows were given to.

    Raises: ConfigurationError if nobody is there to keep them; ServerKeyUnknown; for a new one AudienceUnknown, AudienceTooSmall.
    """
    serverkeys.require(using=using)
    disguise = registry.find(bag.disguise)
    assert disguise is not None
    assert disguise.audience is not None
    _keeper(disguise).keep(
        locator.index(bag.kind, sequence),
        COPY.pack(locator.expose(), content_key.expose(), bytes(recipient), sequence),
        subjects=subjects_of(bag),
        audience=disguise.audience,
        together=disguise.together,
        first=None if is_new else locator.index(bag.kind, 0),
        using=using,
    )


def _keeper(disguise: type[Disguise]) -> Keeper:
    if not _keepers:
        raise ConfigurationError(
            f'{disguise.name} declares the audience "{disguise.audience}", and edna.audiences is not installed. Nothing was changed. Add '
            '"edna.audiences" to INSTALLED_APPS, or take the declaration away.'
        )
    return _keepers[0]


def forget(indexes: Collection[bytes], *, using: str) -> None:
    for keeper in _keepers if indexes else ():
        keeper.forget(indexes, using=using)


def subjects_of(bag: Bag) -> list[Subject]:
    found = {(bag.principal_model, str(bag.principal)): None}
    for batch in bag.batches:
        if isinstance(batch, Decorrelated):
            found |= {(bag.principal_model, str(value)): None for row in batch.rows for value in batch.new(row)}
    return list(found)


def places(subject: Subject, number: int, *, using: str) -> list[bytes]:
    """Where the copy of that number of somebody lies: by the server's first key, and by its others. In one of several databases it follows
    from that, too, for somebody else in another one has the same primary key: what was put there while there was one comes last."""
    said = (*subject, str(number))
    alone = _keyed(["\0".join(said).encode()], purpose=b"edna.held.plc.1")
    database = shards.named(using)
    if database is None:
        return alone
    return [*_keyed(["\0".join((database, *said)).encode()], purpose=b"edna.held.plc.2"), *alone]


def marks(index: bytes, numbers: Iterable[int]) -> list[bytes]:
    """By which the copies of these numbers of a bag are found again; as `places`."""
    return _keyed([index + number.to_bytes(4, "big") for number in numbers], purpose=b"edna.held.mrk.1")


def _keyed(said: Sequence[bytes], *, purpose: bytes) -> list[bytes]:
    keys = [fingerprint(key, purpose=b"edna.held.key.1") for key in conf.mac_keys()]
    return [derive(key, purpose=purpose, data=each) for key in keys for each in said]


def uses(receipt: Receipt, *, using: str) -> list[Told]:
    """How what a receipt leads to was read by others; nothing where nobody keeps copies."""
    locators = [receipt.locator.chunk(number) for number in range(_PARTS)] if _keepers else []
    return [told for keeper in _keepers for told in keeper.uses(locators, using=using)]
