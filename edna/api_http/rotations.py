"""A new key that a browser has made takes the place of the old one, and of those that the old one led to.

Keeps: nobody's key is replaced who has not proved the old one and the new one; of bags and lists come keys and boxes, and no content.
What is too long for one request comes in parts before, which change nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.fields import KEY, WHOLE_KEY, Binary, Either, Field, ListOf, Number, Object, to_base64
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

#: Some 4,700 bags; of the hybrid kind some 600. Django takes no more unless a site tells it to.
_MOST_BYTES: Final = 2 * 1024 * 1024
#: Of a part: what servers in front of a site take unless they are told otherwise.
_MOST_BYTES_OF_A_PART: Final = 1024 * 1024
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

_CONTENT: Final[Mapping[str, Field]] = {
    "keys": ListOf(_NEW, most=MOST),
    "lists": ListOf(_LISTED, most=MOST),
    "bags": ListOf(_BAG, most=MOST),
}
_NOTHING: Final[Mapping[str, Any]] = {name: [] for name in _CONTENT}
_PART: Final = Object(_CONTENT, _NOTHING)


@json_view(
    takes={"number": Number(), "part": _PART},
    answers={"opens": KEY},
    proved=True,
    raises=(HandoverRefused, PrincipalError, BagError, DatabaseBusy),
    most_bytes=_MOST_BYTES_OF_A_PART,
)
def rotate_part(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Keeps a part of what ``keys/rotate`` takes, sealed, in the place of an earlier one of that number, and answers what ``opens`` it: for
    ``parts`` of that request. With ``number`` 0 all earlier parts are gone. Nothing else is changed."""
    own, part = proved_key(request), json.loads(request.body)["part"]
    said = {name: part[name] for name in _CONTENT if name in part}
    content = json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode(errors="surrogatepass")
    # Fields that nobody looks at may be longer when they are written anew: a number such as 1e15.
    if len(content) > _MOST_BYTES_OF_A_PART:
        raise RequestRefused(
            f"A part holds more than {_MOST_BYTES_OF_A_PART} bytes. Nothing was kept.",
            status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        )
    content_key = inner_door.keep_part(own, body["number"], content)
    return {"opens": to_base64(content_key.expose())}


#: What every route takes that replaces a key, beside ``slots``.
TAKES: Final[Mapping[str, Field]] = {**_CONTENT, "parts": ListOf(KEY, most=inner_door.MOST_PARTS)}
OPTIONAL: Final[Mapping[str, Any]] = {**_NOTHING, "parts": []}
RAISES: Final = (
    HandoverRefused,
    KeyMalformed,
    KeyNotProved,
    SlotRefused,
    PrincipalError,
    BagError,
    ReceiptError,
    DatabaseBusy,
)


@json_view(
    takes={**TAKES, "slots": SLOTS},
    optional=OPTIONAL,
    proved=True,
    raises=RAISES,
    most_bytes=_MOST_BYTES,
)
def rotate(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Makes everything of the proved key over to a new one: ``keys`` of the person and of those they speak for, their ``lists``, ``bags``,
    and ``slots`` of the new key. What ``keys/rotate-part`` has kept comes besides, by what opens each of the ``parts``, in their order."""
    new_keys, opened = new_keys_in(body, proved_key(request))
    slots = slots_in(body["slots"])
    inner_door.rotate_elsewhere(new_keys, opened=opened, slots=slots, bound_to=browser(request))
    return {}


def new_keys_in(
    body: Mapping[str, Any],
    own: api.PublicKey,
    *,
    of_own: Callable[[bytes], api.PublicKey] = inner_door.new_public_key,
) -> tuple[inner_door.NewKeys, dict[bytes, bytes]]:
    """What takes the place of the proved key, and what the challenges to all keys held. ``of_own`` reads the new one of the person.

    Raises:
        KeyMalformed, RequestRefused
    """
    content_keys = [inner_door.ContentKey(each) for each in body["parts"]]
    kept = inner_door.kept_parts(own, content_keys) if content_keys else []
    parts = [body, *(_PART.read(json.loads(each), "part") for each in kept)]
    keys: dict[bytes, api.PublicKey] = {}
    opened: dict[bytes, bytes] = {}
    for each in (each for part in parts for each in part["keys"]):
        former = each["public_key"]
        read = of_own if former == bytes(own) else inner_door.new_public_key
        new = keys[former] = read(each["new_public_key"])
        opened[former], opened[bytes(new)] = each["opened"], each["new_opened"]
    lists: dict[bytes, dict[bytes, bytes]] = {}
    for public_key, items in (_list(each) for part in parts for each in part["lists"]):
        lists.setdefault(public_key, {}).update(items)
    bags = dict(_bag(each) for part in parts for each in part["bags"])
    return inner_door.NewKeys(own=bytes(own), keys=keys, lists=lists, bags=bags), opened


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
