"""In Chromium, on each of the three applications and in both custodies: all that can go wrong for somebody who leaves and comes back.

`bare/test_two_tabs.py` and the stories beside it have the same on a bare project, `test_mishaps_of_sites.py` on pages that one site has
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db.models import Model
from django.urls import reverse

import edna
from apps.hotcrp_sim.mails import address_code
from apps.hotcrp_sim.tests.people import enter
from apps.lobsters_sim import models as lobsters
from apps.lobsters_sim.keys import identifier
from apps.showcase.tests.key_in_browser import KeyInBrowser
from apps.websubmit import models as websubmit

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "a long walk home"
#: By custody: how the password is called, and what is said where it opens nothing.
LABELS = {"server": "Your password", "browser": "The password of your key"}
WRONG = {"server": "This is not your password.", "browser": "This does not open your key."}
OUTDATED = {"server": "This form is too old", "browser": "This page was open for too long"}


@dataclass(frozen=True)
class Site:
    """Where somebody leaves, who they are, and who takes their name."""

    name: str
    leave: str
    button: str
    who: str
    then: str
    label: str
    joins: Callable[[str], Model]


def student(name: str, *, with_key: bool = True) -> Model:
    user = websubmit.User.objects.create_user(name, PASSWORD)
    if with_key:
        edna.register_principal(user, password=PASSWORD)
    return user


def member(name: str, *, with_key: bool = True) -> Model:
    user = lobsters.User.objects.create_user(name, f"{name}@example.org", PASSWORD)
    if with_key:
        edna.register_principal(user, password=PASSWORD, identifier=identifier(name))
    return user


def reviewer(name: str, *, with_key: bool = True) -> Model:
    return enter(name, with_key=with_key).user


BEA, BEATRIX = "bea@example.org", "beatrix@example.org"
MAIL = "Another E-mail address"
SITES = [
    Site("websubmit", "websubmit.delete-account", "Delete your account", BEA, BEATRIX, MAIL, student),
    Site("lobsters", "lobsters.delete-account", "Delete your account", "bea", "beatrix", "Another username", member),
    Site("hotcrp", "hotcrp.remove-account", "Remove your account", BEA, BEATRIX, MAIL, reviewer),
]


class Unlucky(KeyInBrowser):
    namespace = "mishaps"

    def __init__(self, page: Any, address: str, site: Site, custody: str) -> None:
        super().__init__(page, address)
        self.where, self.custody = site, custody

    def at(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"{self.where.name}-privacy:{name}", args=args))

    def logs_in(self) -> None:
        self.page.goto(self.site + reverse(f"{self.where.name}:login"))
        self.gives(self.where.who)

    def gives(self, name: str) -> None:
        self.page.locator("[name=username]:visible, [name=email]:visible").first.fill(name)
        self.fill(password=PASSWORD)
        self.press("Log in")

    def types_password(self, text: str = PASSWORD) -> None:
        if self.custody == "browser":
            self.ready()
        self.types(LABELS[self.custody], text)

    def submits(self, button: str, text: str = PASSWORD) -> None:
        self.types_password(text)
        self.tap(button)

    def clicks_twice(self, button: str) -> None:
        self.types_password()
        self.page.get_by_role("button", name=button, exact=True).dblclick()

    def reloads_by(self) -> str:
        self.page.wait_for_load_state()
        return str(self.page.reload().request.method)


@pytest.mark.parametrize("custody", ["server", "browser"])
@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_whatever_goes_wrong_ends_with_a_clear_page(
    site: Site, custody: str, page: Any, new_page: Any, live_server: Any, settings: Any
) -> None:
    """A wrong password, a line that is cut, a session that has ended, another tab from before, two clicks, reload and back, no receipt, a
    name that somebody has taken, no scripts: nothing is done twice, nothing is lost, and somebody comes back under another name."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": custody}
    bea = site.joins(site.who)
    account = type(bea)._base_manager.filter(pk=bea.pk)
    one, two = (Unlucky(each, live_server.url, site, custody) for each in (page, page.context.new_page()))
    one.logs_in()
    for tab in (one, two):
        tab.at("apply", site.leave)

    one.submits(site.button, "a guess")
    one.sees(WRONG[custody])
    assert one.reloads_by() == "GET"
    page.context.set_offline(True)
    one.submits(site.button)
    if custody == "browser":
        one.sees("The site does not answer.")
        page.context.set_offline(False)
    else:  # the browser's own page says so
        page.wait_for_url("chrome-error://**")
        page.context.set_offline(False)
        page.go_back()
    Session.objects.all().delete()
    one.submits(site.button)
    one.sees("Log in")
    assert account.exists()
    one.gives(site.who)
    one.sees(site.button)

    one.clicks_twice(site.button)
    one.sees("Good-bye")
    assert not account.exists()
    assert one.reloads_by() == "GET"
    page.go_back()
    one.sees("Log in")
    two.submits(site.button)
    two.sees(OUTDATED[custody])

    site.joins(site.who, with_key=False)
    if custody == "browser":
        without = Unlucky(new_page(java_script_enabled=False), live_server.url, site, custody)
        without.at("return")
        without.sees("This page needs JavaScript")
        without.types(LABELS[custody], PASSWORD)
        without.tap("Bring my account back")
        assert b"walk" not in b"".join(without.sent)
    for tab in (one, two):
        tab.at("return")
        tab.fill(identifier=site.who)
        tab.submits("Bring my account back")
        tab.sees("Somebody else has what was yours")
    assert two.reloads_by() == "GET"
    page.get_by_label(site.label).fill(site.then)
    button = "Try again"
    if site.name == "hotcrp":  # whoever has an address of an author becomes the author, so it is proved
        one.submits(button)
        one.sees("We have mailed a code")
        one.types("The code that we mail to it", address_code(site.then))
        button = "Bring it back"
    one.clicks_twice(button)
    one.sees(f"Your account is here, as {site.then}.")
    assert one.reloads_by() == "GET"
    two.at("return")
    two.fill(identifier=site.then)
    two.submits("Bring my account back")
    two.sees("Your account is here")
    assert account.count() == 1
