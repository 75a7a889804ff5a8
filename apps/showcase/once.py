"""A second click on a button does not do again what the first does. It is told so, and leads where the first led.

Whoever clicks twice sends the same form twice, with or without scripts, and the second request may come while the first is at work: the
site's cache lets one of them through. It remembers no password or key, nor a digest of one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.crypto import salted_hmac
from django.utils.http import url_has_allowed_host_and_scheme

#: So long after the first a second click is none: whoever means it sends it again.
SECOND_CLICK_SECONDS: Final = 10
#: After that something that was cut off may be sent again.
AT_MOST_SECONDS: Final = 600
_DONE: Final = "_sent_once_done"
_SECRET: Final = re.compile("csrf|password|key|code|again")


def once(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """For a view of people who are logged in, that answers what it has done by leading elsewhere, or says `is_done`. What it refuses may be
    sent again at once."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.method != "POST" or not request.session.session_key:
            return view(request, *args, **kwargs)
        key = _key(request)
        if not cache.add(key, "", timeout=AT_MOST_SECONDS):
            messages.info(request, "You have sent this already. It is done only once.")
            return redirect(cache.get(key) or _page_of(request))
        leads_to = None
        try:
            response = view(request, *args, **kwargs)
            leads_to = response.headers.get("Location", "" if hasattr(request, _DONE) else None)
        finally:
            if leads_to is None:
                cache.delete(key)
            else:
                cache.set(key, leads_to, timeout=SECOND_CLICK_SECONDS)
        return response

    return checked


def is_done(request: HttpRequest) -> None:
    """It is done, though the answer is a page."""
    setattr(request, _DONE, True)


def _key(request: HttpRequest) -> str:
    sent = [(name, values) for name, values in sorted(request.POST.lists()) if not _SECRET.search(name)]
    text = f"{request.session.session_key} {request.path} {urlencode(sent, doseq=True)}"
    return "showcase:once:" + salted_hmac("apps.showcase.once", text, algorithm="sha256").hexdigest()


def _page_of(request: HttpRequest) -> str:
    """The page on which the button is, as the browser says it."""
    page = request.headers.get("Referer", "")
    is_here = url_has_allowed_host_and_scheme(page, {request.get_host()}, require_https=request.is_secure())
    return page if is_here else request.path
