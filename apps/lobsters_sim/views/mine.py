"""What members keep for themselves: saved and hidden stories, filters; and the tags that they choose from."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from apps.showcase.transactions import posts_atomically

from .. import listing
from ..forms import FilterForm
from ..models import Tag, TagFilter
from .guards import member, member_of


@member
def saved(request: HttpRequest, page: int = 1) -> HttpResponse:
    viewer = member_of(request)
    rows = listing.stories().filter(saved_by__user=viewer).order_by("-saved_by__created_at", "-saved_by__pk")
    found = listing.page_of(rows, page, listing.STORIES_PER_PAGE, "saved", shown=listing.shown_stories())
    context = {"page": found, "rows": listing.listed(found.rows, viewer), "title": "Saved stories", "mine": "saved"}
    return render(request, "lobsters/stories.html", context)


@member
def hidden(request: HttpRequest, page: int = 1) -> HttpResponse:
    viewer = member_of(request)
    rows = listing.stories().filter(hidden_by__user=viewer).order_by("-hidden_by__pk")
    found = listing.page_of(rows, page, listing.STORIES_PER_PAGE, "hidden", shown=listing.shown_stories())
    context = {"page": found, "rows": listing.listed(found.rows, viewer), "title": "Hidden stories", "mine": "hidden"}
    return render(request, "lobsters/stories.html", context)


def tags(request: HttpRequest) -> HttpResponse:
    return render(request, "lobsters/tags.html", {"tags": Tag.objects.order_by("tag")})


@member
@posts_atomically
def filters(request: HttpRequest) -> HttpResponse:
    """Stories with these tags vanish from the front page and the recent stories of this member."""
    viewer = member_of(request)
    tags = list(Tag.objects.order_by("tag"))
    before = set(TagFilter.objects.filter(user=viewer).values_list("tag_id", flat=True))
    form = FilterForm(
        tags, request.POST if request.method == "POST" else None, initial={"tags": [str(tag) for tag in before]}
    )
    if request.method == "POST" and form.is_valid():
        after = {int(tag) for tag in form.cleaned_data["tags"]}
        TagFilter.objects.filter(user=viewer, tag__in=before - after).delete()
        TagFilter.objects.bulk_create(TagFilter(user=viewer, tag_id=tag) for tag in sorted(after - before))
        messages.success(request, "Your filters are saved.")
        return redirect("lobsters:filters")
    return render(request, "lobsters/filters.html", {"form": form})
