"""A site that all can go wrong on: who goes there, what the addresses of its pages name, and what its forms take. Knows no application."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from django.db.models import Model
from django.test import Client
from django.urls import reverse

import edna
from apps.showcase.tests.tables import Rows, dump
from edna.pages.hidden_data import name_of
from tests.pages.mishaps.addresses import BARE, Page, pages_of
from tests.pages.mishaps.forms import Form

PASSWORD, NEW = "a long walk home", "nine geese over the marsh"
#: What is typed to confirm what concerns many.
PHRASES = {
    "staff-anonymise-lecture": "Deadlock",
    "staff-anonymise-all": "all lectures",
    "anonymise": "anonymise the conference",
    "delete": "delete for good",
}


def brought_back(receipt: edna.Receipt, unlocked: edna.Unlocked) -> dict[str, str]:
    """What can come back does, something cannot: `Site.waiting`."""
    held, *_ = edna.reveal(receipt, unlocked).held
    return {"receipt": str(receipt), "row": name_of(held)}


@dataclass
class Site:
    name: str
    #: What somebody is called there, and their account.
    who: str
    member: Model
    #: Who sees what members do not; and who has no key yet.
    staff: Model
    fresh: Model
    backend: str
    #: By what an address takes; or by the name of a page, where that is more than one thing.
    named: dict[str, Any]
    #: Somebody else there.
    other: str
    #: A chair's, in a conference.
    chair_key: str = ""
    #: A receipt of the member's, and their recovery code.
    receipt: str = ""
    code: str = ""
    #: What somebody else has already, by the fields of whoever registers.
    taken: dict[str, str] = field(default_factory=dict)
    #: What could not come back, as the list sends it once it is ticked.
    waiting: dict[str, str] = field(default_factory=dict)
    #: Models of other applications, in which something could change.
    beside: tuple[str, ...] = ()

    def rows(self, *others: str) -> dict[str, Rows]:
        """All of the site's own, and of other models."""
        return dump(self.member._meta.app_label, *self.beside, *others)

    @property
    def ednas(self) -> str:
        """The namespace of edna's pages."""
        return "edna" if self.name == BARE else f"{self.name}-privacy"

    @property
    def root(self) -> str:
        """Where its own addresses begin."""
        return "/" if self.name == BARE else f"/{self.name}/"

    @cached_property
    def pages(self) -> list[Page]:
        return pages_of(self.name)

    def filled(self, page: Page, form: Form) -> dict[str, list[str]]:
        """Something that each field takes, with the right password."""
        return {**form.fields, **{name: [self._typed(page, form, name)] for name in form.kinds}}

    def _typed(self, page: Page, form: Form, name: str) -> str:
        known = {
            **dict.fromkeys(("password", "old_password"), PASSWORD),
            **dict.fromkeys(("new_password", "new_password1", "new_password2", "again"), NEW),
            **dict.fromkeys(("recovery_code", "secret_key", "receipt", "hat" if "comment" in form.kinds else ""), ""),
            "identifier": self.who,
            "recipient": self.other,
            "chair_key": self.chair_key,
            **dict.fromkeys(("confirmation", "phrase"), PHRASES.get(page.name, "")),
            **dict.fromkeys(("tags", "tag"), "starwars"),
        }
        if name == "lecture":
            return ""  # all of them
        kind, stands = form.kinds[name], form.fields.get(name, [""])[0]
        if name in known and kind in ("text", "textarea", "password", "email"):
            return known[name]
        if kind in ("select", "radio", "checkbox"):
            return stands or next(filter(None, form.offers[name]), "")
        fresh = {"email": "fresh@example.org", "url": "https://example.org/fresh", "number": "1"}
        return fresh.get(kind, f"{stands} Something new".strip() if kind != "hidden" else stands)

    def browser(self, user: Model | None) -> Client:
        client = Client(headers={"host": "localhost"})
        if user is not None:
            client.force_login(user, backend=self.backend)  # type: ignore[arg-type]  # people of three models
        return client

    def address(self, page: Page) -> str:
        args = {what: self.named.get(f"{page.name} {what}", self.named.get(what)) for what in page.takes}
        return reverse(str(page), kwargs=args)
