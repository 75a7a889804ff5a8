"""What a reveal holds: only a column that the disguise changed is in the way, and what is held costs the next reveal nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import edna
from edna import Decorrelate, Disguise, Modify
from tests.installed import registering
from tests.lobsters.community import Community
from tests.lobsters.models import Comment, Message
from tests.lobsters.specs import ANON
from tests.support import statements

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]


class BlankMessages(Disguise):
    name = "tests.blank-messages"
    transformations = [Modify(Message, owner="author", set={"recipient": None, "body": "[gone]"})]


class AnonymiseInbox(Disguise):
    name = "tests.anonymise-inbox"
    transformations = [Decorrelate(Message, owner="recipient")]


@pytest.fixture(autouse=True)
def registered(lobsters: None) -> Iterator[None]:
    with registering(BlankMessages, AnonymiseInbox):
        yield


@pytest.fixture
def community(chunked_community: Community) -> Community:
    return chunked_community


@pytest.mark.parametrize("gone", [True, False])
def test_what_is_held_row_by_row_is_asked_for_together(gone: bool) -> None:
    """The next reveal's statements do not count the rows that the last one has held."""
    community = Community()

    def second_reveal(rows: int) -> int:
        made = Comment.objects.bulk_create([Comment(user=community.ann.user, text=f"{i}") for i in range(rows)])
        [receipt] = community.ann.applies(ANON)[community.ann.pk]
        found = Comment.objects.filter(pk__in=[each.pk for each in made])
        if gone:
            found.delete()
        else:
            found.update(user=community.bob.user)
        assert len(community.ann.reveal(receipt).held) == rows
        return len(statements(lambda: community.ann.reveal(receipt)))

    assert second_reveal(3) == second_reveal(30)


@pytest.mark.parametrize("body_changes", [False, True])
def test_a_column_that_a_disguise_left_as_it_was_is_not_in_the_way(community: Community, body_changes: bool) -> None:
    """The message had no recipient before and during the disguise, and gets one then: its body comes back, and the recipient stays."""
    ann, bob = community.ann, community.bob
    message = Message.objects.create(author=ann.user, recipient=None, body="To whom it may concern")
    blanked = ann.applies(BlankMessages.name)
    Message.objects.filter(pk=message.pk).update(recipient=bob.user)
    if body_changes:
        Message.objects.filter(pk=message.pk).update(body="[moderated]")
        for _ in range(2):
            [held] = ann.tries_to_take_back(blanked)
            assert (held.pk, held.reason, held.field) == (message.pk, edna.Reason.CHANGED, "body")
        Message.objects.filter(pk=message.pk).update(body="[gone]", recipient=community.cat.user)
    assert ann.reveal(blanked[ann.pk][0]).complete
    message.refresh_from_db()
    assert (message.body, message.recipient) == (
        "To whom it may concern",
        community.cat.user if body_changes else bob.user,
    )
    message.delete()
    assert community.is_as_before()


@pytest.mark.once
def test_a_column_that_a_disguise_left_as_it_was_follows_later_disguises(community: Community) -> None:
    """Bob, who has become the recipient, disguises that; whoever comes back first, both find what is theirs."""
    ann, bob = community.ann, community.bob
    message = Message.objects.create(author=ann.user, recipient=None, body="To whom it may concern")
    for ann_first in (True, False):
        blanked = ann.applies(BlankMessages.name)
        Message.objects.filter(pk=message.pk).update(recipient=bob.user)
        anonymous = bob.applies(AnonymiseInbox.name)
        for member, disguised in ((ann, blanked), (bob, anonymous))[:: 1 if ann_first else -1]:
            assert member.reveal(disguised[member.pk][0]).complete
        message.refresh_from_db()
        assert (message.body, message.recipient) == ("To whom it may concern", bob.user)
        Message.objects.filter(pk=message.pk).update(recipient=None)
    message.delete()
    assert community.is_as_before()
