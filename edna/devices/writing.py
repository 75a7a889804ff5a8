"""Writes what a device has done: its operation, its state after it, what devices are called, and the new recipients of all bags.

Keeps: all of it is written together or not at all; a new key of a device is nobody's yet. Does not know why something is done.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone

from edna import inner_door
from edna.api import Unlocked
from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping
from edna.custody.devices.device import Device
from edna.devices import groups, store


def rewrapped(
    unlocked: Unlocked,
    ready: Device,
    *,
    key: SecretKey,
    is_new: bool = False,
    former: SecretKey | None = None,
    names: Mapping[bytes, str] | None = None,
    gone: bytes | None = None,
    leave_damaged: bool = False,
    leave_rest: bool = False,
) -> int:
    """Append what a device has made ready, and give the principal the key that begins with it."""

    # Of a group that is replaced by another one, what is kept is found by its key, and deleted when that goes.
    is_first = ready.membership.sequence < 0
    former_key, secret_key = unlocked.public_key, ready.appended().secret.secret_key()

    def beside() -> None:
        groups.move(
            ready.appended().membership.group,
            former=None if is_first else former_key,
            new=secret_key.public_key,
            using=unlocked.using,
        )
        append(ready, key=key, is_new=is_new, names=names or {})
        if gone is not None:
            store.remove([keeping.note_place(ready.membership.group, gone)], using=unlocked.using)
        if former is not None:
            store.remove([keeping.state_place(former)], using=unlocked.using)

    with unlocked:
        return inner_door.rewrap(
            unlocked, secret_key, beside=beside, leave_damaged=leave_damaged, leave_rest=leave_rest
        )


def append(ready: Device, *, key: SecretKey, is_new: bool = False, names: Mapping[bytes, str]) -> None:
    """In the caller's transaction: the operation, the state of the device after it, and what devices are called."""
    assert ready.pending is not None
    done, using = ready.appended(), inner_door.database()
    group = done.membership.group
    place = keeping.entry_place(group, done.membership.sequence)
    store.add(place, keeping.seal_for_group(ready.pending.operation, group), using=using)
    # A new key must be nobody's yet: its state would be lost.
    (store.add if is_new else store.put)(keeping.state_place(key), keeping.seal_state(done, key=key), using=using)
    note(done, names=names)


def note(device: Device, *, names: Mapping[bytes, str] | None = None) -> None:
    """In the caller's transaction: that the device was here, and what others are called from now on."""
    group, using = device.membership.group, inner_door.database()
    place = keeping.note_place(group, device.id)
    found = store.find([place], using=using)
    called = {device.id: keeping.open_note(found[place], group=group)[0] if place in found else ""} | dict(names or {})
    month = timezone.now().strftime("%Y-%m")
    for each, name in called.items():
        store.put(keeping.note_place(group, each), keeping.seal_note(name, month, group=group), using=using)
