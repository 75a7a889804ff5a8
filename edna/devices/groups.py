"""Which group has a key, so that it does not end by mistake, and leaves nothing behind when it does.

Keeps: the tables alone do not tell who has devices; what says so is found with a key of the server. What is deleted is deleted in the
caller's transaction. Does not know why a key is replaced, or what it opens.
"""

from __future__ import annotations

from contextlib import suppress

from edna import conf, inner_door
from edna.crypto.keys import PublicKey
from edna.custody.devices import keeping
from edna.custody.devices.operations import Operation
from edna.devices import reading, store
from edna.errors import BagError, OperationRefused, PrincipalHasDevices


def move(group: bytes, *, former: PublicKey | None, new: PublicKey, using: str) -> None:
    """A group has another key than before."""
    if former is not None:
        store.remove(_places(former), using=using)
    # Given no name: error pages print variables.
    place = keeping.key_place(new, pepper=inner_door.sealing_key())
    store.put(place, keeping.seal_group(group, public_key=new, pepper=inner_door.sealing_key()), using=using)


def require_none(public_key: PublicKey, using: str) -> None:
    """
    Raises: PrincipalHasDevices: another key would lock all devices out.
    """
    if store.find(_places(public_key), using=using):
        raise PrincipalHasDevices(
            "This person has devices, and another key would be one that none of them has. Nothing was changed. Call edna.devices.update "
            "with the key of one of them; or edna.devices.end, to have one key again and no devices."
        )


def of(public_key: PublicKey, *, using: str) -> bytes | None:
    """The group of which this is the present key."""
    places = _places(public_key)
    found = store.find(places, using=using)
    for pepper, place in zip(conf.mac_keys(), places, strict=True):
        if place in found:
            with suppress(BagError):
                return keeping.open_group(found[place], public_key=public_key, pepper=pepper)
    return None


def forget(public_key: PublicKey, using: str) -> None:
    """A key is nobody's any more: delete what is kept of its group, in the caller's transaction. States are for devices to delete."""
    group = of(public_key, using=using)
    if group is not None:
        store.remove([*_all_of(group), *_places(public_key)], using=using)


def _places(public_key: PublicKey) -> list[bytes]:
    return [keeping.key_place(public_key, pepper=pepper) for pepper in conf.mac_keys()]


def _all_of(group: bytes) -> set[bytes]:
    """The log and the notes, as far as the log opens. A device that has not come yet finds its welcome, and is told that it ended."""
    places, number = set(), 0
    for raw in reading.entries(group, start=0):
        places.add(keeping.entry_place(group, number))
        number += 1
        try:
            cards = Operation.parse(raw).cards
        except OperationRefused:
            continue
        places |= {keeping.note_place(group, card.device) for card in cards}
    return places
