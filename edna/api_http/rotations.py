"""A new key that a browser has made takes the place of the old one, and of those that the old one led to.

Keeps: nobody's key is replaced who has not proved the old one and the new one; of bags and lists come keys and boxes, and no content.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.body import Body
from edna.api_http.handover import succession_in
from edna.api_http.json_view import json_view
from edna.api_http.keys import OPENED_BYTES, browser, proved_key
from edna.api_http.slots import slots_in

#: Some seven thousand bags. Django takes no more unless a site tells it to.
_MOST_BYTES: Final = 2 * 1024 * 1024
_MOST: Final = 100_000
_KEY_BYTES: Final = 32
_BOX_BYTES: Final = 80
_NONCE_BYTES: Final = 24
_VOICE_BYTES: Final = _KEY_BYTES + _BOX_BYTES


@json_view(most_bytes=_MOST_BYTES)
def rotate(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """Makes everything of the proved key over to a new one: ``keys`` of the person and of those they speak for, their ``lists``, ``bags``,
    and ``slots`` of the new key."""
    own = proved_key(request)
    keys: dict[bytes, api.PublicKey] = {}
    opened: dict[bytes, bytes] = {}
    for each in body.objects("keys", most=_MOST):
        former, new = (each.binary(name, size=_KEY_BYTES) for name in ("public_key", "new_public_key"))
        keys[former] = api.PublicKey(new)
        opened[former], opened[new] = (each.binary(name, size=OPENED_BYTES) for name in ("opened", "new_opened"))
    new_keys = inner_door.NewKeys(
        own=bytes(own),
        keys=keys,
        lists=dict(_list(each) for each in body.objects("lists", most=_MOST, least=0)),
        bags=dict(_bag(each) for each in body.objects("bags", most=_MOST, least=0)),
    )
    inner_door.rotate_elsewhere(new_keys, opened=opened, slots=slots_in(body), bound_to=browser(request))
    return {}


def _list(body: Body) -> tuple[bytes, dict[bytes, bytes | None]]:
    items = body.pieces("items", size=_BOX_BYTES)
    answers = body.answers("anew", sizes=(_KEY_BYTES, _BOX_BYTES), count=len(items))
    return body.binary("public_key", size=_KEY_BYTES), dict(zip(items, answers, strict=True))


def _bag(body: Body) -> tuple[bytes, inner_door.MadeOver]:
    voices = body.pieces("voices", size=_VOICE_BYTES) if body.has("voices") else []
    made = inner_door.MadeOver(
        owner=body.binary("public_key", size=_KEY_BYTES),
        nonce=body.binary("nonce", size=_NONCE_BYTES),
        box=inner_door.SealedKey(body.binary("sealed_key", size=_BOX_BYTES)),
        succession=succession_in(body),
        voices={voice[:_KEY_BYTES]: inner_door.SealedKey(voice[_KEY_BYTES:]) for voice in voices},
    )
    return body.binary("index", size=_KEY_BYTES), made
