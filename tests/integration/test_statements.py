"""The number of statements depends on the tables that a disguise touches, never on rows, principals or authors (constant statements)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import Q

import edna
from apps.lobsters_sim.models import Message, Tag, TagFilter
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Modify
from edna.engine.planning.selection import Selection
from edna.operations import audit
from edna.testing import application_dump
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    cut_into_chunks,
    enrol_many,
    make_course,
    statements,
    users_at,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]

MOST = 20


def answers(student: Student, number: int) -> None:
    Answer.objects.bulk_create(
        Answer(author=student.user, question_id=question, text=f"answer {question}")
        for question in Question.objects.order_by("pk").values_list("pk", flat=True)[:number]
    )


def counted(work: Callable[[], Any]) -> tuple[int, Any]:
    results: list[Any] = []
    return len(statements(lambda: results.append(work()))), results[0]


class ByRow(Disguise):
    """The most pseudoprincipals that there can be."""

    name = "test.by-row"
    transformations = [Decorrelate(Answer, owner="author")]


class Redact(Disguise):
    name = "test.redact"
    transformations = [Modify(Answer, owner="author", set={"text": "[redacted]"})]


class RedactAndDisown(Disguise):
    """Two steps that mean the same rows, and a third that means others of the same table."""

    name = "test.redact-and-disown"
    transformations = [
        Modify(Answer, owner="author", set={"text": "[redacted]"}),
        Decorrelate(Answer, owner="author"),
        Modify(Answer, owner="author", set={"text": "[short]"}, where=Q(text="")),
    ]


class InSteps(Disguise):
    """Two steps that both make pseudoprincipals."""

    name = "test.in-steps"
    transformations = [
        Decorrelate(Answer, owner="author", where=Q(question__number=1)),
        Decorrelate(Answer, owner="author", where=Q(question__number=2)),
    ]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    with registering(ByRow, RedactAndDisown, Redact, InSteps):
        yield


@pytest.mark.slow
def test_delete_and_return_take_as_many_statements_for_8000_answers_as_for_8(settings: Any) -> None:
    """At most twenty each, the transaction's own included; in one segment, as a bag of more takes more."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 10_000}
    make_course(lectures=80, questions=100)
    small, large = enrol_many(2)
    answers(small, 8)
    answers(large, 8000)
    seen = {}
    for student in (small, large):
        with student.unlock() as unlocked:
            going, receipt = counted(lambda student=student: edna.disguise(DELETE, student.user))
            coming, outcome = counted(lambda receipt=receipt, unlocked=unlocked: edna.reveal(receipt, unlocked))
        assert outcome.complete
        seen[sum(outcome.restored.values())] = (going, coming)
    assert list(seen) == [9, 8001]
    assert len(set(seen.values())) == 1, seen
    assert max(seen[9]) <= MOST, seen


