"""The pages of edna for the people of the conference: in the frame of this site, in front of its own log-in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

import edna
from edna.urls import Pages

from . import words
from .auth import identifier
from .views import bringing_back
from .views.guards import me


class Privacy(Pages):
    name = "hotcrp-privacy"
    user_model = "hotcrp_sim.ContactInfo"
    login_url = "hotcrp:login"
    base_template_name = "hotcrp_sim/privacy.html"
    views = {
        "bring-back": bringing_back.BringBack,
        "give-up": bringing_back.GiveUp,
        "return": bringing_back.Return,
    }

    def identifier(self, username: str) -> str:
        return identifier(username)

    def identifier_of(self, account: Any) -> str:
        if account.is_covered:
            raise edna.errors.PrincipalError("The account has no address while the conference is anonymised.")
        return super().identifier_of(account)

    def asks_for_name(self, user: Any) -> bool:
        return super().asks_for_name(user) or user.is_covered

    def context(self, request: HttpRequest) -> Mapping[str, Any]:
        return {"me": me(request)}

    def explain(self, error: edna.errors.EdnaError) -> str:
        for kind in (edna.errors.RevealRefused, edna.errors.PrincipalError):
            if type(error) is kind:
                return words.WORDS.explanations[kind]
        return super().explain(error)


PAGES = Privacy()
