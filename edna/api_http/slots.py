"""Key slots that browsers make and open: the salt for a password, the server's part in a slot, and other slots in the place of a key's own.

Keeps: whoever asks for somebody unknown, or with a wrong password, gets the same answer, for the same work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from edna import inner_door
from edna.api_http.body import Body, to_base64
from edna.api_http.json_view import json_view
from edna.api_http.keys import proved_key

_LOOKUP_BYTES: Final = 32
_WRAPPED_BYTES: Final = 73
_LONGEST_IDENTIFIER: Final = 320
_LONGEST_KIND: Final = 16
#: As many as a password may have been stretched in, with former costs and server keys.
_MOST_LOOKUPS: Final = 16
_MOST_SLOTS: Final = 3


@json_view()
def salt(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """How to stretch the password that goes with ``identifier``: as it is done now first. Everybody has a salt."""
    found = inner_door.stretchings(body.text("identifier", most=_LONGEST_IDENTIFIER))
    return {
        "stretchings": [
            {"salt": to_base64(each.salt), "opslimit": each.opslimit, "memlimit_bytes": each.memlimit_bytes}
            for each in found
        ]
    }


@json_view()
def open_slots(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """For each of ``lookups``, and each of the server's keys: id, share, and what is wrapped there. The first is for a new slot, too."""
    found = inner_door.find_slots(body.binaries("lookups", size=_LOOKUP_BYTES, most=_MOST_LOOKUPS))
    return {
        "slots": [
            [
                {"id": to_base64(one.slot_id), "share": to_base64(one.share), "wrapped": [*map(to_base64, one.wrapped)]}
                for one in each
            ]
            for each in found
        ]
    }


@json_view()
def replace(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """Put ``slots`` in the place of those of their kinds, for whoever has proved a key."""
    inner_door.replace_slots(proved_key(request), slots_in(body))
    return {}


def slots_in(body: Body) -> list[inner_door.BrowserSlot]:
    """
    Raises:
        RequestRefused: one of them has not the size of a slot.
    """
    return [
        inner_door.BrowserSlot(
            lookup=slot.binary("lookup", size=_LOOKUP_BYTES),
            kind=slot.text("kind", most=_LONGEST_KIND),
            wrapped=slot.binary("wrapped", size=_WRAPPED_BYTES),
        )
        for slot in body.objects("slots", most=_MOST_SLOTS)
    ]
