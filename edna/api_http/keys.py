"""Keys that are made and used in browsers: a proof that one has the secret key, and a session of minutes for whoever has given it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from edna import inner_door
from edna.api_http.fields import KEY, Binary, ListOf, Truth, to_base64
from edna.api_http.json_view import json_view
from edna.api_http.proofs import OPENED, TOKEN, browser
from edna.errors import KeyMalformed, KeyNotProved

_CHALLENGE = Binary(120)
#: As many as the modules ask for at once.
_MOST_KEYS = 500
_MOST_BYTES = 64 * 1024


@json_view(takes={"public_key": KEY}, answers={"challenge": _CHALLENGE}, raises=(KeyMalformed,))
def challenge(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Something that only the secret key of ``public_key`` opens; whether anybody has registered that key is not said."""
    return {"challenge": to_base64(inner_door.challenge_key(body["public_key"], bound_to=browser(request)))}


@json_view(
    takes={"public_keys": ListOf(KEY, least=1, most=_MOST_KEYS)},
    answers={"challenges": ListOf(_CHALLENGE), "in_common": Truth()},
    raises=(KeyMalformed,),
    most_bytes=_MOST_BYTES,
)
def challenges(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same for each of ``public_keys``, in their order; and whether several people may own rows of this site."""
    made = inner_door.challenge_keys(body["public_keys"], bound_to=browser(request))
    return {"challenges": [*map(to_base64, made)], "in_common": inner_door.several_may_own()}


@json_view(
    takes={"public_key": KEY, "opened": OPENED},
    answers={"token": TOKEN},
    raises=(KeyMalformed, KeyNotProved),
)
def session(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """A token for whoever has opened the challenge."""
    return {"token": to_base64(inner_door.prove_key(body["public_key"], body["opened"], bound_to=browser(request)))}
