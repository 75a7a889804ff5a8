"""What the disguises do to rows: what goes, what stays and whose it then is, what everybody else sees, and that all of it comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth import authenticate
from django.core.checks import run_checks
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.urls import reverse
from django.utils import timezone

import edna
from apps.lobsters_sim.auth import LobstersBackend
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
    Tagging,
    User,
    Vote,
)
from apps.showcase.tests.counting import counted_alike
from edna.pages import words
from edna.testing import application_dump
from edna.testing.search import finds
from tests.support import edna_dump, loot, statements

from .conftest import BACKEND, PASSWORD, Person, Site
from .owners import counts, somebody

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

DELETE, DECAY, TOPIC = "lobsters.delete-account", "lobsters.decay", "lobsters.topic"
ALL = ((DELETE, {}), (DECAY, {}), (TOPIC, {"tag": "starwars"}))
EVERYBODY = ("bea", "carl", "mod")


@pytest.fixture
def join(db: None) -> Callable[..., Person]:
    return somebody


def key_of(person: Person) -> edna.Unlocked:
    return edna.unlock(recovery_code=person.recovery_code)


def take_back(person: Person, receipt: edna.Receipt) -> edna.Outcome:
    with key_of(person) as unlocked:
        return edna.reveal(receipt, unlocked)


def named(request: pytest.FixtureRequest, name: str) -> Person:
    person: Person = request.getfixturevalue(name)
    return person


def seen_by_others() -> list[Any]:
    """What lists and threads are made of, but for who wrote what."""
    stories = (
        "id",
        "short_id",
        "created_at",
        "hotness",
        "upvotes",
        "downvotes",
        "comments_count",
        "is_expired",
        "user_is_author",
    )
    comments = (
        "id",
        "short_id",
        "created_at",
        "story",
        "parent_comment",
        "thread_id",
        "upvotes",
        "downvotes",
        "confidence",
    )
    return [
        list(Story.objects.order_by("hotness", "id").values_list(*stories)),
        list(Comment.objects.order_by("thread_id", "-confidence", "id").values_list(*comments)),
        list(Tagging.objects.order_by("id").values_list("story", "tag")),
    ]


def votes() -> Counter[tuple[Any, ...]]:
    return Counter(Vote.objects.values_list("story", "comment", "vote"))


@pytest.mark.once
def test_the_checks_find_nothing() -> None:
    assert settings.SILENCED_SYSTEM_CHECKS == []
    assert run_checks(databases=["default"]) == []


@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize(("disguise", "params"), ALL)
def test_revealing_leaves_every_row_as_it_was(
    disguise: str, params: dict[str, str], name: str, site: Site, request: pytest.FixtureRequest
) -> None:
    person = named(request, name)
    before, tables = application_dump(), edna_dump()
    receipt = edna.disguise(disguise, person.user, params=params)
    outcome = take_back(person, receipt)
    assert outcome.complete
    if outcome.altered:
        # Who was a moderator is so only once somebody says it again.
        assert outcome.altered == {"lobsters_sim.user": {"is_moderator": 1}}
        assert not User.objects.get(pk=person.user.pk).is_moderator
        User.objects.filter(pk=person.user.pk).update(is_moderator=True)
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.once
@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize("disguise", [DELETE, DECAY])
def test_nothing_names_somebody_who_left(disguise: str, name: str, site: Site, request: pytest.FixtureRequest) -> None:
    person = named(request, name)
    before, others = (
        counts(person.user),
        {other: counts(named(request, other).user) for other in EVERYBODY if other != name},
    )
    assert sum(before.values()) > 5
    receipt = edna.disguise(disguise, person.user)
    assert set(counts(person.user).values()) == {0}
    assert not User.objects.filter(pk=person.user.pk).exists()
    for other, owned in others.items():
        # But for whose hats they have granted, if those are gone.
        now = counts(named(request, other).user)
        assert now | {"hats.granted_by_user": 0} == owned | {"hats.granted_by_user": 0}
    take_back(person, receipt)
    assert counts(person.user) == before


@pytest.mark.once
def test_bea_has_some_of_everything(site: Site, bea: Person, mod: Person) -> None:
    """The tests above say little about a table in which nobody has anything."""
    by_moderators = {"hats.granted_by_user", "moderations.moderator_user", "mod_notes.moderator_user"}
    of_bea, of_mod = counts(bea.user), counts(mod.user)
    assert {column for column, number in of_bea.items() if not number} == by_moderators
    assert all(of_mod[column] for column in by_moderators)


@pytest.mark.once
@pytest.mark.parametrize("name", EVERYBODY)
@pytest.mark.parametrize(("disguise", "params"), ALL)
def test_lists_threads_and_scores_stay_the_same(
    disguise: str, params: dict[str, str], name: str, site: Site, request: pytest.FixtureRequest
) -> None:
    before = seen_by_others()
    edna.disguise(disguise, named(request, name).user, params=params)
    assert seen_by_others() == before


def test_deletion(site: Site, bea: Person, carl: Person) -> None:
    """Texts go, and who wrote them; the rows, and all votes, stay."""
    mine = [site.beas.pk, site.beas_film.pk]
    all_votes, voted = votes(), set(Vote.objects.filter(user=bea.user).values_list("pk", flat=True))
    edna.disguise(DELETE, bea.user)
    for story in Story.objects.filter(pk__in=mine):
        texts = (story.title, story.url, story.description, story.markeddown_description, story.story_cache)
        assert set(texts) == {"[deleted content]"}
    for pk in (site.beas_comment.pk, site.film_comment.pk):
        comment = Comment.objects.get(pk=pk)
        assert {comment.comment, comment.markeddown_comment} == {"[deleted content]"}
        assert comment.hat is None
    assert Story.objects.get(pk=site.carls.pk).title == site.carls.title
    assert votes() == all_votes
    gone = (HatRequest, HiddenStory, Invitation, ReadRibbon, SavedStory, SuggestedTagging, SuggestedTitle, TagFilter)
    assert [model.objects.count() for model in gone] == [0] * len(gone)
    assert list(Hat.objects.values_list("user", flat=True)) == [carl.user.pk]
    # Every row has an owner of its own.
    owners = [
        *Story.objects.filter(pk__in=mine).values_list("user", flat=True),
        *Comment.objects.filter(pk__in=[site.beas_comment.pk, site.film_comment.pk]).values_list("user", flat=True),
        *Vote.objects.filter(pk__in=voted).values_list("user", flat=True),
        *Moderation.objects.values_list("user", flat=True),
        *ModNote.objects.values_list("user", flat=True),
    ]
    assert len(owners) == len(set(owners)) == 6 + len(voted)
    strangers = User.objects.filter(pk__in=owners)
    assert all(edna.is_pseudoprincipal(stranger) and not stranger.is_active for stranger in strangers)


def test_decay_keeps_what_was_written(site: Site, bea: Person) -> None:
    stories, comments = (
        list(model.objects.order_by("pk").values_list(*names))
        for model, names in (
            (Story, ("title", "url", "description", "markeddown_description", "twitter_id")),
            (Comment, ("comment", "markeddown_comment")),
        )
    )
    all_votes = votes()
    edna.disguise(DECAY, bea.user)
    assert (
        list(
            Story.objects.order_by("pk").values_list(
                "title", "url", "description", "markeddown_description", "twitter_id"
            )
        )
        == stories
    )
    assert list(Comment.objects.order_by("pk").values_list("comment", "markeddown_comment")) == comments
    assert votes() == all_votes
    assert not HatRequest.objects.exists()


def test_topic_has_one_stranger_for_each_story(site: Site, bea: Person, carl: Person, tags: dict[str, Tag]) -> None:
    """What is below other tags stays as it is, and of the votes go those for the topic's stories and their comments."""
    again = Comment.objects.create(story=site.beas_film, user=bea.user, comment="And one more thing.")
    other = Story.objects.create(user=bea.user, title="Hyperdrives")
    Tagging.objects.create(story=other, tag=tags["starwars"])
    Vote.objects.create(user=bea.user, story=other, vote=1)
    edna.disguise(TOPIC, bea.user, params={"tag": "starwars"})
    first, second = (Comment.objects.get(pk=comment.pk).user_id for comment in (site.film_comment, again))
    assert first == second != bea.user.pk
    owners = list(Story.objects.filter(pk__in=[site.beas_film.pk, other.pk]).values_list("user", flat=True))
    assert len({*owners, bea.user.pk}) == 3
    assert (
        Story.objects.get(pk=site.beas.pk).user_id
        == Comment.objects.get(pk=site.beas_comment.pk).user_id
        == bea.user.pk
    )
    assert not Vote.objects.filter(user=bea.user, story__in=[site.beas_film, other]).exists()
    assert Vote.objects.filter(user=carl.user, story=site.beas_film, comment=site.film_comment).exists()
    assert Vote.objects.filter(user=bea.user).count() == 4


