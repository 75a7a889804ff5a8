"""The site of the story: one page under a strict policy, edna's addresses, and a record of all that reaches the server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.urls import include, path

HERE = Path(__file__).resolve().parent
POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self'; base-uri 'none'"
)

#: Requests, line by line, and bodies.
reached: list[bytes] = []


def recording(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    def answer(request: HttpRequest) -> HttpResponse:
        reached.append(repr(sorted((name, str(value)) for name, value in request.META.items())).encode())
        reached.append(request.get_full_path().encode())
        reached.append(request.body)
        response = get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response

    return answer


def page(request: HttpRequest) -> HttpResponse:
    return HttpResponse((HERE / "story.html").read_text().replace("CSRF_TOKEN", get_token(request)))


def script(request: HttpRequest) -> HttpResponse:
    return HttpResponse((HERE / "story.mjs").read_text(), content_type="text/javascript")


urlpatterns = [path("", page), path("story.mjs", script), path("edna/", include("edna.urls"))]
