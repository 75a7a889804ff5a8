"""No page takes more statements than the original's, and none takes more for more rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.lobsters_sim.models import Comment, Message, Moderation, SavedStory, Story, Tag, Tagging, User, Vote
from apps.lobsters_sim.writing import post_comment

from .conftest import PASSWORD, Person, Site

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]

#: How many the original issues, according to what was measured there.
ORIGINAL = {
    "read story": 13,
    "front page": 12,
    "profile": 6,
    "comments": 6,
    "recent": 10,
    "upvote comment": 10,
    "upvote story": 8,
    "post comment": 14,
    "reply": 15,
    "post story": 10,
}

#: What comes before a request, which is not counted, returns the request.
Prepared = Callable[[], Callable[[], Any]]

_TRANSACTIONS = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def statements(prepare: Prepared) -> list[str]:
    """What is asked of the database; where a transaction begins and ends is left out, as it is in the original's numbers."""
    request = prepare()
    with CaptureQueriesContext(connection) as captured:
        assert request().status_code in (200, 302)
    return [row["sql"] for row in captured if not row["sql"].startswith(_TRANSACTIONS)]


@pytest.fixture
def requests(site: Site, mod: Person) -> dict[str, Prepared]:
    """What visitors do, by the names above, each as often as one likes; ``mod`` has written none of what they vote for."""
    client = mod.client
    client.get(reverse("lobsters:front"))  # edna notes each session once a day
    SavedStory.objects.create(user=mod.user, story=site.beas)
    Message.objects.create(author_user=site.carls.user, recipient_user=mod.user, subject="Hello", body="Hello.")

    def send(name: str, *args: Any, **data: Any) -> Callable[[], Any]:
        return lambda: client.post(reverse(f"lobsters:{name}", args=args), data)

    def see(name: str, *args: Any) -> Prepared:
        return lambda: lambda: client.get(reverse(f"lobsters:{name}", args=args))

    def vote_for_story() -> Callable[[], Any]:
        Vote.objects.filter(user=mod.user, story=site.carls, comment=None).delete()
        return send("upvote-story", site.carls.short_id)

    def vote_for_comment() -> Callable[[], Any]:
        new = Comment.objects.filter(user__username="carl").exclude(votes__user=mod.user)[0]
        return send("upvote-comment", new.short_id)

    def submit() -> Callable[[], Any]:
        number = Story.objects.count()
        data = {
            "title": f"A story {number}",
            "url": f"https://example.org/s/{number}",
            "tags": "compsci starwars video",
        }
        return send("stories", **data)

    def visit(name: str, *args: Any) -> Prepared:
        return lambda: lambda: Client().get(reverse(f"lobsters:{name}", args=args))

    return {
        "read story": see("story", site.carls.short_id),
        "front page": see("front"),
        "profile": see("profile", "carl"),
        "comments": see("comments"),
        "recent": see("recent"),
        "upvote comment": vote_for_comment,
        "upvote story": vote_for_story,
        "post comment": lambda: send("comments", story=site.carls.short_id, comment="And another thing."),
        "reply": lambda: send("comment", site.carls_reply.short_id, comment="No."),
        "post story": submit,
        "visitor's story": visit("story", site.carls.short_id),
        "visitor's front page": visit("front"),
        "saved": see("saved"),
        "messages": see("messages"),
        "moderations": see("moderations"),
        "tag": see("tag", "compsci"),
        "stories of somebody": see("profile-stories", "carl"),
        "comments of somebody": see("profile-comments", "carl"),
    }


def grow(site: Site, mod: Person) -> None:
    """Many times as much of everything that these pages show, by many people."""
    people = User.objects.bulk_create(User(username=f"extra{n}", email=f"extra{n}@example.org") for n in range(30))
    stories = Story.objects.bulk_create(
        Story(user=person, title=f"Extra {n}", upvotes=5, hotness=-1) for n, person in enumerate(people)
    )
    stories = list(Story.objects.filter(title__startswith="Extra"))
    tags = [Tag.objects.get(tag=name) for name in ("compsci", "video")]
    Tagging.objects.bulk_create(Tagging(story=story, tag=tag) for story in stories for tag in tags)
    Vote.objects.bulk_create(Vote(user=mod.user, story=story, vote=1) for story in stories)
    SavedStory.objects.bulk_create(SavedStory(user=mod.user, story=story) for story in stories)
    for person in people:
        post_comment(person, "", "I agree, at length.", parent_id=site.carls_reply.short_id)
    carl = User.objects.get(username="carl")
    for story in stories[:10]:
        post_comment(carl, story.short_id, "I, too.")
    Message.objects.bulk_create(
        Message(author_user=person, recipient_user=mod.user, subject="Hello", body="Hello.") for person in people
    )
    Moderation.objects.bulk_create(
        Moderation(moderator_user=mod.user, user=person, story=story, action="did something")
        for person, story in zip(people, stories, strict=True)
    )


def test_within_the_originals_numbers_and_independent_of_the_rows(
    site: Site, mod: Person, requests: dict[str, Prepared]
) -> None:
    small = {name: statements(request) for name, request in requests.items()}
    grow(site, mod)
    for name, request in requests.items():
        large = statements(request)
        assert len(large) <= len(small[name]), (name, "\n".join(large))
        assert len(large) <= ORIGINAL.get(name, 10), (name, "\n".join(large))


def test_the_request_mix_in_numbers(requests: dict[str, Prepared]) -> None:
    """Exactly, so that one more is noticed."""
    found = {name: len(statements(requests[name])) for name in ORIGINAL}
    assert found == {
        "read story": 13,
        "front page": 8,
        "profile": 6,
        "comments": 6,
        "recent": 8,
        "upvote comment": 9,
        "upvote story": 8,
        "post comment": 8,
        "reply": 8,
        "post story": 7,
    }


def test_log_in_takes_few(site: Site, client: Client) -> None:
    taken = statements(
        lambda: lambda: client.post(reverse("lobsters:login"), {"username": "bea", "password": PASSWORD})
    )
    assert len(taken) <= 12, "\n".join(taken)