def test_topic_of_any_tag(site: Site, carl: Person) -> None:
    edna.disguise(TOPIC, carl.user, params={"tag": "compsci"})
    assert not Story.objects.filter(user=carl.user).exists()
    assert not Comment.objects.filter(user=carl.user).exists()
    assert Vote.objects.filter(user=carl.user).count() == 2  # for the film, and below it


@pytest.mark.once
@pytest.mark.parametrize("tag", ["fad", "there is no such tag", "'; --", ""])
def test_a_topic_of_which_nobody_wrote_changes_nothing(tag: str, site: Site, bea: Person) -> None:
    before = application_dump()
    edna.disguise(TOPIC, bea.user, params={"tag": tag})
    assert application_dump() == before


def personal(site: Site, *, texts: bool) -> dict[str, str | bytes | int]:
    """What is bea's alone; with ``texts``, what she wrote for everybody, too."""
    found: dict[str, str | bytes | int] = {
        "e-mail": "bea@example.org",
        "hat": "Tea taster",
        "hat request": "Bea makes them",
        "invited": "dora@example.org",
        "invitation": "let-dora-in",
    }
    if texts:
        found |= {
            "title": site.beas.title,
            "address": site.beas.url,
            "description": site.beas_film.description,
            "comment": "Bea thinks that this is a heap",
            "comment there": "the light is too slow",
        }
    return found


