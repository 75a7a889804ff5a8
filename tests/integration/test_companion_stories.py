"""Stories of people who hide, leave and return in any order, while pages and others touch what stands beside pseudoprincipals."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from edna.operations.upkeep import residue
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.conftest import FORUM
from tests.integration.forum.models import Follower, Member, Post, Profile, Settings, Topic, Watch
from tests.integration.test_ghost import Hand
from tests.integration.test_together import Anonymous
from tests.support import edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

SEEDS = int(os.environ.get("EDNA_STORIES", "12"))
DISGUISES = ("forum.anonymise", "forum.hush", "forum.leave", "test.anonymous", "test.hand")


@pytest.fixture(autouse=True)
def forum(forum_tables: None, db: None) -> Iterator[None]:
    with registered(FORUM), registering(Hand, Anonymous):
        yield


class Story:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        Member.objects.create(name="[deleted]", is_active=False)
        members = [Member.objects.create(name=name) for name in ("ann", "ben", "cas")]
        for member in members:
            Profile.objects.create(member=member, signature=f"yours, {member.name}")
            Settings.objects.create(member=member, theme="dark")
            Watch.objects.create(member=member, level=3)
        for number in range(6):
            topic = Topic.objects.create(starter=members[number % 3], last_poster=chance.choice(members))
            Post.objects.bulk_create(Post(topic=topic, author=chance.choice(members)) for _ in range(3))
        self.people = [Person.registered(member) for member in members]

    def goes_on(self) -> None:
        person = self.chance.choice(self.people)
        self.chance.choice([self.hides, self.hides, self.hides, self.returns, self.a_page, self.a_page, self.a_sweep])(
            person
        )

    def hides(self, person: Person) -> None:
        there = Member.objects.filter(pk=person.user.pk).exists()
        if there:
            person.disguise(self.chance.choice(DISGUISES), with_key=self.chance.random() < 0.6)

    def returns(self, person: Person) -> None:
        if entries := person.history():
            person.reveal(self.chance.choice(entries).receipt)

    def a_page(self, person: Person) -> None:
        """Something that is made, or written, for nobody."""
        if nobodies := list(Member.objects.filter(pk__lt=0).order_by("name")):
            nobody = self.chance.choice(nobodies)
            Watch.objects.get_or_create(member=nobody)
            Profile.objects.filter(member=nobody).update(posts=self.chance.randrange(9))
            # Each has one, unless a later disguise has it: then a page makes one, as pages do.
            Profile.objects.get_or_create(member=nobody)

    def a_sweep(self, person: Person) -> None:
        residue.sweep(made_by_hand=True)

    def ends(self) -> None:
        for _ in range(12):
            for person in self.chance.sample(self.people, len(self.people)):
                for entry in person.history():
                    person.reveal(entry.receipt)
        assert [entry for person in self.people for entry in person.history()] == []


@pytest.mark.parametrize("seed", range(SEEDS))
def test_in_the_end_everything_is_as_it_was(seed: int, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": random.Random(seed).choice([2_000, 5])}
    story = Story(random.Random(seed))
    before, tables = application_dump(), edna_dump()
    for _ in range(14):
        story.goes_on()
    story.ends()
    assert not Follower.objects.exists()
    assert application_dump() == before
    assert edna_dump() | {"edna_lastrun": []} == tables
