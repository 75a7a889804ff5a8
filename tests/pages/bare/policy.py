"""The strictest Content-Security-Policies under which the pages must work; docs/howto-pages.md prints the first and the last."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from edna import conf

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'"

#: What keys that are used in the browser take besides: WebAssembly, a worker, and the HTTP interface.
WITH_KEYS = POLICY.replace("'self'", "'self' 'wasm-unsafe-eval'", 1) + "; worker-src 'self'; connect-src 'self'"
#: The same for a site that lets through what has the nonce of its page, and nothing else of its own.
WITH_NONCES = WITH_KEYS.replace("script-src 'self'", "script-src 'nonce-{nonce}'").replace(
    "style-src 'self'", "style-src 'nonce-{nonce}'"
)


def strict(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        nonce = secrets.token_urlsafe(16)
        if has_nonces := getattr(settings, "NONCES", False):
            request.csp_nonce = nonce  # type: ignore[attr-defined]
        response = get_response(request)
        with_keys = WITH_NONCES.replace("{nonce}", nonce) if has_nonces else WITH_KEYS
        response.headers["Content-Security-Policy"] = POLICY if conf.custody() == "server" else with_keys
        return response

    return answer
