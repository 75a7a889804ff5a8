"""Members whose keys stay in their browsers: the pages that are particular to this site, in Chromium. Pictures are in
``build/screenshots/lobsters-in-browser``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.lobsters_sim.keys import DECAY
from apps.lobsters_sim.models import Comment, Story, Tag, User
from apps.lobsters_sim.writing import post_comment, submit_story
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.showcase.tests.key_in_browser import FIRST, KeyInBrowser
from edna.testing.search import finds

from .conftest import PASSWORD

pytestmark = pytest.mark.browser


class Member(ByKeyboard, KeyInBrowser):
    namespace = "lobsters-in-browser"

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + reverse(f"lobsters:{name}", args=args))

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"lobsters-privacy:{name}", args=args))


@pytest.fixture(autouse=True)
def key_in_browser(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}


def test_a_member_whose_key_stays_in_the_browser(
    page: Any, live_server: Any, transactional_db: None, tags: dict[str, Tag]
) -> None:
    """Registers, makes a key, leaves a topic, edits there without a name, takes the name back; is put away, and finishes the
    deletion. The site never gets the password of the key."""
    member = Member(page, live_server.url)
    member.go("register")
    member.fill(username="dora", email="dora@example.org", new_password=PASSWORD, again=PASSWORD)
    member.press("Create my account")
    member.sees("Make your key")
    code = member.makes_a_key()
    member.keeps(code)
    dora = User.objects.get(username="dora")
    film = submit_story(
        dora,
        title="Blasters and their optics",
        url="https://example.org/blasters",
        description="At length.",
        tags=[tags["starwars"]],
        by_author=False,
    )
    comment = post_comment(dora, film.short_id, "The light is too slow.")

    member.go("choose-topic")
    member.fill(tag="starwars")
    member.press("Show what would happen")
    member.sees("Leave “starwars”", "1 story")
    member.picture("01-leave-topic")
    member.opens("Leave “starwars”", "a guess")
    member.sees("This does not open your key.")
    member.opens("Leave “starwars”")
    member.sees("It is done")
    assert not Comment.objects.filter(user=dora).exists()
    member.go("disguised")
    member.opens("Show it")
    member.sees("The light is too slow.")
    member.picture("02-disguised-list")
    member.press("Edit this comment on “Blasters and their optics”")
    member.types("Text", "The light is just right.")
    member.picture("03-edit")
    member.opens("Save, stay without a name")
    member.sees("Saved. It still stands under nobody’s name.")
    assert Comment.objects.get(pk=comment.pk).comment == "The light is just right."
    member.privacy("hidden")
    member.opens("Show it")
    member.sees("Leave the topic “starwars”")
    member.press(re.compile("^Bring it back"))
    member.opens("Bring it back")
    member.sees("It is back", "1 story")
    assert Story.objects.get(pk=film.pk).user == dora

    edna.disguise(DECAY, dora)
    page.context.clear_cookies()
    member.go("finish")
    member.picture("04-finish")
    member.fill(identifier="dora")
    member.opens("Delete what I wrote")
    member.sees("Good-bye")
    assert Comment.objects.get(pk=comment.pk).comment == "[deleted content]"
    member.privacy("return")
    member.opens_by_code("Bring my account back", code)
    member.sees("It is back", "Your account is here.")
    assert Comment.objects.get(pk=comment.pk).comment == "The light is just right."
    assert Comment.objects.get(pk=comment.pk).user.username == "dora"
    assert member.errors == []
    sent = b"\n".join(member.sent)
    assert finds(sent, {"password of the log-in": PASSWORD.replace(" ", "+")}) != [], "the search finds what was sent"
    assert finds(sent, {"password of the key": FIRST, "code": code}) == []
