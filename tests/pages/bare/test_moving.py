"""In Chromium: a site moves from keys on the server to keys in browsers, and its people come one by one, or never."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User

import edna
from edna.models import PrincipalEntry
from tests.pages.bare.club.models import Comment
from tests.pages.bare.conftest import PASSWORD, a_browser, join
from tests.pages.bare.forms import send
from tests.pages.bare.test_in_browser import FIRST, Owner

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


class Mover(Owner):
    """Had their key made by the site, and hid something before."""

    def makes_a_new_key(self, name: str = "") -> None:
        self.follow(re.compile("^A new key$"))
        self.ready()
        self.types("New password", FIRST)
        self.types("The new password again", FIRST)
        if name:
            self.fill(identifier=name)
        self.opens("Replace my key", PASSWORD)
        self.shown_code()


def test_people_of_a_site_that_flips_the_setting(page: Any, live_server: Any, settings: Any) -> None:
    """What they hid before is listed, and comes back with a new key, to which the page leads; who has left comes back in the same way; who
    never comes loses nothing."""
    settings.ROOT_URLCONF = "tests.pages.bare.account_urls"
    anna, bea, carl = join("anna"), join("bea"), join("carl")
    receipts = {person.user.username: person.disguise("club.disown-remarks") for person in (anna, bea, carl)}
    with edna.unlock(secret_key=bea.secret_key) as unlocked:
        edna.disguise("club.leave", bea.user, unlocked=unlocked)
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}

    walker = Mover(page, live_server.url)
    walker.log_in_with_password("anna")
    walker.go("hidden")
    walker.opens("Show it", PASSWORD)
    walker.sees("Remarks by nobody", "1 remark")
    walker.press("Bring it back: Remarks by nobody")
    walker.opens("Bring it back", PASSWORD)
    walker.sees("is from before browsers could keep keys here")
    walker.makes_a_new_key()
    walker.go("hidden")
    walker.opens("Show it", FIRST)
    walker.press("Bring it back: Remarks by nobody")
    walker.opens("Bring it back", FIRST)
    walker.sees("It is back")
    assert Comment.objects.filter(author=anna.user).exists()

    page.context.clear_cookies()
    walker.go("return")
    walker.fill(identifier="bea")
    walker.opens("Bring my account back", PASSWORD)
    walker.sees("is from before browsers could keep keys here")
    walker.makes_a_new_key("bea")
    walker.tap("I have kept it")
    walker.go("return")
    walker.fill(identifier="bea")
    walker.opens("Bring my account back", FIRST)
    walker.sees("Your account is here.")
    assert User.objects.filter(username="bea").exists()

    assert PrincipalEntry.objects.filter(natural=True, reference=str(carl.user.pk)).exists()
    settings.EDNA = {**settings.EDNA, "CUSTODY": "both"}
    receipts["anna"], without_script = anna.disguise("club.disown-remarks"), a_browser()
    for name, password in (("carl", PASSWORD), ("anna", FIRST)):
        asked = {"receipt": str(receipts[name]), "identifier": name, "password": password}
        assert "It is back" in send(without_script, "/privacy/back/", **asked).text_of_page
    assert Comment.objects.filter(author__in=[anna.user, carl.user]).count() == 2
    assert [error for error in walker.errors if "404" not in error] == []
