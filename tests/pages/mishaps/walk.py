"""Every page of a site once, by Django's client, and what can go wrong there without a script: what is sent twice or from two tabs, a wrong
password, a session that has ended.

Nothing is done twice, nothing fails without a word, and what is kept is as it was. `Walk.tried` says what was tried where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.core import mail
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from django.urls import resolve

from tests.pages.mishaps.addresses import Page
from tests.pages.mishaps.forms import Form, forms_of
from tests.pages.mishaps.matrix import AGAIN, CLIENT, RENEWS, SAME, cells, kind_of, tried_by
from tests.pages.mishaps.site import Site

#: Not the entries of principals: those say on which day somebody was there last.
EDNAS = ("edna.Bag", "edna.KeySlot")
#: Rows that say when somebody read what.
NOTES_OF_VISITS = {"read_ribbons"}
#: Fields for a password or a key that somebody has already; and for what opens one besides.
PASSWORDS = ("password", "old_password", "chair_key")
SECRETS = (*PASSWORDS, "recovery_code", "secret_key", "pin", "new_password", "again")
#: What stands where a password opens nothing, in any words.
TELLS = re.compile(r'role="alert"|class="(error|errorlist|note bad)|data-edna-problem')
NEEDS_SCRIPTS = "This page needs JavaScript"


@contextmanager
def back_again() -> Iterator[None]:
    """Nothing of what is done in here remains."""
    sent = len(mail.outbox)
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    del mail.outbox[sent:]
    cache.clear()


def text_of(answer: Any) -> str:
    return "" if answer.streaming else answer.content.decode()


def another(browser: Client) -> Client:
    """The same browser in another story: what happens there is not noticed here."""
    same = Client(headers={"host": "localhost"})
    same.cookies = browser.cookies.copy()
    return same


class Walk:
    def __init__(self, site: Site, *, in_browser: bool) -> None:
        self.site, self.in_browser = site, in_browser
        #: By page, in its own words; and what was not as it should be.
        self.tried: dict[str, set[str]] = {}
        self.problems: list[str] = []

    def _state(self) -> dict[str, Any]:
        now = {**self.site.rows(*EDNAS), "mails": len(mail.outbox)}
        return {table: rows for table, rows in now.items() if table not in NOTES_OF_VISITS}

    def _tries(self, page: Page, mishap: str, *, fine: bool, saw: Any = "") -> None:
        self.tried.setdefault(str(page), set()).add(mishap)
        if not fine:
            self.problems.append(f"{page}: {mishap}: {saw}")

    def visits(self, page: Page) -> None:
        """As whoever sees it first: a member, the staff, or somebody who has not logged in."""
        address = self.site.address(page)
        first = self.site.fresh if page.name == "make-key" else self.site.member
        for user in (first, self.site.staff, None):
            browser = self.site.browser(user)
            answer = browser.get(address)
            if answer.status_code in (200, 405):
                break
        before = self._state()
        with back_again():
            again = browser.get(address)
            saw = (again.status_code, changes(before, self._state()))
            self._tries(page, "reload", fine=saw == (answer.status_code, []), saw=saw)
        nobody = self.site.browser(None).get(address)
        self._tries(page, "expired session", fine=nobody.status_code < 500, saw=nobody.status_code)
        if answer.status_code == 200:
            # What edna's pages show, and what anything shows to somebody who is logged in, is asked for anew by Back: no cache has it.
            is_someones = page.is_ednas or user is not None
            is_kept = is_someones and "no-store" not in answer.headers.get("Cache-Control", "")
            self._tries(page, "back button", fine=not is_kept, saw="a cache keeps it")
            self._tries(page, "no scripts", fine=True)
            self._sends_all(text_of(answer), browser, shown_at=address)
            if user == self.site.member:
                staff = self.site.browser(self.site.staff)
                self._sends_all(text_of(staff.get(address)), staff, shown_at=address, only_new=True)
        elif self.in_browser and page.name == "give-up":  # where the list leads that a script has opened
            browser = self.site.browser(self.site.member)
            self._sends_all(text_of(browser.post(address, self.site.waiting)), browser, shown_at=address)
        elif answer.status_code == 405 and self._is_new(page) and kind_of(page) == "button":
            of_staff = any(part in address for part in ("/requests/", "/chair/"))
            browser = self.site.browser(self.site.staff if of_staff else self.site.member)
            self._sends(page, address, Form(""), browser, shown_at=address)

    def _sends_all(self, text: str, browser: Client, *, shown_at: str, only_new: bool = False) -> None:
        for form in forms_of(text):
            target = urlsplit(form.action).path or shown_at
            page = self._page_at(target)
            if self.in_browser and form.hands:
                self._sends_without_script(page, target, form, browser, text)
            elif page.name != "logout" and (not only_new or self._is_new(page)):
                self._sends(page, target, form, browser, shown_at=shown_at)

    def _is_new(self, page: Page) -> bool:
        """Whether other pages lead there, and none has yet."""
        return kind_of(page) in ("step", "button") and "double submit" not in self.tried.get(str(page), ())

    def _page_at(self, address: str) -> Page:
        found = resolve(address)
        return next(
            page for page in self.site.pages if (page.namespace, page.name) == (found.namespace, found.url_name)
        )

    def _sends(self, page: Page, target: str, form: Form, browser: Client, *, shown_at: str) -> None:
        values, headers = self.site.filled(page, form), {"referer": f"http://localhost{shown_at}"}
        before = self._state()

        def sent(by: Client, **more: Any) -> Any:
            return by.post(target, {**values, **more}, headers=headers)

        with back_again():
            twice = another(browser)
            twice.get(shown_at)
            first = sent(twice)
            then = self._state()
            changed = changes(before, then)
            with back_again():
                second = sent(another(twice))
                saw = (first.status_code, second.status_code, changed, changes(then, self._state()))
                is_once = not saw[-1] and second.status_code < 400
                self._tries(page, "double submit", fine=is_once or page.name in RENEWS | AGAIN, saw=saw)
            cache.clear()
            with back_again():
                tab = sent(another(twice))
                self._tries(page, "two tabs", fine=tab.status_code < 500, saw=tab.status_code)
            leads_on = first.status_code in (302, 303) or "data-edna-reload" in text_of(first) or not changed
            self._tries(page, "reload", fine=first.status_code < 400 and leads_on, saw=saw)
            self._tries(page, "no scripts", fine=first.status_code < 400, saw=saw)
            self._goes_on(first, twice, target)
        with back_again():
            nobody = sent(self.site.browser(None))
            saw = (nobody.status_code, changes(before, self._state()))
            self._tries(page, "expired session", fine=saw[0] < 500 and (self._is_open(page) or not saw[1]), saw=saw)
        if page.name == "register" and self.site.taken:
            with back_again():
                answer = sent(
                    another(browser),
                    **{name: [self.site.taken[name]] for name in form.kinds if name in self.site.taken},
                )
                saw = (answer.status_code, changes(before, self._state()))
                self._tries(page, "taken name", fine=bool(TELLS.search(text_of(answer))) and saw == (200, []), saw=saw)
        if asks := [name for name in form.kinds if name in PASSWORDS]:
            with back_again():
                answer = sent(another(browser), **{name: ["a guess"] for name in asks})
                saw = (answer.status_code, changes(before, self._state()))
                told = TELLS.search(text_of(answer))
                self._tries(page, "wrong password", fine=bool(told) and saw == (200, []), saw=saw)

    def _goes_on(self, answer: Any, browser: Client, target: str) -> None:
        """To pages that are reached by this one's answer alone."""
        if answer.status_code in (302, 303) and urlsplit(answer.url).path.startswith(self.site.root):
            target = urlsplit(answer.url).path
            answer = browser.get(answer.url)
        if answer.status_code != 200:
            return
        text = text_of(answer)
        self._sends_all(text, browser, shown_at=target, only_new=True)
        for address in dict.fromkeys(re.findall(rf'href="({self.site.root}privacy/[^"#?]+)"', text)):
            if self._is_new(self._page_at(address)):
                self._sends_all(text_of(browser.get(address)), browser, shown_at=address, only_new=True)

    def _sends_without_script(self, page: Page, target: str, form: Form, browser: Client, text: str) -> None:
        """What opens a key has no name, so that nothing of it is sent; and the page says why nothing happens."""
        named = [name for name in form.kinds if name in SECRETS]
        before = self._state()
        with back_again():
            says = NEEDS_SCRIPTS in text
            answer = another(browser).post(target, form.fields)
            saw = (answer.status_code, says, named, changes(before, self._state()))
            self._tries(page, "no scripts", fine=saw[0] < 500 and saw[1:] == (True, [], []), saw=saw)

    def _is_open(self, page: Page) -> bool:
        """Whether it is for people who have not logged in, too."""
        return page.name == "register" or not getattr(page.view, "login_required", True)


def changes(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    return [table for table in now if now[table] != before[table]]


def problems_of(site: Site, custody: str) -> list[str]:
    """What was not as it should be on any of its pages; and cells of the matrix that say that it was tried here, and it was not."""
    walk = Walk(site, in_browser=custody == "browser")
    for page in site.pages:
        if set(cells(page, custody).values()) != {SAME}:
            walk.visits(page)
    missed = [
        f"{page}: {mishap}: not tried"
        for page in site.pages
        for mishap in tried_by(CLIENT, page, custody) - walk.tried.get(str(page), set())
    ]
    return walk.problems + missed
