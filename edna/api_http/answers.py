"""What the routes answer: JSON that no cache keeps; of a refusal, the name of the error, its sentence, and the status that fits."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from django.http import HttpResponse, JsonResponse
from django.utils.cache import patch_cache_control

from edna import conf
from edna.errors import (
    ConfigurationError,
    DatabaseBusy,
    DatabaseNotChosen,
    EdnaError,
    ErasureRefused,
    HandoverRefused,
    KeyNotProved,
    NotYours,
    PrincipalAlreadyRegistered,
    RequestRefused,
    SequenceTaken,
    SpecError,
    TooBusy,
    WrongCredentials,
)

#: The first that fits. What is not named is 400: the caller asked for what cannot be.
_STATUS: Final[tuple[tuple[type[EdnaError], HTTPStatus], ...]] = (
    (TooBusy, HTTPStatus.TOO_MANY_REQUESTS),
    (KeyNotProved, HTTPStatus.FORBIDDEN),
    (WrongCredentials, HTTPStatus.FORBIDDEN),
    (NotYours, HTTPStatus.FORBIDDEN),
    (PrincipalAlreadyRegistered, HTTPStatus.CONFLICT),
    (HandoverRefused, HTTPStatus.CONFLICT),
    (SequenceTaken, HTTPStatus.CONFLICT),
    (ErasureRefused, HTTPStatus.CONFLICT),
    (DatabaseNotChosen, HTTPStatus.CONFLICT),
    (ConfigurationError, HTTPStatus.SERVICE_UNAVAILABLE),
    (DatabaseBusy, HTTPStatus.SERVICE_UNAVAILABLE),
)


def answer(content: Mapping[str, Any], *, status: int = HTTPStatus.OK) -> HttpResponse:
    response = JsonResponse(dict(content), status=status)
    patch_cache_control(response, no_store=True, private=True)
    response.headers["Referrer-Policy"] = "same-origin"
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response


def refusal(error: EdnaError) -> HttpResponse:
    """``{"error": {"code": name of the class, "message": its sentence}}``. One that names a database is not told: which ones there are is
    nobody's business."""
    status: int = error.status if isinstance(error, RequestRefused) else status_of(type(error))
    # In quotes, as every message has it: an alias may be an ordinary word. What repeats a name that was sent names no database: hidden, it
    # would say which names there are.
    names_one = not isinstance(error, SpecError) and any(repr(alias) in str(error) for alias in conf.databases())
    message = f"{type(error).__name__}: nothing was changed." if names_one else str(error)
    response = answer({"error": {"code": type(error).__name__, "message": message}}, status=status)
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        response.headers["Allow"] = "POST"
    if isinstance(error, TooBusy):
        response.headers["Retry-After"] = str(error.retry_after_seconds)
    return response


def status_of(kind: type[EdnaError]) -> int:
    return next((status for base, status in _STATUS if issubclass(kind, base)), HTTPStatus.BAD_REQUEST)
