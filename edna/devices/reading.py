"""A device as it is stored, and as it is after all that stands in the log of its group.

Keeps: what is read is the log of the one group that the device was told of, or it is refused; of several databases it is the one where the
device is. ``settle`` writes once, for a device that
was just added: from then on nobody can tell it of another group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from django.db import transaction
from django.utils import timezone

from edna import conf, inner_door, shards
from edna.crypto.keys import SecretKey
from edna.custody.devices import keeping
from edna.custody.devices.device import Device
from edna.custody.devices.operations import Card
from edna.devices import store
from edna.errors import DeviceCodeRefused, DeviceCopied, DeviceGroupEnded, DeviceRemoved, DeviceUnknown

Given = ParamSpec("Given")
Result = TypeVar("Result")

_AT_ONCE: Final = 64


def key_of(secret_key: SecretKey | str) -> SecretKey:
    return SecretKey.parse(secret_key) if isinstance(secret_key, str) else secret_key


@contextmanager
def at_home(secret_key: SecretKey | str) -> Iterator[None]:
    """With the database at work in which the device is, where there are several. Where there is one, nothing is asked."""
    if not conf.databases():
        yield
        return
    place = keeping.state_place(key_of(secret_key))
    with shards.at(inner_door.database_with(lambda using: store.find([place], using=using))):
        yield


def of_device(act: Callable[Given, Result]) -> Callable[Given, Result]:
    """Decorates what begins with the ``secret_key`` of a device: it is done where that is."""

    @wraps(act)
    def there(*given: Given.args, **named: Given.kwargs) -> Result:
        secret_key: Any = given[0] if given else named["secret_key"]
        with at_home(secret_key):
            return act(*given, **named)

    return there


def sealed_state(key: SecretKey) -> bytes:
    place = keeping.state_place(key)
    found = store.find([place], using=inner_door.database())
    if not found:
        raise DeviceUnknown(
            "This is not the key of a device of this site. Check that it is the right key, and the right site."
        )
    return found[place]


def stored(key: SecretKey) -> Device:
    return keeping.open_state(sealed_state(key), key=key)


def read(key: SecretKey) -> Device:
    """The device as it would be after all that stands in the log."""
    while True:
        sealed = sealed_state(key)
        device = keeping.open_state(sealed, key=key)
        group = device.membership.group or _welcome(device)
        # Of another group the log would be refused: whoever puts it there has not written this welcome.
        told = replace(device, membership=replace(device.membership, group=group))
        after = entries(group, start=max(device.membership.sequence, 0))
        if not after and not store.find([keeping.entry_place(group, 0)], using=inner_door.database()):
            raise ended()
        try:
            return told.catch_up(after)
        except DeviceCopied:
            # Or it has done something in another tab, between the two.
            if sealed_state(key) == sealed:
                raise


def settle(key: SecretKey, device: Device) -> None:
    """Store what a device has read that was just added; nothing if it was stored before."""
    if device.membership.sequence < 0 or not device.is_member:
        return
    former, using = sealed_state(key), inner_door.database()
    if keeping.open_state(former, key=key).membership.group:
        return
    with transaction.atomic(using=using):
        store.replace(keeping.state_place(key), keeping.seal_state(device, key=key), former=former, using=using)
        store.remove([keeping.welcome_place(device.id)], using=using)


def _welcome(device: Device) -> bytes:
    place = keeping.welcome_place(device.id)
    found = store.find([place], using=inner_door.database())
    if not found:
        raise DeviceUnknown(
            f"This device was not added yet. Type {keeping.code_of(device.id)} on a device that is in the group."
        )
    return keeping.open_welcome(found[place], device=device)


def shown(code: str) -> Card:
    """The card of the device that shows a code now.

    Raises: DeviceCodeRefused
    """
    place = keeping.card_place(code)
    found = store.find([place], using=inner_door.database())
    if not found:
        raise DeviceCodeRefused("No device shows this code now. Begin anew on the new device, or type it again.")
    return keeping.open_card(found[place], code=code, now=int(timezone.now().timestamp()))


def entries(group: bytes, *, start: int) -> list[bytes]:
    """What stands in the log of a group from there on."""
    raw: list[bytes] = []
    while True:
        first = start + len(raw)
        places = [keeping.entry_place(group, number) for number in range(first, first + _AT_ONCE)]
        found = store.find(places, using=inner_door.database())
        there = [place for place in places if place in found]
        raw += [keeping.open_of_group(found[place], group) for place in there]
        if len(there) < _AT_ONCE:
            return raw


def removed() -> DeviceRemoved:
    return DeviceRemoved("This device is not in the group any more. Ask another device to add it, as a new one.")


def ended() -> DeviceGroupEnded:
    return DeviceGroupEnded(
        "What the devices of this group open is nobody's any more: its person has made another group or a new key, or what was left of "
        "them was erased; or the log lacks its end. Nothing was changed."
    )