def test_each_further_chunk_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its statements are text already, with places for the keys of its rows."""
    make_course(lectures=10, questions=5)
    two, five = enrol_many(2)
    answers(two, 20)
    answers(five, 50)
    compiled: list[Any] = []
    compile_ = Selection.compile
    monkeypatch.setattr(Selection, "compile", lambda *a, **k: compiled.append(a) or compile_(*a, **k))
    counts = []
    with cut_into_chunks(10):
        for student in (two, two, five):
            compiled.clear()
            receipt = edna.disguise("test.redact", student.user)
            counts.append(len(compiled))
            with student.unlock() as unlocked:
                assert edna.reveal(receipt, unlocked).complete
    assert counts[1] == counts[2] < counts[0]


@pytest.mark.only_on("mysql", "postgresql")
def test_of_somebody_with_many_rows_no_more_are_read_than_tell_that_they_are_many() -> None:
    """Not in the order of the primary key, for which the table would be gone through, and locked, by that; PostgreSQL's way of saying so
    locks in the same order all the same. What is within one chunk is read in order."""
    make_course(lectures=10, questions=5)
    (student,) = enrol_many(1)
    answers(student, 50)
    with cut_into_chunks(10):
        asked = statements(lambda: edna.disguise("test.redact", student.user))
    table = connection.ops.quote_name("websubmit_answer")
    first, *_ = (sql for sql in asked if f"FROM {table}" in sql)
    assert first.endswith("LIMIT 11 FOR UPDATE")
    _, _, order = first.partition(" ORDER BY ")
    by_sum = '("websubmit_answer"."id" + 0) ASC LIMIT 11 FOR UPDATE'
    assert order == (by_sum if connection.vendor == "postgresql" else "")


@pytest.mark.only_on("mysql")
@pytest.mark.parametrize("later_questions_first", [False, True])
def test_a_chunk_looks_behind_the_rows_that_earlier_ones_took(*, later_questions_first: bool) -> None:
    """InnoDB would pass them all again until they are purged. The index that it goes by may be in another order than the primary key: no
    chunk is larger for that, nor the last one, which takes what is left."""
    make_course(lectures=10, questions=5)
    (student,) = enrol_many(1)
    questions = list(Question.objects.order_by("pk").values_list("pk", flat=True))
    for part in (questions[25:], questions[:25]) if later_questions_first else (questions,):
        Answer.objects.bulk_create(Answer(author=student.user, question_id=each) for each in part)
    with cut_into_chunks(10):
        asked = statements(lambda: edna.disguise(DELETE, student.user))
    looked = [sql for sql in asked if "FROM `websubmit_answer`" in sql and sql.endswith("LIMIT 10 FOR UPDATE")]
    removed = [sql.count(",") + 1 for sql in asked if sql.startswith("DELETE FROM `websubmit_answer`")]
    assert removed == [10] * 5
    assert not Answer.objects.exists()
    assert sum("`websubmit_answer`.`id` > " in sql for sql in looked) >= (3 if later_questions_first else 4)
    if not later_questions_first:
        # The first one's are those that were too many for one transaction. What the sixth would find is the last one's, which has to look
        # at everything anyway.
        assert len(looked) == 5


@pytest.mark.parametrize("name", ["websubmit.anonymize-all", "test.by-row", "test.redact"])
def test_changes_take_as_many_statements_for_1000_rows_as_for_10(name: str) -> None:
    """One author for all rows or one for each: inserted, updated, undone and removed in bulk."""
    make_course(lectures=20, questions=50)
    small, large = enrol_many(2)
    answers(small, 10)
    answers(large, 1000)
    before = application_dump()
    seen = {}
    for student in (small, large):
        with student.unlock() as unlocked:
            going, receipt = counted(lambda student=student: edna.disguise(name, student.user))
            coming, outcome = counted(lambda receipt=receipt, unlocked=unlocked: edna.reveal(receipt, unlocked))
        assert outcome.complete
        seen[outcome.restored["websubmit.answer"]] = (going, coming)
    assert list(seen) == [10, 1000]
    assert len(set(seen.values())) == 1, seen
    assert max(seen[10]) <= MOST, seen
    assert application_dump() == before


def test_steps_make_their_pseudoprincipals_together() -> None:
    make_course(lectures=3, questions=2)
    (student,) = enrol_many(1)
    answers(student, 6)
    sent = statements(lambda: edna.disguise("test.in-steps", student.user))
    for table in ("websubmit_user", "edna_principalentry"):
        assert len([sql for sql in sent if f"INSERT INTO {connection.ops.quote_name(table)}" in sql]) == 1
    assert User.objects.filter(answers__isnull=False).distinct().count() == 6


def test_who_else_owns_rows_is_asked_once() -> None:
    """Of all steps about a table together, and of nobody whom the plan has read already: letters that ada wrote or got, to three."""
    Member.objects.bulk_create(Member(username=name, email=f"{name}@example.org") for name in "abcd")
    members = list(Member.objects.order_by("pk"))
    edna.register_principals(members)
    ada, *others = members
    letters = [(ada, other) for other in others] + [(other, ada) for other in others]
    Message.objects.bulk_create(
        Message(author_user=one, recipient_user=two, subject="-", body="-") for one, two in letters
    )

    asked = statements(lambda: edna.disguise("lobsters.delete-account", ada))

    def read(table: str, column: str) -> list[str]:
        quote = connection.ops.quote_name
        return [
            sql for sql in asked if sql.startswith("SELECT") and f"FROM {quote(table)}" in sql and quote(column) in sql
        ]

    assert len([sql for sql in read("messages", "author_user_id") if "EXISTS" not in sql]) == 2
    assert len(read("edna_principalentry", "reference")) == 2
    assert set(Message.objects.values_list("deleted_by_author", "deleted_by_recipient")) == {
        (True, False),
        (False, True),
    }


def test_rows_that_several_steps_mean_are_read_once() -> None:
    """One statement for the two steps without a condition, as for one; each records what it needs, and all comes back."""
    make_course(lectures=2, questions=3)
    (student,) = enrol_many(1)
    answers(student, 6)
    before = application_dump()
    sent = statements(lambda: edna.plan("test.redact-and-disown", student.user))
    assert len([sql for sql in sent if "websubmit_answer" in sql]) == 2
    receipt = edna.disguise("test.redact-and-disown", student.user)
    assert set(Answer.objects.values_list("text", flat=True)) == {"[redacted]"}
    assert student.reveal(receipt).complete
    assert application_dump() == before


def test_rows_that_several_steps_changed_are_written_and_read_once() -> None:
    """By the disguise and by the reveal, however many of their records are about one table."""
    make_course(lectures=2, questions=3)
    (student,) = enrol_many(1)
    answers(student, 6)
    before = application_dump()
    name = connection.ops.quote_name("websubmit_answer")
    receipts: list[edna.Receipt] = []
    sent = statements(lambda: receipts.append(edna.disguise("test.redact-and-disown", student.user)))
    if connection.vendor != "sqlite":
        assert len([sql for sql in sent if f"UPDATE {name}" in sql]) == 1
    sent = statements(lambda: student.reveal(receipts[0]))
    found = [sql for sql in sent if f"FROM {name}" in sql and "EXISTS" not in sql]
    # On PostgreSQL, what must be unique is looked for before it is written.
    if connection.vendor != "postgresql":
        assert len(found) == 1
    assert application_dump() == before


def about(table: str, sent: list[str]) -> list[str]:
    """The statements that read the table alone."""
    reading = [sql for sql in sent if sql.startswith("SELECT") and "EXISTS" not in sql]
    return [sql for sql in reading if f"FROM {connection.ops.quote_name(table)}" in sql]


def test_tables_in_which_somebody_has_no_row_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """On MariaDB, where a statement is dear; and only where each statement sees what is committed by then."""
    once = connection.vendor == "mysql"
    for isolation, asked in (("read committed", once), ("repeatable read", False)):
        if once:
            monkeypatch.setattr(connections["default"], "isolation_level", isolation)
        member = Member.objects.create(username=f"bea {isolation}", email="bea@example.org")
        key = edna.register_principal(member).secret_key
        tag = Tag.objects.create(tag=isolation[:8])
        TagFilter.objects.create(user=member, tag=tag)
        receipts: list[edna.Receipt] = []
        sent = statements(lambda m=member, r=receipts: r.append(edna.disguise("lobsters.delete-account", m)))
        assert len(about("hidden_stories", sent)) == (not asked)
        assert len(about("tag_filters", sent)) == 1
        with edna.unlock(secret_key=key) as unlocked:
            assert edna.reveal(receipts[0], unlocked).complete
        assert TagFilter.objects.filter(user=member).count() == 1


def test_what_the_database_refuses_at_once_is_not_asked_before() -> None:
    """On MariaDB, whether a reference leads anywhere: it is asked when one does not, and the other rows come back."""
    make_course(lectures=1, questions=4)
    (student,) = enrol_many(1)
    answers(student, 4)
    sent: list[str] = []
    for gone in (False, True):
        receipt = edna.disguise(DELETE, student.user)
        if gone:
            last = Question.objects.order_by("pk").last()
            assert last is not None
            last.delete()
        outcomes: list[edna.Outcome] = []
        sent = statements(lambda r=receipt, o=outcomes: o.append(student.reveal(r)))
        asked = len(about("websubmit_question", sent))
        assert asked == (gone or connection.vendor != "mysql")
    (held,) = outcomes[0].held
    assert (held.reason, held.field) == (edna.Reason.REFERENCE_MISSING, "question")
    assert Answer.objects.filter(author=student.user).count() == 3


@pytest.mark.parametrize("referred", [False, True])
def test_letting_go_asks_all_tables_at_once(referred: bool) -> None:
    """Rows that refer to a pseudoprincipal are looked for in one statement, however many tables could have some; on MariaDB, which
    refuses to delete whom a row refers to, only once it has refused."""
    make_course(lectures=2, questions=2)
    (student,) = enrol_many(1)
    answers(student, 3)
    receipt = edna.disguise("test.by-row", student.user)
    if referred:
        author = Answer.objects.order_by("pk").values_list("author", flat=True).first()
        Answer.objects.create(author_id=author, question=Question.objects.order_by("pk")[3], text="since")
    with edna.unlock(secret_key=student.secret_key) as unlocked:
        sent = statements(lambda: edna.reveal(receipt, unlocked))
    asked = len([sql for sql in sent if "EXISTS (SELECT 1" in sql])
    assert asked == (referred or connection.vendor != "mysql")
    assert not [sql for sql in sent if "django_admin_log" in sql and "EXISTS" not in sql]
    assert list(Answer.objects.values_list("author", flat=True)) == [student.user.pk] * (3 + referred)
    assert not User.objects.filter(is_anon=True).exists()


@pytest.mark.only_on("postgresql")
def test_what_pseudoprincipals_own_is_found_along_the_index_however_many_they_are() -> None:
    """PostgreSQL expects of each as many rows as people have, and would read all of the table for some hundreds: but they have one, or
    none. Neither for the plan of who speaks for them, nor where they are let go of; and a reveal names each owner once."""
    make_course(lectures=6, questions=10)
    (student,) = enrol_many(1)
    answers(student, 60)
    users_at(f"crowd{number}@example.org" for number in range(200))
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO websubmit_answer (author_id, question_id, text, submitted_at)
            SELECT u.id, q.id, repeat('x', 200), now() FROM websubmit_user u, websubmit_question q WHERE u.email LIKE 'crowd%'"""
        )
        cursor.execute("ANALYZE websubmit_answer")
    anonymised = edna.disguise("test.by-row", student.user)
    with edna.unlock(secret_key=student.secret_key) as unlocked:
        sent = statements(lambda: edna.plan(DELETE, student.user, unlocked=unlocked))
        sent += statements(lambda: edna.export(unlocked))
        receipts: list[edna.Receipt] = []
        sent += statements(lambda: receipts.append(edna.disguise(DELETE, student.user, unlocked=unlocked)))
        assert edna.reveal(receipts[0], unlocked).complete
        sent += statements(lambda: edna.reveal(anonymised, unlocked))
    read = [sql for sql in sent if sql.startswith("SELECT") and 'FROM "websubmit_answer"' in sql]
    by_author = [sql for sql in read if '"author_id" = ANY' in sql or '"author_id" IN' in sql]
    assert len(by_author) >= 5
    with connection.cursor() as cursor:
        for sql in by_author:
            cursor.execute(f"EXPLAIN {sql}")
            plan = "\n".join(line for (line,) in cursor.fetchall())
            assert "Seq Scan on websubmit_answer" not in plan, f"{sql[:300]}\n{plan}"
            assert "author_id" in plan.partition("Index Cond")[2], f"{sql[:300]}\n{plan}"


