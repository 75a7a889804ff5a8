"""The HTTP interface as OpenAPI 3.1, from what its routes declare: addresses, fields, answers, and errors with their codes.

Keeps: nothing is said twice; what a route reads is what is described. Reads no settings and no tables. `docs/openapi-1.json` is this text.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from django.urls import URLPattern

from edna import errors
from edna.api_http import urls
from edna.api_http.answers import status_of
from edna.api_http.fields import Object, Schema, Text
from edna.api_http.handover import HANDED, HELD
from edna.api_http.json_view import Declared
from edna.api_http.proofs import HEADER
from edna.api_http.slots import SLOTS
from edna.errors import (
    DatabaseBusy,
    DatabaseNotChosen,
    EdnaError,
    KeyNotProved,
    RequestRefused,
    ServerKeyUnknown,
    TooBusy,
)

#: With which `RequestRefused` may be answered, wherever it is.
_REFUSED: Final = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
)
_ALWAYS: Final = (TooBusy, ServerKeyUnknown, DatabaseBusy)
#: And where a key is proved.
_OF_PROVED: Final = (KeyNotProved, DatabaseNotChosen)
_ABOUT: Final = (
    'Below the address at which a site includes edna.urls, if EDNA[\'CUSTODY\'] is "browser" or "both"; 404 otherwise, and of guardians '
    "where the site has none. Bytes are base 64. "
    "Other fields than these are not looked at. docs/browser.md says what the fields mean."
)


#: What is described once, and referred to.
_SHARED: Final = {"Handed": HANDED, "Held": HELD, "Slots": SLOTS}


def described(beside: Sequence[URLPattern] = ()) -> dict[str, Any]:
    """The document; ``beside`` are the routes of applications that have some at the same address."""
    patterns = sorted((*urls.urlpatterns, *beside), key=lambda pattern: str(pattern.pattern).partition("/")[0])
    schemas = {name: kind.schema() for name, kind in _SHARED.items()}
    paths = {f"/{pattern.pattern}": {"post": _operation(pattern)} for pattern in patterns}
    responses = {
        f"Refused{status}No{number}": _refusal(status, codes)
        for number, (status, codes) in enumerate(_all_codes(patterns), start=1)
    }
    components = {
        "schemas": schemas,
        "responses": responses,
        "securitySchemes": {
            "csrf_token": {"type": "apiKey", "in": "header", "name": "X-CSRFToken"},
            "csrf_cookie": {"type": "apiKey", "in": "cookie", "name": "csrftoken"},
            "proved_key": {"type": "apiKey", "in": "header", "name": HEADER},
        },
    }
    known = {
        f"#/components/{kind}/{name}": part
        for kind in ("schemas", "responses")
        for name, part in components[kind].items()
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "edna", "version": "1", "description": _ABOUT},
        "servers": [{"url": "/api/1", "description": "Behind the address at which edna.urls is included."}],
        "paths": _referring(paths, known),
        "components": components,
    }


def _referring(part: Any, known: Mapping[str, Any]) -> Any:
    """The part with references to what is known."""
    for address, one in known.items():
        if part == one:
            return {"$ref": address}
    match part:
        case dict():
            return {name: _referring(each, known) for name, each in part.items()}
        case list():
            return [_referring(each, known) for each in part]
    return part


def text(beside: Sequence[URLPattern] = ()) -> str:
    """The document as it is kept beside the other docs."""
    return json.dumps(described(beside), indent=1) + "\n"


def _operation(pattern: URLPattern) -> dict[str, Any]:
    declared = _declared(pattern)
    said = inspect.cleandoc(declared.text).partition("\n\nRaises:")[0]
    safe: dict[str, list[str]] = {"csrf_token": [], "csrf_cookie": []}
    return {
        "operationId": pattern.name,
        "description": " ".join(said.split()),
        "security": [{**safe, "proved_key": []} if declared.proved else safe],
        "requestBody": {
            "required": True,
            "description": f"At most {declared.most_bytes} bytes.",
            "content": _json(declared.takes.schema()),
        },
        "responses": {
            "200": {"description": "It is done.", "content": _json(_closed(declared.answers))},
            **{str(status): _refusal(status, codes) for status, codes in sorted(_codes(declared).items())},
        },
    }


def _all_codes(patterns: Sequence[URLPattern]) -> list[tuple[int, tuple[str, ...]]]:
    return sorted({each for pattern in patterns for each in _codes(_declared(pattern)).items()})


def _declared(pattern: URLPattern) -> Declared:
    declared: Declared = pattern.callback.declared  # type: ignore[attr-defined]  # by `json_view`
    return declared


def _codes(declared: Declared) -> dict[int, tuple[str, ...]]:
    """By status, the names of errors."""
    codes = {int(status): {RequestRefused.__name__} for status in _REFUSED}
    for kind in _with_those_below((*declared.raises, *_ALWAYS, *(_OF_PROVED if declared.proved else ()))):
        codes.setdefault(int(status_of(kind)), set()).add(kind.__name__)
    return {status: tuple(sorted(names)) for status, names in codes.items()}


def _with_those_below(kinds: Iterable[type[EdnaError]]) -> Iterator[type[EdnaError]]:
    known = (kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, EdnaError))
    wanted = tuple(kinds)
    return (kind for kind in known if issubclass(kind, wanted) and not issubclass(kind, RequestRefused))


def _refusal(status: int, codes: tuple[str, ...]) -> dict[str, Any]:
    error = Object({"code": Text(among=codes), "message": Text()})
    said: dict[str, Any] = {
        "description": "Refused.",
        "content": _json(_closed(Object({"error": error}))),
    }
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        said["headers"] = {"Retry-After": {"description": "Seconds.", "schema": {"type": "integer", "minimum": 0}}}
    return said


def _closed(answer: Object) -> Schema:
    return {**answer.schema(), "additionalProperties": False}


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
