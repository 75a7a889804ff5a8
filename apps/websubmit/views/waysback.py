"""How students and staff come back: what the shared pages have to know of this application's accounts."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest

import edna
from apps.showcase import waysback

from ..forms import GiveUpForm, NewPasswordByCodeForm, ReturnForm
from ..friendly import WORDS, address_is_taken
from ..keys import KEYS

BACKEND = "django.contrib.auth.backends.ModelBackend"


class WaysBack(waysback.WaysBack):
    namespace = "websubmit"
    folder, called = "websubmit", "WebSubmit"
    start = "websubmit:lectures"
    listing = "websubmit:anonymised"
    listing_called = "Anonymised answers"
    quoted: ClassVar = {"websubmit.answer": "text"}
    backend = BACKEND
    keys = KEYS
    words = WORDS
    return_form, recover_form = ReturnForm, NewPasswordByCodeForm
    taken = (
        "Your key is right, but your account cannot be put back yet. Somebody else has an account with this e-mail address now. "
        "Nothing of yours is lost. Choose another address to come back with, and a password for it."
    )
    already_here = (
        "Your key is right, but no deleted account belongs to it: it is here already. Just log in. "
        "If you have forgotten the password, set a new one with your recovery code."
    )

    def key_form(self, request: HttpRequest, data: Any) -> GiveUpForm:
        return GiveUpForm(data)

    def name_is_taken(self, outcome: edna.Outcome) -> bool:
        return address_is_taken(outcome.held)

    def why_not_logged_in(self, account: Any) -> str:
        if not account.is_active:
            return "You are not logged in: the course staff have closed this account. Please ask them."
        if account.is_admin:
            return "You are not logged in yet: accounts of the staff open more than their owner’s data, so log in with your password."
        return ""


WAYS_BACK = WaysBack()
