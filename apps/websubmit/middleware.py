"""What the site refuses before any page sees it."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest


def utf8_only(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Other encodings can write half characters, which neither a database nor a page can hold; browsers send UTF-8."""

    def checked(request: HttpRequest) -> HttpResponse:
        if request.encoding and codecs.lookup(request.encoding).name != "utf-8":
            return HttpResponseBadRequest("Send forms in UTF-8.")
        return get_response(request)

    return checked
