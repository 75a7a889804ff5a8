"""Who asks: whose secret key a browser has proved to have, and what that browser is known by.

Keeps: a token is in no cookie and no session of Django's; scripts send it with each request that acts for the key, and forget it with
their page.
"""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.fields import Binary
from edna.errors import KeyNotProved, RequestRefused

HEADER: Final = "X-Edna-Key-Session"
TOKEN: Final = Binary(72)
OPENED: Final = Binary(72)


def proved_key(request: HttpRequest, *, token: str | None = None) -> api.PublicKey:
    """Whose secret key the sender of this request has: by a header, or, in a form, by a field that the caller has read.

    Raises:
        KeyNotProved: the request has no token that counts.
    """
    try:
        raw = TOKEN.read(request.headers.get(HEADER) if token is None else token, HEADER)
    except RequestRefused:
        raise KeyNotProved(f"Send the token of a proved key in the header {HEADER}.") from None
    return inner_door.proved_key(raw, bound_to=browser(request))


def browser(request: HttpRequest) -> bytes:
    """What Django knows this browser by, logged in or not: the secret of its CSRF protection, which changes with each log-in."""
    return str(request.META.get("CSRF_COOKIE", "")).encode()
