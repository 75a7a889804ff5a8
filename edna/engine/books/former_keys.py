"""Which bags of somebody have not got their new recipients yet, and the former keys that open these: noted in parts until all have.

Invariants (nothing lost): a bag is noted here until it has its new recipient. (Nothing readable, nothing linkable): a part is sealed like a
bag, to the principal's present key, and lies among the bags at a place that follows from the secret half. (Nothing forged): it carries a
tag of the server's. Seals no bag, and does not know why a key was replaced.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from edna import store
from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey, derive
from edna.crypto.sealing import open_sealed, seal
from edna.errors import BagError, BagForged
from edna.records import values
from edna.records.locator import Locator
from edna.store.tags import TAG_BYTES, Tags

#: A part has more bags than others once there would be more parts than these.
MOST_PARTS: Final = 64

_TAG: Final = b"edna.former.tag1"


@dataclass(frozen=True, repr=False)
class FormerKey:
    """One that was somebody's until it was replaced by ``public_key``, and the bags that it opens still."""

    secret_key: SecretKey = field(repr=False)
    public_key: bytes
    locators: Sequence[Locator]


@dataclass(frozen=True, repr=False)
class Left:
    """What is noted, by the number of the part; why a part does not open."""

    parts: dict[int, list[FormerKey]] = field(default_factory=dict)
    refused: dict[int, BagError] = field(default_factory=dict)

    def all(self) -> list[FormerKey]:
        return [each for part in self.parts.values() for each in part]


def note(
    former: Iterable[FormerKey],
    *,
    secret_key: SecretKey,
    at_once: int,
    expires_on: datetime.date | None,
    using: str,
) -> None:
    """For whoever has ``secret_key``, in parts of so many bags, in the caller's transaction.

    Raises:
        ServerKeyUnknown
    """
    pairs = [(each, locator) for each in former for locator in each.locators]
    size = max(at_once, -(-len(pairs) // MOST_PARTS))
    parts = [_grouped(pairs[start : start + size]) for start in range(0, len(pairs), size)]
    sealed = [_sealed(part, number, secret_key=secret_key, using=using) for number, part in enumerate(parts)]
    store.add_bags(sealed, expires_on=expires_on, using=using)


def read(secret_key: SecretKey, *, only: int | None = None, lock: bool = False, using: str) -> Left:
    """What is noted for whoever has this key; of one part with ``only``. One statement."""
    places = {_place(secret_key, number): number for number in (range(MOST_PARTS) if only is None else [only])}
    stored = store.stored_bags(places, lock=lock, using=using)
    tags, left = Tags(_TAG), Left()
    for place in sorted(stored, key=places.__getitem__):
        try:
            left.parts[places[place]] = _opened(stored[place].sealed, place, secret_key=secret_key, tags=tags)
        except BagError as error:
            left.refused[places[place]] = error.with_traceback(None)
    return left


def keep(number: int, former: Sequence[FormerKey], *, secret_key: SecretKey, using: str) -> None:
    """This is left of a part, in the caller's transaction: nothing, and it goes."""
    if former:
        store.replace_bags([_sealed(former, number, secret_key=secret_key, using=using)], using=using)
    else:
        store.delete_bags([_place(secret_key, number)], using=using)


def forget(secret_key: SecretKey, *, using: str) -> None:
    """Nothing is left for this key to open, in the caller's transaction."""
    store.delete_bags([_place(secret_key, number) for number in range(MOST_PARTS)], using=using)


def _place(secret_key: SecretKey, number: int) -> bytes:
    return derive(secret_key.expose(), purpose=b"edna.former.idx1", data=number.to_bytes(4, "big"))


def _grouped(pairs: Sequence[tuple[FormerKey, Locator]]) -> list[FormerKey]:
    found: dict[bytes, tuple[FormerKey, list[Locator]]] = {}
    for each, locator in pairs:
        found.setdefault(each.public_key, (each, []))[1].append(locator)
    return [FormerKey(each.secret_key, each.public_key, locators) for each, locators in found.values()]


def _sealed(former: Sequence[FormerKey], number: int, *, secret_key: SecretKey, using: str) -> tuple[bytes, bytes]:
    place, owner = _place(secret_key, number), secret_key.public_key
    said = values.encode(
        [
            [
                each.secret_key.expose_with_kind(),
                each.public_key,
                b"".join(locator.expose() for locator in each.locators),
            ]
            for each in former
        ]
    )
    tag = Tags(_TAG).maker(using=using)(_tagged(place, owner, said))
    return place, seal(tag + said, recipients=[owner])


def _tagged(place: bytes, owner: PublicKey, said: bytes) -> bytes:
    return place + bytes(owner) + said


def _opened(sealed: bytes, place: bytes, *, secret_key: SecretKey, tags: Tags) -> list[FormerKey]:
    """
    Raises: BagError: it was changed, or this server has not noted it.
    """
    content = open_sealed(sealed, secret_key=secret_key)
    tag, said = content[:TAG_BYTES], content[TAG_BYTES:]
    if not tags.is_right(tag, _tagged(place, secret_key.public_key, said)):
        del content, said
        raise BagForged(
            "What is noted of bags that have not got their new recipients yet was not noted by this server: no key of MAC_KEYS verifies "
            "it. Nothing was changed; put a missing key back, or keep it as evidence."
        )
    return list(_read(values.decode(said)))


def _read(said: values.Value) -> Iterator[FormerKey]:
    assert isinstance(said, list)  # its tag was right
    for raw, public_key, listed in said:
        starts = range(0, len(listed), KEY_BYTES)
        locators = [Locator(listed[start : start + KEY_BYTES]) for start in starts]
        yield FormerKey(SecretKey.of_kind(raw), public_key, locators)
