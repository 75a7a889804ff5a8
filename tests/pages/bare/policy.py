"""The strictest Content-Security-Policy under which the pages must work."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from edna import conf

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"


#: What keys that are used in the browser take besides: WebAssembly, a worker, and the HTTP interface.
WITH_KEYS = POLICY.replace("'self'", "'self' 'wasm-unsafe-eval'", 1) + "; worker-src 'self'; connect-src 'self'"


def strict(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response.headers["Content-Security-Policy"] = POLICY if conf.custody() == "server" else WITH_KEYS
        return response

    return answer
