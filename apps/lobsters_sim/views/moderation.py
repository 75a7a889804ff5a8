"""Hats, and what moderators do; everybody can read what they did."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.showcase.once import once
from apps.showcase.transactions import posts_atomically

from .. import listing
from ..forms import HatRequestForm, ReasonForm
from ..models import Comment, Hat, HatRequest, Moderation, Story
from ..writing import moderate
from .guards import member, member_of, moderator, viewer_of


def hats(request: HttpRequest, page: int = 1) -> HttpResponse:
    """Who wears which hat; for moderators, who asks for one."""
    viewer = viewer_of(request)
    rows = Hat.objects.filter(doffed_at=None).select_related("user", "granted_by_user").order_by("hat", "pk")
    found = listing.page_of(rows, page, listing.ENTRIES_PER_PAGE, "hats")
    asked = HatRequest.objects.select_related("user").order_by("pk") if viewer and viewer.is_moderator else None
    return render(request, "lobsters/hats.html", {"page": found, "requests": asked})


@member
@once
@posts_atomically
def request_hat(request: HttpRequest) -> HttpResponse:
    form = HatRequestForm(request.POST or None)
    if form.is_valid():
        form.instance.user = viewer_of(request)
        form.save()
        messages.success(request, "A moderator will look at your request.")
        return redirect("lobsters:hats")
    return render(request, "lobsters/request_hat.html", {"form": form})


@moderator
@once
@require_POST
@posts_atomically
def answer_request(request: HttpRequest, pk: int, answer: str) -> HttpResponse:
    """Grant a hat or refuse it. The log does not say which hat: what it says outlives the account that wore it."""
    asked = get_object_or_404(HatRequest.objects.select_for_update(), pk=pk)
    if answer == "grant":
        Hat.objects.create(user_id=asked.user_id, granted_by_user=viewer_of(request), hat=asked.hat, link=asked.link)
    Moderation.objects.create(
        moderator_user=viewer_of(request),
        user_id=asked.user_id,
        action="granted a hat" if answer == "grant" else "refused a hat",
    )
    asked.delete()
    messages.success(request, "The hat is granted." if answer == "grant" else "The request is refused.")
    return redirect("lobsters:hats")


@member
@once
@require_POST
def doff(request: HttpRequest, pk: int) -> HttpResponse:
    """Take one's own hat off for good."""
    hat = get_object_or_404(Hat, pk=pk, user=viewer_of(request), doffed_at=None)
    Hat.objects.filter(pk=hat.pk).update(doffed_at=timezone.now())
    messages.success(request, "You have taken the hat off.")
    return redirect("lobsters:hats")


def log(request: HttpRequest, page: int = 1) -> HttpResponse:
    rows = Moderation.objects.select_related("moderator_user", "user", "story", "comment").order_by(
        "-created_at", "-pk"
    )
    rows = rows.only(
        "action",
        "reason",
        "is_from_suggestions",
        "created_at",
        "moderator_user__username",
        "moderator_user__deleted_at",
        "user__username",
        "user__deleted_at",
        "story__short_id",
        "story__title",
        "comment__short_id",
    )
    found = listing.page_of(rows, page, listing.ENTRIES_PER_PAGE, "moderations")
    return render(request, "lobsters/moderations.html", {"page": found})


@moderator
@once
def moderate_story(request: HttpRequest, short_id: str) -> HttpResponse:
    return _moderate(request, get_object_or_404(Story.objects.select_related("user"), short_id=short_id))


@moderator
@once
def moderate_comment(request: HttpRequest, short_id: str) -> HttpResponse:
    return _moderate(request, get_object_or_404(Comment.objects.select_related("user", "story"), short_id=short_id))


def _moderate(request: HttpRequest, target: Story | Comment) -> HttpResponse:
    """Remove it, or put it back if it was removed; with a reason, which everybody can read."""
    viewer = member_of(request)
    remove = not target.is_moderated
    form = ReasonForm(request.POST or None)
    # A page from before: it would do the contrary of what its button says.
    if request.POST.get("do", "") not in ("", "remove" if remove else "restore"):
        form.add_error(None, "It is back by now." if remove else "It is removed by now.")
    if form.is_valid():
        moderate(viewer, target, remove=remove, reason=form.cleaned_data["reason"])
        messages.success(request, "It is removed." if remove else "It is back.")
        return redirect("lobsters:moderations")
    story = target.story if isinstance(target, Comment) else target
    context = {
        "form": form,
        "target": target,
        "story": story,
        "comment": target if isinstance(target, Comment) else None,
        "remove": remove,
    }
    return render(request, "lobsters/moderate.html", context)
