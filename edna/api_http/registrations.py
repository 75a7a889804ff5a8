"""Somebody who is logged in gets the key that their browser has made.

Keeps: nobody is registered with a key whose secret half they have not proved to have, and nobody for somebody else.
"""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest

from edna import inner_door
from edna.api_http.json_view import json_view
from edna.api_http.proofs import proved_key
from edna.api_http.slots import SLOTS, slots_in
from edna.errors import KeyMalformed, PrincipalAlreadyRegistered, PrincipalError, RequestRefused, SlotRefused
from edna.visitors import is_principal


@json_view(
    takes={"slots": SLOTS},
    proved=True,
    raises=(PrincipalAlreadyRegistered, PrincipalError, KeyMalformed, SlotRefused),
)
def register(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The key is the one that is proved; ``slots`` are its ways back."""
    user: Any = getattr(request, "user", None)
    if not is_principal(user):
        raise RequestRefused("Log in first: a key is registered for whoever is logged in.", status=HTTPStatus.FORBIDDEN)
    inner_door.register_elsewhere(user, public_key=proved_key(request), slots=slots_in(body["slots"]))
    return {}
