"""What a browser that keeps the key sends with a form instead of it: a handover for this one act, and the proof that it has the key.

Or brings along with any request, if an optional application knows how. Keeps: what was handed over is used for this one request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest

from edna import api, inner_door
from edna.api_http.fields import Object
from edna.api_http.handover import HANDED as HANDOVER
from edna.api_http.handover import handover_of
from edna.api_http.proofs import at_home, proved_key
from edna.api_http.slots import SLOTS, slots_in
from edna.errors import DeviceLoggedOut, EdnaError, NotYours, RequestRefused
from edna.pages.forms import HANDED
from edna.visitors import is_same

#: The token of the session of the key; and slots that take the place of the key's own in the same transaction.
_TOKEN, _SLOTS = "key_session", "slots"

#: Of optional applications: whether a request brings something along that may open a key; no statement.
brings: Final[dict[Callable[[HttpRequest], bool], None]] = {}
#: Of the same: what that opens, or the text of a secret key which is none of edna's own; None if it is not theirs.
openers: Final[dict[Callable[[HttpRequest, str], api.Unlocked | None], None]] = {}


def is_brought(request: HttpRequest) -> bool:
    """Whether this browser opens a key with nothing typed."""
    return any(brings_one(request) for brings_one in brings)


def waits_for_log_in(request: HttpRequest) -> bool:
    """Whether what this browser brings along opens nothing until its person, whose account is here, has logged in."""
    user: Any = request.user
    if user.is_authenticated or not is_brought(request):
        return False
    try:
        unlocked = brought(request, {})
    except DeviceLoggedOut:
        return True
    except EdnaError:
        return False  # told when the form is sent
    if unlocked is not None:
        unlocked.close()
    return False


def brought(request: HttpRequest, given: Mapping[str, Any]) -> api.Unlocked | None:
    """What it opens, where nothing else was typed than a secret key; None if no optional application knows it.

    Raises:
        EdnaError: it opens nothing.
    """
    if given.get("password") or given.get("recovery_code"):
        return None
    found = (opener(request, str(given.get("secret_key", ""))) for opener in openers)
    return next((each for each in found if each is not None), None)


def unlock(request: HttpRequest, *, receipts: Sequence[api.Receipt] = ()) -> api.Unlocked:
    """
    Raises:
        KeyNotProved, RequestRefused, PrincipalNotRegistered, EntryForged, ServerKeyUnknown
    """
    key = _key(request)
    handover = handover_of(_read(request, HANDED, HANDOVER), public_key=key)
    with at_home(request, key=lambda: key):
        return inner_door.unlock_handed(handover, receipts=receipts)


def require_own(request: HttpRequest) -> None:
    """
    Raises:
        NotYours: the key that a script has proved is of another account than the one that is logged in.
        KeyNotProved, PrincipalNotRegistered, EntryForged, ServerKeyUnknown
    """
    user: Any = getattr(request, "user", None)
    proof = inner_door.Handover.of_bytes(
        proved_key(request), lists={}, content_keys={}, voices={}, damaged=False, successions={}, halves={}
    )
    if user is None or not user.is_authenticated:
        return
    with inner_door.unlock_handed(proof) as unlocked:
        if not is_same(api.principal(unlocked), user):
            raise NotYours("This is the key of another account than the one that is logged in. Nothing was changed.")


def replace_slots(request: HttpRequest) -> bool:
    """In the caller's transaction; whether any were sent.

    Raises:
        KeyNotProved, RequestRefused, PrincipalNotRegistered, SlotRefused, ServerKeyUnknown
    """
    if _SLOTS not in request.POST:
        return False
    inner_door.replace_slots(_key(request), slots_in(_read(request, _SLOTS, Object({"slots": SLOTS}))["slots"]))
    return True


def _key(request: HttpRequest) -> api.PublicKey:
    return proved_key(request, token=request.POST.get(_TOKEN, ""))


def _read(request: HttpRequest, name: str, kind: Object) -> dict[str, Any]:
    try:
        content = json.loads(request.POST.get(name, ""))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RequestRefused(f"The field {name} holds no JSON object.", status=HTTPStatus.BAD_REQUEST)
    return kind.read(content, name)
