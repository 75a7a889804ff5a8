"""Somebody who is logged in gets the key that their browser has made.

Keeps: nobody is registered with a key whose secret half they have not proved to have, and nobody for somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest

from edna import inner_door
from edna.api_http.fields import WHOLE_KEY, OrNull
from edna.api_http.json_view import json_view
from edna.api_http.proofs import proved_key
from edna.api_http.slots import SLOTS, slots_in
from edna.errors import (
    KeyMalformed,
    KeyNotProved,
    PrincipalAlreadyRegistered,
    PrincipalError,
    RequestRefused,
    SlotRefused,
)
from edna.visitors import is_fresh_login, is_principal


@json_view(
    takes={"public_key": OrNull(WHOLE_KEY), "slots": SLOTS},
    optional={"public_key": None},
    proved=True,
    raises=(PrincipalAlreadyRegistered, PrincipalError, KeyMalformed, KeyNotProved, SlotRefused),
)
def register(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The key is the one that is proved; ``slots`` are its ways back. ``public_key`` is the whole of it, where its X25519 half is not."""
    user: Any = getattr(request, "user", None)
    if not is_principal(user):
        raise RequestRefused("Log in first: a key is registered for whoever is logged in.", status=HTTPStatus.FORBIDDEN)
    if not is_fresh_login(request):
        # Whoever has copied a session would lock up with a key of their own what its person can never open again.
        raise RequestRefused(
            "Log in once more: a first key is registered within ten minutes of that.", status=HTTPStatus.FORBIDDEN
        )
    proved = proved_key(request)
    public_key = inner_door.new_public_key(body["public_key"] or bytes(proved))
    if public_key != proved:
        raise KeyNotProved("The public key is another one than was proved; prove that one.")
    inner_door.register_elsewhere(user, public_key=public_key, slots=slots_in(body["slots"]))
    return {}
