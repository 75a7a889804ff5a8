"""What a person does with their devices, on the server: begin, add, remove, update, see what is pending, and unlock with one of them.

Each device has a key of its own, which opens its state; the principal's key is that of the group's present secret. Keeps: an operation, the
state of who did it, and the new recipients of all bags are written together or not at all. Of two devices that do something at once, one
does it after the other. `unlock`, `members` and `pending` write nothing. Does not know bags.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from django.db import transaction
from django.utils import timezone

from edna import api, inner_door
from edna.api import Unlocked
from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping
from edna.custody.devices.device import Device
from edna.devices import store
from edna.errors import (
    DeviceCodeRefused,
    DeviceCopied,
    DeviceRemoved,
    DeviceUnknown,
    PrincipalNotRegistered,
    SequenceTaken,
)

Result = TypeVar("Result")

#: How often something is done again because another device was quicker.
ATTEMPTS: Final = 5
_AT_ONCE: Final = 64


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
    """How many operations of other devices this one has not stored yet; whether an update is due."""

    operations: int
    is_update_due: bool


def create(unlocked: Unlocked, *, name: str = "") -> SecretKey:
    """Make a group of one device of a principal's key: return the key of that device, stored nowhere. ``unlocked`` is closed.

    All bags are wrapped anew, and the former key opens nothing any more; nor do its password, recovery code and other slots.

    Raises:
        ReceiptsIncomplete, BagError, PrincipalNotRegistered. Nothing was changed then.
    """
    key, ready = SecretKey.generate(), Device.new().create()
    _rewrapped(unlocked, ready, key=key, names={ready.id: name})
    return key


def begin(*, name: str = "") -> NewDevice:
    """What a new device does first: a key, and a code to be typed on a device of the group."""
    key, device, using = SecretKey.generate(), Device.new(), inner_door.database()
    code = keeping.code_of(device.id)
    with transaction.atomic(using=using):
        store.add(keeping.state_place(key), keeping.seal_state(device, key=key), using=using)
        store.add(keeping.card_place(code), keeping.seal_card(device.card), using=using)
    return NewDevice(key, code)


def add(secret_key: SecretKey | str, code: str, *, name: str = "", with_history: bool = True) -> bytes:
    """Take in the device that shows a code; return its id. It is handed all secrets of the group, or the present one alone.

    Raises:
        DeviceCodeRefused: no device shows it.
        DeviceUnknown, DeviceRemoved, OperationRefused
    """
    using = inner_door.database()
    place = keeping.card_place(code)
    found = store.find([place], using=using)
    if not found:
        raise DeviceCodeRefused("No device shows this code now. Begin anew on the new device, or type it again.")
    card = keeping.open_card(found[place], code=code)

    def act(key: SecretKey, device: Device) -> bytes:
        ready = device.add(card, with_history=with_history)
        with transaction.atomic(using=using):
            _append(ready, key=key, names={card.device: name})
            welcome = keeping.seal_welcome(device.membership.group, prekey=card.prekey)
            store.put(keeping.welcome_place(card.device), welcome, using=using)
            store.remove([place], using=using)
        return card.device

    return _tried(secret_key, act)


def remove(secret_key: SecretKey | str, device: bytes) -> int:
    """Take a device out of the group: it opens nothing that is here from now on. Return how many bags were wrapped anew.

    Raises:
        DeviceUnknown, DeviceRemoved, OperationRefused, ReceiptsIncomplete, BagError. Nothing was changed then.
    """

    def act(key: SecretKey, own: Device) -> int:
        return _rewrapped(_unlock(own), own.remove(device), key=key, gone=device)

    return _tried(secret_key, act)


def update(secret_key: SecretKey | str) -> SecretKey:
    """New keys for this device and a new one for the principal: whoever has copied the device, its key too, opens nothing that is here from
    now on. Return the key of the device that takes the place of this one, stored nowhere.

    Raises:
        DeviceUnknown, DeviceRemoved, ReceiptsIncomplete, BagError. Nothing was changed then.
    """

    def act(key: SecretKey, own: Device) -> SecretKey:
        new = SecretKey.generate()
        _rewrapped(_unlock(own), own.update(), key=new, former=key)
        return new

    return _tried(secret_key, act)


def catch_up(secret_key: SecretKey | str) -> None:
    """Store what this device has read, and the month in which it was here.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    key, using = _key(secret_key), inner_door.database()
    former = _sealed_state(key)
    device = _read(key)
    if not device.is_member:
        raise _removed()
    with transaction.atomic(using=using):
        # In another tab the device may have done something meanwhile: its own operations are in no message to it.
        sealed = keeping.seal_state(device, key=key)
        store.replace(keeping.state_place(key), sealed, former=former, using=using)
        _note(device)


def unlock(secret_key: SecretKey | str) -> Unlocked:
    """Open the principal's keys with the key of one of their devices; as what `edna.unlock` returns.

    Raises:
        DeviceUnknown, DeviceRemoved, PrincipalNotRegistered
    """
    return _tried(secret_key, lambda _, own: _unlock(own))


