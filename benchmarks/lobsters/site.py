"""The data that is measured on, and who is: many members at random, a light one, a median one, and the heaviest."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from django.contrib.auth.hashers import make_password
from django.core.management import call_command

import edna
from apps.lobsters_sim import listing
from apps.lobsters_sim.models import Comment, Story, User
from apps.lobsters_sim.threads import Node, thread
from benchmarks.disguising import Disguising, Operation, Person
from benchmarks.kit.driver import Driver
from benchmarks.kit.percentiles import percentile
from benchmarks.lobsters import floor, manual
from benchmarks.people import owned, with_keys
from benchmarks.space import analyse, leave
from benchmarks.timing import BESIDE, COUNTED, DRILLED, WARM_UP, Key, interleave, say

TAG: Final = "starwars"
DELETE: Final = Operation(
    "delete account",
    "restore account",
    "lobsters.delete-account",
    affected=manual.everything_of,
    by_hand=manual.delete_account,
    places=floor.DELETE,
    published=(5.2, 13.4),
    published_back=(None, 17.6),
)
DECAY: Final = Operation(
    "decay",
    "come back from decay",
    "lobsters.decay",
    affected=manual.everything_of,
    by_hand=manual.decay,
    places=floor.DECAY,
    published=(4.0, 9.7),
    published_back=(None, 15.6),
)
TOPIC: Final = Operation(
    "anonymise a topic",
    "reclaim a topic",
    "lobsters.topic",
    affected=partial(manual.topic_of, tag=TAG),
    by_hand=partial(manual.anonymise_topic, tag=TAG),
    places=floor.topic(TAG),
    params={"tag": TAG},
    published=(1.3, 3.6),
    published_back=(None, 13.1),
)
#: MB before and after.
PUBLISHED_TABLES: Final = {"edna's tables": [12, 58.5], "the application's tables": [261, 290]}
PUBLISHED_SPACE: Final = (
    "published, for 10 % of 16,000 users: edna's tables 12 to 58.5 MB, the application's 261 to 290 MB (+11 %), 78,100 pseudoprincipals",
)


class Site:
    """A seeded database with the keys of everybody in it at hand."""

    operations = (DELETE, DECAY, TOPIC)

    def __init__(self, driver: Driver, *, scale: float, seed: int) -> None:
        self.driver = driver
        self.source = random.Random(seed)
        call_command("migrate", verbosity=0)
        call_command("lobsters_seed", scale=scale, no_register=True, verbosity=0)
        User.objects.update(is_moderator=False)  # a right that does not come back by itself is no loss
        analyse(driver)
        members = list(User.objects.filter(deleted_at=None))
        self.source.shuffle(members)
        say(f"registering {len(members):,} members")
        self.people = with_keys(members)
        self._size = f"scale {scale:g}: {len(members):,} members, {Story.objects.count():,} stories, {Comment.objects.count():,} comments"
        self.rows = self._owned()
        self.measured = Disguising(driver, people=manual.PEOPLE, floor=floor.floor(driver), members=self.people)

    def __str__(self) -> str:
        return self._size

    def _owned(self) -> Mapping[int, int]:
        found = owned(self.driver, manual.OWNERS)
        return {person.user.pk: found.get(person.user.pk, 0) + 1 for person in self.people}

    def spread(self) -> str:
        """How many rows members own."""
        sizes = list(self.rows.values())
        named = {"p5": 5, "p50": 50, "p95": 95, "most": 100}
        return ", ".join(f"{name} {percentile(sizes, percent):,.0f}" for name, percent in named.items())

    def create(self, samples: int) -> None:
        """An account with a key of its own, and one without."""
        clock, password = self.measured.clock, make_password("!")

        def with_edna(name: str) -> None:
            edna.register_principal(User.objects.create(username=name, email=f"{name}@example.org", password=password))

        for number in clock.rounds(range(min(samples, 100) + BESIDE)):
            interleave(
                number,
                lambda n=number: clock(Key("create account", "edna"), lambda: with_edna(f"new-{n}"), rows=1),
                lambda n=number: clock(
                    Key("create account", "manual"),
                    lambda: manual.create_account(self.driver, f"by-hand-{n}", password),
                    rows=1,
                ),
                lambda n=number: clock(
                    Key("create account", "floor"),
                    lambda: floor.create_account(self.measured.floor, self.driver, f"floor-{n}", password),
                    rows=1,
                ),
            )
        self.measured.more[Key("create account", "edna")] = {"published": [0.1, 8.7]}

    def read(self, samples: int) -> None:
        """What edna leaves as it is: the application's own queries of two pages, without their templates, beside the same in SQL."""
        clock, driver = self.measured.clock, self.driver
        stories = list(listing.stories().values_list("short_id", "pk"))
        wanted = min(samples, 100) + BESIDE
        for number, (short_id, key) in enumerate(clock.rounds(self.source.choices(stories, k=wanted))):
            comments = Comment.objects.filter(story=key).count()
            interleave(
                number,
                lambda s=short_id, n=comments: clock(Key("read a story", "edna"), lambda: _story(s), rows=n + 1),
                lambda s=short_id, n=comments: clock(
                    Key("read a story", "manual"), lambda: manual.read_story(driver, s), rows=n + 1
                ),
            )
            driver.commit()
        size = listing.STORIES_PER_PAGE
        for number in clock.rounds(range(wanted)):
            interleave(
                number,
                lambda: clock(Key("front page", "edna"), _front_page, rows=size),
                lambda: clock(Key("front page", "manual"), lambda: manual.front_page(driver, size), rows=size),
            )
            driver.commit()
        self.measured.more[Key("read a story", "edna")] = {"published": [1.6, 2.0]}
        self.measured.more[Key("front page", "edna")] = {"published": [3.0, 3.1]}

    def measure(self, operation: Operation, *, samples: int, repeated: int) -> None:
        """For many members once each, then for three of different sizes again and again."""
        rows = self.rows if operation is not TOPIC else self._in_topic()
        concerned = [person for person in self.people if rows.get(person.user.pk)]
        counted = max(COUNTED, samples // 10)
        chosen = self.source.sample(concerned, min(len(concerned), samples + WARM_UP + max(DRILLED, counted) + counted))
        self.measured.many(operation, chosen)
        ordered = sorted(concerned, key=lambda person: (rows[person.user.pk], person.user.pk))
        heaviest = len(ordered) - 1
        for name, place in (("light", heaviest // 20), ("median", heaviest // 2), ("heaviest", heaviest)):
            times = max(3, repeated // 3) if place == heaviest else repeated
            self.measured.repeated(operation, ordered[place], times=times, suffix=f", {name}")
            self.measured.memory(operation, ordered[place], suffix=f", {name}")

    def _in_topic(self) -> Mapping[int, int]:
        """How many rows of the topic each member has."""
        found: dict[int, int] = {}
        for table, where, params in manual.topic_of(0, TAG):
            sql = f"SELECT t.user_id, COUNT(*) FROM {table} t WHERE {where} GROUP BY t.user_id"
            for user, count in self.driver.execute(sql.replace("t.user_id = %s AND ", ""), params[1:]).fetchall():
                found[user] = found.get(user, 0) + count
        self.driver.connection.commit()
        return found

    def leave(self, part: float) -> None:
        """Some members leave for good, by edna: what do the tables take then?"""
        members: list[Person] = self.source.sample(self.people, round(len(self.people) * part))
        key = Key(f"storage after {part:.0%} left", "edna")
        extra = leave(self.driver, self.measured.clock, key, [person.user for person in members], DELETE.disguise)
        extra["notes"] += PUBLISHED_SPACE
        extra["published_space"] = PUBLISHED_TABLES
        self.measured.more[key] = extra


def _front_page() -> Sequence[listing.Listed]:
    rows = listing.front_page(None)
    page = listing.page_of(rows, 1, listing.STORIES_PER_PAGE, "front", shown=listing.shown_stories())
    return listing.listed(page.rows, None)


def _story(short_id: str) -> Sequence[Node]:
    shown = Story.objects.select_related("user", "merged_story").get(short_id=short_id)
    comments = list(Comment.objects.filter(story=shown).select_related("user", "hat").only(*listing.COMMENT_COLUMNS))
    listing.listed([shown], None)
    return thread(comments, {})
