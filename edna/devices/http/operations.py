"""An operation that a browser has made, for the log of a group: whose key was proved is in it, and it follows what stands there.

Keeps: nothing comes into a log that a device would refuse to read, so that whoever writes nonsense locks nobody out. Sees what everybody in
the group sees, and no secret. Does not know HTTP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from edna import conf, inner_door
from edna.api import PublicKey
from edna.custody.devices import keeping
from edna.custody.devices.membership import Membership
from edna.custody.devices.operations import Kind, Operation
from edna.devices import groups, reading, store, writing
from edna.errors import BagError, DeviceStateRefused, DeviceUnknown, NotYours, OperationRefused


@dataclass(frozen=True, repr=False)
class Written:
    """What a browser has stored for a device: ``sealed`` lies at ``place``, and ``public_key`` is that of the key that opens it, proved."""

    place: bytes
    sealed: bytes
    public_key: PublicKey


def membership_of(public_key: PublicKey) -> Membership:
    """The group of which this is the present key.

    Raises:
        DeviceUnknown: none has it.
    """
    group = groups.of(public_key, using=inner_door.database())
    if group is None:
        raise DeviceUnknown("No devices have this key, or not any more. Nothing was changed.")
    found = Membership(group)
    for raw in reading.entries(group, start=0):
        found = found.follow(Operation.parse(raw))
    return found


def following(own: PublicKey, operation: Operation) -> Membership:
    """The group after an operation by whoever has proved its present key.

    Raises:
        SequenceTaken, DeviceUnknown, OperationRefused and its kinds
    """
    if operation.head.kind is Kind.CREATE:
        return Membership().follow(operation)
    before = membership_of(own)
    before.check_place(operation)
    return before.follow(operation)


def append(operation: Operation, after: Membership, *, notes: Mapping[bytes, bytes]) -> None:
    """In the caller's transaction: the operation, and what devices are called.

    Raises:
        SequenceTaken, OperationRefused
    """
    using = inner_door.database()
    place = keeping.entry_place(after.group, after.sequence)
    store.add(place, keeping.seal_for_group(bytes(operation), after.group), using=using)
    note(after, notes)
    if operation.head.kind is Kind.REMOVE:
        store.remove([keeping.note_place(after.group, operation.removed)], using=using)


def note(membership: Membership, notes: Mapping[bytes, bytes]) -> None:
    """In the caller's transaction: what devices are called, sealed by one of them.

    Raises:
        OperationRefused: one of them is not in the group.
    """
    if not notes.keys() <= membership.members.keys():
        raise OperationRefused("One of these devices is not in the group. Nothing was changed.")
    for device, sealed in notes.items():
        store.put(keeping.note_place(membership.group, device), sealed, using=inner_door.database())


def require_own(written: Iterable[Written]) -> None:
    """That whoever has proved these keys may replace what lies there.

    Raises:
        NotYours: it is another device's.
        DeviceStateRefused: nobody knows whose it is.
    """
    for each in written:
        _require_own(each)


def _require_own(written: Written) -> None:
    places = writing.places_of_state(written.place)
    found = store.find(places, using=inner_door.database())
    for pepper, place in zip(conf.mac_keys(), places[1:], strict=True):
        if place not in found:
            continue
        try:
            owner = keeping.open_guard(found[place], place=written.place, pepper=pepper)
        except BagError:
            continue
        if owner != bytes(written.public_key):
            raise NotYours("This is the place of another device. Nothing was changed.")
        return
    if written.place in found:
        raise DeviceStateRefused(
            "It is not known whose stored state this is: it was stored by an earlier release, or under a key of the server that is not "
            "there any more. Let the device do something where the server uses its key, or add it anew from another device."
        )
