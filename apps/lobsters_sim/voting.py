"""Votes, and what follows from them: counters, karma, confidence, hotness.

The row that is voted for is locked first, so that of two votes by one person at the same moment the second finds the first. Locks are
taken in one order everywhere: comment, story, account.
"""

from __future__ import annotations

from typing import Any

from django.db.models import F, OuterRef, Subquery, Sum

from apps.showcase.transactions import atomically

from .models import Comment, Story, Tagging, User, Vote
from .scores import confidence, hotness


class NotAllowed(Exception):
    """What somebody wanted to do is against the rules of the site; the text is for them to read."""


@atomically
def vote_for_story(viewer: User, short_id: str, value: int, reason: str = "") -> Story:
    """Vote 1 or -1, or take the vote back with 0.

    Raises:
        Story.DoesNotExist, NotAllowed.
    """
    story = Story.objects.select_for_update().get(short_id=short_id)
    if story.is_expired:
        raise NotAllowed("This story was removed; it takes no votes any more.")
    change = _replace(viewer, story, None, story.user_id, value, reason)
    if change is not None:
        story.upvotes += change[0]
        story.downvotes += change[1]
        place(story, "upvotes", "downvotes")
        _credit(story.user_id, change)
    return story


@atomically
def vote_for_comment(viewer: User, short_id: str, value: int, reason: str = "") -> Comment:
    """The same for a comment, and for the hotness of its story.

    Raises:
        Comment.DoesNotExist, NotAllowed.
    """
    comment = Comment.objects.select_related("story").select_for_update().get(short_id=short_id)
    if comment.is_deleted or comment.is_moderated or comment.story.is_expired:
        raise NotAllowed("This comment was removed; it takes no votes any more.")
    change = _replace(viewer, comment.story, comment, comment.user_id, value, reason)
    if change is not None:
        comment.upvotes += change[0]
        comment.downvotes += change[1]
        # Not save(): the time of the last edit is no vote's business.
        Comment.objects.filter(pk=comment.pk).update(
            upvotes=comment.upvotes,
            downvotes=comment.downvotes,
            confidence=confidence(comment.upvotes, comment.downvotes),
        )
        place(comment.story)
        _credit(comment.user_id, change)
    return comment


def _replace(
    viewer: User, story: Story, comment: Comment | None, author: int, value: int, reason: str
) -> tuple[int, int] | None:
    """Make this the viewer's only vote; by how much the two counters change, None if they do not.

    There can be two rows of one person: one cast while the other was disguised. Both count, so both are taken back together.
    """
    if author == viewer.pk:
        raise NotAllowed("You cannot vote on what you wrote yourself.")
    before = list(Vote.objects.filter(user=viewer, story=story, comment=comment))
    if [vote.vote for vote in before] == ([value] if value else []):
        return None
    if before:
        Vote.objects.filter(pk__in=[vote.pk for vote in before]).delete()
    if value:
        Vote.objects.create(user=viewer, story=story, comment=comment, vote=value, reason=reason if value < 0 else "")
    up, down = (sum(vote.vote == kind for vote in before) for kind in (1, -1))
    return (value == 1) - up, (value == -1) - down


def _credit(author: int, change: tuple[int, int]) -> None:
    User.objects.filter(pk=author).update(karma=F("karma") + change[0] - change[1])


def place(story: Story, *changed: str) -> None:
    """Write a story's hotness, and the columns that were ``changed`` with it. Two statements."""
    comments = Comment.objects.filter(story=OuterRef("pk"), is_deleted=False, is_moderated=False).order_by()
    taggings = Tagging.objects.filter(story=OuterRef("pk")).order_by()
    points, modifier = (
        Story.objects.filter(pk=story.pk)
        .values_list(
            Subquery(comments.values("story").annotate(points=Sum(F("upvotes") - F("downvotes"))).values("points")),
            Subquery(taggings.values("story").annotate(modifier=Sum("tag__hotness_mod")).values("modifier")),
        )
        .get()
    )
    story.hotness = hotness(
        story.created_at,
        upvotes=story.upvotes,
        downvotes=story.downvotes,
        comment_points=int(points or 0),
        tag_modifiers=[float(modifier or 0)],
        by_author=story.user_is_author,
    )
    values: dict[str, Any] = {name: getattr(story, name) for name in (*changed, "hotness")}
    Story.objects.filter(pk=story.pk).update(**values)
