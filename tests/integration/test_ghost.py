"""One user of the site stands for everybody who has left: what that costs, and that everybody gets theirs back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest
from django.core.checks import run_checks

import edna
from edna import Disguise, Modify, Remove, placeholders
from edna.errors import SpecError
from edna.testing import Person, application_dump
from tests.installed import registered, registering
from tests.integration.conftest import FORUM
from tests.integration.forum.models import Follower, Member, Post, Profile, Settings, Topic, Watch
from tests.support import edna_dump, nothing_changes, statements

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

GHOST = placeholders.row(Member, name="[deleted]")


class Hand(Disguise):
    """Everything stays, and is the ghost's."""

    name = "test.hand"
    asks_for_key = True
    transformations = [
        Modify(Topic, owner="starter", set={"starter": GHOST}),
        Modify(Topic, owner="last_poster", set={"last_poster": GHOST}),
        Modify(Post, owner="author", set={"author": GHOST}),
    ]


class Vanish(Disguise):
    name = "test.vanish"
    asks_for_key = True
    transformations = [
        Remove(Member),
        Remove(Profile, owner="member"),
        Remove(Settings, owner="member"),
        Remove(Follower, owner="profile__member"),
        Remove(Follower, owner="member"),
        Remove(Watch, owner="member"),
        *Hand.transformations,
    ]


@pytest.fixture(autouse=True)
def forum(forum_tables: None, db: None) -> Iterator[None]:
    with registered(FORUM), registering(Hand, Vanish):
        yield


@pytest.fixture
def ghost() -> Member:
    return Member.objects.create(name="[deleted]", is_active=False)


@pytest.fixture
def people() -> list[Person]:
    """They write in each other's topics."""
    made = [Member.objects.create(name=name) for name in ("bea", "carl")]
    for member in made:
        Profile.objects.create(member=member)
        topic = Topic.objects.create(starter=member, last_poster=made[0])
        Post.objects.bulk_create(Post(topic=topic, author=author) for author in made)
    return [Person.registered(member) for member in made]


def test_the_checks_have_nothing_to_say_of_it() -> None:
    """It covers what points at a removed account."""
    assert [each for each in run_checks(tags=["edna"]) if "ghost" in str(each.obj).lower()] == []


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_everybody_gets_theirs_back_in_any_order(ghost: Member, people: list[Person], order: tuple[int, ...]) -> None:
    before, tables = application_dump(), edna_dump()
    receipts = [(person, person.disguise("test.hand")) for person in people]
    assert set(Post.objects.values_list("author", flat=True)) == {ghost.pk}
    receipts += [(person, person.disguise("test.vanish", with_key=True)) for person in people]
    assert list(Member.objects.all()) == [ghost]
    for number in order:
        person, receipt = receipts[number]
        assert person.reveal(receipt).complete
    assert application_dump() == before
    assert edna_dump() == tables


class RemovePosts(Disguise):
    name = "test.remove-posts"
    transformations = [Remove(Post, owner="author")]


def test_what_the_ghost_has_is_nobodys_for_any_later_disguise(ghost: Member, people: list[Person]) -> None:
    """That is what it costs: a pseudoprincipal's rows are found with the key, the ghost's are not."""
    with registering(RemovePosts):
        people[0].disguise("test.hand")
        before = Post.objects.count()
        people[0].disguise("test.remove-posts", with_key=True)
        assert Post.objects.count() == before
        people[1].disguise("forum.anonymise")
        people[1].disguise("test.remove-posts", with_key=True)
        assert Post.objects.count() == before - 2


def test_it_is_looked_up_once_for_each_step(ghost: Member, people: list[Person]) -> None:
    sent = statements(lambda: people[0].disguise("test.hand"))
    assert len([sql for sql in sent if "[deleted]" in sql]) == 3


def test_without_a_ghost_nothing_is_done(people: list[Person]) -> None:
    with nothing_changes(), pytest.raises(SpecError, match="finds no row by name"):
        people[0].disguise("test.hand")


def test_a_ghost_for_everybody_is_no_pseudoprincipal(ghost: Member, people: list[Person]) -> None:
    people[0].disguise("test.hand")
    assert not edna.is_pseudoprincipal(ghost)
