"""Storing many rows: as the ORM would have stored them, a batch at a time, and with a bar for whoever watches."""

from __future__ import annotations

import datetime
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from apps.lobsters_sim.management.commands.lobsters_seed import Bar
from apps.lobsters_sim.models import Comment, Story, Tag, User
from apps.lobsters_sim.seeding import bulk
from edna.testing import application_dump
from tests.support import statements

WHEN = datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=datetime.UTC)
TAG = ("id", "tag", "hotness_mod")


def silent(rows: int) -> None:
    pass


@pytest.mark.django_db
def test_rows_are_as_the_orm_writes_them() -> None:
    """Defaults and NULLs of columns that are not named included."""
    user = User.objects.create(username="ann", email="a@example.org")
    values: dict[str, Any] = {
        "id": 7,
        "created_at": WHEN,
        "user": user.pk,
        "title": "‘é’ \\ 😀 %s",
        "short_id": "abc",
        "hotness": Decimal("-1.5"),
    }
    Story.objects.create(**values | {"user": user})
    comment: dict[str, Any] = {
        "id": 3,
        "created_at": WHEN,
        "updated_at": WHEN,
        "short_id": "c",
        "story": 7,
        "user": user.pk,
        "comment": "",
        "confidence": Decimal("0.1234567890123456789"),
    }
    row = Comment(
        **{name: value for name, value in comment.items() if name not in ("story", "user")}, story_id=7, user_id=user.pk
    )
    Comment.objects.bulk_create([row])
    Comment.objects.filter(pk=3).update(updated_at=WHEN)
    expected = application_dump()
    Comment.objects.all().delete()
    Story.objects.all().delete()
    bulk.insert(Story, list(values), [tuple(values.values())], done=silent)
    bulk.insert(Comment, list(comment), [tuple(comment.values())], done=silent)
    assert application_dump() == expected


@pytest.mark.django_db
def test_no_more_than_a_batch_is_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = len(Tag._meta.concrete_fields)
    monkeypatch.setattr(bulk, "CELLS", 10 * len(TAG))
    batch, stored, most = 10 * len(TAG) // fields, 0, 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal most
        for number in range(1, 96):
            most = max(most, number - stored)
            yield number, f"tag {number}", 0.0

    def done(number: int) -> None:
        nonlocal stored
        stored += number

    sent = statements(lambda: bulk.insert(Tag, TAG, rows(), done=done))
    assert (stored, Tag.objects.count()) == (95, 95)
    assert most == batch
    assert len(sent) >= 95 // batch


@pytest.mark.django_db
def test_the_database_counts_on() -> None:
    bulk.insert(Tag, TAG, [(41, "rust", 0.5)], done=silent)
    bulk.count_on([Tag])
    assert Tag.objects.create(tag="zig").pk > 41
    assert Tag.objects.get(pk=41).hotness_mod == 0.5


@pytest.mark.django_db
def test_nothing_to_insert() -> None:
    assert bulk.insert(Tag, TAG, [], done=silent) == 0


class Terminal(io.StringIO):
    def __init__(self, watched: bool) -> None:
        super().__init__()
        self.watched = watched

    def isatty(self) -> bool:
        return self.watched

    def write(self, text: str, ending: str = "\n") -> int:  # as Django's OutputWrapper
        return super().write(text + ending)


@pytest.mark.parametrize("watched", [True, False])
def test_the_bar_is_drawn_for_a_terminal_only(watched: bool) -> None:
    stream = Terminal(watched)
    bar = Bar(1_000, stream)
    for _ in range(20):
        bar.advance(60)
    bar.finish()
    drawn = stream.getvalue()
    assert drawn.count("\r") == (17 if watched else 0)
    assert ("[" + "#" * 40 + "] 1,000 of 1,000 rows" in drawn) == watched
    assert drawn == "" or drawn.endswith("\n")
