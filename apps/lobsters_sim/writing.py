"""Submitting, commenting, editing, removing: what the pages do to stories and comments, and what must change along.

Whoever calls says as whom. That can be somebody's pseudoprincipal: what its rows say of time stays as it was then, for equal times
would tie together what one person wrote under several of them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import F
from django.utils import timezone

from apps.showcase.transactions import atomically

from .models import Comment, Hat, Moderation, Story, Tag, Tagging, User, Vote
from .prose import render
from .scores import confidence, hotness
from .voting import NotAllowed, place


@atomically
def submit_story(
    author: User, *, title: str, url: str, description: str, tags: Collection[Tag], by_author: bool
) -> Story:
    """A new story, with its author's vote."""
    now = timezone.now().replace(microsecond=0)
    heat = hotness(now, upvotes=1, downvotes=0, tag_modifiers=[tag.hotness_mod for tag in tags], by_author=by_author)
    story = Story.objects.create(
        user=author,
        title=title,
        url=url,
        description=description,
        markeddown_description=render(description),
        user_is_author=by_author,
        created_at=now,
        upvotes=1,
        hotness=heat,
    )
    Tagging.objects.bulk_create(Tagging(story=story, tag=tag) for tag in tags)
    Vote.objects.create(user=author, story=story, vote=1)
    return story


def edit_story(author: User, story: Story, *, title: str, description: str) -> None:
    _own(author, story)
    Story.objects.filter(pk=story.pk, user=author).update(
        title=title, description=description, markeddown_description=render(description)
    )


@atomically
def post_comment(
    author: User, story_id: str, text: str, *, parent_id: str | None = None, hat: Hat | None = None
) -> Comment:
    """A comment on a story, or a reply to one of its comments, with its author's vote.

    Raises:
        Story.DoesNotExist, Comment.DoesNotExist, NotAllowed.
    """
    parent = None
    if parent_id is not None:
        parent = Comment.objects.select_for_update().get(short_id=parent_id)
        if parent.is_deleted or parent.is_moderated:
            raise NotAllowed("This comment was removed; nobody can answer it any more.")
    # Locked before the comment refers to it: two who both hold a share of the story's lock would wait for each other.
    wanted = {"short_id": story_id} if parent is None else {"pk": parent.story_id}
    story = Story.objects.select_for_update().get(**wanted)
    if story.is_expired:
        raise NotAllowed("This story was removed; nobody can comment on it any more.")
    comment = Comment.objects.create(
        story=story,
        user=author,
        parent_comment=parent,
        thread_id=parent.thread_id if parent else 0,
        comment=text,
        markeddown_comment=render(text),
        hat=hat,
        upvotes=1,
        confidence=confidence(1, 0),
    )
    if parent is None:
        Comment.objects.filter(pk=comment.pk).update(thread_id=comment.pk)
    Vote.objects.create(user=author, story=story, comment=comment, vote=1)
    story.comments_count += 1
    place(story, "comments_count")
    comment.story = story
    return comment


def edit_comment(author: User, comment: Comment, text: str) -> None:
    _own(author, comment)
    if text == comment.comment:
        return  # a second click, for which it was not edited a second time
    values: dict[str, Any] = {"comment": text, "markeddown_comment": render(text)}
    if author.is_active:
        values["updated_at"] = timezone.now()
    Comment.objects.filter(pk=comment.pk, user=author).update(**values)


def delete_comment(author: User, comment: Comment) -> None:
    """Its author takes it away; what was answered to it stays."""
    _own(author, comment)
    _remove_comment(comment, is_deleted=True)


def delete_story(author: User, story: Story) -> None:
    _own(author, story)
    Story.objects.filter(pk=story.pk, user=author).update(is_expired=True)


@atomically
def moderate(moderator: User, target: Story | Comment, *, remove: bool, reason: str) -> None:
    """Remove, or put back; in the log, which everybody can read. Its texts name nobody: they outlive accounts."""
    if not moderator.is_moderator:
        raise NotAllowed("Only moderators can do that.")
    where: dict[str, Any]
    if isinstance(target, Comment):
        _remove_comment(target, is_moderated=remove)
        where = {"comment": target, "story_id": target.story_id, "action": "removed a comment"}
    else:
        Story.objects.filter(pk=target.pk).update(is_expired=remove, is_moderated=remove)
        where = {"story": target, "action": "removed a story"}
    if not remove:
        where["action"] = where["action"].replace("removed", "restored")
    Moderation.objects.create(moderator_user=moderator, user_id=target.user_id, reason=reason, **where)


@atomically
def _remove_comment(comment: Comment, **flag: bool) -> None:
    """Set one of the flags; the story counts what is to be read."""
    row = Comment.objects.select_for_update().get(pk=comment.pk)
    was_there = not (row.is_deleted or row.is_moderated)
    for name, value in flag.items():
        setattr(row, name, value)
    is_there = not (row.is_deleted or row.is_moderated)
    Comment.objects.filter(pk=row.pk).update(**flag)
    if was_there != is_there:
        Story.objects.filter(pk=row.story_id).update(comments_count=F("comments_count") + (1 if is_there else -1))


def _own(author: User, row: Story | Comment) -> None:
    if row.user_id != author.pk:
        raise NotAllowed("Only its author can do that.")
