"""In Chromium, in both custodies: somebody acts in two tabs of one browser. Each act ends with a clear page, and nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, join
from tests.pages.bare.test_in_browser import Owner
from tests.waiting import eventually

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

GONE = "Nothing is kept under this receipt any more."
CHANGED = "What is kept for you has changed while this page was open, in another tab perhaps."
DISOWN, LEAVE = "club.disown-remarks", "club.leave"


class Tab(Owner):
    """One of two: they share cookies, and nothing else."""

    custody: str

    def types_password(self) -> None:
        if self.custody == "browser":
            self.ready()
        self.types("Your password" if self.custody == "server" else "The password of your key", PASSWORD)

    def submits(self, button: str) -> None:
        self.types_password()
        self.tap(button)

    def lists(self) -> None:
        self.go("hidden")
        self.submits("Show it")

    def logs_out(self) -> None:
        context = self.page.context
        [token] = [each["value"] for each in context.cookies() if each["name"] == "csrftoken"]
        assert context.request.post(f"{self.site}/logout/", headers={"X-CSRFToken": token}).ok

    def answers(self, *texts: str) -> str:
        """Which of these the page says, as soon as it says one."""
        said = eventually(
            lambda: [text for text in texts if text in self.page.locator("body").inner_text()],
            what=f"the page says one of {texts}",
        )
        return str(said[0])


@pytest.fixture(params=["server", "browser"])
def tabs(request: Any, page: Any, live_server: Any, settings: Any) -> tuple[Tab, Tab]:
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    settings.EDNA = {**settings.EDNA, "CUSTODY": request.param}
    Tab.custody = request.param
    join("bea")
    one, two = Tab(page, live_server.url), Tab(page.context.new_page(), live_server.url)
    one.log_in_with_password("bea")
    one.sees("Your data on this site")
    return one, two


def test_two_tabs(tabs: tuple[Tab, Tab]) -> None:
    """Unlocked in one and disguised in the other; brought back in both at once; logged out in one; gone in one."""
    one, two = tabs
    bea = User.objects.get(username="bea")
    two.go("apply", DISOWN)
    one.go("apply", DISOWN)
    one.submits("Disown remarks")
    one.sees("It is done", "Your receipt")
    two.submits("Disown remarks")
    two.sees("There is nothing of yours that this would change now.")
    assert not Comment.objects.filter(author=bea).exists()

    for tab in tabs:
        tab.lists()
        tab.press("Bring it back: Remarks by nobody")
        tab.types_password()
    for tab in tabs:
        tab.tap("Bring it back")
    said = {tab.answers("It is back", GONE, CHANGED): tab for tab in tabs}
    assert "It is back" in said
    assert len(said) == 2
    if CHANGED in said:  # what a browser hands over was true when it looked
        said[CHANGED].submits("Bring it back")
        said[CHANGED].sees(GONE)
    assert Comment.objects.filter(author=bea).count() == 1

    one.go("apply", DISOWN)
    two.logs_out()
    one.submits("Disown remarks")
    one.sees("Log in")
    assert Comment.objects.filter(author=bea).count() == 1
    one.log_in_with_password("bea")
    one.sees("Your data on this site")
    one.go("apply", DISOWN)
    two.go("apply", LEAVE)
    two.submits("Delete your account")
    two.sees("Good-bye")
    one.submits("Disown remarks")
    one.sees("Log in")
    one.go("return")
    one.fill(identifier="bea")
    one.submits("Bring my account back")
    one.sees("It is back")
    assert Note.objects.filter(author=bea).count() == 2
    assert Comment.objects.filter(author=bea).count() == 1
