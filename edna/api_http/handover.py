"""What was handed over, as a request says it: docs/browser.md. Reads the request alone; whether it fits is for the engine to say."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist

import edna
from edna import api, inner_door
from edna.api_http.body import Body
from edna.errors import RequestRefused

_KEY_BYTES: Final = 32
_BOX_BYTES: Final = 80
#: More than any person has; the size of the request is the real bound.
_MOST: Final = 100_000
_LABEL: Final = 200
_MOST_PIECE_BYTES: Final = 0xFFFF


def handover_of(body: Body, *, public_key: api.PublicKey) -> inner_door.Handover:
    """
    Raises:
        RequestRefused: a part is missing, or of another size.
    """
    whole = _handed(body.part("whole"), public_key=public_key) if body.has("whole") else None
    return _handed(body, public_key=public_key, whole=whole)


def _handed(body: Body, *, public_key: api.PublicKey, whole: inner_door.Handover | None = None) -> inner_door.Handover:
    lists: dict[bytes, dict[bytes, bytes | None]] = {}
    for each in body.objects("lists", most=_MOST, least=0):
        items = each.pieces("items", size=_BOX_BYTES)
        locators = each.optional_binaries("locators", size=_KEY_BYTES, count=len(items))
        lists[each.binary("public_key", size=_KEY_BYTES)] = dict(zip(items, locators, strict=True))
    bags = body.objects("bags", most=_MOST, least=0)
    return inner_door.Handover.of_bytes(
        public_key,
        lists=lists,
        content_keys=_pairs(body, "bags", "index", "content_key", size=_KEY_BYTES),
        voices=_pairs(body, "voices", "public_key", "sealed_key", size=_BOX_BYTES),
        damaged=body.truth("damaged"),
        whole=whole,
        successions={bag.binary("index", size=_KEY_BYTES): succession_in(bag) for bag in bags if bag.has("succession")},
    )


def succession_in(body: Body) -> list[bytes]:
    """What is sealed beside a bag that was made over to a new key, as its owner has opened it; nothing if it is left out.

    Raises:
        RequestRefused: it is too long.
    """
    return body.varied_binaries("succession", most=inner_door.MOST_PIECES, most_bytes=_MOST_PIECE_BYTES)


def overrides_in(body: Body) -> dict[str, str]:
    """Other values for columns that people may edit.

    Raises:
        RequestRefused: one is for a column that they may not.
    """
    overrides = body.texts("overrides", most=100)
    for name in overrides:
        label, _, column = name.rpartition(".")
        try:
            field = apps.get_model(label)._meta.get_field(column)
        except (LookupError, ValueError, FieldDoesNotExist):
            continue  # there is no such column, which the engine says
        if not getattr(field, "editable", False):
            raise RequestRefused("'overrides' has a column that nobody may edit.", status=HTTPStatus.BAD_REQUEST)
    return overrides


def held_in(body: Body, name: str) -> list[edna.Held]:
    """What an earlier answer held, as it said so; none if it is left out.

    Raises:
        RequestRefused: it is something else.
    """
    if not body.has(name):
        return []
    return [
        edna.Held(
            each.text("model", most=_LABEL), each.key("pk"), edna.Reason(each.choice("reason", list(edna.Reason)))
        )
        for each in body.objects(name, most=_MOST, least=0)
    ]


def _pairs(body: Body, name: str, key: str, value: str, *, size: int) -> dict[bytes, bytes]:
    pairs = body.objects(name, most=_MOST, least=0)
    return {each.binary(key, size=_KEY_BYTES): each.binary(value, size=size) for each in pairs}
