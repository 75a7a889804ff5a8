"""Reviewers whose keys stay in their browsers: the pages that are particular to this conference, in Chromium. Pictures are in
``build/screenshots/hotcrp-in-browser``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

import edna
from apps.hotcrp_sim import models as m
from apps.hotcrp_sim.keys import ANONYMISE
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.showcase.tests.key_in_browser import FIRST, KeyInBrowser
from edna.testing.search import finds

from .conftest import PASSWORD
from .people import add_review

pytestmark = pytest.mark.browser


class Reviewer(ByKeyboard, KeyInBrowser):
    namespace = "hotcrp-in-browser"

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + reverse(f"hotcrp:{name}", args=args))

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"hotcrp-privacy:{name}", args=args))


@pytest.fixture(autouse=True)
def key_in_browser(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}


def test_a_reviewer_whose_key_stays_in_the_browser(page: Any, live_server: Any, transactional_db: None) -> None:
    """Registers, makes a key, edits a review of an anonymous conference, takes her name back, leaves, edits it again without an
    account, and returns. The site never gets the password of the key."""
    paper = m.Paper.objects.create(title="Fair Locks")
    reviewer = Reviewer(page, live_server.url)
    reviewer.go("register")
    reviewer.fill(email="nia@example.org")
    reviewer.press("Mail me the link")
    reviewer.sees("Look into your mail")
    page.goto(re.sub(r"http://[^/]+", reviewer.site, re.search(r"http\S+", mail.outbox[-1].body)[0]))
    reviewer.fill(first_name="Nia", last_name="New", new_password=PASSWORD, again=PASSWORD)
    reviewer.press("Create my account")
    reviewer.sees("Make your key")
    code = reviewer.makes_a_key()
    reviewer.keeps(code)
    nia = m.ContactInfo.objects.get(email="nia@example.org")
    review = add_review(paper, nia, "nia", ordinal=1)

    def written() -> m.PaperReview:
        return m.PaperReview.objects.get(review_id=review.review_id)

    for _ in range(2):  # taken back at once, all or nothing
        edna.disguise_all(ANONYMISE)
    reviewer.go("disguised")
    reviewer.fill(identifier="nia@example.org")
    reviewer.opens("Show what is disguised", "a guess")
    reviewer.sees("This does not open your key.")
    reviewer.opens("Show what is disguised")
    today = date_format(timezone.localdate(), "DATE_FORMAT")
    reviewer.sees(f"The chairs anonymised the conference on {today}.")
    assert not page.get_by_text("You removed your account").is_visible()
    reviewer.picture("00-disguised-since")
    reviewer.press("Show what is disguised")
    reviewer.sees("Fair Locks")
    reviewer.unfolds("Fair Locks")
    reviewer.picture("01-disguised-list")
    reviewer.types("Comments for authors", "A fair lock is a queue.")
    reviewer.fill(identifier="nia@example.org")
    reviewer.opens("Save the review, stay anonymous")
    reviewer.sees("The review is saved, and still anonymous.")
    assert "A fair lock" in written().tfields
    assert written().contact.is_guise
    reviewer.go("reclaim")
    reviewer.picture("02-reclaim")
    reviewer.fill(identifier="nia@example.org")
    reviewer.opens("Reclaim, show my name again")
    reviewer.sees("It is back")
    reviewer.picture("03-reclaimed")
    assert written().contact == nia
    reviewer.go("reclaim")
    reviewer.opens_by_code("Reclaim, show my name again", code)
    reviewer.sees("There is nothing here that was made anonymous of you.")

    reviewer.privacy("apply", "hotcrp.remove-account")
    reviewer.opens("Remove your account")
    reviewer.sees("Good-bye")
    reviewer.go("disguised")
    reviewer.opens_by_code("Show what is disguised", code)
    reviewer.sees(f"You removed your account on {today}.")
    reviewer.press("Show what is disguised")
    reviewer.sees("If you have removed your account", "Fair Locks")
    reviewer.unfolds("Fair Locks")
    reviewer.types("Comments for authors", "A lock that is fair is a queue.")
    reviewer.fill(identifier="nia@example.org")
    reviewer.opens("Save the review, stay anonymous")
    reviewer.sees("The review is saved, and still anonymous.")
    reviewer.privacy("return")
    reviewer.fill(identifier="nia@example.org")
    reviewer.opens("Bring my account back")
    reviewer.sees("It is back")
    assert written().contact.email == "nia@example.org"
    assert "A lock that is fair" in written().tfields
    assert reviewer.errors == []
    sent = b"\n".join(reviewer.sent)
    assert finds(sent, {"password of the log-in": PASSWORD.replace(" ", "+")}) != [], "the search finds what was sent"
    assert finds(sent, {"password of the key": FIRST, "code": code}) == []
