"""Plans: what a disguise would do, table by table, before it does it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Keep, Modify, Remove, registry
from edna.db.rows import Row
from edna.engine.planning.plan import owners_with_rows
from edna.engine.planning.selection import Selection
from edna.errors import DanglingReferences, SpecError
from edna.management.commands.edna_plan import describe
from edna.models import Bag
from edna.testing import application_dump
from edna.testing.search import finds
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    enrol,
    enrol_in_course,
    make_course,
    nothing_changes,
    statements,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


def lines(plan: edna.Plan) -> list[tuple[str, str, int]]:
    return [(table.model, table.operation, table.rows) for table in plan.tables]


def test_a_plan_changes_nothing_and_locks_nothing(bea: Student) -> None:
    with nothing_changes():
        sent = statements(lambda: edna.plan(DELETE, bea.user))
    assert all(sql.lstrip().upper().startswith("SELECT") and "FOR UPDATE" not in sql for sql in sent), sent


@pytest.mark.once
def test_it_says_what_only_the_key_finds(bea: Student, settings: Any) -> None:
    """After the staff has anonymised, leaving without the key leaves behind what leaving alone would have taken."""
    assert edna.plan(DELETE, bea.user).beyond_reach == {}
    receipt = bea.disguise(ANONYMISE_ALL)
    plan = edna.plan(DELETE, bea.user)
    assert plan.beyond_reach == {"websubmit.answer": [ANONYMISE_ALL, ANONYMISE_LECTURE]}
    assert plan.as_dict()["beyond_reach"] == plan.beyond_reach
    assert "websubmit.answer" not in plan.counts
    assert "only the person's key finds those" in describe(plan, "1")
    with bea.unlock() as unlocked:
        plan = edna.plan(DELETE, bea.user, unlocked=unlocked)
        assert plan.beyond_reach == {}
        assert plan.counts["websubmit.answer"] == 4
    assert edna.plan_all(DELETE).beyond_reach == {}
    assert edna.plan(ANONYMISE_ALL, bea.user).beyond_reach == {}
    bea.reveal(receipt)
    assert edna.plan(DELETE, bea.user).beyond_reach == {}
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    assert edna.plan(DELETE, bea.user).beyond_reach.keys() == {"websubmit.answer"}


@pytest.mark.once
def test_a_removal_is_listed_in_the_order_of_execution(bea: Student) -> None:
    """Referring tables before those they refer to; tables without rows too."""
    plan = edna.plan(DELETE, bea.user)
    assert set(lines(plan)) == {
        ("websubmit.answer", "remove", 4),
        ("admin.logentry", "remove", 0),
        ("websubmit.user", "remove", 1),
    }
    assert lines(plan)[-1][0] == "websubmit.user"
    assert (plan.rows, plan.pseudoprincipals) == (5, 0)


def test_what_is_planned_is_what_happens(bea: Student) -> None:
    for name, params in (
        (ANONYMISE_LECTURE, {"lecture": Lecture.objects.first().pk}),
        (ANONYMISE_ALL, {}),
        (DELETE, {}),
    ):
        plan = edna.plan(name, bea.user, params=params)
        people = User.objects.count()
        receipt = bea.disguise(name, **params)
        removed = sum(
            table.rows for table in plan.tables if table.model == "websubmit.user" and table.operation == "remove"
        )
        assert User.objects.count() == people + plan.pseudoprincipals - removed
        outcome = bea.reveal(receipt)
        assert sum(outcome.restored.values()) == plan.rows
        assert outcome.restored == {table.model: table.rows for table in plan.tables if table.rows}


def test_everybody_at_once(bea: Student) -> None:
    """Pseudoprincipals: one per student and lecture."""
    plan = edna.plan_all(ANONYMISE_ALL)
    assert lines(plan) == [("websubmit.answer", "decorrelate", 8)]
    assert plan.pseudoprincipals == 4
    edna.disguise_all(ANONYMISE_ALL)
    assert User.objects.filter(is_anon=True).count() == 4
    assert edna.plan_all(ANONYMISE_LECTURE, params={"lecture": -1}).rows == 0


@pytest.mark.once
def test_with_the_key_the_anonymised_answers_are_planned_too(bea: Student) -> None:
    edna.disguise_all(ANONYMISE_ALL)
    with bea.unlock() as unlocked:
        assert {m: n for m, _, n in lines(edna.plan(DELETE, bea.user, unlocked=unlocked))} == {
            "websubmit.answer": 4,
            "admin.logentry": 0,
            "websubmit.user": 1,  # the rows of her pseudoprincipals go, too, and are not hers
        }
    assert ("websubmit.answer", "remove", 0) in lines(edna.plan(DELETE, bea.user))


@pytest.mark.once
def test_a_plan_is_plain_data(bea: Student) -> None:
    shown = json.loads(json.dumps(edna.plan(DELETE, bea.user).as_dict()))
    assert shown["disguise"] == DELETE
    assert (shown["rows"], shown["pseudoprincipals"]) == (5, 0)
    assert {"model": "websubmit.answer", "operation": "remove", "rows": 4, "returning": ""} in shown["tables"]
    assert 200 < shown["estimated_bytes"] < 2000


@pytest.mark.once
@pytest.mark.parametrize("lectures", [1, 100])
def test_the_estimate_is_near_what_is_sealed(lectures: int) -> None:
    """With the keys of pseudoprincipals, of which there is one for each lecture, and what padding adds to a small bag."""
    make_course(lectures=lectures, questions=2)
    bea = enrol("bea@example.org")
    answer_everything(bea)
    for name in (ANONYMISE_ALL, DELETE):
        before = sum(len(sealed) for sealed in Bag.objects.values_list("sealed", flat=True))
        estimated = edna.plan(name, bea.user).estimated_bytes
        bea.disguise(name)
        sealed = sum(len(sealed) for sealed in Bag.objects.values_list("sealed", flat=True)) - before
        assert 0.5 < estimated / sealed < 2, (name, estimated, sealed)


@pytest.mark.once
def test_a_plan_shows_no_data(bea: Student) -> None:
    """It may end up in a log line or on an error page."""
    with bea.unlock() as unlocked:
        shown = repr(edna.plan(DELETE, bea.user, unlocked=unlocked)) + repr(edna.plan_all(ANONYMISE_ALL))
    assert finds(shown.encode(), {"e-mail": bea.email, "answer": "An answer", "API key": bea.user.apikey}) == []


@pytest.mark.once
def test_the_estimate_grows_with_the_rows(bea: Student) -> None:
    small = edna.plan(DELETE, bea.user).estimated_bytes
    Answer.objects.filter(author=bea.user).update(text="x" * 10_000)
    assert 39_000 < edna.plan(DELETE, bea.user).estimated_bytes - small < 41_000
    assert edna.plan(ANONYMISE_LECTURE, bea.user, params={"lecture": -1}).estimated_bytes == 0


class Overlapping(Disguise):
    """Steps that mean the same rows."""

    name = "test.overlapping"
    transformations = [
        Remove(Answer, owner="author"),
        Remove(Answer, owner="author"),
        Modify(Answer, owner="author", set={"text": "[gone]"}),
        Decorrelate(Answer, owner="author"),
        Modify(User, set={"is_active": False}),
        Remove(LogEntry, owner="user"),
    ]


def test_a_row_that_several_steps_mean_is_dealt_with_once(bea: Student) -> None:
    """Removed is removed: not twice, and not modified or decorrelated as well."""
    edna.register(Overlapping)
    try:
        plan = edna.plan("test.overlapping", bea.user)
        assert [line for line in lines(plan) if line[2]] == [
            ("websubmit.user", "modify", 1),
            ("websubmit.answer", "remove", 4),
        ]
        receipt = bea.disguise("test.overlapping")
        assert bea.reveal(receipt).restored == {"websubmit.answer": 4, "websubmit.user": 1}
    finally:
        edna.unregister(Overlapping)


class Twice(Disguise):
    """The same column is changed by two steps."""

    name = "test.twice"
    transformations = [
        Modify(Answer, owner="author", set={"text": "[first]"}),
        Modify(Answer, owner="author", set={"text": "[second]"}),
        Decorrelate(Answer, owner="author"),
        Decorrelate(Answer, owner="author", group_by=edna.ALL),
    ]


@pytest.mark.once
def test_a_column_that_two_steps_change_comes_back(bea: Student) -> None:
    before = application_dump()
    edna.register(Twice)
    try:
        receipt = bea.disguise("test.twice")
        assert set(Answer.objects.filter(author__is_anon=True).values_list("text", flat=True)) <= {
            "[first]",
            "[second]",
        }
        bea.reveal(receipt)
        for _ in range(3):
            for entry in bea.history():
                bea.reveal(entry.receipt)
        assert bea.history() == []
        assert application_dump() == before
    finally:
        edna.unregister(Twice)


@pytest.mark.once
def test_uncovered_relations_are_named_all_at_once() -> None:
    class Careless(Disguise):
        name = "test.careless"
        transformations = [Remove(User)]

    edna.register(Careless)
    try:
        bea = enrol()
        with pytest.raises(DanglingReferences) as caught:
            edna.plan("test.careless", bea.user)
        for label in ("websubmit.Answer.author", "admin.LogEntry.user"):
            assert label in str(caught.value)
    finally:
        edna.unregister(Careless)


@pytest.mark.once
def test_keep_lets_a_reference_stay() -> None:
    """The check is satisfied; whether the database is, is another matter."""

    class Kept(Disguise):
        name = "test.kept"
        transformations = [Remove(Answer, owner="author"), Remove(User), Keep(LogEntry, "user")]

    edna.register(Kept)
    try:
        assert edna.plan("test.kept", enrol().user).rows == 1
    finally:
        edna.unregister(Kept)


@pytest.mark.once
def test_an_unusable_owner_path_is_said() -> None:
    class Wrong(Disguise):
        name = "test.wrong"
        transformations = [Remove(Question, owner="lecture")]

    edna.register(Wrong)
    try:
        with pytest.raises(SpecError, match=r"websubmit\.Lecture"):
            edna.plan("test.wrong", enrol().user)
    finally:
        edna.unregister(Wrong)


def test_owners_are_read_once_each_however_many_rows_they_own(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a large site, one value for each row would not fit into memory."""
    found: list[Row] = []
    run = Selection.run

    def watched(self: Selection, **options: Any) -> list[Row]:
        read = run(self, **options)
        found.extend(read)
        return read

    monkeypatch.setattr(Selection, "run", watched)
    assert Answer.objects.filter(author=bea.user).count() > 1
    assert str(bea.user.pk) in owners_with_rows(registry.get(ANONYMISE_ALL), {}, using="default")
    assert sorted(found) == sorted({(author,) for author in Answer.objects.values_list("author", flat=True)})
