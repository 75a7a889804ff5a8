"""Keys that are made and used in browsers: a proof that one has the secret key, and a session of minutes for whoever has given it.

Keeps: a token is in no cookie and no session of Django's; scripts send it with each request that acts for the key, and forget it with
their page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.body import Body, to_base64
from edna.api_http.json_view import json_view
from edna.errors import EdnaError, KeyNotProved

HEADER: Final = "X-Edna-Key-Session"
_KEY_BYTES: Final = 32
OPENED_BYTES: Final = 72
_TOKEN_BYTES: Final = 72
#: As many as the modules ask for at once.
_MOST_KEYS: Final = 500
_MOST_BYTES: Final = 64 * 1024


@json_view()
def challenge(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """Something that only the secret key of ``public_key`` opens; whether anybody has registered that key is not said."""
    public_key = body.binary("public_key", size=_KEY_BYTES)
    return {"challenge": to_base64(inner_door.challenge_key(public_key, bound_to=browser(request)))}


@json_view(most_bytes=_MOST_BYTES)
def challenges(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """The same for each of ``public_keys``, in their order."""
    public_keys = body.binaries("public_keys", size=_KEY_BYTES, most=_MOST_KEYS)
    made = inner_door.challenge_keys(public_keys, bound_to=browser(request))
    return {"challenges": [*map(to_base64, made)]}


@json_view()
def session(request: HttpRequest, body: Body) -> Mapping[str, Any]:
    """A token for whoever has opened the challenge."""
    public_key, opened = body.binary("public_key", size=_KEY_BYTES), body.binary("opened", size=OPENED_BYTES)
    return {"token": to_base64(inner_door.prove_key(public_key, opened, bound_to=browser(request)))}


def proved_key(request: HttpRequest, *, token: str | None = None) -> api.PublicKey:
    """Whose secret key the sender of this request has: by a header, or, in a form, by a field that the caller has read.

    Raises:
        KeyNotProved: the request has no token that counts.
    """
    given = Body({"token": request.headers.get(HEADER) if token is None else token})
    try:
        raw = given.binary("token", size=_TOKEN_BYTES)
    except EdnaError:
        raise KeyNotProved(f"Send the token of a proved key in the header {HEADER}.") from None
    return inner_door.proved_key(raw, bound_to=browser(request))


def browser(request: HttpRequest) -> bytes:
    """What Django knows this browser by, logged in or not: the secret of its CSRF protection, which changes with each log-in."""
    return str(request.META.get("CSRF_COOKIE", "")).encode()