def test_a_reveal_looks_once_for_an_owner_of_many_rows() -> None:
    """Where several columns must be unique together, the first of them is looked for: the same owner of all. MariaDB and SQLite are not
    asked before they refuse."""
    make_course(lectures=6, questions=10)
    (student,) = enrol_many(1)
    answers(student, 60)
    receipt = edna.disguise("test.by-row", student.user)
    with edna.unlock(secret_key=student.secret_key) as unlocked:
        sent = statements(lambda: edna.reveal(receipt, unlocked))
    author, pk = connection.ops.quote_name("author_id"), str(student.user.pk)
    looked = [sql for sql in sent if sql.startswith("SELECT") and f"WHERE {author} " in sql and "EXISTS" not in sql]
    assert len(looked) == (connection.vendor == "postgresql")
    assert [sql.partition(f"WHERE {author} ")[2].startswith(f"IN ({pk}) ") for sql in looked] == [True] * len(looked)


@pytest.mark.parametrize("name", [ANONYMISE_ALL, "test.by-row"])
def test_a_batch_of_40_principals_takes_as_many_statements_as_one_of_2(name: str) -> None:
    make_course(lectures=5, questions=4)
    students = enrol_many(40)
    audit.note("begin", operator="")  # the first entry of the audit trail begins its count
    seen = {}
    for number in (2, 40):
        for student in students[:number]:
            answers(student, 20)
        going, receipts = counted(lambda: edna.disguise_all(name))
        assert len(receipts) == number
        seen[number] = going
        for student in students[:number]:
            student.reveal_everything()
        Answer.objects.all().delete()
    assert len(set(seen.values())) == 1, seen
    assert seen[2] <= MOST, seen


