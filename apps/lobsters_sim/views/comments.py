"""The latest comments, one comment to answer, and writing."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.showcase.once import once

from .. import listing
from ..forms import COMMENT_REASONS, CommentForm, TextForm
from ..models import Comment, Story
from ..threads import Node
from ..writing import delete_comment, edit_comment, post_comment
from .guards import by_the_rules, member, member_of, posted_name, viewer_of
from .stories import hats_of


def comments(request: HttpRequest, page: int = 1) -> HttpResponse:
    """All comments, the latest first; a comment that is sent here is a new one on a story."""
    if request.method == "POST":
        created: HttpResponse = create(request)
        return created
    viewer = viewer_of(request)
    found = listing.page_of(
        listing.comments(), page, listing.COMMENTS_PER_PAGE, "comments", shown=listing.shown_comments()
    )
    votes = listing.comment_votes(viewer, found.rows)
    rows = [Node(comment, vote=votes.get(comment.pk, 0)) for comment in found.rows]
    return render(request, "lobsters/comments.html", {"page": found, "rows": rows, "title": "Latest comments"})


def comment(request: HttpRequest, short_id: str) -> HttpResponse:
    """One comment, to answer it or to vote it down with a reason; a comment that is sent here answers it."""
    if request.method == "POST":
        answered: HttpResponse = reply(request, short_id)
        return answered
    viewer = viewer_of(request)
    shown = _readable(short_id)
    context = {
        "node": Node(shown, vote=listing.comment_votes(viewer, [shown]).get(shown.pk, 0)),
        "form": CommentForm(hats_of(viewer)) if viewer else None,
        "reasons": COMMENT_REASONS,
    }
    return render(request, "lobsters/comment.html", context)


def _readable(short_id: str) -> Comment:
    return get_object_or_404(listing.shown_comments(), short_id=short_id)


@member
@once
@by_the_rules
def create(request: HttpRequest) -> HttpResponse:
    viewer = member_of(request)
    story_id = posted_name(request, "story")
    # Hats are looked up for those who wear one only.
    form = CommentForm(hats_of(viewer) if request.POST.get("hat") else [], request.POST)
    try:
        if form.is_valid():
            made = post_comment(viewer, story_id, form.cleaned_data["comment"], hat=form.cleaned_data.get("hat"))
            return _to_comment(made.story.short_id, made.short_id)
    except Story.DoesNotExist as error:
        raise Http404("There is no such story.") from error
    story = get_object_or_404(Story, short_id=story_id, is_expired=False)
    return render(request, "lobsters/write_comment.html", {"form": form, "story": story})


@member
@once
@by_the_rules
def reply(request: HttpRequest, short_id: str) -> HttpResponse:
    viewer = member_of(request)
    form = CommentForm(hats_of(viewer) if request.POST.get("hat") else [], request.POST)
    try:
        if form.is_valid():
            text = form.cleaned_data["comment"]
            made = post_comment(viewer, "", text, parent_id=short_id, hat=form.cleaned_data.get("hat"))
            return _to_comment(made.story.short_id, made.short_id)
    except Comment.DoesNotExist as error:
        raise Http404("There is no such comment.") from error
    context = {"node": Node(_readable(short_id)), "form": form, "reasons": COMMENT_REASONS}
    return render(request, "lobsters/comment.html", context)


def _to_comment(story_id: str, comment_id: str) -> HttpResponse:
    return redirect(reverse("lobsters:story", args=[story_id]) + f"#c_{comment_id}")


@member
@by_the_rules
def edit(request: HttpRequest, short_id: str) -> HttpResponse:
    viewer, edited = member_of(request), _readable(short_id)
    if edited.user_id != viewer.pk:
        raise Http404("There is nothing of yours at this address.")
    form = TextForm(request.POST or None, initial={"comment": edited.comment})
    if form.is_valid():
        edit_comment(viewer, edited, form.cleaned_data["comment"])
        return _to_comment(edited.story.short_id, short_id)
    return render(request, "lobsters/edit_comment.html", {"form": form, "comment": edited})


@member
@once
@by_the_rules
@require_POST
def delete(request: HttpRequest, short_id: str) -> HttpResponse:
    viewer, deleted = member_of(request), _readable(short_id)
    delete_comment(viewer, deleted)
    messages.success(request, "Your comment is deleted.")
    return redirect("lobsters:story", deleted.story.short_id)
