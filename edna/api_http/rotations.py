"""A new key that a browser has made takes the place of the old one, and of those that the old one led to.

Keeps: nobody's key is replaced who has not proved the old one and the new one; of bags and lists come keys and boxes, and no content.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.fields import KEY, WHOLE_KEY, Binary, Either, ListOf, Object
from edna.api_http.handover import ITEM_BYTES, MOST, SUCCESSION, listed, pieces
from edna.api_http.json_view import json_view
from edna.api_http.proofs import OPENED, browser, proved_key
from edna.api_http.slots import SLOTS, slots_in
from edna.errors import (
    BagError,
    DatabaseBusy,
    HandoverRefused,
    KeyMalformed,
    KeyNotProved,
    PrincipalError,
    ReceiptError,
    RequestRefused,
    SlotRefused,
)

#: Some 4,700 bags, of as many disguises; of the hybrid kind some 600. Django takes no more unless a site tells it to.
_MOST_BYTES: Final = 2 * 1024 * 1024
_KEY_BYTES: Final = 32
#: A file key, as a stanza has it: of X25519, of the hybrid kind.
_BOX: Final = Either(Binary(80), Binary(1168))
_NONCE: Final = Binary(24)
_VOICE_BYTES: Final = _KEY_BYTES + 80

_NEW: Final = Object({"public_key": KEY, "new_public_key": WHOLE_KEY, "opened": OPENED, "new_opened": OPENED})
_LISTED: Final = Object({"public_key": KEY, "items": Binary(pieces=ITEM_BYTES), "anew": ListOf(KEY, most=MOST)})
_BAG: Final = Object(
    {
        "index": KEY,
        "public_key": KEY,
        "nonce": _NONCE,
        "sealed_key": _BOX,
        "succession": SUCCESSION,
        "voices": Binary(pieces=_VOICE_BYTES),
        "content_key": KEY,
    },
    {"succession": [], "voices": b"", "content_key": None},
)


@json_view(
    takes={
        "keys": ListOf(_NEW, least=1, most=MOST),
        "lists": ListOf(_LISTED, most=MOST),
        "bags": ListOf(_BAG, most=MOST),
        "slots": SLOTS,
    },
    proved=True,
    raises=(
        HandoverRefused,
        KeyMalformed,
        KeyNotProved,
        SlotRefused,
        PrincipalError,
        BagError,
        ReceiptError,
        DatabaseBusy,
    ),
    most_bytes=_MOST_BYTES,
)
def rotate(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Makes everything of the proved key over to a new one: ``keys`` of the person and of those they speak for, their ``lists``, ``bags``,
    and ``slots`` of the new key."""
    own = proved_key(request)
    keys: dict[bytes, api.PublicKey] = {}
    opened: dict[bytes, bytes] = {}
    for each in body["keys"]:
        former = each["public_key"]
        new = keys[former] = inner_door.new_public_key(each["new_public_key"])
        opened[former], opened[bytes(new)] = each["opened"], each["new_opened"]
    new_keys = inner_door.NewKeys(
        own=bytes(own),
        keys=keys,
        lists=dict(map(_list, body["lists"])),
        bags=dict(map(_bag, body["bags"])),
    )
    slots = slots_in(body["slots"])
    inner_door.rotate_elsewhere(new_keys, opened=opened, slots=slots, bound_to=browser(request))
    return {}


def _list(each: Mapping[str, Any]) -> tuple[bytes, dict[bytes, bytes]]:
    items = listed(each["items"], len(each["anew"]))
    if items is None:
        raise RequestRefused("Each of 'lists' must have as many 'anew' as items.", status=HTTPStatus.BAD_REQUEST)
    return each["public_key"], dict(zip(items, each["anew"], strict=True))


def _bag(each: Mapping[str, Any]) -> tuple[bytes, inner_door.MadeOver]:
    voices = pieces(each["voices"], size=_VOICE_BYTES)
    made = inner_door.MadeOver(
        owner=each["public_key"],
        nonce=each["nonce"],
        box=each["sealed_key"],
        succession=each["succession"],
        content_key=inner_door.ContentKey(each["content_key"]) if each["content_key"] else None,
        voices={voice[:_KEY_BYTES]: inner_door.SealedKey(voice[_KEY_BYTES:]) for voice in voices},
    )
    return each["index"], made
