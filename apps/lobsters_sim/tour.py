"""The steps of ``manage.py demo lobsters``: a member leaves, disowns a topic, comes back; another one's account decays."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from django.db.models import Count
from django.urls import reverse

import edna
from apps.showcase import evidence
from apps.showcase.stage import WIDTH
from apps.showcase.tour import Needles
from apps.showcase.tour import Tour as SharedTour

from .keys import DECAY, DELETION, TOPIC, identifier
from .management.commands.lobsters_seed import DEMO_PASSWORD
from .models import Comment, Story, User, Vote
from .seeding.rows import BEA

SCALE, TAG = 0.01, "starwars"
#: The stories and comments of a page, and the votes on it, in their order.
ITEMS = re.compile(r'(?:/stories/(?!new")|id="c_)(\w+)"')
VOTES = re.compile(r'title="(\d+ for, \d+ against)"')


class Tour(SharedTour):
    about = "This tour uses Lobsters, a sample site where people share links, discuss and vote."
    name = "Bea"
    login = {"lobsters_username": BEA}
    identifier = identifier(BEA)
    password = DEMO_PASSWORD
    leaving = DELETION
    people = "users"
    tables = {"accounts": "users", "stories": "stories", "comments": "comments", "votes": "votes"}
    owned = {
        "account": ("lobsters_sim.User", "pk"),
        "stories": ("lobsters_sim.Story", "user"),
        "comments": ("lobsters_sim.Comment", "user"),
        "votes": ("lobsters_sim.Vote", "user"),
        "messages sent": ("lobsters_sim.Message", "author_user"),
        "messages received": ("lobsters_sim.Message", "recipient_user"),
        "saved stories": ("lobsters_sim.SavedStory", "user"),
    }

    def steps(self) -> Mapping[str, Callable[[], None]]:
        return {
            "A site with members": self.community,
            "A thief takes a copy of the database": self.thief_before,
            "Bea wants to leave. What would happen?": self.preview,
            "Bea deletes her account": self.leave,
            "Others look at the site": self.others_look,
            "Others try to open the bag": self.locked_out,
            "Bea returns": self.come_back,
            f"Bea does not want to be known for “{TAG}” any more": self.disown,
            "Bea edits a comment that is nobody's": self.edit_under_disguise,
            "Bea takes the topic back": self.reclaim,
            "An account that nobody uses decays": self.decay,
            "After years, somebody comes back to it": self.come_back_after_years,
        }

    # The site

    def community(self) -> None:
        self.seed("lobsters_seed", scale=SCALE, no_register=True)
        bea = User.objects.get(username=BEA)
        bea.set_password(DEMO_PASSWORD)  # with a salt of her own: the seed hashes one password for all
        bea.save()
        self.stage.say(
            f"{User.objects.count()} people posted {Story.objects.count()} stories and {Comment.objects.count()} comments, and voted "
            f"{Vote.objects.count():,} times. We watch one of them, Bea. She gets a key pair: the database keeps the public half, and "
            "the secret half only locked away, once with her password and once with a recovery code that she sees this one time."
        )
        self.comments = list(bea.comments.order_by("pk").values_list("comment", flat=True))
        self.stories = list(bea.stories.order_by("pk").values_list("title", flat=True))
        # A story that Bea wrote something about, and that is not hers.
        self.thread = Story.objects.filter(comments__user=bea).exclude(user=bea).order_by("-comments_count", "pk")[0]
        self.discussion = self._discussion()
        self.register(bea, User.objects.exclude(pk=bea.pk))
        self.pages = self.seen()

    def leave(self) -> None:
        written = {Comment: self.mine["comments"], Story: self.mine["stories"], Vote: self.mine["votes"]}
        keys = {model: list(model.objects.filter(user=self.person).values_list("pk", flat=True)) for model in written}
        super().leave()
        owners = [model.objects.filter(pk__in=keys[model]).values_list("user", flat=True) for model in written]
        different = set().union(*owners)
        self.stage.check(
            "Each comment, story and vote has an owner of its own, an account that was never anybody's",
            len(different) == sum(written.values())
            and not User.objects.filter(pk__in=different, deleted_at=None).exists(),
        )

    def personal(self) -> Needles:
        return {
            "e-mail address": [self.person.email],
            "password hash": [self.person.password],
            "comments": [*self.comments],
            "titles of stories": [*self.stories],
        }

    def seen(self) -> dict[str, tuple[list[str], list[str]]]:
        """Stories and scores of some pages, in the order in which somebody who is not logged in sees them."""
        paths = {
            "front page": reverse("lobsters:front"),
            "recent stories": reverse("lobsters:recent"),
            "a thread with Bea in it": reverse("lobsters:story", args=[self.thread.short_id]),
        }
        pages = {label: evidence.page(path) for label, path in paths.items()}
        # Each entry once: a story without an address of its own has one more link to its page.
        return {label: (list(dict.fromkeys(ITEMS.findall(text))), VOTES.findall(text)) for label, text in pages.items()}

    def pages_are_the_same(self) -> None:
        seen = self.seen()
        columns: dict[str, dict[str, int]] = {"entries": {}, "scores": {}}
        for label, (entries, scores) in seen.items():
            columns["entries"][label], columns["scores"][label] = len(entries), len(scores)
        self.stage.compare(columns)
        found_something = all(entries and scores for entries, scores in seen.values())
        self.stage.check(
            "The same stories and comments stand in the same order, with the same votes",
            found_something and seen == self.pages,
        )

    def others_look(self) -> None:
        self.stage.say(
            "The front page, the latest stories, and a discussion in which Bea took part, as everybody sees them. Her votes count, and the "
            "answers to her comments still hang where they did:"
        )
        self.pages_are_the_same()
        same = self._discussion() == self.discussion
        self.stage.check("No comment of the discussion is missing, and none has lost the one it answers", same)

    def _discussion(self) -> list[Any]:
        return list(
            Comment.objects.filter(story=self.thread).order_by("pk").values_list("pk", "parent_comment", "upvotes")
        )

    # A topic

    def _tagged(self) -> Any:
        return Story.objects.filter(tags__tag=TAG)

    def _texts(self) -> list[Any]:
        return [
            *self._tagged().order_by("pk").values_list("title", "url", "upvotes", "comments_count"),
            *Comment.objects.filter(story__tags__tag=TAG).order_by("pk").values_list("comment", "upvotes"),
        ]

    def _by_bea(self) -> int:
        comments = Comment.objects.filter(story__tags__tag=TAG, user=self.person)
        votes = Vote.objects.filter(story__tags__tag=TAG, user=self.person)
        return self._tagged().filter(user=self.person).count() + comments.count() + votes.count()

    def disown(self) -> None:
        self.stage.say("She stays, and so does what she wrote about it. What goes is her name on it, and her votes.")
        before, elsewhere = self._texts(), self.person.comments.exclude(story__tags__tag=TAG).count()
        hers = self._by_bea()
        self.mine_there = list(Comment.objects.filter(story__tags__tag=TAG, user=self.person).order_by("pk"))
        self.stage.code(f'edna.disguise("{TOPIC}", bea, params={{"tag": "{TAG}"}})')
        edna.disguise(TOPIC, self.person, params={"tag": TAG})
        self.stage.compare({"before": {"rows with her name": hers}, "now": {"rows with her name": self._by_bea()}})
        self.stage.check(f"Nothing about “{TAG}” has her name on it", hers > 0 and self._by_bea() == 0)
        self.stage.check("All of it can still be read, with the same scores", self._texts() == before)
        self.stage.check(
            "What she wrote about other things is still hers",
            self.person.comments.count() == elsewhere,
        )
        self.pages_are_the_same()

    def edit_under_disguise(self) -> None:
        self.sample = self.mine_there[0]
        self.sample.refresh_from_db()
        self.stage.say("One of her comments, as everybody reads it now:")
        self.stage.show([textwrap.shorten(self.sample.comment, WIDTH - 8, placeholder="…")])
        self.stage.show([f"by {self.sample.user.username}, who is nobody"])
        author = self.sample.user_id
        self.new_text = self.sample.comment + " Edited: I know better now."
        with self.speaking_as(self.sample, "user") as (_, voice):
            Comment.objects.filter(pk=self.sample.pk, user=voice.pk).update(comment=self.new_text)
        self.sample.refresh_from_db()
        self.stage.check("The comment says what she wants now", self.sample.comment == self.new_text)
        self.stage.check("It is as much nobody's as before", self.sample.user_id == author and self._by_bea() == 0)

    def reclaim(self) -> None:
        outcome = self.take_back(TOPIC)
        self.stage.check("Nothing is held back", outcome.complete)
        self.stage.check("Her edit was not overwritten", self.person.comments.filter(comment=self.new_text).exists())
        self.stage.say("The database is compared with the one of step 1, row by row and table by table:")
        same = self.equals(self.but_for(self.sample, "comment"), called="step 1, with the edit")
        self.stage.check("Nothing differs but the one comment that Bea edited", same)

    # Decay

    def decay(self) -> None:
        self.dormant = (
            User.objects.filter(pk__in=self.others, is_moderator=False)
            .annotate(written=Count("comments"))
            .filter(written__gte=5)
            .order_by("last_login", "pk")[0]
        )
        self.stage.say(
            f"{self.dormant.username} was last here on {self.dormant.last_login:%d %B %Y}. A schedule puts such accounts away: what they "
            "wrote stays, under nobody's name. It needs nobody's password."
        )
        written = sorted(self.dormant.comments.values_list("pk", "comment"))
        self.stage.code(f'edna.disguise("{DECAY}", {self.dormant.username.replace("-", "_")})')
        edna.disguise(DECAY, self.dormant)
        comments = Comment.objects.filter(pk__in=[pk for pk, _ in written])
        self.stage.check(
            "Everything that they wrote can still be read", sorted(comments.values_list("pk", "comment")) == written
        )
        self.stage.check(
            "Each comment has an owner of its own, so that none says which others are the same person's",
            comments.filter(user__deleted_at__isnull=False).values("user").distinct().count() == len(written),
        )
        needles: Needles = {"user name": [self.dormant.username], "e-mail address": [self.dormant.email]}
        self.finds_nothing("The thief finds neither name nor address", needles)
        self.pages_are_the_same()

    def come_back_after_years(self) -> None:
        self.stage.say("They find their key again, and with it everything that was theirs.")
        with edna.unlock(secret_key=self.others[self.dormant.pk]) as unlocked:
            [entry] = edna.history(unlocked)
            outcome = edna.reveal(entry.receipt, unlocked)
        self.show_outcome(outcome)
        same = self.equals(self.but_for(self.sample, "comment"), called="step 1, with the edit")
        self.stage.check("Nothing differs but the one comment that Bea edited", outcome.complete and same)
        self.stage.check("Nobody's account is left over", not User.objects.filter(pk__lt=0).exists())
        self.stage.check("No bag is left over", self.count()["sealed bags"] == 0)
