"""How members come back: what the shared pages have to know of this application's accounts."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import HttpRequest

import edna
from apps.showcase import waysback

from ..friendly import TAKEN, WORDS, name_is_taken
from ..keyforms import GiveUpForm, NewPasswordByCodeForm, ReturnForm
from ..keys import KEYS
from .guards import viewer_of

BACKEND = "apps.lobsters_sim.auth.LobstersBackend"


class WaysBack(waysback.WaysBack):
    namespace = "lobsters"
    folder, called = "lobsters", "Lobsters"
    start = "lobsters:front"
    listing = "lobsters:disguised"
    quoted: ClassVar = {
        "lobsters_sim.comment": "comment",
        "lobsters_sim.story": "title",
        "lobsters_sim.message": "subject",
        "lobsters_sim.hat": "hat",
        "lobsters_sim.suggestedtitle": "title",
    }
    backend = BACKEND
    keys = KEYS
    words = WORDS
    return_form, recover_form = ReturnForm, NewPasswordByCodeForm
    taken = TAKEN
    already_here = (
        "Your key is right, but its account is here. Just log in. "
        "If you have forgotten the password, set a new one with your recovery code."
    )

    def key_form(self, request: HttpRequest, data: Any) -> GiveUpForm:
        return GiveUpForm(viewer_of(request), data)

    def name_is_taken(self, outcome: edna.Outcome) -> bool:
        return name_is_taken(outcome)

    def why_not_logged_in(self, account: Any) -> str:
        if account.is_moderator:
            return "You are not logged in yet: moderators can do more than others, so log in with your password."
        return ""


WAYS_BACK = WaysBack()
