"""Disguises on top of each other, and by several people: whatever the order of leaving and of coming back, at the end all is as it was."""

from __future__ import annotations

import io
import itertools
import random
from collections.abc import Callable, Sequence

import pytest
from django.core.management import call_command
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import finish
from apps.lobsters_sim.models import Comment, Message, Moderation, Story, User, Vote
from edna import inner_door
from edna.testing import application_dump
from edna.testing.search import finds
from tests.databases import first_everywhere
from tests.support import edna_dump, loot

from .conftest import Person, Site
from .owners import counts, somebody
from .test_disguises import DECAY, DELETE, TOPIC, key_of, named, personal, seen_by_others, take_back

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

STARWARS, COMPSCI = {"tag": "starwars"}, {"tag": "compsci"}


@pytest.fixture
def join(db: None) -> Callable[..., Person]:
    return somebody


def leave(person: Person, disguise: str, *, with_key: bool = False, **params: str) -> edna.Receipt:
    if not with_key:
        return edna.disguise(disguise, person.user, params=params)
    with key_of(person) as unlocked:
        return edna.disguise(disguise, person.user, params=params, unlocked=unlocked)


def returned(person: Person, receipts: Sequence[edna.Receipt]) -> None:
    for receipt in receipts:
        outcome = take_back(person, receipt)
        assert outcome.held == []


# Messages


@first_everywhere("disguise", [DELETE, DECAY])
@pytest.mark.parametrize("first_to_leave", ["bea", "carl"])
@pytest.mark.parametrize("first_to_return", ["bea", "carl"])
def test_a_message_whose_two_owners_leave(
    disguise: str, first_to_leave: str, first_to_return: str, site: Site, request: pytest.FixtureRequest
) -> None:
    before, tables = application_dump(), edna_dump()
    order = sorted(("bea", "carl"), key=lambda name: name != first_to_leave)
    people = [named(request, name) for name in order]
    receipts = {}
    for name, person in zip(order, people, strict=True):
        receipts[name] = leave(person, disguise)
    assert Message.objects.count() == (0 if disguise == DELETE else 2)
    for name in sorted(order, key=lambda name: name != first_to_return):
        returned(named(request, name), [receipts[name]])
        assert Message.objects.count() == 2
        assert sum(counts(named(request, name).user)[f"messages.{side}_user"] for side in ("author", "recipient")) == 2
    assert application_dump() == before
    assert edna_dump() == tables


def test_a_message_stays_with_the_one_who_stays(site: Site, bea: Person, carl: Person) -> None:
    """It says that the other one has deleted it, and no longer who that was; once both have left, it is nowhere."""
    text = {"message": "green or black"}
    leave(bea, DELETE)
    sent = Message.objects.get(recipient_user=carl.user)
    assert (sent.deleted_by_author, sent.deleted_by_recipient) == (True, False)
    assert edna.is_pseudoprincipal(sent.author_user)
    received = Message.objects.get(author_user=carl.user)
    assert (received.deleted_by_author, received.deleted_by_recipient) == (False, True)
    assert finds(loot(), text) == ["message"]
    leave(carl, DELETE)
    assert finds(loot(), text) == []


@pytest.mark.once
def test_who_returns_first_finds_the_other_one_gone(site: Site, bea: Person, carl: Person) -> None:
    receipts = leave(bea, DELETE), leave(carl, DELETE)
    returned(carl, [receipts[1]])
    sent = Message.objects.get(author_user=carl.user)
    assert (sent.deleted_by_author, sent.deleted_by_recipient) == (False, True)
    assert edna.is_pseudoprincipal(sent.recipient_user)


@pytest.mark.slow
@first_everywhere("leaving", list(itertools.permutations(["bea", "carl", "mod"])))
def test_all_leave_and_return_in_the_same_and_in_the_opposite_order(
    leaving: tuple[str, ...], site: Site, request: pytest.FixtureRequest
) -> None:
    """With the moderator, who shares log entries and notes with the others, and who granted hats: a hat, and what was written under
    it, is complete when both the one who wears it and the one who granted it are back."""
    before, tables = application_dump(), edna_dump()
    moderators = list(User.objects.filter(is_moderator=True).values_list("pk", flat=True))
    for returning in (leaving, tuple(reversed(leaving))):
        receipts = {name: leave(named(request, name), DELETE) for name in leaving}
        assert Moderation.objects.count() == 1
        held = {name: take_back(named(request, name), receipts[name]).held for name in returning}
        assert {each.model for some in held.values() for each in some} <= {"lobsters_sim.hat", "lobsters_sim.comment"}
        for name in returning:
            if held[name]:
                returned(named(request, name), [receipts[name]])
        User.objects.filter(pk__in=moderators).update(is_moderator=True)  # what does not come back by itself
        assert application_dump() == before
        assert edna_dump() == tables


# One person, several disguises

STEPS = {
    "topics, then deletion": ((TOPIC, STARWARS), (TOPIC, COMPSCI), (DELETE, {})),
    "topics, then decay": ((TOPIC, STARWARS), (TOPIC, COMPSCI), (DECAY, {})),
}


