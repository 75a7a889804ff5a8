"""A small site with people in it, and ways to compare and to search the whole database."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

import edna
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import (
    Comment,
    Hat,
    HatRequest,
    HiddenStory,
    Invitation,
    Message,
    Moderation,
    ModNote,
    ReadRibbon,
    SavedStory,
    Story,
    SuggestedTagging,
    SuggestedTitle,
    Tag,
    TagFilter,
    User,
)
from apps.lobsters_sim.voting import place, vote_for_comment, vote_for_story
from apps.lobsters_sim.writing import post_comment, submit_story
from apps.showcase.tests import tables
from apps.showcase.tests.tables import Rows

PASSWORD = "a long walk home"
BACKEND = "apps.lobsters_sim.auth.LobstersBackend"


@dataclass
class Person:
    """Somebody with an account, a key, and a browser in which they are logged in."""

    user: User
    client: Client
    recovery_code: str


@pytest.fixture
def join(db: None) -> Callable[..., Person]:
    """Makes people, each with a key."""

    def make(username: str, **fields: Any) -> Person:
        user = User.objects.create_user(username, f"{username}@example.org", PASSWORD, **fields)
        registration = edna.register_principal(user, password=PASSWORD, identifier=identifier(username))
        client = Client()
        client.force_login(user, backend=BACKEND)
        return Person(user, client, str(registration.recovery_code))

    return make


@pytest.fixture
def bea(join: Callable[..., Person]) -> Person:
    return join("bea")


@pytest.fixture
def carl(join: Callable[..., Person]) -> Person:
    return join("carl")


@pytest.fixture
def mod(join: Callable[..., Person]) -> Person:
    return join("mod", is_moderator=True)


@pytest.fixture
def tags(db: None) -> dict[str, Tag]:
    """Among them a privileged one, one that is no longer used, and one that makes stories cooler."""
    Tag.objects.bulk_create(
        [
            Tag(tag="compsci", description="Theory of computing"),
            Tag(tag="starwars", description="A galaxy far away"),
            Tag(tag="video", description="Something to look at", is_media=True),
            Tag(tag="meta", description="About this site", hotness_mod=-0.25),
            Tag(tag="announce", description="From the moderators", privileged=True),
            Tag(tag="fad", description="Gone", inactive=True),
        ]
    )
    return {tag.tag: tag for tag in Tag.objects.all()}


@dataclass
class Site:
    """Two stories of bea's, one of them about Star Wars, and one of carl's, with comments and votes by all."""

    beas: Story
    beas_film: Story
    carls: Story
    beas_comment: Comment
    carls_reply: Comment
    film_comment: Comment


@pytest.fixture
def site(tags: dict[str, Tag], bea: Person, carl: Person, mod: Person) -> Site:
    b, c, m = bea.user, carl.user, mod.user

    def story(author: User, title: str, tag: str) -> Story:
        return submit_story(
            author,
            title=title,
            url=f"https://example.org/{title.split()[0]}",
            description=f"{title}, at length.",
            tags=[tags[tag]],
            by_author=False,
        )

    beas = story(b, "Paxos over tea", "compsci")
    film = story(b, "Blasters and their optics", "starwars")
    carls = story(c, "Garbage that collects itself", "compsci")
    beas_comment = post_comment(b, carls.short_id, "Bea thinks that this is a heap of trouble.")
    reply = post_comment(c, "", "Carl begs to differ.", parent_id=beas_comment.short_id)
    film_comment = post_comment(b, film.short_id, "Bea adds: the light is too slow.")
    post_comment(c, beas.short_id, "Carl would rather have coffee.")
    post_comment(m, "", "Both of you, be kind.", parent_id=reply.short_id)
    vote_for_story(b, carls.short_id, 1)
    vote_for_story(c, beas.short_id, 1)
    vote_for_story(m, beas.short_id, 1)
    vote_for_story(c, film.short_id, -1, "O")
    vote_for_comment(c, film_comment.short_id, 1)
    vote_for_comment(b, reply.short_id, 1)
    # Some of everything else.
    SavedStory.objects.create(user=b, story=carls)
    HiddenStory.objects.create(user=b, story=film)
    ReadRibbon.objects.create(user=b, story=carls)
    TagFilter.objects.create(user=b, tag=tags["meta"])
    Message.objects.create(author_user=b, recipient_user=c, subject="Tea", body="Bea asks: green or black?")
    Message.objects.create(author_user=c, recipient_user=b, subject="Coffee", body="Black, and no tea.")
    hat = Hat.objects.create(user=b, granted_by_user=m, hat="Tea taster of example.org", link="https://example.org/b")
    Comment.objects.filter(pk=beas_comment.pk).update(hat=hat)
    Hat.objects.create(user=c, granted_by_user=m, hat="Barista")
    HatRequest.objects.create(user=b, hat="Potter", link="https://example.org/pots", comment="Bea makes them.")
    Invitation.objects.create(user=b, email="dora@example.org", code="let-dora-in")
    SuggestedTitle.objects.create(user=b, story=carls, title="Garbage")
    SuggestedTagging.objects.create(user=b, story=carls, tag=tags["meta"])
    Moderation.objects.create(moderator_user=m, user=b, story=beas, action="retitled a story", reason="A clearer title")
    ModNote.objects.create(moderator_user=m, user=b, action="spoke to a member", reason="About tea")
    # Long enough ago that no page says something else a moment later.
    past = timezone.now() - datetime.timedelta(days=5)
    for model in (Story, Comment, Message, Moderation, Hat):
        model._base_manager.update(created_at=past)
    for model in (Comment, Moderation, Hat):
        model._base_manager.update(updated_at=past)
    User.objects.update(created_at=past)
    names = {"beas": beas, "beas_film": film, "carls": carls}
    named = {"beas_comment": beas_comment, "carls_reply": reply, "film_comment": film_comment}
    for row in (*names.values(), *named.values()):
        row.refresh_from_db()
    for row in names.values():
        place(row)
    return Site(**names, **named)  # type: ignore[arg-type]


def dump() -> dict[str, Rows]:
    return tables.dump("lobsters_sim")
