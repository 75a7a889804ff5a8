"""What a browser asks for that opens a person's bags itself, and what it hands over to act: lists, bags, a reveal, a disguise with voices,
an erasure, what the tables have of them.

Keeps: nobody acts for a key that they have not proved; what is handed over is used for this one request. Of lists and bags everybody gets
the sealed bytes who proved some key and knows where they are: a public key, an index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpRequest

import edna
from edna import api, inner_door
from edna.api_http.fields import (
    KEY,
    LABEL,
    Anything,
    Binary,
    ListOf,
    MapOf,
    Number,
    Object,
    Text,
    Truth,
    to_base64,
)
from edna.api_http.handover import HANDED, HELD, handover_of, held_in, overrides_in
from edna.api_http.json_view import json_view
from edna.api_http.proofs import proved_key
from edna.errors import (
    BagError,
    ConstraintRefused,
    DanglingReferences,
    DatabaseBusy,
    ErasureRefused,
    HandoverRefused,
    InvalidParameters,
    KeyMalformed,
    PrincipalError,
    PrincipalNotRegistered,
    ReceiptError,
    RequestRefused,
    RevealRefused,
    SecretKeyNeeded,
)
from edna.offers import offers_for
from edna.visitors import is_same

#: As many as the modules ask for at once, each 32 bytes in base 64.
_MOST_ASKED: Final = 500
_MOST_BYTES: Final = 64 * 1024
#: Of sealed bytes, unless one bag has more: what a server holds in memory for one request, several times over.
_MOST_ANSWERED_BYTES: Final = 4 * 1024 * 1024
#: A handover of some ten thousand bags.
_MOST_HANDED_BYTES: Final = 2 * 1024 * 1024

_RECEIPT: Final = Text(300)
_KEYS: Final = ListOf(KEY, least=1, most=_MOST_ASKED)
_COUNTS: Final = MapOf(Number())
_NAMES: Final = ListOf(Text())
#: What opens a handover may raise, and what seals, or reads what was sealed.
_HANDED: Final = (HandoverRefused, KeyMalformed, SecretKeyNeeded, PrincipalError, BagError, ReceiptError, DatabaseBusy)

_OUTCOME: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("restored", "deferred", "altered", "dropped", "accepted"), _COUNTS),
    "held": HELD,
    "complete": Truth(),
}
_ERASURE: Final[Mapping[str, Any]] = {
    "rows": _COUNTS,
    "pseudoprincipals": Number(),
    "files": Number(),
    "forgets": Truth(),
}
_ERASURE_OF: Final[Mapping[str, Any]] = {
    "receipt": _RECEIPT,
    "handed": HANDED,
    "receipts": ListOf(_RECEIPT, most=_MOST_ASKED),
    "receipts_complete": Truth(),
}
#: A column, the model whose placeholders it names, and whether a negative key says so.
_PLACEHOLDER: Final = ListOf(Anything(), least=3, most=3)
_COLUMNS: Final = Object(
    {
        "people": MapOf(Text(least=0)),
        **dict.fromkeys(("secret", "booleans", "documents", "values", "naming"), _NAMES),
        "placeholders": ListOf(_PLACEHOLDER),
    }
)


@json_view(
    takes={"public_keys": _KEYS},
    answers={"lists": ListOf(Object({"public_key": KEY, "items": Binary()}))},
    proved=True,
    most_bytes=_MOST_BYTES,
)
def entries(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The lists of those of ``public_keys`` who have one."""
    proved_key(request)
    lists = inner_door.sealed_lists(body["public_keys"])
    return {"lists": [{"public_key": to_base64(key), "items": to_base64(items)} for key, items in lists.items()]}


