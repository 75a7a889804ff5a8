"""Who asks: whose secret key a browser has proved to have, what that browser is known by, and in which database they are.

Keeps: a token is in no cookie and no session of Django's; scripts send it with each request that acts for the key, and forget it with
their page. It ends with the session of whoever is logged in, and with what Django knows the browser by. Of several databases no request
names one: who is logged in is where they are, and who is not is where their key is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.db.models import Model
from django.http import HttpRequest

from edna import api, conf, inner_door, shards
from edna.api_http.fields import Binary
from edna.errors import KeyNotProved, RequestRefused
from edna.visitors import is_principal, shard_of

HEADER: Final = "X-Edna-Key-Session"
TOKEN: Final = Binary(72)
OPENED: Final = Binary(72)
#: Tokens of pseudoprincipals, separated by commas, with which a page of the site's own speaks for them. Its name hides it in reports.
VOICES_HEADER: Final = "X-Edna-Voice-Token"
#: More are not looked at.
_MOST_VOICES: Final = 20


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


@contextmanager
def at_home(request: HttpRequest, *, key: Callable[[], api.PublicKey] | None = None) -> Iterator[None]:
    """With the database of whoever is logged in at work; otherwise with that of a ``key``, if one is given. Where the site has one, nothing
    is asked.

    Raises:
        KeyNotProved, if ``key`` does.
        DatabaseNotChosen: who is logged in is in another one than is at work; or the key is in several.
        DatabaseBusy: one of them is away, and no other has the key.
    """
    user: Any = getattr(request, "user", None) if conf.databases() else None
    if is_principal(user):
        using = inner_door.database_of(user)
    elif key is not None and conf.databases():
        using = inner_door.database_of_keys([key()])
    else:
        yield
        return
    with shards.at(using):
        yield


def has_voices(request: HttpRequest) -> bool:
    """Whether the sender says that they have proved keys of pseudoprincipals; not whether they have."""
    return VOICES_HEADER in request.headers and conf.custody() != "server"


def speaks_for(request: HttpRequest, model: type[Model] | None) -> list[Any]:
    """
    Raises:
        KeyNotProved, EntryForged
    """
    with at_home(request):
        return inner_door.speaks_for_keys(_voices(request), model)


def speak_as(request: HttpRequest, obj: Model, *, owner: str | None) -> Model:
    """
    Raises:
        KeyNotProved, NotYours, SpecError, EntryForged
    """
    with at_home(request):
        return inner_door.speak_as_keys(_voices(request), obj, owner=owner)


def _voices(request: HttpRequest) -> list[api.PublicKey]:
    given = request.headers.get(VOICES_HEADER, "").split(",")[:_MOST_VOICES]
    return [proved_key(request, token=token.strip()) for token in given]


def browser(request: HttpRequest) -> bytes:
    """What Django knows this browser by: the secret of its CSRF protection, which changes with each log-in; and of whoever is logged in
    what their session has of their password. So a token ends with a log-out, and with another password, wherever it was set."""
    known = str(request.META.get("CSRF_COOKIE", ""))
    user: Any = getattr(request, "user", None)
    if getattr(user, "is_authenticated", False):
        session: Mapping[str, Any] = getattr(request, "session", {})
        known += f" {session.get(SESSION_KEY, '')} {session.get(HASH_SESSION_KEY, '')}"
        if shard := shard_of(user):  # in another one somebody else has that primary key
            known += f" {shard}"
    return known.encode()
