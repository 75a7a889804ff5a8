"""What is kept of devices under keys of the server: which group a person's key has, and who may replace the state of a device.

Keeps: what lay under a former key is found under the first one afterwards, moved in one statement, so that whoever replaces it meanwhile
wins; what does not open stays where it is. Does not know what makes a key a former one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from edna import conf, inner_door
from edna.crypto.keys import PublicKey
from edna.custody.devices import keeping
from edna.devices import store
from edna.errors import BagError, KeyMalformed

WORDS: Final = ("record of devices", "records of devices")


@dataclass(frozen=True, slots=True)
class Record:
    """One that a key of the server leads to, by the places where it may lie: one for each key of the list."""

    places: Sequence[bytes]
    #: What it is about: the public key of a person, or the place of a state.
    about: PublicKey | bytes

    def opened(self, sealed: bytes, *, pepper: bytes) -> bytes:
        """
        Raises: BagError if it was changed.
        """
        if isinstance(self.about, PublicKey):
            return keeping.open_group(sealed, public_key=self.about, pepper=pepper)
        return keeping.open_guard(sealed, place=self.about, pepper=pepper)

    def sealed(self, content: bytes, *, pepper: bytes) -> bytes:
        if isinstance(self.about, PublicKey):
            return keeping.seal_group(content, public_key=self.about, pepper=pepper)
        return keeping.seal_guard(PublicKey(content), place=self.about, pepper=pepper)


def found(*, using: str) -> Iterator[tuple[Record, dict[bytes, bytes]]]:
    """Each that there is, and what lies at its places."""
    if next(store.places(using=using), None) is None:
        return  # nobody has devices: no reason to ask about everybody
    peppers = conf.mac_keys()
    for keys in inner_door.keys_of_people(using=using):
        yield from _there(
            [Record([keeping.key_place(key, pepper=pepper) for pepper in peppers], key) for key in keys], using=using
        )
    for states in store.places(using=using):
        yield from _there(
            [Record([keeping.guard_place(place, pepper=pepper) for pepper in peppers], place) for place in states],
            using=using,
        )


def _there(records: Sequence[Record], *, using: str) -> Iterator[tuple[Record, dict[bytes, bytes]]]:
    there = store.find([place for record in records for place in record.places], using=using)
    for record in records:
        lies = {place: there[place] for place in record.places if place in there}
        if lies:
            yield record, lies


def count(*, using: str, renew: bool = False) -> inner_door.FoundUnderKeys:
    """Under which keys they lie; with ``renew``, under the first one afterwards."""
    counted = inner_door.FoundUnderKeys()
    for record, lies in found(using=using):
        counted.looked_at += 1
        if record.places[0] not in lies:
            counted.older += 1
            counted.tagged += renew and _renew(record, lies, using=using)
    return counted


def _renew(record: Record, lies: dict[bytes, bytes], *, using: str) -> bool:
    for place, pepper in list(zip(record.places, conf.mac_keys(), strict=True))[1:]:
        if place in lies:
            with suppress(BagError, KeyMalformed):
                # Given no name: error pages print variables.
                sealed = record.sealed(record.opened(lies[place], pepper=pepper), pepper=inner_door.sealing_key())
                return store.move(place, record.places[0], sealed, former=lies[place], using=using)
    return False


def slot_keys(*, using: str) -> Iterator[list[PublicKey]]:
    """The public keys of devices: that of a password or a recovery code has a slot."""
    for states in store.places(using=using):
        records = [
            Record([keeping.guard_place(place, pepper=pepper) for pepper in conf.mac_keys()], place) for place in states
        ]
        yield [key for record, lies in _there(records, using=using) for key in _key_of(record, lies)]


def _key_of(record: Record, lies: dict[bytes, bytes]) -> Iterator[PublicKey]:
    for place, pepper in zip(record.places, conf.mac_keys(), strict=True):
        if place in lies:
            with suppress(BagError, KeyMalformed):
                yield PublicKey(record.opened(lies[place], pepper=pepper))
                return
