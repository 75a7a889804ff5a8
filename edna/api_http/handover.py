"""What was handed over, as a request says it: docs/browser.md. Reads the request alone; whether it fits is for the engine to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist

import edna
from edna import api, inner_door
from edna.api_http.fields import KEY, LABEL, Binary, Field, Key, ListOf, Object, OrNull, Text, Truth, choice
from edna.errors import RequestRefused

ITEM_BYTES: Final = 80
#: Of the list of a hybrid key: a multiple of the other.
HYBRID_ITEM_BYTES: Final = 1200
#: More than any person has; the size of the request is the real bound.
MOST: Final = 100_000

_LISTED: Final = Object(
    {
        "public_key": KEY,
        "items": Binary(pieces=ITEM_BYTES),
        "locators": ListOf(OrNull(KEY), most=MOST),
        "half": OrNull(KEY),
    },
    {"half": None},
)
#: What is sealed beside a bag that was made over to a new key, as its owner has opened it.
SUCCESSION: Final = ListOf(Binary(most=0xFFFF), most=inner_door.MOST_PIECES)
_BAG: Final = Object({"index": KEY, "content_key": KEY, "succession": SUCCESSION}, {"succession": None})
_PART: Final[Mapping[str, Field]] = {
    "lists": ListOf(_LISTED, most=MOST),
    "bags": ListOf(_BAG, most=MOST),
    "voices": ListOf(Object({"public_key": KEY, "sealed_key": Binary(ITEM_BYTES)}), most=MOST),
    "damaged": Truth(),
}
HANDED: Final = Object(
    {**_PART, "whole": Object(_PART, {"damaged": False})},
    defaults={"damaged": False, "whole": None},
)

#: What cannot come back, in a request and in an answer.
HELD: Final = ListOf(
    Object(
        {"model": LABEL, "pk": Key(), "reason": choice(edna.Reason), "field": OrNull(Text())}, defaults={"field": None}
    ),
    most=MOST,
)


def handover_of(handed: Mapping[str, Any], *, public_key: api.PublicKey) -> inner_door.Handover:
    """
    Raises:
        RequestRefused: a list has not as many locators as items.
    """
    whole = handed.get("whole") and _handed(handed["whole"], public_key=public_key)
    return _handed(handed, public_key=public_key, whole=whole or None)


def _handed(
    handed: Mapping[str, Any], *, public_key: api.PublicKey, whole: inner_door.Handover | None = None
) -> inner_door.Handover:
    lists: dict[bytes, dict[bytes, bytes | None]] = {}
    for each in handed["lists"]:
        items = listed(each["items"], len(each["locators"]))
        if items is None:
            raise RequestRefused(
                "Each of 'handed.lists' must have a locator, or null, for each item.", status=HTTPStatus.BAD_REQUEST
            )
        lists[each["public_key"]] = dict(zip(items, each["locators"], strict=True))
    return inner_door.Handover.of_bytes(
        public_key,
        lists=lists,
        content_keys={each["index"]: each["content_key"] for each in handed["bags"]},
        voices={each["public_key"]: each["sealed_key"] for each in handed["voices"]},
        halves={each["public_key"]: each["half"] for each in handed["lists"] if each["half"] is not None},
        damaged=handed["damaged"],
        whole=whole,
        successions={each["index"]: each["succession"] for each in handed["bags"] if each["succession"] is not None},
    )


def listed(items: bytes, count: int) -> list[bytes] | None:
    """The ``count`` items of a list, of whichever kind; None if there are not as many."""
    kinds = (pieces(items, size=size) for size in (ITEM_BYTES, HYBRID_ITEM_BYTES))
    return next((found for found in kinds if len(found) == count and len(set(map(len, found))) <= 1), None)


def pieces(whole: bytes, *, size: int) -> list[bytes]:
    return [whole[start : start + size] for start in range(0, len(whole), size)]


def overrides_in(overrides: Mapping[str, str]) -> Mapping[str, str]:
    """Other values for columns that people may edit.

    Raises:
        RequestRefused: one is for a column that they may not.
    """
    for name in overrides:
        label, _, column = name.rpartition(".")
        try:
            field = apps.get_model(label)._meta.get_field(column)
        except (LookupError, ValueError, FieldDoesNotExist):
            continue  # there is no such column, which the engine says
        if not getattr(field, "editable", False):
            raise RequestRefused("'overrides' has a column that nobody may edit.", status=HTTPStatus.BAD_REQUEST)
    return overrides


def held_in(held: Iterable[Mapping[str, Any]]) -> list[edna.Held]:
    """What an earlier answer held, as it said so."""
    return [edna.Held(each["model"], each["pk"], edna.Reason(each["reason"])) for each in held]
