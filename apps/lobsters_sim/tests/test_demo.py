"""The guided tour through Lobsters holds, and it would say so if it did not."""

from __future__ import annotations

from typing import Any

import pytest

from apps.lobsters_sim.models import Comment, Story, User, Vote
from edna import Outcome, Receipt

pytestmark = pytest.mark.slow


def test_every_check_holds(tour: Any) -> None:
    output = tour("lobsters")
    assert "✗" not in output
    assert output.count("  ✓ ") >= 35


def one_owner_for_all(original: Any, *args: Any, **kwargs: Any) -> Receipt:
    """A disguise whose pseudoprincipals are one and the same: what one person wrote can be put together."""
    receipt = original(*args, **kwargs)
    somebody = User.objects.filter(pk__lt=0).first()
    Comment.objects.filter(user__lt=0).update(user=somebody)
    return receipt


def lose_the_votes(original: Any, *args: Any, **kwargs: Any) -> Receipt:
    """A disguise that counts again, without those who have left."""
    receipt = original(*args, **kwargs)
    for story in Story.objects.all():
        up = Vote.objects.filter(story=story, comment=None, vote=1, user__gt=0).count()
        Story.objects.filter(pk=story.pk).update(upvotes=up)
    return receipt


def keep_a_vote(original: Any, *args: Any, **kwargs: Any) -> Receipt:
    """A disguise that misses a row."""
    receipt = original(*args, **kwargs)
    one = Vote.objects.filter(user__gt=0, story__tags__tag="starwars").order_by("pk")[0]
    Vote.objects.filter(pk=one.pk).update(user=args[1].pk if User.objects.filter(pk=args[1].pk).exists() else one.user)
    return receipt


def forget_a_vote(original: Any, *args: Any, **kwargs: Any) -> Outcome:
    """A reveal that skips a row."""
    outcome = original(*args, **kwargs)
    Vote.objects.filter(user__username="bea").order_by("pk")[0].delete()
    return outcome


@pytest.mark.parametrize(
    ("name", "sabotage", "claim"),
    [
        ("disguise", one_owner_for_all, "Each comment, story and vote has an owner of its own"),
        ("disguise", lose_the_votes, "The same stories and comments stand in the same order, with the same votes"),
        ("disguise", keep_a_vote, "Nothing about “starwars” has her name on it"),
        ("reveal", forget_a_vote, "Every table is equal to what it was before"),
    ],
)
def test_it_fails_when_something_is_not_as_promised(sabotaged: Any, name: str, sabotage: Any, claim: str) -> None:
    sabotaged("lobsters", name, sabotage, claim)
