"""The way back by guardians in a real browser, by the keyboard alone, with a picture of every page in ``build/screenshots``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.websubmit.models import User
from tests.guardians.parties import parties
from tests.support import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.once, pytest.mark.django_db(transaction=True)]
NAME, ANOTHER = "bea@example.org", "five yaks in a rowing boat"


class Person(ByKeyboard):
    namespace = "guardians"

    def at(self, name: str, *, namespace: str = "websubmit-privacy") -> None:
        self.page.goto(self.site + reverse(f"{namespace}:{name}"))

    def logs_in(self, password: str) -> None:
        self.at("login", namespace="websubmit")
        self.fill(username=NAME, password=password)
        self.press("Log in")


def test_enrolled_lost_and_back(page: Any, live_server: Any, tmp_path: Path) -> None:
    """From the page of one's data to a new password, by what the pages show and the guardians say."""
    user = User.objects.create_user(NAME, PASSWORD)
    edna.register_principal(user, password=PASSWORD, identifier=NAME)
    person, aunt = Person(page, live_server.url), page.locator("li", has_text="Your aunt")
    with parties(tmp_path) as five:
        person.logs_in(PASSWORD)
        person.at("home")
        person.follow("Ways back: guardians")
        person.picture("01-enroll")
        person.fill(contact="bea@home.example", pin="4711", pin_again="4711", password=PASSWORD)
        person.press("Have the guardians help me")
        person.picture("02-enrolled")

        page.context.clear_cookies()
        person.at("forgotten")
        person.follow("The guardians can help")
        person.fill(identifier=NAME)
        person.press("Ask the guardians")
        person.picture("03-asked")
        person.types_into(aunt.get_by_role("textbox"), five.code(4))
        with person.next_page():
            person.presses(aunt.get_by_role("button"))
        person.sees("1 of the guardians have agreed")
        five.now += 7201
        person.press("Look again")
        person.picture("04-agreed")
        person.fill(pin="4711", new_password=ANOTHER, again=ANOTHER)
        person.press("Set the password")
        person.picture("05-back")

        person.at("guardians-veto")
        person.fill(identifier=NAME, password=ANOTHER)
        person.press("Refuse it")
        person.sees("5 of 5 guardians have heard it")
        five.now -= 7201  # orders are good for minutes
        person.logs_in(ANOTHER)
        person.at("guardians-withdraw")
        person.fill(password=ANOTHER)
        person.press("Have the guardians forget me")
        person.sees("5 of 5 guardians have destroyed what they kept for you.")
    edna.unlock(identifier=NAME, password=ANOTHER).close()


def test_enrolled_lost_and_back_with_a_key_that_stays_in_the_browser(
    page: Any, live_server: Any, tmp_path: Path
) -> None:
    """The same pages; the script does it all, and nobody but the page has the key."""
    User.objects.create_user(NAME, PASSWORD)
    person, aunt = Person(page, live_server.url), page.locator("li", has_text="Your aunt")
    uncaught: list[str] = []
    page.on("pageerror", lambda error: uncaught.append(str(error)))
    with parties(tmp_path, CUSTODY="browser") as five:
        person.logs_in(PASSWORD)
        person.at("make-key")
        for secret in ("new_password", "again"):
            person.types_into(page.locator(f"[data-edna-secret={secret}]"), PASSWORD)
        person.tap("Make my key")
        page.locator("[data-edna-part=code]").wait_for()

        person.at("guardians")
        person.fill(contact="bea@home.example")
        for secret, text in (("pin", "4711"), ("pin_again", "4712"), ("password", PASSWORD)):
            person.types_into(page.locator(f"[data-edna-secret={secret}]"), text)
        person.tap("Have the guardians help me")
        person.sees("The two PINs differ.")
        person.types_into(page.locator("[data-edna-secret=pin_again]"), "4711")
        person.tap("Have the guardians help me")
        person.sees("The guardians keep a way back for you.")
        person.picture("11-enrolled-in-browser")

        page.context.clear_cookies()
        person.at("guardians-ask")
        person.fill(identifier=NAME)
        person.tap("Ask the guardians")
        person.sees("0 of the guardians have agreed")
        person.picture("12-asked-in-browser")
        person.types_into(aunt.get_by_role("textbox"), five.code(4))
        page.context.set_offline(True)
        person.presses(aunt.get_by_role("button"))
        person.sees("cannot be reached")
        problem = page.locator("form[data-edna-finish] [data-edna-problem]")
        assert problem.is_visible()
        page.context.set_offline(False)
        person.tap("Look again")
        person.sees("waits for a code")
        person.types_into(aunt.get_by_role("textbox"), five.code(4))
        person.presses(aunt.get_by_role("button"))
        person.sees("1 of the guardians have agreed")
        assert not problem.is_visible()
        code = page.locator("[data-edna-code]").first.text_content()
        five.now += 7201

        person.at("guardians-request")
        person.fill(identifier=NAME, request_code=code)
        person.tap("Look")
        person.sees("4 of the guardians have agreed")
        for secret, text in (("pin", "4711"), ("new_password", ANOTHER), ("again", ANOTHER)):
            person.types_into(page.locator(f"form[data-edna-finish] [data-edna-secret={secret}]"), text)
        person.picture("13-agreed-in-browser")
        person.tap("Set the password")
        person.sees("your new password opens your key")
        person.picture("14-back-in-browser")

        person.at("guardians-veto")
        person.fill(identifier=NAME)
        person.types_into(page.locator("[data-edna-secret=password]"), ANOTHER)
        person.tap("Refuse it")
        person.sees("It is refused")
        five.now -= 7201
        person.logs_in(PASSWORD)
        person.at("guardians-withdraw")
        person.types_into(page.locator("[data-edna-secret=password]"), ANOTHER)
        person.tap("Have the guardians forget me")
        person.sees("The guardians do not help you any more")
        assert uncaught == []
    edna.unlock(identifier=NAME, password=ANOTHER).close()
