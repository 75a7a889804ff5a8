"""The first page: what somebody can do here about their data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from edna import api, inner_door
from edna.errors import EdnaError
from edna.offers import Offer
from edna.pages import words
from edna.pages.base import Page


class Home(Page):
    """Each thing that one may do, with what it would do now; and the way to what is hidden."""

    template_name = "edna/home.html"
    title: ClassVar[str | Promise] = gettext_lazy("Your data on this site")

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_to_response(self.get_context_data())

    def get_offers(self) -> list[Offer]:
        """What is offered to who is logged in. A site may leave some out, for some people."""
        return self.pages.offers(self.request.user)

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        has_key = self.ways.has_key
        offers = [self.described(offer, has_key=has_key) for offer in self.get_offers()]
        more = {"has_key": has_key, "offers": offers, "others_read": self.pages.others_read()}
        return super().get_context_data(**{**more, **kwargs})

    def described(self, offer: Offer, *, has_key: bool) -> Mapping[str, Any]:
        """What the page says of one. Without a key nothing can be hidden, so that nothing is counted."""
        preview, more, problem = [], False, ""
        if has_key:
            try:
                plan = api.plan(offer.name, self.request.user, params=offer.params)  # type: ignore[arg-type]  # see Page.dispatch
                preview, more = words.preview(plan), bool(plan.beyond_reach)
                inner_door.require_audience(offer.name, principal=self.request.user)  # type: ignore[arg-type]  # see Page.dispatch
            except EdnaError as error:
                problem = words.explain(error)
        held = words.who_else_reads(offer.name)
        return {"offer": offer, "held": held, "preview": preview, "perhaps_more": more, "problem": problem}
