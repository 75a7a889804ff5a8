"""What steps read of rows that their disguise changes for others: that and nothing else keeps a disguise from being done in parts."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.expressions import RawSQL
from django.db.models.functions import Length
from django.test.utils import isolate_apps

from apps.lobsters_sim.models import Comment, Hat, Message, Story, Tagging, User, Vote
from edna import Decorrelate, Disguise, Modify, Remove, by_value, coverage, registry, rows_of_others
from edna.spec import Transformation

TITLES = Modify(Story, "user", {"title": "[gone]"})
TEXTS = {"comment": "[gone]"}


def read(*steps: Any) -> list[str]:
    disguise = type("Sample", (Disguise,), {"name": "sample", "transformations": list(steps)})
    return [
        f"{reading.by} {reading.column.removeprefix('lobsters_sim.')}" for reading in rows_of_others.readings(disguise)
    ]


@pytest.mark.parametrize(
    ("steps", "columns"),
    [
        ([TITLES, Modify(Comment, "user", TEXTS, where=Q(story__title="x"))], ["where Story.title"]),
        ([TITLES, Modify(Comment, "user", TEXTS, where=~Q(story__title="x"))], ["where Story.title"]),
        ([TITLES, Decorrelate(Comment, "user", group_by=["story__title"])], ["group_by Story.title"]),
        ([Decorrelate(Story, "user"), Decorrelate(Comment, "user", group_by=["story__user"])], ["group_by Story.user"]),
        ([Modify(User, set={"karma": 0}), Remove(Vote, "user", Q(story__user__karma=1))], ["where User.karma"]),
        # Whether there are any depends on who is still there.
        ([Remove(Vote, "user"), Modify(Story, "user", {"title": ""}, where=Q(votes=None))], ["where Vote.pk"]),
        (
            [
                Remove(Vote, "user"),
                Modify(Story, "user", {"title": ""}, where=Exists(Vote.objects.filter(story=OuterRef("pk")))),
            ],
            ["where Vote.pk"],
        ),
        # Of a row of two owners, the first one's turn is not the second one's.
        (
            [
                Modify(Message, ["author_user", "recipient_user"], {"body": ""}, where=Q(body="x")),
                Decorrelate(Message, "recipient_user", Q(body="x")),
            ],
            ["where Message.body", "where Message.body"],
        ),
        # While both are named, it is changed for each of them.
        ([Modify(Message, ["author_user", "recipient_user"], {"body": ""}, where=Q(body="x"))], ["where Message.body"]),
        (
            [
                Modify(Message, "author_user", {"body": ""}, where=Q(recipient_user__karma=1)),
                Decorrelate(Message, "recipient_user"),
            ],
            ["where Message.recipient_user"],
        ),
        # Nobody can tell what a database's own words read.
        (
            [TITLES, Modify(Comment, "user", TEXTS, where=Q(RawSQL("1 = 1", (), output_field=models.BooleanField())))],
            ["where Story.title", "where Comment.comment"],
        ),
        # Other rows of the same table.
        ([Modify(Comment, "user", TEXTS, where=Q(parent_comment__comment="x"))], ["where Comment.comment"]),
        # Also where it asks nothing else of them, or compares with a column of theirs.
        (
            [Remove(Vote, "user"), Modify(Story, "user", {"title": ""}, where=Q(Exists(Vote.objects.all())))],
            ["where Vote.pk"],
        ),
        (
            [TITLES, Modify(Comment, "user", TEXTS, where=Q(comment__in=Story.objects.values("title")))],
            ["where Story.title"],
        ),
        # By removal of a hat its column becomes NULL.
        ([Remove(Hat, "user"), Decorrelate(Comment, "user", Q(hat=None))], ["where Comment.hat"]),
    ],
)
def test_what_others_change_is_read(steps: list[Transformation], columns: list[str]) -> None:
    assert read(*steps) == columns


@pytest.mark.parametrize(
    "steps",
    [
        [TITLES, Modify(Comment, "user", TEXTS, where=Q(story__is_expired=True))],
        [TITLES, Decorrelate(Comment, "user", group_by=["story"])],
        [Modify(Comment, "user", TEXTS, where=Q(comment="x")), Decorrelate(Comment, "user", Q(comment="x"))],
        # One's own account, and one's own rows, however one gets there.
        [Modify(User, set={"karma": 0}), Modify(Comment, "user", TEXTS, where=Q(user__karma=1))],
        [TITLES, Modify(User, set={"karma": 0}, where=Q(stories__title="x"))],
        [TITLES, Modify(Comment, "user", TEXTS, where=Q(user__stories__title="x"))],
        [TITLES, Remove(Tagging, "story__user", Q(story__title="x"))],
        # What is removed takes along, or takes out of its column, what refers to it.
        [
            Remove(Story, "user"),
            Remove(Comment, "story__user"),
            Modify(Comment, "user", TEXTS, where=Q(story__is_expired=True)),
        ],
        # Whoever the recipient becomes, there is one.
        [
            Modify(Message, "author_user", {"body": ""}, where=Q(recipient_user=None)),
            Decorrelate(Message, "recipient_user"),
        ],
        # Each of two owners is re-pointed in their own turn.
        [
            Remove(Message, ["author_user", "recipient_user"]),
            Modify(Message, "author_user", {"body": ""}, where=Q(author_user__karma=1)),
        ],
        # It changes each row once, for the row names neither of them afterwards.
        [
            Modify(Message, ["author_user", "recipient_user"], {"body": ""}, where=Q(body="x")),
            Decorrelate(Message, ["author_user", "recipient_user"]),
        ],
    ],
)
def test_what_nobody_else_changes_is_not(steps: list[Transformation]) -> None:
    assert read(*steps) == []


@isolate_apps("tests.unit")
def test_a_column_that_the_database_computes_is_any_of_its_row() -> None:
    class Headline(models.Model):
        author = models.ForeignKey(User, models.CASCADE, related_name="+")
        text = models.CharField(max_length=10)
        length = models.GeneratedField(expression=Length("text"), output_field=models.IntegerField(), db_persist=True)

        class Meta:
            app_label = "unit"

    class Remark(models.Model):
        author = models.ForeignKey(User, models.CASCADE, related_name="+")
        headline = models.ForeignKey(Headline, models.CASCADE, related_name="+")

        class Meta:
            app_label = "unit"

    change = Modify(Headline, "author", {"text": ""})
    assert read(change, Decorrelate(Remark, "author", where=Q(headline__length=3))) == ["where unit_headline.text"]
    assert read(change, Decorrelate(Remark, "author", where=Q(headline__author=3))) == []


@isolate_apps("tests.unit")
def test_rows_of_guests_are_found_also_once_others_have_gone() -> None:
    """The key to an account is emptied as it goes. Who is named in such a row finds it besides; nobody finds fewer."""

    class Greeting(models.Model):
        author = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
        email = models.CharField(max_length=50)

        class Meta:
            app_label = "unit"

    def guests(where: Q) -> list[str]:
        greetings = coverage.Relation(Greeting, Greeting._meta.get_field("author"), User)
        with mock.patch.object(coverage, "set_null_relations", return_value=[greetings]):
            return read(Remove(User), Remove(Greeting, by_value("email", "email"), where))

    assert guests(Q(author=None)) == guests(Q(author__isnull=True, email__contains="@")) == []
    assert guests(~Q(author__isnull=False)) == []
    # Who is to be known finds fewer.
    for where in (Q(author__isnull=False), ~Q(author=None), ~(Q(author=None) | Q(email="")), Q(author=3)):
        assert "where unit_greeting.author" in guests(where), where


def test_the_sentence_names_the_step_and_what_it_reads() -> None:
    steps = [TITLES, Modify(Comment, "user", TEXTS, where=Q(story__title="x"))]
    disguise = type("Sample", (Disguise,), {"name": "sample", "transformations": steps})
    assert rows_of_others.refusal(disguise) == (
        'sample is for one transaction: the where of Modify(Comment, owner="user") reads lobsters_sim.Story.title, which '
        'Modify(Story, owner="user") changes for others. Who comes later would not be found any more.'
    )


def test_no_disguise_of_the_samples_is_for_one_transaction() -> None:
    found = {name: rows_of_others.refusal(each) for name, each in registry.disguises().items()}
    assert len(found) >= 8
    assert not any(found.values())
