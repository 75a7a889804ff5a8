"""The data generator: what it stores agrees with itself, is the same each time, and gives everybody a key."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate
from django.core.management import CommandError, call_command
from django.db import transaction
from django.db.models import Count, F, Max, Q

import edna
from apps.lobsters_sim.keys import identifier
from apps.lobsters_sim.models import Comment, Message, Story, Tag, Tagging, User, Vote
from apps.lobsters_sim.prose import render
from apps.lobsters_sim.scores import confidence
from apps.lobsters_sim.seeding import words
from apps.lobsters_sim.seeding.histograms import histogram_of, read
from apps.lobsters_sim.voting import place
from edna.testing import application_dump

from .owners import OWNERS, counts

pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

#: The smallest site; the tests that compare distributions take a larger one.
SMALLEST, SCALE = 0.01, 0.02


def seed(**options: Any) -> str:
    out = io.StringIO()
    call_command(
        "lobsters_seed", stdout=out, stderr=io.StringIO(), **{"scale": SMALLEST, "no_register": True, **options}
    )
    return out.getvalue()


def test_makes_what_the_statistics_say() -> None:
    out = seed(scale=SCALE)
    users, stories, comments = (
        read(name).scaled(SCALE).total for name in ("votes_per_user", "comments_per_story", "votes_per_comment")
    )
    assert (User.objects.count(), Story.objects.count(), Comment.objects.count()) == (users, stories, comments)
    assert f"{users} members, {stories} stories, {comments:,} comments and {Vote.objects.count():,} votes" in out
    rows: dict[str, list[int]] = {
        "comments_per_story": list(Story.objects.annotate(n=Count("comments")).values_list("n", flat=True)),
        "votes_per_story": list(
            Story.objects.annotate(n=Count("votes", filter=Q(votes__comment=None))).values_list("n", flat=True)
        ),
        "votes_per_comment": list(Comment.objects.annotate(n=Count("votes")).values_list("n", flat=True)),
    }
    for name, numbers in rows.items():
        expected = read(name).scaled(SCALE)
        found = histogram_of(numbers, expected)
        off = sum((Counter(dict(found.bins)) - Counter(dict(expected.bins))).values())
        assert off <= max(2, 0.005 * expected.total), name


def test_counters_agree_with_the_rows() -> None:
    seed()
    up, down = Count("pk", filter=Q(vote=1)), Count("pk", filter=Q(vote=-1))
    for model, column, only in ((Story, "story", {"comment": None}), (Comment, "comment", {"comment__isnull": False})):
        counted = Vote.objects.filter(**only).order_by().values_list(column).annotate(up=up, down=down)
        assert sorted(counted) == sorted(model.objects.values_list("pk", "upvotes", "downvotes"))
    for story in Story.objects.annotate(n=Count("comments")):
        assert story.comments_count == story.n
    for comment in Comment.objects.order_by("pk")[:200]:
        expected = confidence(comment.upvotes, comment.downvotes)
        assert abs(comment.confidence - expected) < Decimal("1e-12")
    karma: Counter[int] = Counter()
    # Everybody's own vote for what they wrote counts for the thing, and not for them.
    for model in (Story, Comment):
        for author, ups, downs in model.objects.values_list("user", "upvotes", "downvotes"):
            karma[author] += ups - downs - 1
    assert all(user.karma == karma[user.pk] for user in User.objects.all())


def test_pages_and_generator_agree_on_hotness_and_texts() -> None:
    """A vote taken and given back leaves a story where the generator put it."""
    seed()
    assert Story.objects.filter(user_is_author=True).exists()
    for story in Story.objects.order_by("-comments_count")[:40]:
        before = story.hotness
        place(story)
        story.refresh_from_db()
        assert abs(story.hotness - before) < Decimal("0.000001")
    for comment in Comment.objects.order_by("pk")[:40]:
        assert comment.markeddown_comment == render(comment.comment)


def test_votes_and_threads_hold_together() -> None:
    seed()
    assert not Vote.objects.filter(comment__isnull=False).exclude(story=F("comment__story")).exists()
    assert Vote.objects.values("user", "story", "comment").distinct().count() == Vote.objects.count()
    assert not Comment.objects.filter(parent_comment__isnull=True).exclude(thread_id=F("pk")).exists()
    replies = Comment.objects.filter(parent_comment__isnull=False)
    assert not replies.exclude(thread_id=F("parent_comment__thread_id")).exists()
    assert not replies.exclude(story=F("parent_comment__story")).exists()
    assert replies.exclude(user=F("story__user")).count() == Message.objects.count()
    assert not Comment.objects.filter(created_at__lt=F("story__created_at")).exists()
    assert not User.objects.filter(created_at__gt=F("last_login")).exists()
    for story in Story.objects.select_related("user"):
        assert story.created_at >= story.user.created_at


def test_the_demo_people_have_some_of_everything() -> None:
    seed()
    bea, mod = User.objects.get(username="bea"), User.objects.get(username="mod")
    for_moderators = {"hats.granted_by_user", "moderations.moderator_user", "mod_notes.moderator_user"}
    owned = counts(bea)
    assert {column for column, number in owned.items() if not number} == for_moderators
    assert (bea.is_moderator, mod.is_moderator) == (False, True)
    assert all(number for column, number in counts(mod).items() if column in for_moderators - {"hats.granted_by_user"})
    topical = Q(taggings__tag__tag="starwars")
    assert Story.objects.filter(topical, user=bea).exists()
    assert Comment.objects.filter(story__taggings__tag__tag="starwars", user=bea).exists()
    assert Vote.objects.filter(story__taggings__tag__tag="starwars", user=bea).exists()
    assert {model for model, _ in OWNERS if not model._base_manager.exists()} == set()


def test_every_fifth_story_is_on_the_topic() -> None:
    seed(scale=SCALE)
    topical = Tagging.objects.filter(tag__tag="starwars").count()
    assert topical / Story.objects.count() == pytest.approx(0.2, abs=0.03)
    assert Story.objects.filter(taggings=None).count() == 0
    assert not Tagging.objects.filter(tag__in=Tag.objects.filter(privileged=True)).exists()


def test_texts_tell_whose_they_are_without_a_name() -> None:
    """What a disguise must take away can be looked for; and a comment that stays names nobody."""
    seed()
    for user in User.objects.annotate(n=Count("comments")).order_by("-n")[:5]:
        place_of_work = words.workplace(user.pk - 1)
        found = Comment.objects.filter(comment__contains=place_of_work)
        assert found.exists()
        assert set(found.values_list("user", flat=True)) == {user.pk}
        if user.username not in ("bea", "mod"):
            assert not Comment.objects.filter(comment__contains=user.username).exists()
    assert Comment.objects.values("comment").distinct().count() > 0.95 * Comment.objects.count()


def dumped(**options: Any) -> Any:
    """The rows that a seed makes; taken back, so that another one can be made."""
    with transaction.atomic():
        seed(**options)
        found = {table: rows for table, rows in application_dump().items() if rows}
        transaction.set_rollback(True)
    return found


def test_the_same_seed_makes_the_same_data() -> None:
    first, second, other = dumped(seed=5), dumped(seed=5), dumped(seed=6)
    assert first == second
    assert first != other
    assert first.keys() == other.keys()


@pytest.mark.slow
def test_the_same_seed_makes_the_same_data_in_another_process(tmp_path: Path) -> None:
    """Whatever Python's hashes are there."""
    code = (
        "import hashlib, django; django.setup()\n"
        "import datetime\n"
        "from apps.lobsters_sim.seeding.population import populate\n"
        "from apps.lobsters_sim.seeding.rows import Site\n"
        "until = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)\n"
        "site = Site(populate(0.02, 3), scale=0.02, seed=3, until=until, password='x')\n"
        "made = hashlib.sha256()\n"
        "for table in site.tables():\n"
        "    for row in table.rows: made.update(repr(row).encode())\n"
        "print(made.hexdigest())\n"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": number, "DJANGO_SETTINGS_MODULE": "config.settings_test"},
            capture_output=True,
            check=True,
        ).stdout
        for number in ("1", "2")
    }
    assert len(digests) == 1


