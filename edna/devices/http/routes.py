"""The routes by which a browser is a device and keeps its key: it reads the log, makes operations and messages, seals its state.

Keeps: neither the key of a device nor a secret of its group comes here. Whoever writes has proved the present key of the group, and whoever
replaces the state of a device has proved the key of that one: to have copied the tables is not enough. Does not know: what is in a state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from django.db import transaction
from django.http import HttpRequest
from django.urls import path

from edna import inner_door, shards, throttle
from edna.api import PublicKey
from edna.api_http import rotations
from edna.api_http.fields import KEY, Binary, ListOf, Object, OrNull, Text, Truth, to_base64
from edna.api_http.json_view import json_view
from edna.api_http.proofs import TOKEN, at_home, browser, proved_key
from edna.api_http.slots import SLOTS_IF_ANY, slots_in
from edna.custody.cards import CARD_BYTES
from edna.custody.devices import keeping
from edna.custody.devices.operations import ID_BYTES, Card, Kind, Operation
from edna.devices import groups, reading, store, writing
from edna.devices.http.operations import Written, append, following, membership_of, require_own
from edna.devices.http.operations import note as write_notes
from edna.errors import (
    DatabaseNotChosen,
    DeviceCodeRefused,
    DeviceStateRefused,
    DeviceUnknown,
    NotYours,
    OperationRefused,
    RequestRefused,
)
from edna.visitors import is_principal

_MOST_PLACES: Final = 100
_MOST_CODE: Final = 100
#: Of some 2,000 devices; a state of these is longer.
_MOST_OPERATION_BYTES: Final = 256 * 1024
_MOST_STATE_BYTES: Final = 512 * 1024
_MOST_NOTE_BYTES: Final = 4096
_MOST_BYTES: Final = 2 * 1024 * 1024

_STATE: Final = Binary(most=_MOST_STATE_BYTES)
#: ``token`` is that of the device's own key; ``former`` what lay there when the device looked.
_WRITTEN: Final = Object({"place": KEY, "sealed": _STATE, "token": TOKEN, "former": OrNull(_STATE)}, {"former": None})
_GONE: Final = OrNull(Object({"place": KEY, "token": TOKEN}))
_NOTES: Final = ListOf(Object({"device": Binary(ID_BYTES), "sealed": Binary(most=_MOST_NOTE_BYTES)}), most=_MOST_PLACES)
_OPERATION: Final = Binary(most=_MOST_OPERATION_BYTES)
_REFUSALS: Final = (OperationRefused, DeviceUnknown, DeviceStateRefused, NotYours)


@json_view(
    takes={"places": ListOf(KEY, least=1, most=_MOST_PLACES), "of": OrNull(KEY)},
    optional={"of": None},
    answers={"records": ListOf(OrNull(Binary()))},
    raises=(DatabaseNotChosen,),
)
def records(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What lies at ``places``, which only devices find: sealed; null where nothing does. On a site with several databases it is that in
    which something lies at one of them, or at that of the state ``of`` the device that asks."""
    throttle.admit()
    with at_home(request), _at_place(body["places"] if body["of"] is None else [body["of"]]):
        found = store.find(body["places"], using=inner_door.database())
    return {"records": [to_base64(found[place]) if place in found else None for place in body["places"]]}


