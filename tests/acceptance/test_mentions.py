"""Rows that somebody removed and that name somebody else's pseudoprincipal: whoever comes back first, both find what was theirs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

import edna
from edna.operations.retention import expiry
from tests.lobsters.community import Community, state
from tests.lobsters.models import Message
from tests.lobsters.specs import CLEAR_OUTBOX, DISOWN_STORIES, GDPR
from tests.support import edna_dump

pytestmark = [pytest.mark.django_db, pytest.mark.every_database]


@pytest.fixture
def letter(community: Community) -> tuple[Community, Any, Any, Message]:
    """Bob has written to whoever wrote a story of ann's, and has cleared his outbox: the receipts of both, and the message."""
    story = community.ann.user.stories.get(title="ann 0")
    [disowned] = community.ann.applies(DISOWN_STORIES)[community.ann.pk]
    message = Message.objects.create(author=community.bob.user, recipient=community.ann.voice(story), body="Nice story")
    tables = edna_dump()
    [cleared] = community.bob.applies(CLEAR_OUTBOX)[community.bob.pk]
    assert not Message.objects.filter(pk=message.pk).exists()
    assert len(edna_dump()["edna_bag"]) == len(tables["edna_bag"]) + 2
    return community, disowned, cleared, message


def recipient_of(message: Message) -> Any:
    return Message.objects.values_list("recipient", flat=True).get(pk=message.pk)


@pytest.mark.once
def test_the_mentioned_one_comes_back_first(letter: tuple[Community, Any, Any, Message]) -> None:
    """Her pseudoprincipal is gone when the message comes back, and the message is hers."""
    community, disowned, cleared, message = letter
    assert community.ann.reveal(disowned).complete
    assert not community.pseudoprincipals()
    assert community.bob.reveal(cleared).complete
    assert recipient_of(message) == community.ann.pk
    message.delete()
    assert community.is_as_before()


def test_the_mentioned_one_comes_back_last(letter: tuple[Community, Any, Any, Message]) -> None:
    """The message comes back to her pseudoprincipal, and goes with it to her."""
    community, disowned, cleared, message = letter
    assert community.bob.reveal(cleared).complete
    assert community.is_pseudonymous(recipient_of(message))
    assert community.ann.reveal(disowned).complete
    assert recipient_of(message) == community.ann.pk
    message.delete()
    assert community.is_as_before()


def test_through_several_pseudoprincipals(letter: tuple[Community, Any, Any, Message]) -> None:
    """The one who is named is disguised again meanwhile, and let go of by and by."""
    community, disowned, cleared, message = letter
    edna.disguise_all(DISOWN_STORIES)
    community.ann.reveal(disowned)
    for member in community.members:
        for entry in member.history():
            if entry.name == DISOWN_STORIES:
                assert member.reveal(entry.receipt).complete
    assert community.bob.reveal(cleared).complete
    assert recipient_of(message) == community.ann.pk
    message.delete()
    assert community.is_as_before()


@pytest.mark.once
def test_a_row_that_is_held_goes_on_waiting_for_the_one_it_mentions(
    letter: tuple[Community, Any, Any, Message],
) -> None:
    """The message cannot come back yet; the mention stays with it, and is followed later."""
    community, disowned, cleared, message = letter
    in_the_way = Message.objects.create(pk=message.pk, body="taken")
    assert [held.reason for held in community.bob.reveal(cleared).held] == [edna.Reason.ROW_EXISTS]
    assert community.ann.reveal(disowned).complete
    in_the_way.delete()
    assert community.bob.reveal(cleared).complete
    assert recipient_of(message) == community.ann.pk
    message.delete()
    assert community.is_as_before()


@pytest.mark.once
def test_the_one_who_removed_the_row_learns_nothing_but_the_name(letter: tuple[Community, Any, Any, Message]) -> None:
    """The mention of a pseudoprincipal says who it is now; what else ann does is none of bob's business, nor the other way round."""
    community, _, cleared, _ = letter
    before = state()
    with community.ann.unlock() as unlocked:
        with pytest.raises(edna.errors.ReceiptForeign):
            edna.reveal(cleared, unlocked)
        assert [entry.name for entry in edna.history(unlocked)] == [DISOWN_STORIES]
    assert state() == before


@pytest.mark.once
@pytest.mark.parametrize("first", ["ann", "bob"])
def test_both_rotate_their_keys_meanwhile(letter: tuple[Community, Any, Any, Message], first: str) -> None:
    """The mention stays where it is, and both still find it."""
    community, disowned, cleared, message = letter
    for member in (community.ann, community.bob):
        with member.unlock() as unlocked:
            made = edna.rotate(unlocked)
        assert made.secret_key is not None
        member.secret_key = made.secret_key
    reveals = [(community.ann, disowned), (community.bob, cleared)]
    for member, receipt in reveals if first == "ann" else reversed(reveals):
        assert member.reveal(receipt).complete
    assert recipient_of(message) == community.ann.pk
    message.delete()
    assert state() == community.before
    assert edna_dump()["edna_bag"] == community.tables["edna_bag"]


@pytest.fixture
def in_month(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the month in which things are done; what is disguised in January expires on the first of March."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}

    def set_to(month: int) -> None:
        now = datetime.datetime(2026, month, 10, tzinfo=datetime.UTC)
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)

    set_to(1)
    return set_to


@pytest.mark.once
def test_a_mention_is_kept_as_long_as_the_record_that_needs_it(
    in_month: Any, letter: tuple[Community, Any, Any, Message]
) -> None:
    """Bob's account has gone after his letters, which he takes back first: they move into the bag of his account."""
    community, disowned, cleared, message = letter
    in_month(2)
    [left] = community.bob.applies(GDPR, with_key=True)[community.bob.pk]
    assert community.bob.reveal(cleared).deferred
    assert community.ann.reveal(disowned).complete
    expiry.expire(today=datetime.date(2026, 3, 1))
    assert community.bob.reveal(left).complete
    assert recipient_of(message) == community.ann.pk
    assert not edna_dump()["edna_bag"]
