"""What hostile readers of the engine found: each test is a way in which something was lost, shown or too slow once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest
from django.conf import settings as django_settings

import edna
from edna import Decorrelate, Disguise, Modify, Remove
from edna.engine import applying
from edna.models import Bag
from edna.records.bag import BagKind
from tests.installed import registering
from tests.lobsters.community import Community, Round
from tests.lobsters.models import Comment, Message, Moderation, Story, User
from tests.lobsters.specs import ANON, BY_URL, CLEAR_MESSAGES, CLEAR_OUTBOX, DECAY, DISOWN_STORIES, GDPR, TOPIC
from tests.support import flipped, statements

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]

BY_HAND = "findings.by-hand"


class ForgetRecipients(Disguise):
    name = "findings.forget-recipients"
    transformations = [Modify(Message, owner="author", set={"recipient": None})]


class BlankMessages(Disguise):
    name = "findings.blank-messages"
    transformations = [Modify(Message, owner="author", set={"recipient": None, "body": "[gone]"})]


class AnonymiseInbox(Disguise):
    name = "findings.anonymise-inbox"
    transformations = [Decorrelate(Message, owner="recipient")]


class ClearModerations(Disguise):
    """A row of two, which names a third one by the story."""

    name = "findings.clear-moderations"
    transformations = [Remove(Moderation, owner=["moderator", "user"])]


SPECS = (ForgetRecipients, BlankMessages, AnonymiseInbox, ClearModerations)


def nothing_to_do(revealed: edna.Revealed) -> None:
    """For the disguise by hand."""


@pytest.fixture(autouse=True)
def registered(lobsters: None) -> Iterator[None]:
    edna.on_reveal(BY_HAND)(nothing_to_do)
    with registering(*SPECS):
        yield
    edna.unregister(nothing_to_do)


@pytest.fixture(params=[None, 3], ids=["whole", "segments"])
def community(request: Any, settings: Any, lobsters: None) -> Community:
    if request.param:
        settings.EDNA = {**django_settings.EDNA, "CHUNK_ROWS": request.param}
    return Community()


@pytest.fixture
def letter(community: Community) -> tuple[Community, Round, User, Message]:
    """Bob has written to whoever wrote a story of ann's: the disguise that made it hers, who that is, and the message."""
    story = community.ann.user.stories.get(title="ann 0")
    disowned = community.ann.applies(DISOWN_STORIES)
    voice = community.ann.voice(story)
    message = Message.objects.create(author=community.bob.user, recipient=voice, body="Nice story")
    return community, disowned, voice, message


def between(message: Message) -> list[tuple[Any, Any]]:
    return list(Message.objects.filter(pk=message.pk).values_list("author", "recipient"))


def everybody_takes_back_the_rest(community: Community) -> None:
    for member in community.members:
        for entry in member.history():
            outcome = member.reveal(entry.receipt)
            assert outcome.held == [], (member.user.username, entry.name)


