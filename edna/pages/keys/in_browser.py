"""Pages of a key that stays in its owner's browser: another password for it, and a passkey.

Keeps: what is typed there has no name, so that no form sends it; the script of the page puts the new way in the place of the old one by
``api/1/``. Not there where ``EDNA["CUSTODY"]`` is "server".
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from edna import conf
from edna.pages.base import KeyPage


class BrowserKeyPage(KeyPage):
    """A page of which a script does all the work; whoever has none is told so."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if conf.custody() == "server":
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def takes_brought(self) -> bool:
        return False

    def post(self, request: HttpRequest, *args: str, **kwargs: Any) -> HttpResponse:
        # What a form without names sends is nothing.
        return self.render_to_response(self.get_context_data())


class KeyPassword(BrowserKeyPage):
    """Another password for the key, by any way that opens it; with an account or without."""

    template_name = "edna/key_password.html"
    title: ClassVar[str | Promise] = gettext_lazy("Another password for your key")
    button = gettext_lazy("Set the password")
    hands = "password"
    login_required = False


class Passkey(BrowserKeyPage):
    """A passkey as one more way to the key."""

    template_name = "edna/passkey.html"
    title: ClassVar[str | Promise] = gettext_lazy("A passkey for your key")
    button = gettext_lazy("Make a passkey")
    hands = "passkey"
