"""`json_view`: what every route has in common, and what each declares: its fields, from which they are read and described.

Keeps: a route answers 404 where ``EDNA["CUSTODY"]`` is "server", as if it were not there; it takes a POST of JSON from this site's own
pages alone, with Django's CSRF token, and no more bytes than it says; it is counted by `edna.throttle`; what it answers is kept by no
cache; nothing of what was sent comes into logs or reports of errors, with `EdnaMiddleware` or without. What acts for a proved key does it
in the database of who asks. Knows no noun of edna's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any, Final, cast

from django.http import Http404, HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.decorators import decorator_from_middleware
from django.views.decorators.csrf import csrf_exempt

from edna import conf, reports, throttle
from edna.api_http.answers import answer, refusal
from edna.api_http.fields import Field, Object
from edna.api_http.proofs import at_home, proved_key
from edna.errors import EdnaError, RequestRefused

Route = Callable[[HttpRequest, Mapping[str, Any]], Mapping[str, Any]]

MOST_BYTES: Final = 16 * 1024


class _Csrf(CsrfViewMiddleware):
    """Django's, with an answer for scripts."""

    def _reject(self, request: HttpRequest, reason: str) -> HttpResponse:
        error = RequestRefused(
            "The CSRF token is missing or wrong, or the page is of another site. Load the page again.",
            status=HTTPStatus.FORBIDDEN,
        )
        return refusal(error)


_csrf_protect = decorator_from_middleware(_Csrf)


@dataclass(frozen=True)
class Declared:
    """What a route says of itself: ``raises`` are errors besides those that any route may answer with."""

    takes: Object
    answers: Object
    proved: bool
    raises: tuple[type[EdnaError], ...]
    most_bytes: int
    text: str


# Long: three functions, one within the other. The order of their guards is what protects a route.
def json_view(
    *,
    takes: Mapping[str, Field],
    answers: Mapping[str, Field] | None = None,
    optional: Mapping[str, Any] | None = None,
    proved: bool = False,
    is_of_person: bool = True,
    raises: tuple[type[EdnaError], ...] = (),
    most_bytes: int = MOST_BYTES,
) -> Callable[[Route], Callable[[HttpRequest], HttpResponse]]:
    """Makes a view of a function that takes the request and its fields, and returns what to answer. It may raise edna's errors.

    ``optional`` are fields that may be left out, with what counts then. ``proved``: the function asks for the token of a key, and works in
    the database where that key is; but for one that ``is_of_person`` of nobody.
    """

    def decorate(route: Route) -> Callable[[HttpRequest], HttpResponse]:
        declared = Declared(
            takes=Object(takes, optional or {}),
            answers=Object(answers or {}),
            proved=proved,
            raises=raises,
            most_bytes=most_bytes,
            text=route.__doc__ or "",
        )

        @_csrf_protect
        def protected(request: HttpRequest) -> HttpResponse:
            try:
                content = _content(request, most_bytes=most_bytes)
                body = declared.takes.read(content, "")
                key = (lambda: proved_key(request)) if is_of_person else None
                with at_home(request, key=key) if proved else nullcontext():
                    return answer(route(request, body))
            except EdnaError as error:
                # Its sentence holds no secret and no value, by the promise of `edna.errors`, and goes to nobody but the sender.
                return refusal(error)
            except Exception as error:
                reports.scrub(error, request)
                raise

        @csrf_exempt  # a page that does not exist asks for no token; `protected` does
        @wraps(route)
        def view(request: HttpRequest) -> HttpResponse:
            if conf.custody() == "server":
                raise Http404
            reports.withhold_body(request)
            # Without `EdnaMiddleware` nobody has said which request is being answered.
            outer = throttle.current.set(throttle.current.get() or throttle.Asking())
            try:
                # First: CSRF protection reads the whole of a form that is sent.
                _require_json(request, most_bytes=most_bytes)
                return cast(HttpResponse, protected(request))
            except RequestRefused as error:
                return refusal(error)
            finally:
                throttle.current.reset(outer)

        view.declared = declared  # type: ignore[attr-defined]
        return view

    return decorate


def _require_json(request: HttpRequest, *, most_bytes: int) -> None:
    """By what the headers say; reads nothing of the body.

    Raises:
        RequestRefused: it is none, too long, or of another site.
    """
    if request.method != "POST":
        raise RequestRefused("This address takes POST alone.", status=HTTPStatus.METHOD_NOT_ALLOWED)
    # Browsers that say where a request comes from are believed; of the others, CSRF protection has the origin or the token.
    if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
        raise RequestRefused("This address answers pages of its own site alone.", status=HTTPStatus.FORBIDDEN)
    if (
        request.content_type != "application/json"
        or (request.content_params or {}).get("charset", "utf-8").lower() != "utf-8"
    ):
        raise RequestRefused("Send application/json, in UTF-8.", status=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    length = request.META.get("CONTENT_LENGTH") or "0"
    # Python reads no number of thousands of digits.
    if not length.isdecimal() or len(length) > len(str(most_bytes)) or int(length) > most_bytes:
        raise _too_long(most_bytes)


def _content(request: HttpRequest, *, most_bytes: int) -> dict[str, Any]:
    """
    Raises:
        RequestRefused: it is no JSON object, or longer than its headers said.
    """
    if len(request.body) > most_bytes:
        raise _too_long(most_bytes)
    try:
        content = json.loads(request.body.decode())
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise RequestRefused("The request is no JSON object.", status=HTTPStatus.BAD_REQUEST)
    return content


def _too_long(most_bytes: int) -> RequestRefused:
    return RequestRefused(f"The request is longer than {most_bytes} bytes.", status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
