"""What the small buttons beside stories and comments do: vote, save, hide. Each takes POST only, and leads back to its page."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST

from apps.showcase.transactions import posts_atomically

from ..forms import COMMENT_REASONS, STORY_REASONS
from ..models import Comment, HiddenStory, SavedStory, Story
from ..voting import vote_for_comment, vote_for_story
from .guards import back, by_the_rules, member, member_of, viewer_of

VOTES = {"upvote": 1, "downvote": -1, "unvote": 0}


def _reason(request: HttpRequest, known: tuple[tuple[str, str], ...]) -> str:
    given = request.POST.get("reason", "")
    return given if given in dict(known) else ""


@member
@by_the_rules
@require_POST
def story_vote(request: HttpRequest, short_id: str, vote: str) -> HttpResponse:
    viewer = member_of(request)
    try:
        vote_for_story(viewer, short_id, VOTES[vote], _reason(request, STORY_REASONS))
    except Story.DoesNotExist as error:
        raise Http404("There is no such story.") from error
    return back(request, reverse("lobsters:story", args=[short_id]), f"s_{short_id}")


@member
@by_the_rules
@require_POST
def comment_vote(request: HttpRequest, short_id: str, vote: str) -> HttpResponse:
    viewer = member_of(request)
    try:
        voted = vote_for_comment(viewer, short_id, VOTES[vote], _reason(request, COMMENT_REASONS))
    except Comment.DoesNotExist as error:
        raise Http404("There is no such comment.") from error
    return back(request, reverse("lobsters:story", args=[voted.story.short_id]), f"c_{short_id}")


@member
def flag(request: HttpRequest, short_id: str) -> HttpResponse:
    """Why a story is to be voted down: a page of its own, for it wants a moment of thought."""
    story = get_object_or_404(Story, short_id=short_id, is_expired=False)
    if story.user_id == request.user.pk:
        return redirect("lobsters:story", short_id)
    return render(request, "lobsters/flag.html", {"story": story, "reasons": STORY_REASONS})


@member
@require_POST
@posts_atomically
def save(request: HttpRequest, short_id: str) -> HttpResponse:
    story = get_object_or_404(Story, short_id=short_id, is_expired=False)
    SavedStory.objects.get_or_create(user=viewer_of(request), story=story)
    return back(request, reverse("lobsters:story", args=[short_id]), f"s_{short_id}")


@member
@require_POST
@posts_atomically
def unsave(request: HttpRequest, short_id: str) -> HttpResponse:
    SavedStory.objects.filter(user=viewer_of(request), story__short_id=short_id).delete()
    return back(request, reverse("lobsters:saved"))


@member
@require_POST
@posts_atomically
def hide(request: HttpRequest, short_id: str) -> HttpResponse:
    story = get_object_or_404(Story, short_id=short_id, is_expired=False)
    HiddenStory.objects.get_or_create(user=viewer_of(request), story=story)
    return back(request, reverse("lobsters:front"))


@member
@require_POST
@posts_atomically
def unhide(request: HttpRequest, short_id: str) -> HttpResponse:
    HiddenStory.objects.filter(user=viewer_of(request), story__short_id=short_id).delete()
    return back(request, reverse("lobsters:hidden"))
