"""Rows with several owners, where one of them has removed more than their side of it meanwhile."""

from __future__ import annotations

import pytest

import edna
from edna import Decorrelate, Disguise
from tests.lobsters.community import Community
from tests.lobsters.models import Message, User
from tests.lobsters.specs import CLEAR_MESSAGES, GDPR

pytestmark = [pytest.mark.django_db, pytest.mark.every_database]


def letters(community: Community) -> set[int]:
    """What ann wrote to bob."""
    return set(Message.objects.filter(author=community.ann.pk, recipient=community.bob.pk).values_list("pk", flat=True))


def test_the_other_owner_brings_the_row_back_while_the_account_is_away(small_community: Community) -> None:
    """Ann's account is gone, her pseudoprincipals with it as far as nobody needs them: bob's message waits for one of them."""
    community = small_community
    both = letters(community)
    cleared = community.everybody(CLEAR_MESSAGES)
    left = community.ann.applies(GDPR, with_key=True)
    assert not User.objects.filter(pk=community.ann.pk).exists()

    community.bob.takes_back(cleared)

    assert {community.is_pseudonymous(message.author_id) for message in Message.objects.filter(pk__in=both)} == {True}
    community.cat.takes_back(cleared)
    community.ann.takes_back(left, cleared)
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_one_who_left_takes_each_receipt_back_once(small_community: Community, order: tuple[int, int]) -> None:
    """Her own message to herself, and those that she shared, in either order."""
    community = small_community
    rounds = [community.everybody(CLEAR_MESSAGES), community.ann.applies(GDPR, with_key=True)]
    community.ann.takes_back(*(rounds[number] for number in order))
    community.bob.takes_back(rounds[0])
    community.cat.takes_back(rounds[0])
    assert community.is_as_before()


@pytest.mark.once
@pytest.mark.parametrize("first", ["ann", "bob"])
def test_a_row_that_was_pseudonymous_already(small_community: Community, first: str) -> None:
    """Ann's side was anonymous before bob, and then she with her key, removed theirs: her pseudoprincipal stays for bob's sake."""
    community = small_community
    both = letters(community)
    rounds = [community.everybody(), community.bob.applies(CLEAR_MESSAGES, with_key=True)]
    rounds.append(community.ann.applies(GDPR, with_key=True))
    assert not Message.objects.filter(pk__in=both).exists()

    mine = {member.pk: [each for each in reversed(rounds) if member.pk in each] for member in community.members}
    members = sorted(community.members, key=lambda member: member.user.username != first)
    for member in members:
        held = member.tries_to_take_back(*mine[member.pk])
        # Votes on ann's stories went with the stories.
        assert {each.model for each in held} <= {"lobsters.vote"}
        assert Message.objects.filter(pk__in=both).exists()
    for member in members:
        for entry in member.history():
            assert member.reveal(entry.receipt).complete
    assert community.is_as_before()


@pytest.mark.once
def test_a_pseudoprincipal_whom_a_shared_row_names_stays_when_its_person_leaves(small_community: Community) -> None:
    """Nothing is listed for it: the row that goes with this disguise names it, and bob may bring that back first."""
    community = small_community
    both = letters(community)
    community.everybody()
    named = set(Message.objects.filter(pk__in=both).values_list("author", flat=True))
    community.ann.applies(GDPR, with_key=True)
    assert not Message.objects.filter(pk__in=both).exists()
    assert named <= set(User.objects.values_list("pk", flat=True))


class AnonymiseInbox(Disguise):
    name = "shared.anonymise-inbox"
    transformations = [Decorrelate(Message, owner="recipient")]


@pytest.mark.once
def test_a_row_that_its_owner_removed_does_not_come_back_with_an_earlier_disguise(small_community: Community) -> None:
    """Ann's note to herself, anonymous on one side and removed then: taking back the first leaves it removed."""
    community = small_community
    [note] = Message.objects.filter(author=community.ann.pk, recipient=community.ann.pk)
    edna.register(AnonymiseInbox)
    try:
        rounds = [community.ann.applies(name) for name in (AnonymiseInbox.name, CLEAR_MESSAGES)]
        assert not Message.objects.filter(pk=note.pk).exists()
        assert community.ann.takes_back(rounds[0])["lobsters.message"] == 1
        assert not Message.objects.filter(pk=note.pk).exists()
        community.ann.takes_back(rounds[1])
    finally:
        edna.unregister(AnonymiseInbox)
    assert community.is_as_before()