def members(secret_key: SecretKey | str) -> list[Member]:
    """The devices of the group, in the order in which they came.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    own = _read(_key(secret_key))
    if not own.is_member:
        raise _removed()
    group = own.membership.group
    places = {device: keeping.note_place(group, device) for device in own.membership.members}
    found = store.find(places.values(), using=inner_door.database())
    notes = {
        device: keeping.open_note(found[place], group=group) if place in found else ("", "")
        for device, place in places.items()
    }
    return [Member(device, *notes[device], is_own=device == own.id) for device in own.membership.members]


def rename(secret_key: SecretKey | str, device: bytes, name: str) -> None:
    """Call a device of the group otherwise.

    Raises:
        DeviceUnknown, DeviceRemoved
    """
    known = {member.id: member for member in members(secret_key)}
    if device not in known:
        raise DeviceUnknown("This device is not in the group. Nothing was changed.")
    group, using = _read(_key(secret_key)).membership.group, inner_door.database()
    store.put(
        keeping.note_place(group, device), keeping.seal_note(name, known[device].last_seen, group=group), using=using
    )


def pending(secret_key: SecretKey | str) -> Pending:
    """What others have done since this device last did something, and what is to be done now.

    Raises:
        DeviceUnknown
    """
    key = _key(secret_key)
    stored, now = _stored(key), _read(key)
    return Pending(now.membership.sequence - stored.membership.sequence, now.membership.due)


# --- reading ----------------------------------------------------------------------------------------------------------


def _key(secret_key: SecretKey | str) -> SecretKey:
    return SecretKey.parse(secret_key) if isinstance(secret_key, str) else secret_key


def _sealed_state(key: SecretKey) -> bytes:
    place = keeping.state_place(key)
    found = store.find([place], using=inner_door.database())
    if not found:
        raise DeviceUnknown(
            "This is not the key of a device of this site. Check that it is the right key, and the right site."
        )
    return found[place]


def _stored(key: SecretKey) -> Device:
    return keeping.open_state(_sealed_state(key), key=key)


def _read(key: SecretKey) -> Device:
    """The device as it would be after all that stands in the log."""
    while True:
        sealed = _sealed_state(key)
        device = keeping.open_state(sealed, key=key)
        group = device.membership.group or _welcome(device)
        try:
            return device.catch_up(_entries(group, start=max(device.membership.sequence, 0)))
        except DeviceCopied:
            # Or it has done something in another tab, between the two.
            if _sealed_state(key) == sealed:
                raise


def _welcome(device: Device) -> bytes:
    place = keeping.welcome_place(device.id)
    found = store.find([place], using=inner_door.database())
    if not found:
        raise DeviceUnknown(
            f"This device was not added yet. Type {keeping.code_of(device.id)} on a device that is in the group."
        )
    return keeping.open_welcome(found[place], device=device)


def _entries(group: bytes, *, start: int) -> list[bytes]:
    entries: list[bytes] = []
    while True:
        first = start + len(entries)
        places = [keeping.entry_place(group, number) for number in range(first, first + _AT_ONCE)]
        found = store.find(places, using=inner_door.database())
        there = [place for place in places if place in found]
        entries += [keeping.open_of_group(found[place], group) for place in there]
        if len(there) < _AT_ONCE:
            return entries


def _removed() -> DeviceRemoved:
    return DeviceRemoved("This device is not in the group any more. Ask another device to add it, as a new one.")


def _unlock(device: Device) -> Unlocked:
    return api.unlock(secret_key=device.secret.secret_key())


# --- writing ----------------------------------------------------------------------------------------------------------


def _rewrapped(
    unlocked: Unlocked,
    ready: Device,
    *,
    key: SecretKey,
    former: SecretKey | None = None,
    names: Mapping[bytes, str] | None = None,
    gone: bytes | None = None,
) -> int:
    """Append what a device has made ready, and give the principal the key that begins with it."""

    def beside() -> None:
        _append(ready, key=key, names=names or {})
        if gone is not None:
            store.remove([keeping.note_place(ready.membership.group, gone)], using=unlocked.using)
        if former is not None:
            store.remove([keeping.state_place(former)], using=unlocked.using)

    with unlocked:
        return inner_door.rewrap(unlocked, ready.appended().secret.secret_key().public_key, beside=beside)


def _append(ready: Device, *, key: SecretKey, names: Mapping[bytes, str]) -> None:
    """In the caller's transaction: the operation, the state of the device after it, and what devices are called."""
    assert ready.pending is not None
    done, using = ready.appended(), inner_door.database()
    group = done.membership.group
    place = keeping.entry_place(group, done.membership.sequence)
    store.add(place, keeping.seal_for_group(ready.pending.operation, group), using=using)
    store.put(keeping.state_place(key), keeping.seal_state(done, key=key), using=using)
    _note(done, names=names)


def _note(device: Device, *, names: Mapping[bytes, str] | None = None) -> None:
    """In the caller's transaction: that the device was here, and what others are called from now on."""
    group, using = device.membership.group, inner_door.database()
    place = keeping.note_place(group, device.id)
    found = store.find([place], using=using)
    called = {device.id: keeping.open_note(found[place], group=group)[0] if place in found else ""} | dict(names or {})
    month = timezone.now().strftime("%Y-%m")
    for each, name in called.items():
        store.put(keeping.note_place(group, each), keeping.seal_note(name, month, group=group), using=using)


def _tried(secret_key: SecretKey | str, act: Callable[[SecretKey, Device], Result]) -> Result:
    """Do it with the device as it is now; again if another one was quicker, or has replaced the principal's key meanwhile."""
    key = _key(secret_key)
    for _ in range(ATTEMPTS - 1):
        try:
            return act(key, _read(key))
        except (SequenceTaken, PrincipalNotRegistered):
            continue
    return act(key, _read(key))
