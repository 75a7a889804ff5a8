"""In Chromium, where keys stay in browsers, on the pages that only one application has: WebSubmit's anonymised answers, Lobsters' topics,
HotCRP's anonymous reviews. The same goes wrong as on the pages that all have (`test_mishaps.py`), and the same is kept. Where the server
uses keys no script has a part in it, and `mishaps/test_without_scripts.py` tries the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.urls import reverse
from playwright.sync_api import Error

import edna
from apps.hotcrp_sim import models as hotcrp
from apps.hotcrp_sim.keys import ANONYMISE
from apps.hotcrp_sim.tests.people import add_review
from apps.lobsters_sim import models as lobsters
from apps.lobsters_sim.writing import post_comment, submit_story
from apps.websubmit import models as websubmit
from tests.pages.test_mishaps import OUTDATED, PASSWORD, SITES, WRONG, Site, Unlucky

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WEBSUBMIT, LOBSTERS, HOTCRP = SITES
LEAVE = "Leave “starwars”"


class Author(Unlucky):
    """Of something that stands on a site without their name."""

    own: Own

    def asks_for(self, name: str) -> None:
        self.page.goto(self.site + reverse(f"{self.where.name}:{name}"))

    def submits(self, button: str, text: str = PASSWORD) -> None:
        self.says_who()
        super().submits(button, text)

    def clicks_twice(self, button: str) -> None:
        self.says_who()
        super().clicks_twice(button)

    def says_who(self) -> None:
        """Where the site asks for a name beside each password."""
        name = self.page.locator("[name=identifier]:visible")
        if name.count():
            name.first.fill(self.where.who)

    def lists(self) -> None:
        self.asks_for(self.own.page)
        self.submits(self.own.opens)
        self.own.edits(self)
        self.page.get_by_label(self.own.label).first.wait_for()


@dataclass(frozen=True)
class Own:
    site: Site
    #: The page that opens the list, and the button on it; how somebody comes from the list to the form; a field there, its button.
    page: str
    opens: str
    edits: Callable[[Author], None]
    label: str
    saves: str
    saved: str
    #: Writes something, and has its author's name taken off.
    hides: Callable[[Any, Author, Author], None]
    #: What stands there.
    text: Callable[[], str]


def anonymise_lecture(bea: Any, one: Author, two: Author) -> None:
    lecture = websubmit.Lecture.objects.create(label="Deadlock")
    question = websubmit.Question.objects.create(lecture=lecture, number=1, text="Why?")
    websubmit.Answer.objects.create(author=bea, question=question, text="As written.")
    edna.disguise("websubmit.anonymize-lecture", bea, params={"lecture": lecture.pk})


def leave_topic(bea: Any, one: Author, two: Author) -> None:
    """By its pages: nothing is left by a wrong password, after the session has ended, or twice."""
    tag = lobsters.Tag.objects.create(tag="starwars", description="A galaxy far away")
    told = {"title": "Blasters", "url": "https://example.org/blasters", "description": "", "by_author": False}
    story = submit_story(lobsters.User.objects.create_user("anna", "a@example.org", PASSWORD), tags=[tag], **told)
    post_comment(bea, story.short_id, "As written.")

    def choose(tab: Author) -> None:
        tab.asks_for("choose-topic")
        tab.fill(tag="starwars")
        tab.press("Show what would happen")

    choose(one)
    choose(two)
    one.submits(LEAVE, "a guess")
    one.sees(WRONG[one.custody])
    Session.objects.all().delete()
    one.submits(LEAVE)
    one.sees("Log in")
    assert lobsters.Comment.objects.get().user == bea
    one.gives(one.where.who)
    choose(one)
    one.clicks_twice(LEAVE)
    one.sees("It is done")
    two.submits(LEAVE)
    two.sees(OUTDATED[two.custody])


def anonymise_conference(bea: Any, one: Author, two: Author) -> None:
    review = add_review(hotcrp.Paper.objects.create(title="Fair Locks"), bea, "bea", ordinal=1)
    review.texts = {**review.texts, "t02": "As written."}
    review.save()
    edna.disguise(ANONYMISE, bea)


def open_review(author: Author) -> None:
    author.sees("The chairs anonymised the conference")
    author.press("Show what is disguised")
    author.page.locator("summary", has_text="Fair Locks").click()


ALL = [
    Own(
        WEBSUBMIT,
        page="anonymised",
        opens="Show my anonymised answers",
        edits=lambda author: None,
        label="Question 1",
        saves="Save the changes, stay anonymous",
        saved="Saved 1 anonymous answer.",
        hides=anonymise_lecture,
        text=lambda: websubmit.Answer.objects.get().text,
    ),
    Own(
        LOBSTERS,
        page="disguised",
        opens="Show it",
        edits=lambda author: author.press("Edit this comment on “Blasters”"),
        label="Text",
        saves="Save, stay without a name",
        saved="It still stands under nobody’s name.",
        hides=leave_topic,
        text=lambda: lobsters.Comment.objects.get().comment,
    ),
    Own(
        HOTCRP,
        page="disguised",
        opens="Show what is disguised",
        edits=open_review,
        label="Comments for authors",
        saves="Save the review, stay anonymous",
        saved="The review is saved, and still anonymous.",
        hides=anonymise_conference,
        text=lambda: hotcrp.PaperReview.objects.get().texts["t02"],
    ),
]


@pytest.mark.parametrize("own", ALL, ids=lambda own: own.site.name)
def test_whatever_goes_wrong_nothing_is_lost(
    own: Own, page: Any, new_page: Any, live_server: Any, settings: Any
) -> None:
    """A wrong password, a line that is cut, two clicks, reload, back, another tab, a name that is back meanwhile, no scripts: what stands
    there is what was saved last."""
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}
    bea = own.site.joins(own.site.who)
    one, two = (Author(each, live_server.url, own.site, "browser") for each in (page, page.context.new_page()))
    one.own = two.own = own
    one.logs_in()
    own.hides(bea, one, two)

    one.asks_for(own.page)
    one.submits(own.opens, "a guess")
    one.sees(WRONG["browser"])
    assert one.reloads_by() == "GET"
    page.context.set_offline(True)
    one.submits(own.opens)
    one.sees("The site does not answer.")
    page.context.set_offline(False)
    without = Author(new_page(java_script_enabled=False), live_server.url, own.site, "browser")
    if own.site is WEBSUBMIT:
        without.logs_in()
    without.asks_for(own.page)
    without.sees("This page needs JavaScript")

    one.lists()
    two.lists()
    one.types(own.label, "Mended.")
    one.submits(own.saves, "a guess")
    one.sees(WRONG["browser"])
    assert own.text() == "As written."
    page.context.set_offline(True)
    one.submits(own.saves)
    one.sees("The site does not answer.")
    page.context.set_offline(False)
    assert page.get_by_label(own.label).input_value() == "Mended."
    one.clicks_twice(own.saves)
    one.sees(own.saved)
    assert own.text() == "Mended."
    two.types(own.label, "Mended twice.")
    two.submits(own.saves)
    two.sees(own.saved)
    with contextlib.suppress(Error):  # a page that came by a form: the browser asks before it sends that again
        page.go_back()
    assert own.text() == "Mended twice."

    two.lists()
    name = own.site.who if own.site is WEBSUBMIT else f"{own.site.name}:{own.site.who}"
    with edna.unlock(identifier=name, password=PASSWORD) as unlocked:
        edna.reveal(edna.history(unlocked)[0].receipt, unlocked)
    two.types(own.label, "Too late.")
    two.submits(own.saves)
    two.sees("Your key does not speak for")
    assert own.text() == "Mended twice."
