"""What a person does with their devices, on the server: begin, add, remove, update, see what is pending, and unlock with one of them.

Each device has a key of its own, which opens its state; the principal's key is that of the group's present secret. Keeps: an operation, the
state of who did it, and the principal's new key are written together or not at all. Of two devices that do something at once, one does it
after the other. `members` and `pending` write nothing, `unlock` when a device comes that was just added, and what an interrupted change
has left. Does not know bags. Long because each thing that a device does is one function here, with what it raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from django.db import transaction
from django.db.models import Model

from edna import api, conf, inner_door, shards, throttle
from edna.api import Registration, Unlocked
from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping
from edna.custody.devices.device import Device
from edna.devices import store
from edna.devices.reading import ended, key_of, of_device, read, removed, sealed_state, settle, shown, stored
from edna.devices.writing import append, count_begun, note, places_of_state, put_state, rewrapped, show, welcome
from edna.errors import (
    DeviceGroupEnded,
    DeviceRemoved,
    DeviceUnknown,
    OperationRefused,
    PrincipalNotRegistered,
    SequenceTaken,
)

Result = TypeVar("Result")

#: How often something is done again because another device was quicker.
ATTEMPTS: Final = 5


@dataclass(frozen=True, repr=False)
class NewDevice:
    """``secret_key`` is what the device keeps; ``code`` is what it shows, to be typed on a device that is in the group."""

    secret_key: SecretKey
    code: str


@dataclass(frozen=True)
class Member:
    """A device in the group. ``last_seen`` is a month, such as "2026-11"."""

    id: bytes
    name: str
    last_seen: str
    is_own: bool


@dataclass(frozen=True)
class Pending:
    """How many operations of other devices this one has not stored yet; whether an update is due; how many bags have not got their new
    recipients."""

    operations: int
    is_update_due: bool
    bags: int = 0


def new_key() -> SecretKey:
    """A key for a device, for `create` and `update`: whoever has kept it first loses nothing if the answer to these does not arrive."""
    return SecretKey.generate()


def create(
    unlocked: Unlocked, *, name: str = "", new: SecretKey | str | None = None, leave_damaged: bool = False
) -> SecretKey:
    """Make a group of one device of a principal's key: return the key of that device, stored nowhere. ``unlocked`` is closed.

    All bags are wrapped anew, and the former key opens nothing any more; nor do its password, recovery code and other slots. ``new`` is
    a key from `new_key` that the device has kept: it works if the answer was lost. ``leave_damaged`` gives up bags that do not open.

    Raises:
        ReceiptsIncomplete, BagError, PrincipalNotRegistered; SequenceTaken if ``new`` is the key of a device. Nothing was changed then.
    """
    key, ready = new_key() if new is None else key_of(new), Device.new().create()
    rewrapped(unlocked, ready, key=key, is_new=True, names={ready.id: name}, leave_damaged=leave_damaged)
    return key


def begin(*, name: str = "", person: Model | None = None) -> NewDevice:
    """What a new device does first: a key, and a code to be typed on a device of the group within `writing.CODE_LIFETIME`.

    What it writes stays until `forget`, also if nobody types the code: only the device knows whether anybody has. So say whose request
    this is by ``person``: each may begin `writing.MOST_BEGUN` an hour.

    Raises:
        TooBusy
    """
    throttle.admit()
    if person is not None:
        count_begun(person)
    key, device = SecretKey.generate(), Device.new()
    using = inner_door.database() if person is None or not conf.databases() else inner_door.database_of(person)
    with shards.at(using), transaction.atomic(using=using):
        sealed = keeping.seal_state(device, key=key)
        put_state(keeping.state_place(key), sealed, public_key=key.public_key, is_new=True)
        return NewDevice(key, show(device.card))


@of_device
def add(secret_key: SecretKey | str, code: str, *, name: str = "", with_history: bool = True) -> bytes:
    """Take in the device that shows a code; return its id. It is handed all secrets of the group, or the present one alone.

    Raises:
        DeviceCodeRefused: no device shows it, or it did so too long ago.
        DeviceUnknown, DeviceRemoved, OperationRefused
    """
    card = shown(code)

    def act(key: SecretKey, device: Device) -> bytes:
        ready = device.add(card, with_history=with_history)
        with transaction.atomic(using=inner_door.database()):
            append(ready, key=key, names={card.device: name})
            welcome(card, group=device.membership.group)
        return card.device

    return _tried(secret_key, act)


@of_device
def remove(secret_key: SecretKey | str, device: bytes, *, leave_damaged: bool = False, leave_rest: bool = False) -> int:
    """Take a device out of the group: it opens nothing that is here when this returns. Return how many bags are wrapped anew.

    ``leave_damaged`` gives up bags that do not open. ``leave_rest`` leaves what takes long to `finish`, if there is much.

    Raises:
        DeviceUnknown, DeviceRemoved, OperationRefused, ReceiptsIncomplete, BagError. Nothing was changed then.
    """

    def act(key: SecretKey, own: Device) -> int:
        return rewrapped(
            _unlock(own),
            own.remove(device),
            key=key,
            gone=device,
            leave_damaged=leave_damaged,
            leave_rest=leave_rest,
        )

    return _tried(secret_key, act)


@of_device
def update(
    secret_key: SecretKey | str,
    *,
    new: SecretKey | str | None = None,
    leave_damaged: bool = False,
    leave_rest: bool = False,
) -> SecretKey:
    """New keys for this device and a new one for the principal: whoever has copied the device, its key too, opens nothing that is here when
    this returns. Return the key of the device that takes the place of this one, stored nowhere.

    ``new`` is a key from `new_key` that the device has kept. If the answer was lost, the same call once more changes nothing and
    returns it. ``leave_damaged`` gives up bags that do not open. ``leave_rest`` leaves what takes long to `finish`, if there is much.

    Raises:
        DeviceUnknown, DeviceRemoved, ReceiptsIncomplete, BagError; SequenceTaken if ``new`` is the key of another device. Nothing was
            changed then.
    """
    following = new_key() if new is None else key_of(new)

    def act(key: SecretKey, own: Device) -> SecretKey:
        rewrapped(
            _unlock(own),
            own.update(),
            key=following,
            is_new=True,
            former=key,
            leave_damaged=leave_damaged,
            leave_rest=leave_rest,
        )
        return following

    try:
        return _tried(secret_key, act)
    except DeviceUnknown:
        # It was done before, and nobody heard of it.
        if new is None or not read(following).is_member:
            raise
        return following


@of_device
def finish(secret_key: SecretKey | str) -> int:
    """Give bags their new recipients that a `remove`, `update` or `create` has left without; return how many. A part of them at a time, so
    that nothing waits long, and a kill in the middle loses nothing.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded; BagError, EntryForged, DatabaseBusy: some were left.
    """

    def act(_: SecretKey, own: Device) -> int:
        _unlock(own).close()
        return inner_door.finish_rewrapping(own.secret.secret_key(), quietly=False)

    return _tried(secret_key, act)


@of_device
def catch_up(secret_key: SecretKey | str) -> None:
    """Store what this device has read, and the month in which it was here.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    key, using = key_of(secret_key), inner_door.database()
    former = sealed_state(key)
    device = read(key)
    if not device.is_member:
        raise removed()
    with transaction.atomic(using=using):
        # In another tab the device may have done something meanwhile: its own operations are in no message to it.
        sealed = keeping.seal_state(device, key=key)
        store.replace(keeping.state_place(key), sealed, former=former, using=using)
        store.remove([keeping.welcome_place(device.id)], using=using)
        note(device)


