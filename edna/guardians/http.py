"""The routes by which a browser that keeps the key has guardians: it deals the shares, makes the envelope and asks the guardians by itself.

Keeps: what comes here opens nothing: shares are sealed to each guardian, and the site passes them on as its order. The site is told no
ticket, no point and no PIN. Does not know: what is in an envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from django.db import transaction
from django.http import HttpRequest
from django.urls import NoReverseMatch, Resolver404, path, resolve, reverse

from edna import conf, inner_door
from edna.api_http.fields import Binary, ListOf, Number, Object, OrNull, Text, to_base64
from edna.api_http.json_view import json_view
from edna.api_http.proofs import at_home, proved_key
from edna.api_http.slots import SLOTS, slots_in
from edna.custody.by_guardians import SALT_BYTES
from edna.custody.password import normalised_identifier
from edna.errors import EnvelopeRefused, NotYours, QuorumUnavailable, RequestRefused, SlotRefused
from edna.guardians import enrolments
from edna.guardians.site import Site, configured
from edna.pages.people import People

_LONGEST_IDENTIFIER: Final = 320
_LONGEST_CONTACT: Final = 254
_MOST_ENVELOPE_BYTES: Final = 512
_MOST_GUARDIANS: Final = 255
_MOST_BYTES: Final = 128 * 1024
_ENVELOPE: Final = Binary(most=_MOST_ENVELOPE_BYTES)
_SALT: Final = Binary(SALT_BYTES)
_GUARDIAN: Final = Object({"number": Number(), "name": Text(least=0), "address": Text(), "public_key": Binary(32)})


def _site() -> Site:
    """
    Raises:
        RequestRefused: this site has no guardians.
    """
    if not conf.has_guardians():
        raise RequestRefused("This site has no guardians.", status=404)
    return configured()


def _pages(request: HttpRequest) -> People:
    """Those beside which this address lies: they say what goes with a name."""
    match = request.resolver_match
    name = f"{match.namespace}:guardians" if match and match.namespace else "guardians"
    with suppress(NoReverseMatch, Resolver404):
        page: Any = resolve(reverse(name)).func
        found: People = getattr(page, "view_initkwargs", {}).get("pages") or People()
        return found
    return People()


@json_view(takes={}, answers={"threshold": Number(), "guardians": ListOf(_GUARDIAN)})
def roster(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Who the guardians are, where a browser asks them, and how many are needed."""
    site = _site()
    guardians = [
        {
            "number": member.number,
            "name": site.names.get(member.number, ""),
            "address": member.address,
            "public_key": to_base64(bytes(member.public_key)),
        }
        for member in site.roster.members
    ]
    return {"threshold": site.roster.threshold, "guardians": guardians}


@transaction.non_atomic_requests  # as the pages are
@json_view(
    takes={
        "identifier": Text(_LONGEST_IDENTIFIER),
        "contact": Text(_LONGEST_CONTACT),
        "envelope": _ENVELOPE,
        "salt": _SALT,
        "commitments": Binary(pieces=32),
        "vetoes": Binary(pieces=32),
        "shares": ListOf(Binary(80), least=2, most=_MOST_GUARDIANS),
        "slots": SLOTS,
    },
    answers={"missing": ListOf(Number())},
    proved=True,
    raises=(QuorumUnavailable, EnvelopeRefused, NotYours, SlotRefused),
    most_bytes=_MOST_BYTES,
)
def enroll(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Pass each guardian its sealed share, and keep envelope and slot, for who is logged in and has proved their key."""
    site, public_key, user = _site(), proved_key(request), request.user
    if not user.is_authenticated:
        raise RequestRefused("Nobody is logged in here. Nothing was changed.", status=403)
    if inner_door.public_key_of(user) != public_key:
        raise NotYours("This is the key of another account than the one that is logged in.")
    # A way back lies where its owner's name leads, and stands in nobody else's.
    if normalised_identifier(body["identifier"]) != normalised_identifier(_pages(request).identifier_of(user)):
        raise NotYours("This is the name of another account than the one that is logged in.")
    slots = slots_in(body["slots"])
    if [slot.kind for slot in slots] != [enrolments.KIND]:
        raise SlotRefused("An enrolment has one slot, of guardians. Nothing was changed.")
    made = enrolments.Made(**{name: body[name] for name in ("envelope", "salt", "commitments", "vetoes", "shares")})
    missing = enrolments.enroll_elsewhere(
        site, public_key, made, slots, identifier=body["identifier"], contact=body["contact"]
    )
    return {"missing": sorted(missing)}


@json_view(takes={"identifier": Text(_LONGEST_IDENTIFIER)}, answers={"envelopes": ListOf(_ENVELOPE)})
def envelopes(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What opens with the guardians' help, of whoever uses that identifier. Whoever has one may ask; the owner is told."""
    _site()
    with at_home(request):
        found = enrolments.envelopes_at(body["identifier"])
    return {"envelopes": [to_base64(bytes(each)) for each in found]}


@json_view(takes={}, answers={"kept": OrNull(Object({"salt": _SALT, "envelope": _ENVELOPE}))}, proved=True)
def own(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The enrolment of a proved key: with it, and the key, its owner vetoes."""
    _site()
    found = enrolments.kept_for(proved_key(request))
    if not found:
        return {"kept": None}
    salt, envelope = found[0]
    return {"kept": {"salt": to_base64(salt), "envelope": to_base64(bytes(envelope))}}


@transaction.non_atomic_requests
@json_view(takes={}, answers={"missing": ListOf(Number())}, proved=True)
def withdraw(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Forget the enrolment of a proved key, and have the guardians forget it."""
    return {"missing": sorted(enrolments.withdraw_key(_site(), proved_key(request)))}


urlpatterns = [
    path("guardians/enroll", enroll, name="guardians-api-enroll"),
    path("guardians/envelopes", envelopes, name="guardians-api-envelopes"),
    path("guardians/own", own, name="guardians-api-own"),
    path("guardians/roster", roster, name="guardians-api-roster"),
    path("guardians/withdraw", withdraw, name="guardians-api-withdraw"),
]
