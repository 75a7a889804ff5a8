"""Whoever a row or a change names is followed: by batches of everybody, into another bag, while it is held, by hand, past a damaged bag.

The one who is named is the pseudoprincipal of somebody else, who comes back meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import edna
from edna import Disguise, Modify
from edna.engine.chunks import everybody
from edna.models import Bag
from edna.records.bag import BagKind
from tests.databases import first_everywhere
from tests.installed import registering
from tests.lobsters.community import Community, Round, between
from tests.lobsters.models import Message, Story, User
from tests.lobsters.specs import CLEAR_MESSAGES, CLEAR_OUTBOX, DISOWN_STORIES, GDPR
from tests.support import flipped

pytestmark = [pytest.mark.django_db, pytest.mark.every_database, pytest.mark.thorough]

BY_HAND = "tests.by-hand"


class ForgetRecipients(Disguise):
    name = "tests.forget-recipients"
    transformations = [Modify(Message, owner="author", set={"recipient": None})]


def nothing_to_do(revealed: edna.Revealed) -> None:
    """For the disguise by hand."""


@pytest.fixture(autouse=True)
def registered(lobsters: None) -> Iterator[None]:
    edna.on_reveal(BY_HAND)(nothing_to_do)
    with registering(ForgetRecipients):
        yield
    edna.unregister(nothing_to_do)


@pytest.fixture
def community(chunked_community: Community) -> Community:
    return chunked_community


@pytest.fixture
def letter(community: Community) -> tuple[Community, Round, User, Message]:
    """Bob has written to whoever wrote a story of ann's: the disguise that made it hers, who that is, and the message."""
    story = community.ann.user.stories.get(title="ann 0")
    disowned = community.ann.applies(DISOWN_STORIES)
    voice = community.ann.voice(story)
    message = Message.objects.create(author=community.bob.user, recipient=voice, body="Nice story")
    return community, disowned, voice, message


@first_everywhere("at_once", [1, 2, 500])
def test_a_mention_of_somebody_whom_the_same_disguise_is_for(
    letter: tuple[Community, Round, User, Message], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody's outbox is cleared, that of ann's pseudoprincipal too, in one batch or in several."""
    community, disowned, voice, message = letter
    Message.objects.create(author=voice, recipient=community.cat.user, body="Thank you")
    monkeypatch.setattr(everybody, "_AT_ONCE", at_once)
    community.everybody(CLEAR_OUTBOX)
    community.ann.takes_back(disowned)
    community.all_take_back_the_rest()
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.once
def test_a_mention_moves_with_the_row(letter: tuple[Community, Round, User, Message]) -> None:
    """Bob takes back his outbox while his account is away: the message waits in the other bag, and the mention with it."""
    community, disowned, _, message = letter
    cleared = community.bob.applies(CLEAR_OUTBOX)
    community.bob.applies(GDPR)
    assert community.bob.takes_back(cleared)
    community.ann.takes_back(disowned)
    community.all_take_back_the_rest()
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.once
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
    community.all_take_back_the_rest()
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.parametrize("by_hand", [False, True])
@first_everywhere("first", ["ann", "bob"])
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
    community.all_take_back_the_rest()
    community.all_take_back_the_rest()
    assert between(message) == [(community.bob.pk, community.ann.pk)]


@pytest.mark.once
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
