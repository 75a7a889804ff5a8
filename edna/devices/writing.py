"""Writes what a device has done: its operation, its state after it, what devices are called, and the new recipients of all bags.

Keeps: all of it is written together or not at all; a new key of a device is nobody's yet; beside a state stands who may replace it from a
browser. Does not know why something is done.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final

from django.db.models import Model
from django.utils.crypto import salted_hmac

from edna import clock, conf, inner_door, throttle
from edna.api import Unlocked
from edna.crypto.keys import PublicKey, SecretKey
from edna.custody.devices import keeping
from edna.custody.devices.device import Device
from edna.custody.devices.operations import Card
from edna.devices import groups, store
from edna.visitors import shard_of

#: How long a code is taken.
CODE_LIFETIME: Final = datetime.timedelta(hours=1)
#: How many new devices a person begins in an hour: what one leaves in the table has no date, and only the device finds it.
MOST_BEGUN: Final = 20


def count_begun(person: Model) -> None:
    """
    Raises: TooBusy: it is one too many of theirs.
    """
    said = f"{person._meta.label_lower} {person.pk} {shard_of(person)}".rstrip()
    name = salted_hmac("edna.devices.begin", said, algorithm="sha256").hexdigest()
    throttle.admit_of(f"devices:{name}", most=MOST_BEGUN, in_seconds=3600)


def show(card: Card) -> str:
    """In the caller's transaction: what a new device shows, until `CODE_LIFETIME` is over."""
    code, until, using = keeping.code_of(card.device), clock.now() + CODE_LIFETIME, inner_door.database()
    store.remove_expired(clock.today(), using=using)
    sealed = keeping.seal_card(card, until=int(until.timestamp()))
    store.add(keeping.card_place(code), sealed, expires_on=until.date(), using=using)
    return code


def welcome(card: Card, *, group: bytes) -> None:
    """In the caller's transaction: the device that showed a code finds its group, and the code is taken no more."""
    using = inner_door.database()
    sealed = keeping.seal_welcome(group, prekey=card.prekey)
    store.put(keeping.welcome_place(card.device), sealed, using=using)
    store.remove([keeping.card_place(keeping.code_of(card.device))], using=using)


def put_state(place: bytes, sealed: bytes, *, public_key: PublicKey, is_new: bool = False) -> None:
    """In the caller's transaction: the state of a device, and that whoever proves this key may replace it.

    Raises: SequenceTaken if a new key must be nobody's yet, and is somebody's: their state would be lost.
    """
    using = inner_door.database()
    (store.add if is_new else store.put)(place, sealed, using=using)
    # Given no name: error pages print variables.
    guard = keeping.seal_guard(public_key, place=place, pepper=inner_door.sealing_key())
    store.put(keeping.guard_place(place, pepper=inner_door.sealing_key()), guard, using=using)


def places_of_state(place: bytes) -> list[bytes]:
    """What goes with a state."""
    return [place, *(keeping.guard_place(place, pepper=pepper) for pepper in conf.mac_keys())]


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
            store.remove(places_of_state(keeping.state_place(former)), using=unlocked.using)

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
    sealed = keeping.seal_state(done, key=key)
    put_state(keeping.state_place(key), sealed, public_key=key.public_key, is_new=is_new)
    note(done, names=names)


def note(device: Device, *, names: Mapping[bytes, str] | None = None) -> None:
    """In the caller's transaction: that the device was here, and what others are called from now on."""
    group, using = device.membership.group, inner_door.database()
    place = keeping.note_place(group, device.id)
    found = store.find([place], using=using)
    called = {device.id: keeping.open_note(found[place], group=group)[0] if place in found else ""} | dict(names or {})
    month = clock.now().strftime("%Y-%m")
    for each, name in called.items():
        store.put(keeping.note_place(group, each), keeping.seal_note(name, month, group=group), using=using)
