"""Lists of stories, and a story with its comments."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.http.response import Http404
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from apps.showcase.once import once
from apps.showcase.transactions import atomically

from .. import listing
from ..forms import CommentForm, StoryForm, StoryTextForm
from ..models import Comment, Hat, HiddenStory, ReadRibbon, Story, Tag, User
from ..threads import thread
from ..writing import delete_story, edit_story, submit_story
from .guards import by_the_rules, member, member_of, viewer_of


def front(request: HttpRequest, page: int = 1) -> HttpResponse:
    return _stories(request, listing.front_page, page, listing.STORIES_PER_PAGE, "front", "The front page")


def recent(request: HttpRequest, page: int = 1) -> HttpResponse:
    return _stories(request, listing.recent, page, listing.RECENT_PER_PAGE, "recent", "Recent stories")


def _stories(
    request: HttpRequest, rows: Callable[[User | None], QuerySet[Story]], number: int, size: int, name: str, title: str
) -> HttpResponse:
    viewer = viewer_of(request)
    page = listing.page_of(rows(viewer), number, size, name, shown=listing.shown_stories())
    context = {"page": page, "rows": listing.listed(page.rows, viewer), "title": title}
    return render(request, "lobsters/stories.html", context)


def tagged(request: HttpRequest, tag: str, page: int = 1) -> HttpResponse:
    viewer, chosen = viewer_of(request), get_object_or_404(Tag, tag=tag)
    found = listing.page_of(
        listing.with_tag(chosen), page, listing.STORIES_PER_PAGE, "tag", chosen.tag, shown=listing.shown_stories()
    )
    context = {
        "page": found,
        "rows": listing.listed(found.rows, viewer),
        "title": f"Stories about {chosen.tag}",
        "tag": chosen,
    }
    return render(request, "lobsters/stories.html", context)


def story(request: HttpRequest, short_id: str) -> HttpResponse:
    """A story and the tree of its comments. Members leave a ribbon: what is written from now on is new to them."""
    viewer = viewer_of(request)
    shown = get_object_or_404(Story.objects.select_related("user", "merged_story"), short_id=short_id)
    if shown.merged_story is not None:
        return HttpResponsePermanentRedirect(reverse("lobsters:story", args=[shown.merged_story.short_id]))
    if shown.is_expired and not (viewer and (viewer.is_moderator or viewer.pk == shown.user_id)):
        raise Http404("This story was removed.")
    rows = Comment.objects.filter(story=shown).select_related("user", "hat").only(*listing.COMMENT_COLUMNS)
    comments = list(rows)
    read_until = _leave_ribbon(viewer, shown) if viewer else None
    context = {
        "item": listing.listed([shown], viewer)[0],
        "story": shown,
        "thread": thread(
            comments,
            listing.comment_votes(viewer, comments),
            read_until=read_until,
            viewer=viewer.pk if viewer else None,
        ),
        "form": CommentForm(hats_of(viewer)) if viewer else None,
        "is_hidden": bool(viewer) and HiddenStory.objects.filter(user=viewer, story=shown).exists(),
    }
    return render(request, "lobsters/story.html", context)


def _leave_ribbon(viewer: User, shown: Story) -> object:
    """Until when the member had read this story before; None if never. Two statements."""
    ribbons = ReadRibbon.objects.filter(user=viewer, story=shown)
    before = ribbons.order_by("pk").values_list("pk", "updated_at").first()
    if before is None:
        atomically(ReadRibbon.objects.create)(user=viewer, story=shown)
        return None
    ReadRibbon.objects.filter(pk=before[0]).update(updated_at=timezone.now())
    return before[1]


def hats_of(viewer: User) -> list[Hat]:
    """Those that the member may put on."""
    return list(Hat.objects.filter(user=viewer, doffed_at=None).order_by("pk"))


@member
@once
def submit(request: HttpRequest) -> HttpResponse:
    """The form, and what it is sent to."""
    viewer = member_of(request)
    form = StoryForm(viewer, request.POST or None)
    if form.is_valid():
        data = form.cleaned_data
        made = submit_story(
            viewer,
            title=data["title"],
            url=data["url"],
            description=data["description"],
            tags=data["tags"],
            by_author=data["user_is_author"],
        )
        return redirect("lobsters:story", made.short_id)
    return render(request, "lobsters/submit.html", {"form": form})


@member
@by_the_rules
def edit(request: HttpRequest, short_id: str) -> HttpResponse:
    viewer, edited = member_of(request), get_object_or_404(Story, short_id=short_id)
    form = StoryTextForm(request.POST or None, instance=edited)
    if edited.user_id != viewer.pk or edited.is_expired:
        raise Http404("There is nothing of yours at this address.")
    if form.is_valid():
        edit_story(viewer, edited, title=form.cleaned_data["title"], description=form.cleaned_data["description"])
        messages.success(request, "Your story is changed.")
        return redirect("lobsters:story", short_id)
    return render(request, "lobsters/edit_story.html", {"form": form, "story": edited})


@member
@once
@by_the_rules
@require_POST
def delete(request: HttpRequest, short_id: str) -> HttpResponse:
    viewer = member_of(request)
    delete_story(viewer, get_object_or_404(Story, short_id=short_id))
    messages.success(request, "Your story is deleted.")
    return redirect("lobsters:front")
