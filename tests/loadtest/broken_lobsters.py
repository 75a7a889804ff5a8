"""Lobsters with faults that a load must notice: pages that show, lack or forget what they must not."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path

from apps.lobsters_sim.models import Comment, Vote
from apps.lobsters_sim.privacy import PAGES
from apps.lobsters_sim.views import buttons, comments, people, stories
from config import urls
from edna.pages.applying import Apply

#: Told by the test: who never leaves, and the words of those who may.
staying: set[str] = set()
known: dict[str, str] = {}
#: Who has left, the last one last.
gone: list[str] = []


LEAVE = Apply.as_view(pages=PAGES)


def delete(request: HttpRequest) -> HttpResponse:
    name = getattr(request.user, "username", "")
    response = LEAVE(request, name="lobsters.delete-account").render()
    if b"Good-bye" in response.content:
        gone.append(name)
    return response


def front(request: HttpRequest) -> HttpResponse:
    response = stories.front(request)
    if gone:
        response.content += f'<a href="/lobsters/u/{gone[-1]}">{gone[-1]}</a>'.encode()
    return response


def recent(request: HttpRequest) -> HttpResponse:
    response = stories.recent(request)
    if gone:
        response.content += known[gone[-1]].encode()
    return response


def story(request: HttpRequest, short_id: str) -> HttpResponse:
    """Names somebody who is gone to visitors, and shows members one comment fewer than it counts."""
    response = stories.story(request, short_id=short_id)
    if not request.user.is_authenticated:
        response.content += f'<a href="/lobsters/u/{gone[-1]}">{gone[-1]}</a>'.encode() if gone else b""
    response.content = response.content.replace(b'id="c_', b'id="', 1)
    response.content = response.content.replace(b"<h2>No comments yet", b"<h2>1 comment")
    return response


def vote(request: HttpRequest, short_id: str) -> HttpResponse:
    response: HttpResponse = buttons.story_vote(request, short_id=short_id, vote="upvote")
    Vote.objects.filter(user=request.user.pk, story__short_id=short_id, comment=None).delete()
    return response


def create(request: HttpRequest) -> HttpResponse:
    response = comments.comments(request)
    if request.method == "POST" and response.status_code == 302:
        Comment.objects.filter(user=request.user.pk).order_by("-pk")[0].delete()
    return response


def profile(request: HttpRequest, username: str) -> HttpResponse:
    if username in staying:
        return HttpResponse("gone", status=404)
    return people.profile(request, username=username)


urlpatterns: list[Any] = [
    path("lobsters/", front),
    path("lobsters/recent", recent),
    path("lobsters/stories/<slug:short_id>", story),
    path("lobsters/stories/<slug:short_id>/upvote", vote),
    path("lobsters/comments", create),
    path("lobsters/u/<slug:username>", profile),
    path("lobsters/privacy/do/lobsters.delete-account/", delete),
    *urls.urlpatterns,
]
