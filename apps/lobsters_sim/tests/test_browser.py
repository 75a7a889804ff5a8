"""The whole story in a browser, by the keyboard alone, with a picture of every page in ``build/screenshots/lobsters``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.lobsters_sim.models import Comment, Story, User
from apps.lobsters_sim.writing import post_comment
from apps.showcase.tests.by_keyboard import ByKeyboard

from .conftest import PASSWORD, Person, Site

pytestmark = pytest.mark.browser


class Walker(ByKeyboard):
    namespace = "lobsters"

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"lobsters-privacy:{name}", args=args))

    def log_in(self, username: str) -> None:
        self.page.context.clear_cookies()
        self.go("login")
        self.fill(username=username, password=PASSWORD)
        self.press("Log in")


@pytest.fixture
def walker(page: Any, live_server: Any) -> Walker:
    return Walker(page, live_server.url)


def test_the_whole_story(walker: Walker, transactional_db: None, site: Site, carl: Person, mod: Person) -> None:
    walker.go("front")
    walker.sees("Paxos over tea")
    walker.picture("01-front")

    # Register
    walker.go("register")
    walker.picture("02-register")
    walker.fill(username="dora", email="dora@example.org", new_password=PASSWORD, again="something else")
    walker.press("Create my account")
    walker.picture("03-register-error")
    walker.fill(new_password=PASSWORD, again=PASSWORD)
    walker.press("Create my account")
    recovery_code = walker.page.locator("#edna-code").inner_text()
    assert re.fullmatch(r"(\w{4}-){6}\w{4}", recovery_code)
    walker.picture("04-recovery-code")
    walker.go("front")

    # Submit
    walker.follow("Submit")
    walker.picture("05-submit")
    walker.fill(title="Kettles compared", url="https://example.org/kettles", tags="compsci nothing")
    walker.press("Submit")
    walker.picture("06-submit-error")
    walker.fill(tags="compsci", description="Which boils first?\n\n> A watched one never does.")
    walker.press("Submit")
    walker.sees("No comments yet")
    kettles = Story.objects.get(title="Kettles compared")

    # Comment, answer, vote
    walker.fill(comment="The blue one. See https://example.org/blue for why.")
    walker.press("Post the comment")
    walker.sees("1 comment")
    mine = Comment.objects.get(user__username="dora")
    answer = post_comment(carl.user, "", "The red one whistles.", parent_id=mine.short_id)
    post_comment(mod.user, "", "Both of you: tea first.", parent_id=answer.short_id)
    walker.go("story", kettles.short_id)
    walker.picture("07-story")
    walker.go("story", site.carls.short_id)
    walker.press(re.compile("Vote for “Garbage"))
    assert Story.objects.get(pk=site.carls.pk).upvotes == site.carls.upvotes + 1
    walker.press(re.compile("Vote for this comment"))
    walker.picture("08-story-voted")
    walker.go("comment", site.carls_reply.short_id)
    walker.picture("09-comment")
    walker.fill(comment="Kettles have no garbage.")
    walker.press("Post the reply")
    walker.sees("Kettles have no garbage.")
    walker.go("flag-story", site.beas_film.short_id)
    walker.picture("10-flag")
    walker.press("Off-topic")
    walker.go("front")
    walker.picture("11-front-logged-in")
    walker.press("save")
    for name in ("recent", "comments", "tags", "saved", "hidden", "filters", "hats", "request-hat", "moderations"):
        walker.go(name)
        walker.picture(f"20-{name}")
    walker.go("filters")
    walker.ticks(walker.page.get_by_label("starwars"))
    walker.press("Save the filters")
    walker.sees("Your filters are saved.")
    walker.go("tag", "compsci")
    walker.picture("21-tag")
    walker.go("profile", "bea")
    walker.picture("22-profile")
    walker.go("profile-comments", "bea")
    walker.picture("23-profile-comments")
    walker.go("edit-story", kettles.short_id)
    walker.picture("24-edit-story")
    walker.go("edit-comment", mine.short_id)
    walker.picture("25-edit-comment")
    walker.go("account")
    walker.picture("26-account")
    walker.go("change-password")
    walker.picture("27-change-password")

    # Messages
    walker.go("profile", "carl")
    walker.follow("Write a message")
    walker.picture("30-write-message")
    walker.fill(subject="Whistles", body="How loud is it?")
    walker.press("Send")
    walker.picture("31-sent")
    walker.log_in("carl")
    walker.picture("32-front-with-mail")
    walker.go("messages")
    walker.picture("33-messages")
    walker.follow("Whistles")
    walker.picture("34-message")

    # Leave a topic, edit, reclaim
    walker.log_in("dora")
    walker.go("choose-topic")
    walker.picture("40-leave-topic")
    walker.fill(tag="compsci")
    walker.press("Show what would happen")
    walker.picture("41-leave-topic-preview")
    walker.fill(password=PASSWORD)
    walker.press("Leave “compsci”")
    walker.sees("Your receipt")
    walker.picture("42-topic-left")
    walker.go("story", kettles.short_id)
    walker.sees("[anonymous]")
    walker.picture("43-story-anonymous")
    walker.go("disguised")
    walker.picture("44-disguised")
    walker.fill(password=PASSWORD)
    walker.press("Show it")
    walker.picture("45-disguised-list")
    walker.press(re.compile("Edit the story “Kettles"))
    walker.picture("46-edit-disguised")
    walker.fill(title="Kettles compared at last", password=PASSWORD)
    walker.press("Save, stay without a name")
    walker.sees("It still stands under nobody’s name")
    assert not Story.objects.get(title="Kettles compared at last").user.is_active
    walker.follow("what is hidden now")
    walker.presses(walker.page.locator("summary"))
    walker.fill(recovery_code=recovery_code)
    walker.press("Show it")
    walker.sees("Leave the topic “compsci”")
    walker.picture("47-hidden")
    walker.press(re.compile("Bring it back"))
    walker.fill(password=PASSWORD)
    walker.press("Bring it back")
    walker.sees("It is back")
    walker.picture("48-reclaimed")
    assert Story.objects.get(title="Kettles compared at last").user.username == "dora"

    # Delete, good-bye
    walker.privacy("home")
    walker.picture("49-your-data")
    walker.privacy("apply", "lobsters.delete-account")
    walker.picture("50-delete")
    walker.fill(password=PASSWORD)
    walker.press("Delete your account")
    walker.sees("Good-bye")
    walker.picture("52-good-bye")
    assert not User.objects.filter(username="dora").exists()
    walker.go("story", kettles.short_id)
    walker.sees("[deleted content]")
    walker.sees("The red one whistles.")
    walker.picture("53-story-deleted")

    # Come back
    walker.go("login")
    walker.fill(username="dora", password=PASSWORD)
    walker.press("Log in")
    walker.sees("you can come back")
    walker.picture("54-login-error")
    walker.privacy("return")
    walker.picture("55-return")
    walker.fill(identifier="dora", password=PASSWORD)
    walker.press("Bring my account back")
    walker.sees("It is back")
    walker.picture("57-returned")
    walker.log_in("dora")
    walker.go("story", kettles.short_id)
    walker.sees("Kettles compared at last")

    # Decay, finish the deletion
    edna.disguise("lobsters.decay", User.objects.get(username="dora"))
    walker.page.context.clear_cookies()
    walker.go("finish")
    walker.picture("58-finish")
    walker.fill(identifier="dora", password=PASSWORD)
    walker.press("Delete what I wrote")
    walker.sees("Good-bye")
    walker.picture("59-finished")

    # Moderators
    walker.log_in("mod")
    walker.go("hats")
    walker.picture("60-hats")
    walker.press("grant")
    walker.sees("The hat is granted.")
    walker.go("moderate-comment", site.carls_reply.short_id)
    walker.picture("61-moderate")
    walker.fill(reason="Unkind")
    walker.press("Remove it")
    walker.picture("62-moderated")
    walker.go("story", site.carls.short_id)
    walker.sees("[comment removed by a moderator]")
    walker.picture("63-story-moderated")

    walker.page.goto(walker.site + "/lobsters/nowhere")
    walker.picture("70-not-found")
    walker.go("hats")
    walker.page.goto(walker.site + reverse("lobsters:story", args=["nothere"]))
    walker.sees("No such page")
    assert [error for error in walker.errors if "404" not in error] == []


def test_it_works_without_javascript(
    page_without_scripts: Any, live_server: Any, transactional_db: None, site: Site
) -> None:
    walker = Walker(page_without_scripts, live_server.url)
    walker.log_in("bea")
    walker.go("story", site.carls.short_id)
    walker.press(re.compile("Take back your vote for “Garbage"))
    assert Story.objects.get(pk=site.carls.pk).upvotes == site.carls.upvotes - 1
    walker.go("choose-topic")
    walker.fill(tag="starwars")
    walker.press("Show what would happen")
    walker.fill(password=PASSWORD)
    walker.press("Leave “starwars”")
    walker.sees("Your receipt")
