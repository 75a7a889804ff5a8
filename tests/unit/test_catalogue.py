"""Disguises in words: what an operator reads about a specification, and numbers and times as their pages say them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.models import Q

from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, User
from edna import ALL, Decorrelate, Disguise, Keep, Modify, Param, Remove, placeholders
from edna.errors import UnknownDisguise
from edna.operations.admin import catalogue, words
from tests.installed import registering


class Everything(Disguise):
    """One of
    each."""

    name = "test.everything"
    params = {"lecture": int}
    applies_to = "staff"
    transformations = [
        Modify(Answer, owner="author", set={"text": placeholders.constant("gone")}),
        Decorrelate(Answer, owner="author", where=Q(question__lecture=Param("lecture")), group_by=ALL),
        Remove(LogEntry, owner="user"),
        Keep(Answer, "author"),
        Remove(User),
    ]


def test_an_entry_has_what_the_specification_says() -> None:
    with registering(Everything):
        entry = catalogue.entry("test.everything")
        assert "test.everything" in [each.name for each in catalogue.entries()]
    assert (entry.description, entry.model, entry.applies_to) == ("One of each.", "websubmit.User", "staff")
    assert (entry.takes, entry.locators, entry.for_jobs) == ([("lecture", "int")], "server", True)
    assert [(each.kind, each.model, each.whose) for each in entry.covered] == [
        ("modify", "websubmit.Answer", "author"),
        ("decorrelate", "websubmit.Answer", "author"),
        ("remove", "admin.LogEntry", "user"),
        ("remove", "websubmit.User", "the account itself"),
        ("keep", "websubmit.Answer", ""),
    ]
    assert entry.covered[1].condition == "question › lecture is the parameter lecture"
    assert "one for all rows of a person" in entry.covered[1].effect


def test_an_unknown_disguise_has_no_entry() -> None:
    with pytest.raises(UnknownDisguise):
        catalogue.entry("no.such")


def test_a_specification_that_does_not_hold_together_has_an_entry_all_the_same() -> None:
    class Mixed(Disguise):
        name = "test.mixed"
        transformations = [Remove(Answer, owner="author"), Remove(Member), Remove(Answer, owner="no_such_field")]

    with registering(Mixed):
        entry = catalogue.entry("test.mixed")
        assert (entry.principal_model, entry.covered, entry.for_jobs) == (None, (), False)
        assert "test.mixed" not in catalogue.names_for(User)


def test_the_disguises_of_a_model_are_those_that_a_job_can_apply_to_its_rows() -> None:
    class Receipts(Disguise):
        name = "websubmit.receipts"
        transformations = [Remove(Answer, owner="author")]
        locators = "client"

    with registering(Receipts):
        names = catalogue.names_for(User)
    assert names == ["websubmit.anonymize-all", "websubmit.anonymize-lecture", "websubmit.delete-account"]
    assert catalogue.names_for(Answer) == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (None, ""),
        (Q(author__email="x"), "author › email is 'x'"),
        (Q(author__email__isnull=True), "author › email is empty"),
        (Q(author__email__isnull=False), "author › email is not empty"),
        (Q(pk__in=[1, 2]), "pk is one of [1, 2]"),
        (Q(pk__gte=Param("least")), "pk is at least the parameter least"),
        (~Q(pk=1), "not (pk is 1)"),
        (Q(pk=1) | Q(pk=2, text="x"), "pk is 1 or (pk is 2 and text is 'x')"),
        (Q(text="y" * 100), f"text is '{'y' * 59}…"),
    ],
)
def test_conditions_in_words(where: Q | None, said: str) -> None:
    assert catalogue.describe_condition(where) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "not known yet"),
        (float("inf"), "not known yet"),
        (0, "less than a second"),
        (1, "1 second"),
        (59.6, "1 minute"),
        (61, "1 minute 1 second"),
        (3_600, "1 hour"),
        (3_661, "1 hour 1 minute"),
        (3_605, "1 hour"),
        (90_000, "1 day 1 hour"),
    ],
)
def test_durations_in_words(seconds: Any, said: str) -> None:
    assert words.duration(seconds) == said


def test_numbers_in_words() -> None:
    assert [words.size(number) for number in (1, 999, 1_500, 2_500_000, 3_000_000_000)] == [
        "1 byte",
        "999 bytes",
        "1.5 kB",
        "2.5 MB",
        "3.0 GB",
    ]
    assert [words.rate(number) for number in (None, 0.5, 2, 1_234.56)] == [
        "not known yet",
        "30.0 per minute",
        "2.0 per second",
        "1,234.6 per second",
    ]
