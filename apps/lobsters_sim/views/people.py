"""Members as others see them. Placeholders for disguised members have no page."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render

from .. import listing
from ..models import Comment, Hat, Story, Tag, Tagging, User
from ..threads import Node
from .guards import viewer_of


def _counted(rows: QuerySet[Any]) -> Subquery:
    return Subquery(rows.filter(user=OuterRef("pk")).order_by().values("user").annotate(n=Count("pk")).values("n"))


def profile(request: HttpRequest, username: str) -> HttpResponse:
    people = User.objects.annotate(
        story_count=_counted(Story.objects.filter(is_expired=False)),
        comment_count=_counted(Comment.objects.filter(is_deleted=False, is_moderated=False)),
    )
    person = get_object_or_404(people, username=username, deleted_at=None)
    context = {
        "person": person,
        "hats": Hat.objects.filter(user=person, doffed_at=None).select_related("granted_by_user").order_by("pk"),
        "favourite": _favourite(person),
    }
    return render(request, "lobsters/profile.html", context)


def _favourite(person: User) -> str | None:
    """The tag that they use most."""
    theirs = Tagging.objects.filter(story__user=person, story__is_expired=False).order_by().values("tag")
    # Looked up apart: joined with the tags, some planners begin there, and walk over all stories.
    most = Subquery(theirs.annotate(n=Count("pk")).order_by("-n", "tag").values("tag")[:1])
    return Tag.objects.filter(pk=most).values_list("tag", flat=True).first()


def stories(request: HttpRequest, username: str, page: int = 1) -> HttpResponse:
    viewer, person = viewer_of(request), get_object_or_404(User, username=username, deleted_at=None)
    rows = listing.stories().filter(user=person).order_by("-created_at", "-pk")
    found = listing.page_of(
        rows, page, listing.STORIES_PER_PAGE, "profile-stories", person.username, shown=listing.shown_stories()
    )
    context = {"page": found, "rows": listing.listed(found.rows, viewer), "title": f"Stories by {person.username}"}
    return render(request, "lobsters/stories.html", context)


def comments(request: HttpRequest, username: str, page: int = 1) -> HttpResponse:
    viewer, person = viewer_of(request), get_object_or_404(User, username=username, deleted_at=None)
    rows = listing.comments().filter(user=person)
    found = listing.page_of(
        rows, page, listing.COMMENTS_PER_PAGE, "profile-comments", person.username, shown=listing.shown_comments()
    )
    votes = listing.comment_votes(viewer, found.rows)
    nodes = [Node(comment, vote=votes.get(comment.pk, 0)) for comment in found.rows]
    context = {"page": found, "rows": nodes, "title": f"Comments by {person.username}"}
    return render(request, "lobsters/comments.html", context)