def test_opening_depends_on_levels_not_on_pseudoprincipals() -> None:
    """History, speaking for, and leaving with the key, after one and after two levels of anonymising."""
    make_course(lectures=1, questions=100)
    small, large = enrol_many(2)
    answers(small, 3)
    answers(large, 100)
    per_level = []
    for _ in range(2):
        edna.disguise_all("test.by-row")
        seen = set()
        for student in (small, large):
            with student.unlock() as unlocked:
                looking, entries = counted(lambda unlocked=unlocked: edna.history(unlocked))
            assert entries
            with student.unlock() as unlocked:
                speaking, voices = counted(lambda unlocked=unlocked: edna.speaks_for(unlocked, User))
            assert voices
            with student.unlock() as unlocked:
                planning, _ = counted(
                    lambda student=student, unlocked=unlocked: edna.plan(DELETE, student.user, unlocked=unlocked)
                )
            seen.add((looking, speaking, planning))
        assert len(seen) == 1, seen
        per_level.append(seen.pop())
    assert all(later - sooner <= 2 for sooner, later in zip(*per_level, strict=True)), per_level


def test_planning_reads_each_table_once() -> None:
    make_course(lectures=2, questions=10)
    student = enrol_many(1)[0]
    answers(student, 20)
    sent = statements(lambda: edna.plan(DELETE, student.user))
    assert len(sent) == 4  # the entry, and three tables
    assert all(sql.startswith("SELECT") for sql in sent)
    assert not any("FOR UPDATE" in sql for sql in sent)


def test_registering_many_takes_few_statements() -> None:
    people = users_at(f"many{number}@example.org" for number in range(600))
    few, _ = counted(lambda: edna.register_principals(people[:3]))
    many, _ = counted(lambda: edna.register_principals(people[3:]))
    assert few == many <= 5


@pytest.mark.slow
@pytest.mark.slow
@pytest.mark.only_on("sqlite3")
def test_large_disguises_stay_within_sqlites_stock_limit_of_parameters() -> None:
    """SQLite as it comes takes 32,766 parameters in a statement; Debian's takes more."""
    make_course(lectures=1, questions=1)
    lecture = Lecture.objects.get()
    Question.objects.bulk_create(Question(lecture=lecture, number=n, text="?") for n in range(2, 33_100))
    student = enrol_many(1)[0]
    answers(student, 33_000)
    before = application_dump()
    raw: sqlite3.Connection = connection.connection
    usual = raw.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
    try:
        for name, params in ((DELETE, {}), (ANONYMISE_LECTURE, {"lecture": lecture.pk})):
            assert student.reveal(student.disguise(name, **params)).complete
    finally:
        raw.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, usual)
    assert application_dump() == before
