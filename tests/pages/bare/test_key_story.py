"""In Chromium, by the keyboard alone and under a strict policy: somebody gets a key and a code, keeps it, and is gone for good."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

import edna
from edna.models import KeySlot, PrincipalEntry
from tests.pages.bare.barriers import barriers
from tests.pages.bare.conftest import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_by_the_keyboard_alone(settings: Any, live_server: Any, page: Any) -> None:
    """No page on the way takes a mouse, and none shuts anybody out."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    User.objects.create_user("dora", "dora@example.org", PASSWORD)
    said: list[str] = []
    page.on("console", lambda message: said.append(f"{message.type}: {message.text} {message.location['url']}"))
    keys = page.keyboard

    def has_begun() -> None:
        """A Tab that comes before the page's own first focus blocks that, and Chromium says so."""
        page.wait_for_function("!document.querySelector('[autofocus]') || document.activeElement !== document.body")

    def fill(name: str, text: str) -> None:
        """Go to the field by Tab, and type."""
        has_begun()
        for _ in range(30):
            if page.evaluate("document.activeElement.name") == name:
                keys.type(text)
                return
            keys.press("Tab")
        raise AssertionError(f"no Tab leads to {name}")

    def press(words: str) -> None:
        """Go to the button or link by Tab, and press Enter."""
        has_begun()
        for _ in range(30):
            if page.evaluate("document.activeElement.textContent").strip() == words:
                keys.press("Enter")
                return
            keys.press("Tab")
        raise AssertionError(f"no Tab leads to {words}")

    page.goto(f"{live_server.url}/login/?next=/settings/")
    fill("username", "dora")
    fill("password", PASSWORD)
    keys.press("Enter")
    page.wait_for_url(f"{live_server.url}/settings/")
    assert "You have no recovery code yet." in page.text_content("body")
    press("Make a recovery code")
    page.wait_for_url(f"{live_server.url}/privacy/key/code/?next=/settings/")
    assert barriers(page) == []
    fill("password", PASSWORD)
    keys.press("Enter")
    code = page.wait_for_selector("#edna-code").text_content()
    assert barriers(page) == []
    press("Copy")
    page.locator("[data-edna-tools] [role=status]:not(:empty)").wait_for()
    press("I have kept it")
    page.wait_for_selector("[name=typed]")
    assert barriers(page) == []
    assert code not in page.text_content("main")
    fill("typed", code[-4:])
    keys.press("Enter")
    page.get_by_text("Good. Keep it where you find it in years.").wait_for()
    assert barriers(page) == []
    edna.unlock(recovery_code=code).close()

    press("Go on to where you were")
    page.wait_for_url(f"{live_server.url}/settings/")
    assert "You have no recovery code yet." not in page.text_content("body")
    page.go_back()

    # A reload asks for a page, and sends no form again: the code that was shown stays the good one.
    page.reload()
    page.go_back()
    edna.unlock(recovery_code=code).close()

    page.goto(f"{live_server.url}/privacy/delete/")
    fill("password", PASSWORD)
    keys.press("Enter")
    page.get_by_text("Everything, and my account").wait_for()
    assert barriers(page) == []
    page.locator("[name=what]").last.focus()
    keys.press("Space")
    fill("phrase", "delete for good")
    fill("password", PASSWORD)
    keys.press("Enter")
    page.get_by_text("Nothing of your account is left").wait_for()
    assert barriers(page) == []
    assert [model.objects.count() for model in (User, KeySlot, PrincipalEntry)] == [0, 0, 0]
    # Among it would be what the policy forbids, and what Chromium misses in forms with a password.
    assert [line for line in said if not line.endswith("favicon.ico")] == []
