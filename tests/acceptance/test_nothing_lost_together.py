"""Disguises that meet in one bag, one list or one row lose nothing: batches of everybody, a session, an account that is away."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import pytest

import edna
from edna import Decorrelate, Disguise
from edna.engine.chunks import everybody
from tests.databases import first_everywhere
from tests.installed import registering
from tests.lobsters.community import Community, between
from tests.lobsters.models import Message
from tests.lobsters.specs import ANON, BY_URL, CLEAR_MESSAGES, DECAY, DISOWN_STORIES, GDPR, TOPIC

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]

BY_HAND = "tests.by-hand"


class AnonymiseInbox(Disguise):
    name = "tests.anonymise-inbox"
    transformations = [Decorrelate(Message, owner="recipient")]


def nothing_to_do(revealed: edna.Revealed) -> None:
    """For the disguise by hand."""


@pytest.fixture(autouse=True)
def registered(lobsters: None) -> Iterator[None]:
    edna.on_reveal(BY_HAND)(nothing_to_do)
    with registering(AnonymiseInbox):
        yield
    edna.unregister(nothing_to_do)


@pytest.fixture
def community(chunked_community: Community) -> Community:
    return chunked_community


@pytest.mark.parametrize("at_once", [1, 2, 3])
@first_everywhere("first", [0, 1, 2])
def test_batches_of_a_global_disguise_keep_what_earlier_ones_listed(
    community: Community, at_once: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of two pseudoprincipals goes with one's batch, and is listed for the other, whose batch comes later."""
    anonymous = community.everybody()
    monkeypatch.setattr(everybody, "_AT_ONCE", at_once)
    community.everybody(CLEAR_MESSAGES)
    for member in community.members[first:] + community.members[:first]:
        member.takes_back(anonymous)
        for entry in member.history():
            assert member.reveal(entry.receipt).held == []
    assert community.is_as_before()


@pytest.mark.once
def test_a_row_that_somebody_has_removed_themselves_does_not_come_back_with_another_receipt(
    community: Community,
) -> None:
    """A note to herself, of which ann has made one side anonymous before she removed it: both sides are hers."""
    note = Message.objects.get(author=community.ann.pk, recipient=community.ann.pk)
    inbox = community.ann.applies(AnonymiseInbox.name)
    community.ann.applies(CLEAR_MESSAGES)
    community.ann.takes_back(inbox)
    assert between(note) == []
    community.all_take_back_the_rest()
    assert between(note) == [(community.ann.pk, community.ann.pk)]
    assert community.is_as_before()


def test_a_disguise_inside_a_session_is_not_lost(community: Community) -> None:
    """Both put something into one list, the session at its end."""
    with edna.session(community.ann.user, BY_HAND) as session:
        session.save(b"a blob")
        inner = edna.disguise(ANON, community.ann.user)
    assert {entry.name for entry in community.ann.history()} == {ANON, BY_HAND}
    assert community.ann.reveal(inner).complete
    community.all_take_back_the_rest()
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("last", [GDPR, DECAY])
@pytest.mark.parametrize("first", [BY_URL, DISOWN_STORIES])
def test_nobody_s_bag_is_given_to_a_pseudoprincipal(
    community: Community, first: str, last: str, order: tuple[int, int, int]
) -> None:
    """What waits for the account moves into the bag that holds it, with the voices that are needed; whoever reveals what.

    The key of one of them lies in that bag then. If the bag were sealed to it, nobody could ever open it.
    """
    ann = community.ann
    rounds = [ann.applies(first), community.everybody(TOPIC, tag="privacy"), ann.applies(last)]
    for number in order:
        ann.takes_back(rounds[number])
    community.all_take_back_the_rest()
    assert community.is_as_before()
