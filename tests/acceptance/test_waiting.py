"""`edna.waiting`: what is left of disguises that were taken back, and what has become of the reasons. It reads only."""

from __future__ import annotations

import pytest

import edna
from tests.lobsters.community import Community
from tests.lobsters.models import Comment
from tests.lobsters.specs import ANON
from tests.support import statements

pytestmark = [pytest.mark.django_db]


@pytest.fixture
def community(lobsters: None) -> Community:
    return Community()


def of(person: object) -> list[edna.Waiting]:
    with person.unlock() as unlocked:  # type: ignore[attr-defined]
        return edna.waiting(unlocked)


@pytest.mark.once
def test_only_what_was_tried_waits(community: Community) -> None:
    """A disguise that nobody has taken back is no failure, and costs nothing more than the history."""
    ann = community.ann
    comment = Comment.objects.create(user=ann.user, text="I was here.")
    [receipt] = ann.applies(ANON)[ann.pk]
    Comment.objects.filter(pk=comment.pk).delete()
    with ann.unlock() as unlocked:
        assert edna.waiting(unlocked) == []
        assert len(statements(lambda: edna.waiting(unlocked))) == len(statements(lambda: edna.history(unlocked)))
    assert not ann.reveal(receipt).complete
    [waiting] = of(ann)
    assert (waiting.receipt, waiting.name, waiting.ready) == (receipt, ANON, {})
    [held] = waiting.held
    assert (held.model, held.pk, held.reason) == ("lobsters.comment", comment.pk, edna.Reason.ROW_MISSING)
    assert held.reason.can_be_accepted
    assert waiting.rows_held == 1
    assert set(waiting.sealed(held).values()) & {ann.pk}


@pytest.mark.every_database
def test_what_could_come_back_by_now_is_ready(community: Community) -> None:
    """The reason is looked up when it is asked for; asking changes and locks nothing; what came back waits no more."""
    ann, bob = community.ann, community.bob
    comment = Comment.objects.create(user=ann.user, text="I was here.")
    [receipt] = ann.applies(ANON)[ann.pk]
    disguised = Comment.objects.get(pk=comment.pk).user_id
    Comment.objects.filter(pk=comment.pk).update(user=bob.user)
    assert not ann.reveal(receipt).complete
    [waiting] = of(ann)
    assert [(row.pk, row.reason) for row in waiting.held] == [(comment.pk, edna.Reason.CHANGED)]

    Comment.objects.filter(pk=comment.pk).update(user=disguised)
    with ann.unlock() as unlocked:
        asked = statements(lambda: edna.waiting(unlocked))
    assert all(statement.lstrip("( ").upper().startswith("SELECT") for statement in asked)
    assert not any("FOR UPDATE" in statement.upper() for statement in asked)
    [waiting] = of(ann)
    assert (waiting.held, waiting.ready) == ([], {"lobsters.comment": 1})
    assert ann.reveal(receipt).complete
    assert of(ann) == []


@pytest.mark.once
def test_what_is_accepted_waits_no_more(community: Community) -> None:
    ann = community.ann
    comments = [Comment.objects.create(user=ann.user, text=text) for text in ("one", "two")]
    [receipt] = ann.applies(ANON)[ann.pk]
    Comment.objects.filter(pk__in=[comment.pk for comment in comments]).delete()
    ann.reveal(receipt)
    [waiting] = of(ann)
    with ann.unlock() as unlocked:
        edna.reveal(receipt, unlocked, accept=waiting.held[:1])
    [waiting] = of(ann)
    assert waiting.rows_held == 1
    with ann.unlock() as unlocked:
        edna.reveal(receipt, unlocked, accept=waiting.held)
    assert of(ann) == []