@pytest.mark.parametrize(("disguise", "texts"), [(DELETE, True), (DECAY, False)])
def test_a_thief_finds_nothing_of_somebody_who_left(disguise: str, texts: bool, site: Site, bea: Person) -> None:
    needles = personal(site, texts=texts)
    assert sorted(finds(loot(), needles)) == sorted(needles)  # they are there before
    edna.disguise(disguise, bea.user)
    assert finds(loot(), needles) == []


@pytest.mark.once
@pytest.mark.parametrize(("disguise", "params"), ALL)
def test_nobody_logs_in_as_a_stranger(disguise: str, params: dict[str, str], site: Site, bea: Person) -> None:
    known = set(User.objects.values_list("pk", flat=True))
    edna.disguise(disguise, bea.user, params=params)
    strangers = User.objects.exclude(pk__in=known)
    assert strangers
    for stranger in strangers:
        assert LobstersBackend().get_user(stranger.pk) is None
        assert authenticate(lobsters_username=stranger.username, password=PASSWORD) is None
    assert (
        len({(user.karma, user.created_at, user.deleted_at, user.rss_token, user.is_moderator) for user in strangers})
        == 1
    )


def write_much(user: User, friend: User, number: int, tag: Tag) -> None:
    """So many rows of every kind of the user's."""
    stories = [
        Story.objects.create(user=user, title=f"{number} things", url="https://example.org") for _ in range(number)
    ]
    for story in stories:
        Tagging.objects.create(story=story, tag=tag)
        comment = Comment.objects.create(user=user, story=story, comment="Well.")
        Comment.objects.create(user=friend, story=story, comment="Oh.", parent_comment=comment)
        Vote.objects.create(user=user, story=story, vote=1)
        Vote.objects.create(user=user, story=story, comment=comment, vote=1)
        for model in (HiddenStory, SavedStory, ReadRibbon):
            model.objects.create(user=user, story=story)
        SuggestedTagging.objects.create(user=user, story=story, tag=tag)
        SuggestedTitle.objects.create(user=user, story=story, title="Better")
        Moderation.objects.create(moderator_user=friend, user=user, story=story, comment=comment)
        ModNote.objects.create(moderator_user=user, user=friend)
    for _ in range(number):
        Message.objects.create(author_user=user, recipient_user=friend, subject="Hello", body="You.")
        Message.objects.create(author_user=friend, recipient_user=user, subject="Hello", body="Yourself.")
        hat = Hat.objects.create(user=user, granted_by_user=friend, hat="Fez")
        Comment.objects.filter(user=user).update(hat=hat)
        Hat.objects.create(user=friend, granted_by_user=user, hat="Beret")
        HatRequest.objects.create(user=user, hat="Bowler", link="https://example.org", comment="Please.")
        Invitation.objects.create(user=user, email="x@example.org", code="x")
        TagFilter.objects.create(user=user, tag=tag)


