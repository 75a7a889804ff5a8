"""Key slots that browsers make and open: the salt for a password, the server's part in a slot, and other slots in the place of a key's own.

Keeps: whoever asks for somebody unknown, or with a wrong password, gets the same answer, for the same work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django.http import HttpRequest

from edna import inner_door
from edna.api_http.fields import KEY, Binary, ListOf, Number, Object, Text, Truth, to_base64
from edna.api_http.json_view import json_view
from edna.api_http.proofs import at_home, proved_key
from edna.errors import DatabaseNotChosen, PrincipalNotRegistered, SlotRefused

_WRAPPED: Final = Binary(73)
_LONGEST_IDENTIFIER: Final = 320
_LONGEST_KIND: Final = 16
#: As many as a password may have been stretched in, with former costs and server keys.
_MOST_LOOKUPS: Final = 16
_MOST_SLOTS: Final = 4

_SLOT: Final = Object({"lookup": KEY, "kind": Text(_LONGEST_KIND), "wrapped": _WRAPPED})
SLOTS: Final = ListOf(_SLOT, least=1, most=_MOST_SLOTS)
#: Where none is enough.
SLOTS_IF_ANY: Final = ListOf(_SLOT, most=_MOST_SLOTS)
_STRETCHINGS: Final = ListOf(Object({"salt": Binary(), "opslimit": Number(), "memlimit_bytes": Number()}), least=1)
_FOUND: Final = ListOf(ListOf(Object({"id": KEY, "share": KEY, "wrapped": ListOf(_WRAPPED)}), least=1))


@json_view(takes={"identifier": Text(_LONGEST_IDENTIFIER)}, answers={"stretchings": _STRETCHINGS})
def salt(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """How to stretch the password that goes with ``identifier``: as it is done now first. Everybody has a salt."""
    found = inner_door.stretchings(body["identifier"])
    return {
        "stretchings": [
            {"salt": to_base64(each.salt), "opslimit": each.opslimit, "memlimit_bytes": each.memlimit_bytes}
            for each in found
        ]
    }


@json_view(
    takes={"lookups": ListOf(KEY, least=1, most=_MOST_LOOKUPS), "of_several": Truth()},
    optional={"of_several": False},
    answers={"slots": _FOUND},
    raises=(DatabaseNotChosen,),
)
def open_slots(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """For each of ``lookups``, and each of the server's keys: id, share, and what is wrapped there. The first is for a new slot, too.
    Who has a receipt, which tells whose is meant, takes what is wrapped ``of_several`` databases."""
    with at_home(request):
        found = inner_door.find_slots(body["lookups"], of_several=body["of_several"])
    return {
        "slots": [
            [
                {"id": to_base64(one.slot_id), "share": to_base64(one.share), "wrapped": [*map(to_base64, one.wrapped)]}
                for one in each
            ]
            for each in found
        ]
    }


@json_view(takes={"slots": SLOTS}, proved=True, raises=(PrincipalNotRegistered, SlotRefused))
def replace(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put ``slots`` in the place of those of their kinds, for whoever has proved a key."""
    inner_door.replace_slots(proved_key(request), slots_in(body["slots"]))
    return {}


def slots_in(slots: Iterable[Mapping[str, Any]]) -> list[inner_door.BrowserSlot]:
    return [inner_door.BrowserSlot(**slot) for slot in slots]