def test_new_rows_are_counted_on_behind_the_seeded_ones() -> None:
    seed()
    last = Story.objects.aggregate(last=Max("pk"))["last"]
    story = Story.objects.create(user=User.objects.get(username="bea"), title="One more")
    assert story.pk > last
    Vote.objects.create(user=story.user, story=story, vote=1)


def test_the_demo_accounts_work() -> None:
    out = seed(no_register=False)
    for username in ("bea", "mod"):
        user = authenticate(lobsters_username=username, password="crustacean-demo")
        assert user is not None
        assert user.username == username
    code = out.rpartition("Recovery code of bea: ")[2].strip()
    for key in ({"identifier": identifier("bea"), "password": "crustacean-demo"}, {"recovery_code": code}):
        with edna.unlock(**key) as unlocked:
            assert edna.history(unlocked) == []
            assert edna.principal(unlocked) == User.objects.get(username="bea")
    assert all(edna.is_registered(user) for user in User.objects.all())


def test_keys_file_opens_every_account_and_is_private(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    seed(no_register=False, keys_file=str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    lines = [line.split(",") for line in path.read_text().splitlines()]
    assert {username for username, _ in lines} == set(User.objects.values_list("username", flat=True))
    for username, text in lines:
        with edna.unlock(secret_key=edna.SecretKey.parse(text)) as unlocked:
            assert edna.principal(unlocked).username == username


def test_no_register() -> None:
    seed()
    assert not any(edna.is_registered(user) for user in User.objects.all())


def test_until_moves_everything() -> None:
    seed(until="2019-12-31")
    assert Story.objects.aggregate(last=Max("created_at"))["last"].year == 2019
    assert User.objects.get(username="bea").last_login.date().isoformat() == "2019-12-30"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": 0}, "at least 0.01"),
        ({"scale": 1_000}, "at most 100"),
        ({"no_register": True, "keys_file": "x"}, "makes no keys"),
        ({"until": "yesterday"}, "write a date"),
        ({"until": "2025-02-30"}, "write a date"),
    ],
)
def test_refuses_nonsense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        seed(**options)


def test_refuses_to_mix_with_other_data() -> None:
    Tag.objects.create(tag="mine")
    with pytest.raises(CommandError, match="There is data already"):
        seed()
    assert User.objects.count() == 0