@pytest.mark.parametrize(("disguise", "params"), ALL)
def test_statements_do_not_grow_with_rows(
    disguise: str, params: dict[str, str], bea: Person, carl: Person, mod: Person, tags: dict[str, Tag]
) -> None:
    counted = []
    for person, number in ((bea, 3), (carl, 30)):
        write_much(person.user, mod.user, number, tags["starwars"])
        receipts: list[edna.Receipt] = []
        there = statements(
            lambda who=person, kept=receipts: kept.append(edna.disguise(disguise, who.user, params=params))
        )
        with key_of(person) as unlocked:
            back = statements(lambda kept=receipts, key=unlocked: edna.reveal(kept[0], key))
        counted.append((len(there), len(back)))
        person.user.refresh_from_db()
        assert counts(person.user)["comments.user"] == number
    assert counted[0] == counted[1], connection.vendor


@pytest.mark.once
def test_a_moderator_who_leaves_takes_nobodys_hat(site: Site, mod: Person, carl: Person) -> None:
    receipt = edna.disguise(DELETE, mod.user)
    hat = Hat.objects.get(user=carl.user)
    assert edna.is_pseudoprincipal(hat.granted_by_user)
    take_back(mod, receipt)
    hat.refresh_from_db()
    assert hat.granted_by_user_id == mod.user.pk


def test_a_plan_reads_each_table_once_although_several_steps_mean_its_rows(site: Site, bea: Person) -> None:
    """Comments are changed and given away, messages have two owners: one statement each, and each step gets its own rows."""
    plans: list[edna.Plan] = []
    sent = statements(lambda: plans.append(edna.plan(DELETE, bea.user)))
    for table in ("comments", "stories", "messages", "hats", "moderations"):
        quoted = connection.ops.quote_name(table)
        assert (
            len([sql for sql in sent if f"FROM {quoted} WHERE" in sql and "hat_id" not in sql.rpartition("WHERE")[2]])
            == 1
        )
    of_messages = [
        line.rows for line in plans[0].tables if line.model.endswith("message") and line.operation == "modify"
    ]
    written = Message.objects.filter(author_user=bea.user.pk).count()
    received = Message.objects.filter(recipient_user=bea.user.pk).count()
    assert of_messages == [written + received]
    assert (
        written + received == Message.objects.filter(Q(author_user=bea.user.pk) | Q(recipient_user=bea.user.pk)).count()
    )


def test_who_is_banned_by_name_while_away_returns_banned(bea: Person) -> None:
    """Nobody can tell whose bag is whose; what a moderator knows of the account is enough."""
    receipt = edna.disguise("lobsters.delete-account", bea.user)
    banned_at = timezone.now()
    assert not edna.replay(User, where={"username": bea.user.username}, set={"deleted_at": banned_at})
    assert take_back(bea, receipt).complete
    assert not User.objects.get(pk=bea.user.pk).is_active
    assert authenticate(lobsters_username=bea.user.username, password=PASSWORD) is None


@pytest.mark.once
@pytest.mark.parametrize("name", [DELETE, DECAY])
@pytest.mark.parametrize("topic_first", [False, True])
def test_plan_history_outcome_commands_and_pages_count_each_row_once(
    site: Site, bea: Person, name: str, topic_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on top of a topic that she has left, whose pseudoprincipals go with the account; so do the pages."""

    def bring_back(receipt: edna.Receipt) -> list[str]:
        code = {"recovery_code": bea.recovery_code, "receipt": str(receipt)}
        lines: list[str] = Client().post(reverse("lobsters-privacy:return"), code).context["restored"]
        return lines

    def previewed() -> list[str]:
        bea.client.force_login(bea.user, backend=BACKEND)
        lines: list[str] = bea.client.get(reverse("lobsters-privacy:apply", args=[DELETE])).context["preview"]
        return lines

    with edna.unlock(recovery_code=bea.recovery_code) as unlocked:
        if topic_first:
            edna.disguise(TOPIC, bea.user, params={"tag": "starwars"})
        stories = Story.objects.filter(user__in=[bea.user.pk, *edna.speaks_for(unlocked, User)]).count()
    counts = counted_alike(
        name,
        bea.user,
        bea.recovery_code,
        monkeypatch=monkeypatch,
        bring_back=bring_back,
        previewed=previewed if name == DELETE else None,
        with_key=topic_first,
        said=words.counts,
    )
    assert (counts["lobsters_sim.user"], counts["lobsters_sim.story"]) == (1, stories)
