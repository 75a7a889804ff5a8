"""Conditions of steps along a relation: what means the same counts as the same, and nothing else does."""

from __future__ import annotations

import pytest
from django.db.models import F, Q, Value

from edna import conditions
from edna.spec import Param

PRIVATE = Q(private=True)


@pytest.mark.parametrize(
    ("where", "carried"),
    [
        (PRIVATE, "Q(comment__private=True)"),
        (~PRIVATE, "~Q(comment__private=True)"),
        (
            Q(private=True, topic__label=Param("topic")),
            "Q(comment__private=True, comment__topic__label=Param('topic'))",
        ),
        (PRIVATE | ~Q(score__lt=0), "(Q(comment__private=True) | ~Q(comment__score__lt=0))"),
        (Q(score__gt=F("wanted")), 'Q(comment__score__gt=F("comment__wanted"))'),
    ],
)
def test_a_condition_is_carried_along_a_relation_and_written_as_code(where: Q, carried: str) -> None:
    moved = conditions.along(where, "comment")
    assert moved is not None
    assert conditions.written(moved) == carried


@pytest.mark.parametrize("where", [Q(score=Value(1)), Q(score=F("wanted") + 1), Q(Value(True)), "score > 1", None])
def test_what_cannot_be_carried_along_is_no_condition(where: Q) -> None:
    assert conditions.along(where, "comment") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PRIVATE & Q(score=1), Q(score=1, private=True)),
        (PRIVATE | Q(score=1), Q(score__exact=1) | PRIVATE),
        (PRIVATE & (Q(score=1) & Q(topic=2)), Q(topic=2) & PRIVATE & Q(score=1)),
        (Q(topic=Param("topic")), Q(topic=Param("topic"))),
        (Q(Q(PRIVATE)), PRIVATE),
    ],
)
def test_order_nesting_and_spelling_do_not_count(one: Q, other: Q) -> None:
    assert conditions.leaves_nothing_out(one, of=other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PRIVATE, Q(private=1)),
        (PRIVATE, ~PRIVATE),
        (PRIVATE & Q(score=1), PRIVATE | Q(score=1)),
        (~(PRIVATE & Q(score=1)), ~PRIVATE & ~Q(score=1)),
        (Q(topic=Param("topic")), Q(topic=Param("other"))),
        (Q(score__gt=1), Q(score__gte=1)),
        (PRIVATE, None),
    ],
)
def test_what_may_mean_something_else_is_not_the_same(one: Q, other: Q | None) -> None:
    assert not conditions.leaves_nothing_out(one, of=other)


def test_without_a_condition_no_row_is_left_out() -> None:
    assert conditions.leaves_nothing_out(None, of=PRIVATE)
    assert conditions.leaves_nothing_out(None, of=None)
