"""One pseudoprincipal for rows of several steps, or for several columns of a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import edna
from edna import Decorrelate, Disguise
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.conftest import FORUM
from tests.integration.forum.models import Member, Post, Profile, Settings, Topic
from tests.support import edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.once]


class Anonymous(Disguise):
    """A topic, and what somebody has written there, are one nobody's; who was last to post is the same one."""

    name = "test.anonymous"
    transformations = [
        Decorrelate(Topic, owner=["starter", "last_poster"], group_by=["pk"], together="topic"),
        Decorrelate(Post, owner="author", group_by=["topic"], together="topic"),
    ]


class OneNobody(Disguise):
    name = "test.one-nobody"
    transformations = [
        Decorrelate(Topic, owner=["starter", "last_poster"], group_by=edna.ALL, together="all"),
        Decorrelate(Post, owner="author", group_by=edna.ALL, together="all"),
    ]


@pytest.fixture(autouse=True)
def forum(forum_tables: None, db: None) -> Iterator[None]:
    with registered(FORUM), registering(Anonymous, OneNobody):
        yield


@pytest.fixture
def people() -> list[Person]:
    """Two who have begun three topics each, and written three posts in each of everybody's."""
    made = [Member.objects.create(name=name) for name in ("bea", "carl")]
    for member in made:
        Profile.objects.create(member=member)
        Settings.objects.create(member=member)
    for number in range(6):
        Topic.objects.create(starter=made[number % 2], last_poster=made[number // 3])
    for topic in Topic.objects.all():
        Post.objects.bulk_create(Post(topic=topic, author=member) for member in made for _ in range(3))
    return [Person.registered(member) for member in made]


def nobodies() -> set[int]:
    return set(Member.objects.filter(pk__lt=0).values_list("pk", flat=True))


def voices() -> set[tuple[int, int]]:
    """Who is named in which topic."""
    named = [*Topic.objects.values_list("pk", "starter"), *Topic.objects.values_list("pk", "last_poster")]
    return {(topic, who) for topic, who in [*named, *Post.objects.values_list("topic", "author")] if who < 0}


@pytest.mark.parametrize("chunk_rows", [2_000, 4])
def test_a_topic_and_what_its_author_wrote_there_are_one_nobodys(
    people: list[Person], settings: Any, chunk_rows: int
) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": chunk_rows}
    before, tables = application_dump(), edna_dump()
    bea = people[0]
    assert edna.plan("test.anonymous", bea.user).pseudoprincipals == 6
    receipt = bea.disguise("test.anonymous")
    # One for each topic that she was named in, and no two of them the same.
    assert len(nobodies()) == len(voices()) == 6
    assert bea.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


def test_people_share_nobody(people: list[Person]) -> None:
    before = application_dump()
    receipts = [person.disguise("test.anonymous") for person in people]
    assert len(nobodies()) == len(voices()) == 12
    assert people[0].reveal(receipts[0]).complete
    assert len(nobodies()) == len(voices()) == 6
    assert people[1].reveal(receipts[1]).complete
    assert application_dump() == before


def test_one_nobody_for_everything(people: list[Person]) -> None:
    before = application_dump()
    edna.disguise_all("test.one-nobody")
    assert len(nobodies()) == 2
    for person in people:
        person.disguise("test.anonymous", with_key=True)
    assert len(nobodies()) == 2 + 12
    for person in people:
        for entry in reversed(person.history()):  # the oldest first
            assert person.reveal(entry.receipt).complete
    assert application_dump() == before


def test_one_whose_row_cannot_be_given_back_stays_for_it_alone(people: list[Person]) -> None:
    bea = people[0]
    receipt = bea.disguise("test.anonymous")
    post = Post.objects.filter(author__pk__lt=0).first()
    assert post is not None
    Post.objects.filter(pk=post.pk).update(author=people[1].user)  # a moderator says it was his
    outcome = bea.reveal(receipt)
    assert [held.pk for held in outcome.held] == [post.pk]
    assert len(nobodies()) <= 1
