"""The pages in a real browser, under a strict Content-Security-Policy; pictures are in ``build/screenshots/pages``."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from apps.showcase.tests.walker import Walker
from tests.pages.bare.barriers import barriers
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, join

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Member(Walker):
    namespace = "pages"
    for_everybody = ("", "-dark", "-phone-dark", "-phone")

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + reverse(f"edna:{name}", args=args))

    def reloads_by(self) -> str:
        """With which method, once the scripts of the page have run."""
        self.page.wait_for_load_state()
        return str(self.page.reload().request.method)

    def log_in(self, user: User) -> None:
        client = Client()
        client.force_login(user)
        cookie = client.cookies["sessionid"].value
        self.page.context.add_cookies([{"name": "sessionid", "value": cookie, "url": self.site}])


def test_somebody_disowns_leaves_and_returns(page: Any, live_server: Any) -> None:
    """Each page fits, can be read, and shuts nobody out; a reload sends no form again; what scripts do works.

    Nothing that the policy forbids is tried.
    """
    anna, bea = join("anna"), join("bea")
    walker = Member(page, live_server.url)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=live_server.url)
    walker.log_in(bea.user)
    walker.go("home")
    walker.sees("Your data on this site", "Removed: 2 notes")
    walker.picture("01-home")
    for name in ("replace-key", "take-along", "forgotten", "return"):
        walker.go(name)
        assert barriers(page) == [], name
    walker.go("take-along")
    for _ in range(2):  # the page stays, ready for the next time
        page.get_by_label("Your password", exact=True).fill(PASSWORD)
        with page.expect_download():
            walker.tap("Download")
        assert page.get_by_label("Your password", exact=True).input_value() == ""

    walker.go("apply", "club.disown-remarks")
    walker.picture("02-apply")
    walker.fill(password="a guess")
    walker.press("Disown remarks")
    walker.sees("This is not your password.")
    walker.picture("03-wrong-password")
    assert walker.reloads_by() == "GET"
    walker.fill(password=PASSWORD)
    walker.press("Disown remarks")
    walker.sees("It is done")
    walker.picture("04-done")
    receipt = page.locator("#edna-receipt").inner_text()
    walker.tap("Copy")
    walker.sees("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == receipt
    with page.expect_download() as downloaded:
        walker.tap("Download")
    assert receipt in downloaded.value.path().read_text()
    walker.fill(address="new@example.org")
    walker.press("Send")
    walker.sees("It was sent to new@example.org.", "What is hidden now")
    titles = page.get_by_role("heading").all_inner_texts()
    assert len(titles) == len(set(titles))
    assert walker.reloads_by() == "GET"

    Comment.objects.filter(text="bea agrees").delete()
    walker.go("hidden")
    walker.picture("05-hidden")
    walker.fill(password=PASSWORD)
    walker.press("Show it")
    walker.sees("Disown remarks")
    walker.picture("06-hidden-list")
    walker.press("Bring it back: Disown remarks")
    walker.picture("07-bring-back")
    walker.fill(password=PASSWORD)
    walker.press("Bring it back")
    walker.sees("Not all of it could come back", "It has been deleted meanwhile.")
    walker.picture("08-waits")
    page.get_by_role("checkbox").first.check()
    walker.press("Give up what is ticked …")
    walker.sees("This is final")
    walker.picture("09-give-up")
    walker.fill(password=PASSWORD)
    page.get_by_label("I know that this is final").check()
    walker.press("Give it up for good")
    walker.sees("This is given up, and erased:")
    assert walker.reloads_by() == "GET"

    walker.go("apply", "club.leave")
    walker.picture("10-leave")
    walker.fill(password=PASSWORD)
    walker.press("Delete your account")
    walker.sees("Good-bye")
    walker.picture("11-good-bye")
    assert walker.reloads_by() == "GET"
    page.go_back()
    assert not User.objects.filter(pk=bea.user.pk).exists()

    User.objects.create_user("bea", password="finders keepers")
    walker.go("hidden")
    walker.picture("12-hidden-of-a-stranger")
    walker.fill(identifier="bea", password=PASSWORD)
    walker.press("Show it")
    walker.press("Bring it back: Delete your account")
    walker.fill(identifier="bea", password=PASSWORD)
    walker.press("Bring it back")
    walker.sees("Somebody else has what was yours", "2 notes", "What it belongs to is not there, or not yet.")
    assert not page.get_by_text("bea on Deadlock").is_visible()
    page.locator("summary", has_text="2 notes").click()
    assert page.get_by_text("bea on Deadlock").is_visible()
    names = page.get_by_role("button").all_inner_texts()
    assert len(names) == len(set(names))
    walker.picture("13-taken")
    page.get_by_label("Another username").fill("beatrix")
    walker.fill(password=PASSWORD)
    walker.press("Try again")
    walker.sees("Your account is here, as beatrix.")
    walker.picture("14-back")
    assert Note.objects.filter(author__username="beatrix").count() == 2
    assert Note.objects.filter(author=anna.user).count() == 2
    assert walker.errors == []
