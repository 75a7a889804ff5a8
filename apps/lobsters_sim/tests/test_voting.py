"""One vote for each person; counters, karma, confidence and hotness follow, whoever is disguised."""

from __future__ import annotations

import pytest

import edna
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import Comment, Story, User, Vote
from apps.lobsters_sim.scores import confidence
from apps.lobsters_sim.voting import NotAllowed, vote_for_comment, vote_for_story

from .conftest import PASSWORD, Person, Site

pytestmark = pytest.mark.django_db


def counters(row: Story | Comment) -> tuple[int, int]:
    row.refresh_from_db()
    return row.upvotes, row.downvotes


def karma(person: Person) -> int:
    return User.objects.get(pk=person.user.pk).karma


def test_a_vote_counts_once_and_can_be_changed_and_taken_back(site: Site, bea: Person, carl: Person) -> None:
    story, before, beas = site.beas, counters(site.beas), karma(bea)
    vote_for_story(carl.user, story.short_id, 0)
    up, down = before[0] - 1, before[1]
    assert (counters(story), karma(bea)) == ((up, down), beas - 1)
    for _ in range(2):
        vote_for_story(carl.user, story.short_id, 1)
        assert (counters(story), karma(bea)) == ((up + 1, down), beas)
    vote_for_story(carl.user, story.short_id, -1, "S")
    assert (counters(story), karma(bea)) == ((up, down + 1), beas - 2)
    assert Vote.objects.get(user=carl.user, story=story, comment=None).reason == "S"
    vote_for_story(carl.user, story.short_id, 0)
    vote_for_story(carl.user, story.short_id, 0)
    assert (counters(story), karma(bea)) == ((up, down), beas - 1)
    assert not Vote.objects.filter(user=carl.user, story=story, comment=None).exists()


def test_a_vote_for_a_comment_moves_the_comment_and_its_story(site: Site, mod: Person) -> None:
    comment, hotness = Comment.objects.get(story=site.beas), site.beas.hotness
    up, down = counters(comment)
    vote_for_comment(mod.user, comment.short_id, 1)
    assert counters(comment) == (up + 1, down)
    assert comment.confidence == pytest.approx(confidence(up + 1, down))  # SQLite keeps 15 digits
    site.beas.refresh_from_db()
    assert site.beas.hotness < hotness
    assert Vote.objects.get(user=mod.user, comment=comment).story_id == site.beas.pk


@pytest.mark.once
def test_nobody_votes_on_their_own(site: Site, bea: Person) -> None:
    for vote, row in ((vote_for_story, site.beas), (vote_for_comment, site.beas_comment)):
        before = counters(row)
        with pytest.raises(NotAllowed):
            vote(bea.user, row.short_id, -1)
        assert counters(row) == before


@pytest.mark.once
def test_what_was_removed_takes_no_votes(site: Site, mod: Person) -> None:
    Comment.objects.filter(pk=site.beas_comment.pk).update(is_deleted=True)
    with pytest.raises(NotAllowed):
        vote_for_comment(mod.user, site.beas_comment.short_id, 1)
    Story.objects.filter(pk=site.carls.pk).update(is_expired=True)
    with pytest.raises(NotAllowed):
        vote_for_story(mod.user, site.carls.short_id, 1)
    with pytest.raises(NotAllowed):
        vote_for_comment(mod.user, site.carls_reply.short_id, 1)


def test_a_vote_from_before_and_one_from_within_a_disguise_add_up(site: Site, carl: Person) -> None:
    """The votes of a topic that somebody left are not theirs, so they may vote there again; afterwards both count, and both go."""
    story, before = site.beas, counters(site.beas)
    receipt = edna.disguise("lobsters.topic", carl.user, params={"tag": "compsci"})
    assert counters(story) == before
    vote_for_story(carl.user, story.short_id, 1)
    with edna.unlock(identifier=identifier("carl"), password=PASSWORD) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert counters(story) == (before[0] + 1, before[1])
    assert Vote.objects.filter(user=carl.user, story=story, comment=None).count() == 2
    vote_for_story(carl.user, story.short_id, -1)
    assert counters(story) == (before[0] - 1, before[1] + 1)
    assert Vote.objects.filter(user=carl.user, story=story, comment=None).count() == 1


def test_disguising_moves_no_story_and_no_later_vote_tells(site: Site, bea: Person, mod: Person) -> None:
    """Hotness after a vote is the same whether or not the author is disguised."""
    story = site.beas
    vote_for_story(mod.user, story.short_id, 0)
    story.refresh_from_db()
    hotness = story.hotness
    vote_for_story(mod.user, story.short_id, 1)
    edna.disguise("lobsters.decay", bea.user)
    vote_for_story(mod.user, story.short_id, 0)
    story.refresh_from_db()
    assert story.hotness == hotness