@pytest.mark.slow
@pytest.mark.once
@pytest.mark.parametrize("with_key", [False, True], ids=["without key", "with key"])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_any_order_of_taking_back(
    steps: Sequence[tuple[str, dict[str, str]]], order: tuple[int, ...], with_key: bool, site: Site, bea: Person
) -> None:
    before, tables, owned = application_dump(), edna_dump(), counts(bea.user)
    receipts = [leave(bea, name, with_key=with_key, **params) for name, params in steps]
    assert set(counts(bea.user).values()) == {0}
    returned(bea, [receipts[position] for position in order])
    assert counts(bea.user) == owned
    assert application_dump() == before
    assert edna_dump() == tables


def test_deletion_with_the_key_takes_what_was_disowned_before(site: Site, bea: Person) -> None:
    leave(bea, TOPIC, **STARWARS)
    leave(bea, DELETE, with_key=True)
    assert finds(loot(), personal(site, texts=True)) == []


@pytest.mark.once
def test_deletion_without_the_key_leaves_what_was_disowned_before(site: Site, bea: Person) -> None:
    """Nobody else can tell that it was hers."""
    leave(bea, TOPIC, **STARWARS)
    leave(bea, DELETE)
    assert finds(loot(), personal(site, texts=True)) == ["description", "comment there"]


@pytest.mark.once
def test_a_decayed_account_is_deleted(site: Site, bea: Person) -> None:
    """With the key. What had lost its name only loses its text, too; and even then the member may return."""
    before, tables, shown = application_dump(), edna_dump(), seen_by_others()
    decayed = leave(bea, DECAY)
    assert "comment" in finds(loot(), personal(site, texts=True))
    with key_of(bea) as unlocked:
        deleted = finish(decayed, unlocked)
    assert deleted is not None
    assert finds(loot(), personal(site, texts=True)) == []
    assert set(counts(bea.user).values()) == {0}
    assert seen_by_others() == shown
    returned(bea, [deleted])
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.parametrize("disguise", [DELETE, DECAY])
def test_what_others_do_meanwhile_stays(disguise: str, site: Site, bea: Person, carl: Person) -> None:
    receipt = leave(bea, disguise)
    reply = Comment.objects.create(
        story_id=site.beas.pk, user=carl.user, parent_comment_id=site.beas_comment.pk, comment="?"
    )
    vote = Vote.objects.create(user=carl.user, story_id=site.beas_film.pk, comment_id=site.film_comment.pk, vote=1)
    Story.objects.filter(pk=site.beas.pk).update(upvotes=17)
    returned(bea, [receipt])
    story = Story.objects.get(pk=site.beas.pk)
    assert (story.upvotes, story.user_id, story.title) == (17, bea.user.pk, site.beas.title)
    assert Comment.objects.filter(pk=reply.pk, user=carl.user).exists()
    assert Vote.objects.filter(pk=vote.pk, user=carl.user).exists()


@pytest.mark.once
def test_a_message_to_a_stranger_reaches_them_when_they_return(site: Site, bea: Person, carl: Person) -> None:
    receipt = leave(bea, DECAY)
    stranger = Message.objects.exclude(author_user=carl.user).get().author_user
    Message.objects.create(author_user=carl.user, recipient_user=stranger, subject="Who are you?", body="I forgot.")
    returned(bea, [receipt])
    assert Message.objects.get(subject="Who are you?").recipient_user_id == bea.user.pk


# A larger site


@pytest.mark.slow
def test_a_seeded_site_survives_what_its_members_do() -> None:
    """Members of all weights disguise this and that, in an order drawn at random, and return in another one."""
    call_command("lobsters_seed", scale=0.01, no_register=True, stdout=io.StringIO(), stderr=io.StringIO())
    source = random.Random(4)
    users = source.sample(list(User.objects.order_by("pk")), 6)
    users += User.objects.filter(username__in=["bea", "mod"]).exclude(pk__in=[user.pk for user in users])
    keys = {user.pk: made.secret_key for user, made in zip(users, edna.register_principals(users), strict=True)}
    for user in users:
        # They were here today, and so they are when they have returned: edna keeps the day for the site's schedule.
        inner_door.note_activity(user, today=timezone.now().date())
    before, tables, shown = application_dump(), edna_dump(), seen_by_others()
    moderators = list(User.objects.filter(is_moderator=True).values_list("pk", flat=True))
    todo = [(user, name, params) for user in users for name, params in ((TOPIC, STARWARS), (TOPIC, {"tag": "web"}))]
    source.shuffle(todo)
    todo += [(user, source.choice((DELETE, DECAY)), {}) for user in source.sample(users, len(users))]
    done = []
    for user, name, params in todo:
        with edna.unlock(secret_key=keys[user.pk]) as unlocked:
            with_key = unlocked if source.random() < 0.5 else None
            done.append((user, edna.disguise(name, user, params=params, unlocked=with_key)))
        assert seen_by_others() == shown
    assert all(set(counts(user).values()) == {0} for user in users)
    source.shuffle(done)
    waiting = done
    while waiting:
        held = []
        for user, receipt in waiting:
            with edna.unlock(secret_key=keys[user.pk]) as unlocked:
                if edna.reveal(receipt, unlocked).held:
                    held.append((user, receipt))
        assert len(held) < len(waiting)  # somebody else has to return first; in the end, everybody can
        waiting = held
    User.objects.filter(pk__in=moderators).update(is_moderator=True)  # what does not come back by itself
    assert application_dump() == before
    assert edna_dump() == tables