@json_view(
    takes={"card": Binary(CARD_BYTES), "place": KEY, "sealed": _STATE},
    answers={"code": Text()},
    proved=True,
    raises=(OperationRefused,),
    most_bytes=_MOST_BYTES,
)
def begin(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """For who is logged in, and has proved the key of a new device: keep its state, and show its ``code`` for an hour."""
    user: Any = request.user
    if not is_principal(user):
        raise RequestRefused("Log in first: a device is that of whoever is logged in. Nothing was changed.", status=403)
    public_key, card = proved_key(request), Card.parse(body["card"])
    throttle.admit()
    writing.count_begun(user)
    with transaction.atomic(using=inner_door.database()):
        writing.put_state(body["place"], body["sealed"], public_key=public_key, is_new=True)
        return {"code": writing.show(card)}


@json_view(
    takes={"code": Text(_MOST_CODE), "operation": _OPERATION, "state": _WRITTEN, "notes": _NOTES},
    proved=True,
    raises=(DeviceCodeRefused, *_REFUSALS),
    most_bytes=_MOST_BYTES,
)
def add(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """By who has proved the key of the group: the device comes in that shows ``code``."""
    own, operation = proved_key(request), Operation.parse(body["operation"])
    throttle.admit()
    card, state = reading.shown(body["code"]), _written(request, body["state"])
    if operation.head.kind is not Kind.ADD or bytes(operation.cards[0]) != bytes(card):
        raise OperationRefused("This operation does not add the device that shows this code. Nothing was changed.")
    with transaction.atomic(using=inner_door.database()):
        require_own([state])
        after = following(own, operation)
        append(operation, after, notes=_notes(body))
        writing.put_state(state.place, state.sealed, public_key=state.public_key)
        writing.welcome(card, group=after.group)
    return {}


@json_view(
    takes={
        **rotations.TAKES,
        "slots": SLOTS_IF_ANY,
        "operation": _OPERATION,
        "state": _WRITTEN,
        "gone": _GONE,
        "notes": _NOTES,
    },
    optional={**rotations.OPTIONAL, "slots": [], "gone": None},
    proved=True,
    raises=(*rotations.RAISES, *_REFUSALS),
    most_bytes=_MOST_BYTES,
)
def rotate(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """As ``keys/rotate``, to the key that begins with ``operation``: a group is made, a device goes, or one gets other keys. ``gone`` is
    the state of the key that the device had before."""
    own, operation = proved_key(request), Operation.parse(body["operation"])
    throttle.admit()
    new_keys, opened = rotations.new_keys_in(body, own, of_own=PublicKey.of)
    state, gone = _written(request, body["state"]), _gone(request, body["gone"])
    if operation.public_key is None or new_keys.keys.get(bytes(own)) != operation.public_key:
        raise OperationRefused("The new key is not the one that begins with this operation. Nothing was changed.")
    using, is_first = inner_door.database(), operation.head.kind is Kind.CREATE
    is_new = is_first or operation.head.kind is Kind.UPDATE

    def beside() -> None:
        require_own([state, *gone])
        after = following(own, operation)
        groups.move(after.group, former=None if is_first else own, new=after.public_key, using=using)
        append(operation, after, notes=_notes(body))
        writing.put_state(state.place, state.sealed, public_key=state.public_key, is_new=is_new)
        for each in gone:
            store.remove(writing.places_of_state(each.place), using=using)

    slots = slots_in(body["slots"])
    inner_door.rotate_elsewhere(new_keys, opened=opened, slots=slots, bound_to=browser(request), beside=beside)
    return {}


@json_view(
    takes={"notes": _NOTES, "state": OrNull(_WRITTEN), "device": OrNull(Binary(ID_BYTES))},
    optional={"state": None, "device": None},
    proved=True,
    raises=_REFUSALS,
    most_bytes=_MOST_BYTES,
)
def note(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """By who has proved the key of the group: ``notes`` on devices of it, and what a device has read, if nothing newer is stored. Of the
    ``device`` that was just added, what led it to its group goes."""
    own, using = proved_key(request), inner_door.database()
    throttle.admit()
    written = [_written(request, body["state"])] if body["state"] else []
    with transaction.atomic(using=using):
        require_own(written)
        membership = membership_of(own)
        write_notes(membership, _notes(body))
        for each in written:
            store.replace(each.place, each.sealed, former=body["state"]["former"] or b"", using=using)
        if body["device"] in membership.members:
            store.remove([keeping.welcome_place(body["device"])], using=using)
    return {}


@json_view(
    takes={"place": KEY},
    answers={"is_gone": Truth()},
    proved=True,
    is_of_person=False,
    raises=(DeviceStateRefused, NotYours),
)
def forget(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Delete the stored state of the device whose key was proved."""
    gone = Written(body["place"], b"", proved_key(request))
    throttle.admit()
    with _at_place([gone.place]), transaction.atomic(using=inner_door.database()):
        require_own([gone])
        store.remove(writing.places_of_state(gone.place), using=inner_door.database())
    return {"is_gone": True}


@contextmanager
def _at_place(places: Sequence[bytes]) -> Iterator[None]:
    """With the one of several databases at work in which something lies at one of these places."""
    with shards.at(inner_door.database_with(lambda using: store.find(places, using=using))):
        yield


def _written(request: HttpRequest, state: Mapping[str, Any]) -> Written:
    """
    Raises: KeyNotProved: not the token of the device's key.
    """
    return Written(state["place"], state["sealed"], inner_door.proved_key(state["token"], bound_to=browser(request)))


def _gone(request: HttpRequest, state: Mapping[str, Any] | None) -> list[Written]:
    return [_written(request, {"sealed": b"", **state})] if state else []


def _notes(body: Mapping[str, Any]) -> dict[bytes, bytes]:
    return {each["device"]: each["sealed"] for each in body["notes"]}


urlpatterns = [
    path("devices/add", add, name="devices-api-add"),
    path("devices/begin", begin, name="devices-api-begin"),
    path("devices/forget", forget, name="devices-api-forget"),
    path("devices/note", note, name="devices-api-note"),
    path("devices/records", records, name="devices-api-records"),
    path("devices/rotate", rotate, name="devices-api-rotate"),
]