@of_device
def end(
    secret_key: SecretKey | str,
    *,
    password: str | None = None,
    identifier: str | None = None,
    leave_damaged: bool = False,
) -> Registration:
    """Give the principal one key again, as `edna.rotate` does: no device opens anything any more, and nothing is kept of the group.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded, and what `edna.rotate` raises. Nothing was changed then.
    """
    using = inner_door.database()

    def act(key: SecretKey, own: Device) -> Registration:
        with transaction.atomic(using=using), _unlock(own) as unlocked:
            inner_door.finish_rewrapping(own.secret.secret_key(), quietly=leave_damaged)
            made = inner_door.rotate(unlocked, password=password, identifier=identifier, leave_damaged=leave_damaged)
            store.remove(places_of_state(keeping.state_place(key)), using=using)
        return made

    return _tried(secret_key, act)


@of_device
def forget(secret_key: SecretKey | str) -> None:
    """Delete what is kept of a device that was removed, was never added, or whose group has ended: its key is good for nothing then. Nor is
    a password that held it.

    Raises:
        DeviceUnknown
        OperationRefused: it is in a group. Remove it from another device first.
    """
    key, using = key_of(secret_key), inner_door.database()
    own = stored(key)
    try:
        unlock(key).close()
    except (DeviceUnknown, DeviceRemoved, DeviceGroupEnded):
        places = [keeping.welcome_place(own.id), keeping.card_place(keeping.code_of(own.id))]
        places += places_of_state(keeping.state_place(key))
        with transaction.atomic(using=using):
            store.remove(places, using=using)
            inner_door.remove_slots(key)
        return
    raise OperationRefused("This device is in a group. Remove it from another device first. Nothing was changed.")


