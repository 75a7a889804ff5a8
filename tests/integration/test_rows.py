"""Raw rows: what is written in one statement arrives as it is, and what is looked for in many places is asked for at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from apps.websubmit.models import Answer, Lecture, Question, User
from edna import rows as raw
from edna.models import Bag
from edna.rows import holding, in_one_statement, table_of
from tests.support import enrol_many, make_course, statements

pytestmark = pytest.mark.django_db

BAGS = table_of(Bag)
PLACES = [(table_of(Answer), "author"), (table_of(User), "id")]


@pytest.mark.parametrize("count", [1, 2, 50])
def test_values_that_all_rows_share_arrive_in_all_rows(count: int) -> None:
    """Bytes, NULL and text that looks like a place for a parameter; the index differs from row to row."""
    for shared in (b"100 %s %(s0)s \x00\xff'", b""):
        rows = [(pk, bytes([pk]) * 32, shared, None) for pk in range(1, count + 1)]
        raw.insert(BAGS, ("id", "index", "sealed", "expires_on"), rows, using="default")
        found = Bag.objects.order_by("pk").values_list("pk", "index", "sealed", "expires_on")
        assert [(pk, bytes(index), bytes(sealed), day) for pk, index, sealed, day in found] == rows
        Bag.objects.all().delete()


def test_equal_values_of_different_types_stay_what_they_are() -> None:
    """Only the very same object counts as the same: 1 is not True, nor "1"."""
    texts = ["1", "%s", "None", "1"]
    rows = [(number, text) for number, text in enumerate(texts, start=1)]
    raw.insert(table_of(Lecture), ("id", "label"), rows, using="default")
    assert list(Lecture.objects.order_by("pk").values_list("pk", "label")) == rows


def test_places_that_hold_a_value_are_found_in_one_statement() -> None:
    make_course(lectures=1, questions=1)
    ada, bea = (student.user for student in enrol_many(2))
    Answer.objects.create(author=ada, question=Question.objects.get(), text="x")
    for values, expected in (
        ([ada.pk], {0, 1}),
        ([bea.pk], {1}),
        ([-5, -6], set()),
        ([-5, ada.pk, -6], {0, 1}),
        ([], set()),
    ):
        found: list[Any] = []
        asked = statements(lambda v=values, f=found: f.append(holding(PLACES, v, using="default")))
        assert found == [expected]
        assert len(asked) == bool(values)


def test_very_many_values_are_looked_for_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    (ada,) = (student.user for student in enrol_many(1))
    monkeypatch.setattr(raw, "_MOST_MENTIONS", 4)
    found: list[Any] = []
    asked = statements(lambda: found.append(holding(PLACES, [-1, -2, -3, -4, ada.pk], using="default")))
    assert (found, len(asked)) == ([{1}], 3)


def test_a_statement_that_is_refused_leaves_nothing_where_no_savepoint_is_taken() -> None:
    """MariaDB undoes the statement, and the transaction goes on; elsewhere a savepoint sees to that."""
    rows = [(1, "first"), (2, "second"), (1, "again")]
    alone = in_one_statement(rows, using="default")
    assert alone == (connection.vendor == "mysql")
    assert not in_one_statement([], using="default")
    if alone:
        with transaction.atomic():
            with pytest.raises(IntegrityError):
                raw.insert(table_of(Lecture), ("id", "label"), rows, using="default")
            raw.insert(table_of(Lecture), ("id", "label"), rows[:1], using="default")
        assert list(Lecture.objects.values_list("pk", "label")) == rows[:1]