@pytest.mark.parametrize("at_once", [1, 2, 500])
def test_a_mention_of_somebody_whom_the_same_disguise_is_for(
    letter: tuple[Community, Round, User, Message], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody's outbox is cleared, that of ann's pseudoprincipal too, in one batch or in several."""
    community, disowned, voice, message = letter
    Message.objects.create(author=voice, recipient=community.cat.user, body="Thank you")
    monkeypatch.setattr(applying, "_TARGETS_AT_ONCE", at_once)
    community.everybody(CLEAR_OUTBOX)
    community.ann.takes_back(disowned)
    everybody_takes_back_the_rest(community)
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.parametrize("at_once", [1, 2, 3])
@pytest.mark.parametrize("first", [0, 1, 2])
def test_batches_of_a_global_disguise_keep_what_earlier_ones_listed(
    community: Community, at_once: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of two pseudoprincipals goes with one's batch, and is listed for the other, whose batch comes later."""
    anonymous = community.everybody()
    monkeypatch.setattr(applying, "_TARGETS_AT_ONCE", at_once)
    community.everybody(CLEAR_MESSAGES)
    for member in community.members[first:] + community.members[:first]:
        member.takes_back(anonymous)
        for entry in member.history():
            assert member.reveal(entry.receipt).held == []
    assert community.is_as_before()


def test_a_mention_moves_with_the_row(letter: tuple[Community, Round, User, Message]) -> None:
    """Bob takes back his outbox while his account is away: the message waits in the other bag, and the mention with it."""
    community, disowned, _, message = letter
    cleared = community.bob.applies(CLEAR_OUTBOX)
    community.bob.applies(GDPR)
    assert community.bob.takes_back(cleared)
    community.ann.takes_back(disowned)
    everybody_takes_back_the_rest(community)
    assert between(message) == [(community.bob.pk, community.ann.pk)]


def test_a_held_row_is_followed_by_the_name_that_it_has_by_now(
    letter: tuple[Community, Round, User, Message],
) -> None:
    """The mention has been followed once when the row is held, and has to be followed once more."""
    community, disowned, _, first = letter
    first.delete()
    again = community.everybody(DISOWN_STORIES)
    second = community.ann.voice(Story.objects.get(title="ann 0"))
    message = Message.objects.create(author=community.bob.user, recipient=second, body="Nice")
    cleared = community.bob.applies(CLEAR_OUTBOX)
    community.ann.takes_back(again)
    in_the_way = Message.objects.create(pk=message.pk, body="taken")
    assert len(community.bob.tries_to_take_back(cleared)) == 1
    community.ann.takes_back(disowned)
    in_the_way.delete()
    everybody_takes_back_the_rest(community)
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.parametrize("by_hand", [False, True])
@pytest.mark.parametrize("first", ["ann", "bob"])
def test_a_change_mentions_too(letter: tuple[Community, Round, User, Message], by_hand: bool, first: str) -> None:
    """What a record puts back may be somebody else's pseudoprincipal, as in a removed row."""
    community, disowned, _, message = letter
    if by_hand:
        with edna.session(community.bob.user, BY_HAND) as session:
            session.modify(message, recipient=None)
    else:
        community.bob.applies(ForgetRecipients.name)
    if first == "ann":
        community.ann.takes_back(disowned)
    everybody_takes_back_the_rest(community)
    everybody_takes_back_the_rest(community)
    assert between(message) == [(community.bob.pk, community.ann.pk)]


def test_a_row_that_somebody_has_removed_themselves_does_not_come_back_with_another_receipt(
    community: Community,
) -> None:
    """A note to herself, of which ann has made one side anonymous before she removed it: both sides are hers."""
    note = Message.objects.get(author=community.ann.pk, recipient=community.ann.pk)
    inbox = community.ann.applies(AnonymiseInbox.name)
    community.ann.applies(CLEAR_MESSAGES)
    community.ann.takes_back(inbox)
    assert between(note) == []
    everybody_takes_back_the_rest(community)
    assert between(note) == [(community.ann.pk, community.ann.pk)]
    assert community.is_as_before()


def test_a_disguise_inside_a_session_is_not_lost(community: Community) -> None:
    """Both put something into one list, the session at its end."""
    with edna.session(community.ann.user, BY_HAND) as session:
        session.save(b"a blob")
        inner = edna.disguise(ANON, community.ann.user)
    assert {entry.name for entry in community.ann.history()} == {ANON, BY_HAND}
    assert community.ann.reveal(inner).complete
    everybody_takes_back_the_rest(community)
    assert community.is_as_before()


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
    everybody_takes_back_the_rest(community)
    assert community.is_as_before()


def test_receipts_from_the_history_unlock(community: Community, settings: Any) -> None:
    """In locator mode ``client`` as well: those of pseudoprincipals open with a key that another receipt leads to."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    receipt = edna.disguise(ANON, community.ann.user)
    edna.disguise_all(ANON)
    with community.ann.unlock(receipts=[receipt]) as unlocked:
        found = [entry.receipt for entry in edna.history(unlocked)]
    with community.ann.unlock(receipts=found) as unlocked:
        assert {entry.receipt for entry in edna.history(unlocked)} == set(found)
        for each in found:
            assert edna.reveal(each, unlocked).complete
    theirs = edna.disguise(DISOWN_STORIES, community.cat.user)
    with community.ann.unlock(receipts=[theirs]) as unlocked, pytest.raises(edna.errors.ReceiptForeign):
        edna.history(unlocked)


def test_a_damaged_bag_can_be_restored_from_a_backup(letter: tuple[Community, Round, User, Message]) -> None:
    """Meanwhile ann has taken back another disguise, and the bag names its pseudoprincipal."""
    community, disowned, _, message = letter
    with community.ann.unlock() as unlocked:
        cleared = edna.disguise(CLEAR_MESSAGES, community.ann.user, unlocked=unlocked)
    bag = Bag.objects.get(index=cleared.locator.index(BagKind.DIFF, 0))
    backup = bytes(bag.sealed)
    Bag.objects.filter(pk=bag.pk).update(sealed=flipped(backup))
    community.ann.takes_back(disowned)
    Bag.objects.filter(pk=bag.pk).update(sealed=backup)
    assert community.ann.reveal(cleared).held == []
    for receipt in disowned[community.ann.pk]:
        assert community.ann.reveal(receipt).complete
    assert between(message) == [(community.bob.pk, community.ann.pk)]


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


def test_receipts_that_were_not_given_are_not_made_worthless(community: Community, settings: Any) -> None:
    """Ann removes a message of her pseudoprincipal with her key; then she takes back what made it, by that receipt alone."""
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    disowned = edna.disguise(DISOWN_STORIES, community.ann.user)
    with community.ann.unlock(receipts=[disowned]) as unlocked:
        voice = edna.speak_as(unlocked, Story.objects.get(title="ann 0"))
    message = Message.objects.create(author=voice, recipient=community.bob.user, body="Thank you")
    with community.ann.unlock(receipts=[disowned]) as unlocked:
        cleared = edna.disguise(CLEAR_OUTBOX, community.ann.user, unlocked=unlocked)
    assert between(message) == []
    with community.ann.unlock(receipts=[disowned]) as unlocked:
        edna.reveal(disowned, unlocked)
    with community.ann.unlock(receipts=[disowned, cleared]) as unlocked:
        assert edna.reveal(cleared, unlocked).complete
        # Her pseudoprincipal has waited for the bag that the server did not know.
        assert between(message) == [(voice.pk, community.bob.pk)]
        assert edna.reveal(disowned, unlocked).complete
    assert between(message) == [(community.ann.pk, community.bob.pk)]


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