@json_view(
    takes={"indexes": _KEYS},
    answers={
        "bags": ListOf(Object({"index": KEY, "sealed": Binary()})),
        "barred": ListOf(Object({"index": KEY, "error": Text()})),
        "left": ListOf(KEY),
    },
    proved=True,
    most_bytes=_MOST_BYTES,
)
def bags(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is stored at those of ``indexes`` at which something is: as much as fits into one answer. What is ``left`` has to be asked for
    again. ``barred`` is what only another process hands out, with the name of the error."""
    proved_key(request)
    found = inner_door.sealed_bags(body["indexes"], most_bytes=_MOST_ANSWERED_BYTES)
    return {
        "bags": [{"index": to_base64(index), "sealed": to_base64(sealed)} for index, sealed in found.bags.items()],
        "barred": [{"index": to_base64(index), "error": type(error).__name__} for index, error in found.barred.items()],
        "left": [*map(to_base64, found.left)],
    }


@json_view(
    takes={"models": ListOf(LABEL, least=1, most=_MOST_ASKED)},
    answers={"references": MapOf(MapOf(ListOf(Text(least=0), least=2, most=2))), "in_common": ListOf(LABEL)},
    proved=True,
    most_bytes=_MOST_BYTES,
)
def references(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of ``models``, which somebody has found in their bags, the columns that refer to rows: to which column of which model. And those of
    them of whose rows others may own what a disguise changes."""
    proved_key(request)
    labels = body["models"]
    return {"references": inner_door.columns_that_refer(labels), "in_common": inner_door.in_common(labels)}


@json_view(
    takes={
        "receipt": _RECEIPT,
        "handed": HANDED,
        "overrides": MapOf(Text(least=0), most=100),
        "accept": HELD,
        "accept_all": Truth(),
    },
    optional={"overrides": {}, "accept": [], "accept_all": False},
    answers=_OUTCOME,
    proved=True,
    raises=(*_HANDED, RevealRefused, ConstraintRefused, InvalidParameters),
    most_bytes=_MOST_HANDED_BYTES,
)
def reveal(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Takes back what ``receipt`` says, with what is ``handed``; what cannot come back is among what is ``held``, unless it is among what
    somebody may ``accept`` to lose: what an earlier answer held, or all with ``accept_all``."""
    handover = handover_of(body["handed"], public_key=proved_key(request))
    receipt, overrides = edna.Receipt.parse(body["receipt"]), overrides_in(body["overrides"])
    accepted = edna.ALL if body["accept_all"] else held_in(body["accept"])
    with inner_door.unlock_handed(handover) as unlocked:
        return api.reveal(receipt, unlocked, overrides=overrides, accept=accepted).as_dict()


_erasing = json_view(
    takes=_ERASURE_OF,
    optional={"receipts": [], "receipts_complete": False},
    answers=_ERASURE,
    proved=True,
    raises=(*_HANDED, ErasureRefused),
    most_bytes=_MOST_HANDED_BYTES,
)


@_erasing
def plan_erasure(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What `erase` would destroy of what ``receipt`` leads to, with what is ``handed``. Changes nothing."""
    return _erasure(request, body, api.plan_erasure)


@_erasing
def erase(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Destroys for good what ``receipt`` leads to, with what is ``handed``. In locator mode ``client`` other ``receipts`` may be needed,
    and ``receipts_complete`` says that these are all."""
    return _erasure(request, body, api.erase)


def _erasure(request: HttpRequest, body: Mapping[str, Any], act: Callable[..., edna.Erasure]) -> Mapping[str, Any]:
    handover = handover_of(body["handed"], public_key=proved_key(request))
    receipt = edna.Receipt.parse(body["receipt"])
    others = [edna.Receipt.parse(text) for text in body["receipts"]]
    with inner_door.unlock_handed(handover, receipts=others) as unlocked:
        return act(receipt, unlocked, receipts_complete=body["receipts_complete"]).as_dict()


@json_view(
    takes={"handed": HANDED, "models": ListOf(LABEL, most=_MOST_ASKED)},
    answers={
        "format": Text(),
        "made_at": Text(),
        "rows": ListOf(Anything()),
        "principals": MapOf(_NAMES),
        "models": MapOf(_COLUMNS),
    },
    proved=True,
    raises=_HANDED,
    most_bytes=_MOST_HANDED_BYTES,
)
def export(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rows that somebody owns now, and of the ``models`` that stand in their bags what is needed to write what is sealed beside them.
    ``handed`` is what says for whom they speak. docs/export-1.schema.json has the rows."""
    handover = handover_of(body["handed"], public_key=proved_key(request))
    with inner_door.unlock_handed(handover) as unlocked:
        return inner_door.export_tables(unlocked, body["models"])


@json_view(
    takes={"disguise": LABEL, "handed": HANDED},
    answers={"receipt": _RECEIPT},
    proved=True,
    raises=(*_HANDED, DanglingReferences, ConstraintRefused),
    most_bytes=_MOST_HANDED_BYTES,
)
def disguise(request: HttpRequest, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Applies one of the disguises that people may apply to themselves, to all whose voices are ``handed``.

    Raises:
        PrincipalNotRegistered: the account is removed.
        RequestRefused: whose account it is has not logged in, the disguise is none of these, or nothing is there for it.
    """
    handover, name = handover_of(body["handed"], public_key=proved_key(request)), body["disguise"]
    with inner_door.unlock_handed(handover) as unlocked:
        principal = api.principal(unlocked)
        if principal is None:
            raise PrincipalNotRegistered("The account is removed. Take that back first.")
        user = getattr(request, "user", None)
        if not is_same(principal, user) or not getattr(user, "is_active", True):
            # A site that has shut somebody out, or asks for a second factor, means this door as well.
            raise RequestRefused("Log in to the account that this key belongs to.", status=HTTPStatus.FORBIDDEN)
        offer = next((each for each in offers_for(principal) if each.name == name), None)
        if offer is None:
            raise RequestRefused(
                "There is no such disguise that people may apply to themselves.", status=HTTPStatus.NOT_FOUND
            )
        if not api.plan(name, principal, params=offer.params, unlocked=unlocked).rows:
            raise RequestRefused("It would change nothing.", status=HTTPStatus.CONFLICT)
        return {"receipt": str(api.disguise(name, principal, params=offer.params, unlocked=unlocked))}
