"""In Chromium, where keys stay in browsers: on every page whose script uses the key, one after the other, all that can go wrong there.

A site is made once for all its pages, and one profile goes through them. Nothing that goes wrong changes anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from apps.showcase.tests.key_in_browser import KeyInBrowser
from apps.showcase.tests.tables import dump
from tests.guardians.parties import parties
from tests.pages.mishaps import sites
from tests.pages.mishaps.addresses import SITES, Page
from tests.pages.mishaps.matrix import CHROMIUM, IN_BROWSER, cells, kind_of
from tests.pages.mishaps.sites import PASSWORD, Site
from tests.waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]

FORM = "form[data-edna-hands]"
CUT_OFF, WRONG, OUTDATED = (
    "The site does not answer.",
    "This does not open your key.",
    "This page was open for too long",
)
#: What each field takes that is no password; a phrase that deletes for good is never typed.
TYPED = {
    "contact": "bea@home.example",
    "name": "Laptop",
    "code": "0000-0000-0000",
    "phrase": "delete",
}


OF_ONE_DEVICE = ("devices-rename", "devices-remove", "devices-update")
#: What the key alone may do, whoever is logged in.
BY_KEY_ALONE = {
    "recovery-code": ["Your recovery code"],
    "replace-key": ["Your recovery code"],
    "passkey": ["No passkey was used."],
    "guardians-withdraw": ["The guardians do not help you any more"],
    "devices-paper": ["You see it this once."],
    "devices-add": ["No device shows this code"],
    "devices-remove": ["It is removed"],
    "devices-update": ["This device has another key."],
}


class Unlucky(KeyInBrowser):
    """Somebody to whom it all happens, on each page."""

    namespace = "mishaps"

    def __init__(self, page: Any, address: str, site: Site) -> None:
        super().__init__(page, address)
        self.at_site, self.tried = site, dict[str, set[str]]()
        self.uncaught: list[str] = []
        page.on("pageerror", lambda error: self.uncaught.append(f"{page.url}: {error}"))
        self.sessions = {user: str(site.browser(user).cookies["sessionid"].value) for user in (site.member, site.fresh)}

    def opens(self, page: Page) -> None:
        """As somebody who has a key, but where one is made."""
        user = self.at_site.fresh if page.name == "make-key" else self.at_site.member
        self.page.context.add_cookies([{"name": "sessionid", "value": self.sessions[user], "url": self.site}])
        address = self.site + self.at_site.address(page)
        if page.name in OF_ONE_DEVICE:
            self.page.goto(self.site + reverse(f"{page.namespace}:devices"))
            link = self.page.locator(f"a[href*='{self.at_site.address(page)}#']").first
            address += "#" + str(link.get_attribute("href")).partition("#")[2]
        self.page.goto(address)
        self.ready()

    def ready(self) -> None:
        """The form of the list of devices is never seen."""
        self.page.locator("[data-edna-ready]").first.wait_for(state="attached")

    @contextmanager
    def without(self, name: str, value: str = "") -> Iterator[None]:
        """As when another tab has logged out, or somebody else in."""
        context = self.page.context
        [cookie] = [each for each in context.cookies() if each["name"] == name]
        context.clear_cookies(name=name)
        if value:
            context.add_cookies([{"name": name, "value": value, "url": self.site}])
        yield
        context.clear_cookies(name=name)
        context.add_cookies([cookie])

    def fills(self, password: str) -> bool:
        """The form for the key; whether it takes a password."""
        asks = chosen = False
        typed = {**TYPED, "request_code": self.at_site.code}
        if "/back/" in self.page.url:
            typed["receipt"] = self.at_site.receipt
        for field in self.page.locator(f"{FORM} :is(input, textarea):visible").all():
            name = field.get_attribute("name") or field.get_attribute("data-edna-secret") or ""
            kind = field.get_attribute("type") or "text"
            if kind in ("checkbox", "radio", "file"):
                if kind == "radio" and not chosen:
                    field.check()
                chosen = chosen or kind == "radio"
            elif name == "password":
                field.fill(password)
                asks = True
            elif name in ("new_password", "again"):
                field.fill(PASSWORD)
            elif name in ("pin", "pin_again"):
                field.fill("4711")
            elif name == "identifier":
                field.fill(self.at_site.who)
            elif name in typed and not field.input_value():
                field.fill(typed[name])
        return asks

    def sends(self, *, twice: bool = False) -> None:
        button = self.page.locator(f"{FORM} button:not([type=button]):visible, button[form]:visible").first
        button.dblclick() if twice else button.click()

    def tries(self, page: Page, mishap: str) -> None:
        self.tried.setdefault(str(page), set()).add(mishap)

    def goes_wrong(self, page: Page) -> None:
        self.opens(page)
        assert self.page.reload().request.method == "GET"
        self.ready()
        self.tries(page, "reload")
        self.page.goto(
            self.site + reverse(f"{self.at_site.name}:home" if self.at_site.name != "lobsters" else "lobsters:front")
        )
        self.page.go_back()
        self.ready()
        self.tries(page, "back button")

        asks = self.fills("a guess")
        self.page.context.set_offline(True)
        self.sends()
        self.sees(CUT_OFF)
        self.page.context.set_offline(False)
        self.tries(page, "offline")
        before = len(self.sent)
        self.fills("a guess")
        if asks:
            self.sends(twice=True)
            self.sees(WRONG)
            asked = [each for each in self.sent[before:] if each.endswith(b"/slots/salt")]
            assert len(asked) == 1, (str(page), asked)
            self.tries(page, "wrong password")
            self.tries(page, "double submit")
        with self.without("csrftoken", "x" * 32):
            self.fills(PASSWORD)
            self.sends()
            self.sees(OUTDATED)
        self.tries(page, "two tabs")
        if getattr(page.view, "login_required", True):
            with self.without("sessionid"):
                self.fills(PASSWORD)
                self.sends()
                self.sees_one_of(OUTDATED, "Log in", *BY_KEY_ALONE.get(page.name, ()))
            self.tries(page, "expired session")

    def sees_one_of(self, *texts: str) -> None:
        eventually(
            lambda: any(text in self.page.locator("main").inner_text() for text in texts), what=f"one of {texts}"
        )


def share_of(site: Site) -> list[Page]:
    """The site's own pages, and every third of edna's: their scripts are the same on all sites."""
    scripted = [page for page in site.pages if kind_of(page) in IN_BROWSER and kind_of(page) != "step"]
    ednas = [page for page in scripted if page.is_ednas][SITES.index(site.name) :: len(SITES)]
    return [*ednas, *(page for page in scripted if not page.is_ednas)]


@pytest.mark.parametrize("name", SITES)
def test_each_page_whose_script_uses_the_key(name: str, page: Any, live_server: Any, tmp_path: Path) -> None:
    with parties(tmp_path, CUSTODY="browser"):
        site = sites.MAKE[name]()
        walker = Unlucky(page, live_server.url, site)
        before = dump(site.label)
        for each in share_of(site):
            walker.goes_wrong(each)
            claimed = {mishap for mishap, by in cells(each, "browser").items() if by == CHROMIUM}
            assert claimed <= walker.tried[str(each)], each
        assert dump(site.label) == before
        assert walker.uncaught == []


def test_each_page_of_devices(page: Any, live_server: Any, tmp_path: Path) -> None:
    """In a browser that is one, and another key on paper."""
    with parties(tmp_path, CUSTODY="browser"):
        site = sites.MAKE["websubmit"]()
        walker = Unlucky(page, live_server.url, site)
        of = {each.name: each for each in site.pages if each.name.startswith("devices")}
        walker.goes_wrong(of["devices"])
        walker.opens(of["devices-first"])
        walker.fills(PASSWORD)
        walker.sends()
        walker.sees("This is your only device.")
        for name in ("devices-paper", "devices-add", "devices-rename", "devices-update"):
            walker.goes_wrong(of[name])
        walker.opens(of["devices-paper"])
        walker.fills("")
        walker.sends()
        walker.sees("You see it this once.")
        walker.goes_wrong(of["devices-remove"])
        of.pop("devices-first")  # tried as everybody's page
        claimed = {name: {m for m, by in cells(each, "browser").items() if by == CHROMIUM} for name, each in of.items()}
        assert {
            name: missed for name, each in of.items() if (missed := claimed[name] - walker.tried.get(str(each), set()))
        } == {}
        assert walker.uncaught == []