@of_device
def unlock(secret_key: SecretKey | str) -> Unlocked:
    """Open the principal's keys with the key of one of their devices; as what `edna.unlock` returns. To `edna.rotate` it is to `update` the
    device: what that returns has the new key of the device. What an interrupted change has left is finished first.

    Raises:
        DeviceUnknown, DeviceRemoved, DeviceGroupEnded
    """

    def act(key: SecretKey, own: Device) -> Unlocked:
        unlocked = _unlock(own)
        settle(key, own)
        inner_door.finish_rewrapping(own.secret.secret_key(), quietly=True)
        unlocked.renewed_by = partial(_renewed, key)
        return unlocked

    return _tried(secret_key, act)


@of_device
def is_known(secret_key: SecretKey) -> bool:
    """Whether this is the key of a device."""
    place = keeping.state_place(secret_key)
    return place in store.find([place], using=inner_door.database())


@of_device
def group_code(secret_key: SecretKey | str) -> str:
    """What all devices of one group show alike, and those of another group otherwise: to be compared when one was added.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    own = read(key_of(secret_key))
    if not own.is_member:
        raise removed()
    return keeping.code_of_group(own.membership.group)


@of_device
def members(secret_key: SecretKey | str) -> list[Member]:
    """The devices of the group, in the order in which they came.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    own = read(key_of(secret_key))
    if not own.is_member:
        raise removed()
    group = own.membership.group
    places = {device: keeping.note_place(group, device) for device in own.membership.members}
    found = store.find(places.values(), using=inner_door.database())
    notes = {
        device: keeping.open_note(found[place], group=group) if place in found else ("", "")
        for device, place in places.items()
    }
    return [Member(device, *notes[device], is_own=device == own.id) for device in own.membership.members]


@of_device
def rename(secret_key: SecretKey | str, device: bytes, name: str) -> None:
    """Call a device of the group otherwise.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    known = {member.id: member for member in members(secret_key)}
    if device not in known:
        raise DeviceUnknown("This device is not in the group. Nothing was changed.")
    group, using = read(key_of(secret_key)).membership.group, inner_door.database()
    store.put(
        keeping.note_place(group, device), keeping.seal_note(name, known[device].last_seen, group=group), using=using
    )


@of_device
def pending(secret_key: SecretKey | str) -> Pending:
    """What others have done since this device last did something, and what is to be done now.

    Raises:
        DeviceUnknown
    """
    key = key_of(secret_key)
    before, now = stored(key), read(key)
    left = inner_door.bags_left(now.secret.secret_key()) if now.is_member else 0
    return Pending(now.membership.sequence - before.membership.sequence, now.membership.due, left)


def _renewed(key: SecretKey, leave_damaged: bool) -> Registration:
    new = update(key, leave_damaged=leave_damaged)
    return Registration(read(new).secret.secret_key().public_key, new)


def _unlock(device: Device) -> Unlocked:
    return api.unlock(secret_key=device.secret.secret_key())


def _tried(secret_key: SecretKey | str, act: Callable[[SecretKey, Device], Result]) -> Result:
    """Do it with the device as it is now; again if another one was quicker, or has replaced the principal's key meanwhile."""
    key = key_of(secret_key)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return act(key, read(key))
        except SequenceTaken:
            if attempt == ATTEMPTS:
                raise
        except PrincipalNotRegistered as error:
            if attempt == ATTEMPTS:
                raise ended() from error
    raise AssertionError("unreachable")
