"""Somebody in Chromium, where keys stay in browsers, to whom all that can go wrong goes wrong, on one page after the other.

Nothing of it changes anything; `Unlucky.tried` says what went wrong where. Knows no application.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.urls import reverse
from playwright.sync_api import Error

from apps.showcase.tests.key_in_browser import KeyInBrowser
from edna.models import Bag
from tests.pages.mishaps.addresses import Page
from tests.pages.mishaps.matrix import CHROMIUM, IN_BROWSER, kind_of, tried_by
from tests.pages.mishaps.site import PASSWORD, PHRASES, Site
from tests.waiting import eventually

FORM = "form[data-edna-hands]"
CUT_OFF, WRONG, OUTDATED = (
    "The site does not answer.",
    "This does not open your key.",
    "This page was open for too long",
)
#: What a tab is told of what another one has erased: by the site, or before it is asked.
GONE = ("Nothing is kept under this receipt any more.", "What is kept for you has changed")
#: What each field takes that is no password. The phrase is the right one, so that the key is asked for: it goes wrong with each of them.
TYPED = {
    "contact": "bea@home.example",
    "name": "Laptop",
    "code": "0000-0000-0000",
    "phrase": PHRASES["delete"],
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
        self.page.goto(self.site + reverse(f"{self.at_site.ednas}:home"))
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

    def goes_wrong_on_each(self, pages: list[Page]) -> None:
        """And nothing of the site's own has changed then, nothing was thrown, and all was tried of which the matrix says so."""
        before = self.at_site.rows()
        giving_up = [each for each in pages if each.name == "give-up"]
        for each in pages:
            if each not in giving_up:
                self.goes_wrong(each)
        assert self.at_site.rows() == before
        for each in giving_up:
            self.gives_up(each)
        assert self.missed(pages) == {}
        assert self.uncaught == [], self.uncaught

    def missed(self, pages: Iterable[Page]) -> dict[str, set[str]]:
        """What the matrix says was tried on these pages here, and it was not."""
        missed = {str(each): tried_by(CHROMIUM, each, "browser") - self.tried.get(str(each), set()) for each in pages}
        return {page: mishaps for page, mishaps in missed.items() if mishaps}

    def ticks_what_waits(self, page: Page) -> None:
        """From the list, by another try, to the page that asks once more."""
        self.page.goto(self.site + reverse(f"{page.namespace}:hidden"))
        self.ready()
        self.fills(PASSWORD)
        self.sends()
        self.press("Try again …")
        self.ready()
        self.fills(PASSWORD)
        self.sends()
        self.ticks(self.page.locator("[name=row]").first)
        self.press("Give up what is ticked …")
        self.ready()
        self.ticks(self.page.get_by_label("I know that this is final"))

    def gives_up(self, page: Page) -> None:
        """What waits is erased by the key alone, and once; the page that another tab has open then says so."""
        self.opens(page)
        other, kept = Unlucky(self.page.context.new_page(), self.site, self.at_site), Bag.objects.count()
        for tab in (self, other):
            tab.ticks_what_waits(page)
        self.page.context.set_offline(True)
        self.fills(PASSWORD)
        self.sends()
        self.sees(CUT_OFF)
        self.page.context.set_offline(False)
        self.tries(page, "offline")
        self.fills("a guess")
        self.sends()
        self.sees(WRONG)
        self.tries(page, "wrong password")
        with self.without("csrftoken", "x" * 32):
            self.fills(PASSWORD)
            self.sends()
            self.sees(OUTDATED)
        self.page.go_back()
        self.ready()
        assert Bag.objects.count() == kept
        self.ticks_what_waits(page)
        self.fills(PASSWORD)
        self.sends(twice=True)
        self.sees("This is given up, and erased:")
        assert (left := Bag.objects.count()) < kept
        self.tries(page, "double submit")
        with contextlib.suppress(Error):  # a page that came by a form: the browser asks before it sends that again
            self.page.go_back()
        self.tries(page, "back button")
        other.fills(PASSWORD)
        other.sends()
        other.sees_one_of(*GONE)
        assert Bag.objects.count() == left
        self.tries(page, "two tabs")
        self.uncaught += other.uncaught
        other.page.close()

    def sees_one_of(self, *texts: str) -> None:
        eventually(
            lambda: any(text in self.page.locator("main").inner_text() for text in texts), what=f"one of {texts}"
        )


def scripted_pages(site: Site) -> list[Page]:
    """Those whose script uses the key, but those to which the list of devices leads."""
    kinds = {page: kind_of(page) for page in site.pages}
    return [page for page, kind in kinds.items() if page.name == "give-up" or (kind in IN_BROWSER and kind != "step")]
