"""Lists of stories and comments, each page with the same number of statements however many rows it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.http import Http404
from django.urls import reverse

from .models import Comment, HiddenStory, SavedStory, Story, Tag, TagFilter, Tagging, User, Vote

STORIES_PER_PAGE = 25
RECENT_PER_PAGE = 50
COMMENTS_PER_PAGE = 40
ENTRIES_PER_PAGE = 50

#: Further back than this nobody pages; the database would have to walk over all that lies before.
LAST_PAGE = 10_000

_AUTHOR = ("user__username", "user__deleted_at")
_SHOWN = (
    "short_id",
    "title",
    "url",
    "created_at",
    "upvotes",
    "downvotes",
    "comments_count",
    "user_is_author",
    "is_expired",
)


@dataclass
class Page:
    """Part ``number`` of a long list. It is not counted how long: that would be a walk through all of it."""

    rows: list[Any]
    number: int = 1
    more: bool = False
    name: str = ""
    arguments: tuple[Any, ...] = ()

    @property
    def before(self) -> int:
        return self.number - 1

    @property
    def after(self) -> int:
        return self.number + 1

    @property
    def previous(self) -> str | None:
        return self._address(self.before) if self.number > 1 else None

    @property
    def next(self) -> str | None:
        return self._address(self.after) if self.more else None

    def _address(self, number: int) -> str:
        if number == 1:
            return reverse(f"lobsters:{self.name}", args=self.arguments)
        return reverse(f"lobsters:{self.name}-page", args=(*self.arguments, number))


def page_of(
    rows: QuerySet[Any], number: int, size: int, name: str, *arguments: Any, shown: QuerySet[Any] | None = None
) -> Page:
    """The rows of a page, and whether there is a next one: for that, one row more is asked for.

    With ``shown`` it takes two statements: the first one chooses keys along an index and joins nothing, for planners that have to
    join as well begin anywhere else; the second one looks up what ``shown`` says of these rows.
    """
    if not 1 <= number <= LAST_PAGE:
        raise Http404("There is no such page.")
    start = (number - 1) * size
    chosen = rows if shown is None else rows.values_list("pk", flat=True)
    found = list(chosen[start : start + size + 1])
    if number > 1 and not found:
        raise Http404("There is no such page.")
    more = len(found) > size
    found = found[:size]
    if shown is not None and found:
        by_key = {row.pk: row for row in shown.filter(pk__in=found)}
        found = [by_key[key] for key in found if key in by_key]
    return Page(found, number, more, name, arguments)


@dataclass
class Listed:
    """A story with what the one who looks at the list sees of it."""

    story: Story
    tags: list[Tag] = field(default_factory=list)
    vote: int = 0
    is_saved: bool = False


def stories() -> QuerySet[Story]:
    """Those that a list may show."""
    return Story.objects.filter(is_expired=False, merged_story=None)


def shown_stories() -> QuerySet[Story]:
    """What a list shows of them; not the long texts."""
    return Story.objects.select_related("user").only(*_SHOWN, "user_id", *_AUTHOR)


def front_page(viewer: User | None) -> QuerySet[Story]:
    """The hottest first, without what the viewer filters out or hides."""
    rows = stories().filter(upvotes__gte=F("downvotes")).order_by("hotness", "pk")
    return _without_unwanted(rows, viewer)


def recent(viewer: User | None) -> QuerySet[Story]:
    return _without_unwanted(stories().order_by("-created_at", "-pk"), viewer)


def _without_unwanted(rows: QuerySet[Story], viewer: User | None) -> QuerySet[Story]:
    if viewer is None:
        return rows
    # Looked at for one story at a time: for NOT EXISTS, some planners collect all stories with these tags, for each page.
    unwanted = Tagging.objects.filter(story=OuterRef("pk"), tag__in=TagFilter.objects.filter(user=viewer).values("tag"))
    hidden = HiddenStory.objects.filter(story=OuterRef("pk"), user=viewer)
    rows = rows.alias(unwanted=Subquery(unwanted.values("pk")[:1]), hidden=Subquery(hidden.values("pk")[:1]))
    return rows.filter(unwanted=None, hidden=None)


def with_tag(tag: Tag) -> QuerySet[Story]:
    return stories().filter(taggings__tag=tag).order_by("-created_at", "-pk")


def listed(found: Iterable[Story], viewer: User | None) -> list[Listed]:
    """Three statements for any number of stories; for a visitor, who has neither votes nor saved stories, one."""
    rows = {story.pk: Listed(story) for story in found}
    if not rows:
        return []
    for tagging in Tagging.objects.filter(story__in=rows).select_related("tag").order_by("tag__is_media", "tag__tag"):
        rows[tagging.story_id].tags.append(tagging.tag)
    if viewer is not None:
        for story, vote in story_votes(viewer, rows):
            rows[story].vote = vote
        for story in SavedStory.objects.filter(user=viewer, story__in=rows).values_list("story_id", flat=True):
            rows[story].is_saved = True
    return list(rows.values())


def story_votes(viewer: User, found: Iterable[int]) -> Iterable[tuple[int, int]]:
    return Vote.objects.filter(user=viewer, story__in=list(found), comment=None).values_list("story_id", "vote")


def comments() -> QuerySet[Comment]:
    """All that are to be read, the latest first."""
    return Comment.objects.filter(is_deleted=False, is_moderated=False).order_by("-created_at", "-pk")


def shown_comments() -> QuerySet[Comment]:
    """What a list shows of them: also their stories, authors and hats. Those below removed stories are left out here."""
    rows = Comment.objects.filter(is_deleted=False, is_moderated=False, story__is_expired=False)
    return rows.select_related("user", "story", "hat").only(
        *COMMENT_COLUMNS, "story__short_id", "story__title", "story__user_id"
    )


COMMENT_COLUMNS: Sequence[str] = (
    "short_id",
    "story_id",
    "user_id",
    "parent_comment_id",
    "comment",
    "created_at",
    "updated_at",
    "upvotes",
    "downvotes",
    "confidence",
    "is_deleted",
    "is_moderated",
    *_AUTHOR,
    "hat__hat",
    "hat__link",
)


def comment_votes(viewer: User | None, found: Iterable[Comment]) -> dict[int, int]:
    """What the viewer voted, by comment."""
    keys = [comment.pk for comment in found]
    if viewer is None or not keys:
        return {}
    return dict(Vote.objects.filter(user=viewer, comment__in=keys).values_list("comment_id", "vote"))
