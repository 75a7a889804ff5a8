"""A student leaves and returns, the staff anonymise and the student reclaims: every row is as it was (identity)."""

from __future__ import annotations

import datetime
import itertools
import random
from collections.abc import Callable

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import connection

import edna
from apps.websubmit.models import Answer, Question, User
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    edna_dump,
    enrol,
    execute,
    make_course,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]

AWKWARD = [
    "it's; DROP TABLE \"answers\" -- \\' %s %(x)s %%",
    "",
    "NULL",
    "True",
    "007",
    "\u2028 \u200b \ufeff e\u0301 \U0001f9d1\U0001f3fd\u200d\U0001f680 \U0010ffff",
    " \t\r\n trailing space ",
    "[null, {}]",
    "x" * 70_000,
    "__edna_owners__",
]


@pytest.fixture
def bea() -> Student:
    return enrol("bea@example.org")


@pytest.fixture
def carl() -> Student:
    return enrol("carl@example.org")


@pytest.fixture
def class_of_two(bea: Student, carl: Student) -> list[Student]:
    make_course(lectures=2, questions=2)
    answer_everything(bea, carl)
    return [bea, carl]


def test_delete_and_return(class_of_two: list[Student], bea: Student) -> None:
    """The account, its answers and its lines in the admin's log come back to the byte; in between they are gone."""
    content_type = ContentType.objects.get_for_model(User)
    LogEntry.objects.create(user=bea.user, content_type=content_type, object_repr="a change", action_flag=2)
    before = application_dump()

    receipt = bea.disguise(DELETE)

    assert not User.objects.filter(pk=bea.user.pk).exists()
    assert not LogEntry.objects.exists()
    assert Answer.objects.count() == 4

    outcome = bea.reveal(receipt)

    assert outcome.complete
    assert outcome.restored == {"websubmit.answer": 4, "admin.logentry": 1, "websubmit.user": 1}
    assert application_dump() == before


def test_values_survive_to_the_byte(bea: Student) -> None:
    """Quotes, percent signs, emoji, empty text, microseconds, the largest and smallest keys (promise 24)."""
    make_course(lectures=1, questions=len(AWKWARD))
    moments = [
        datetime.datetime(1, 1, 2, tzinfo=datetime.UTC) if connection.vendor != "mysql" else None,
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=datetime.UTC),
        datetime.datetime(2025, 3, 30, 1, 59, 59, 1, tzinfo=datetime.UTC),
        datetime.datetime(2000, 2, 29, tzinfo=datetime.UTC),
    ]
    # MariaDB counts on from the largest key, rolled back or not, and takes 0 for "the next one".
    largest, zero = (2**62, 3) if connection.vendor == "mysql" else (2**63 - 1, 0)
    keys = [largest, -(2**63), 2**53 + 1, zero, -1]
    times = itertools.cycle(filter(None, moments))
    for question, text, key in zip(Question.objects.order_by("pk"), AWKWARD, [*keys, *range(5, 10)], strict=True):
        moment = next(times)
        Answer.objects.create(pk=key, author=bea.user, question=question, text=text, submitted_at=moment)
    before = application_dump()

    receipt = bea.disguise(DELETE)
    assert Answer.objects.count() == 0
    assert bea.reveal(receipt).complete

    assert application_dump() == before


@pytest.mark.only_on("sqlite3", "mysql")
def test_text_with_nul_survives(class_of_two: list[Student], bea: Student) -> None:
    """PostgreSQL refuses NUL in text; the others keep it, and so does a disguise."""
    Answer.objects.filter(author=bea.user).update(text="before\0after\0")
    before = application_dump()
    receipt = bea.disguise(DELETE)
    bea.reveal(receipt)
    assert application_dump() == before


@pytest.mark.only_on("sqlite3")
def test_values_of_a_type_that_the_column_does_not_have_survive(class_of_two: list[Student], bea: Student) -> None:
    """SQLite keeps what it is given whatever the column says: a blob or a number in a text column comes back as such."""
    keys = list(Answer.objects.filter(author=bea.user).order_by("pk").values_list("pk", flat=True))
    for key, literal in zip(keys, ("x'00ff27'", "12.5", "9223372036854775807", "'2024-01-01'"), strict=True):
        execute(f"UPDATE websubmit_answer SET text = CAST({literal} AS BLOB) WHERE id = %s", [key])
    execute("UPDATE websubmit_answer SET text = x'00ff27' WHERE id = %s", [keys[0]])
    before = application_dump()
    receipt = bea.disguise(DELETE)
    bea.reveal(receipt)
    assert application_dump() == before


def test_anonymise_lecture_and_reclaim(class_of_two: list[Student], bea: Student) -> None:
    """One student gets theirs back; the other's stay anonymous until they reclaim them too."""
    lecture = Question.objects.first().lecture
    before = application_dump()

    receipts = edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": lecture.pk})

    assert len(receipts) == 2
    assert not Answer.objects.filter(question__lecture=lecture, author__is_anon=False).exists()
    assert Answer.objects.filter(author__is_anon=False).count() == 4
    assert User.objects.filter(is_anon=True).count() == 2

    bea.reveal_everything()
    assert Answer.objects.filter(author=bea.user).count() == 4
    assert User.objects.filter(is_anon=True).count() == 1
    class_of_two[1].reveal_everything()
    assert application_dump() == before


def test_anonymise_all_and_reclaim(class_of_two: list[Student]) -> None:
    """Everybody's answers get an author per student and lecture; all come back (promises 3, 6)."""
    before = application_dump()
    edna.disguise_all(ANONYMISE_ALL)
    assert not Answer.objects.filter(author__is_anon=False).exists()
    assert User.objects.filter(is_anon=True).count() == 4
    for student in class_of_two:
        student.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_one_student_is_anonymised_and_nobody_else(class_of_two: list[Student], bea: Student) -> None:
    before = application_dump()
    receipt = bea.disguise(ANONYMISE_ALL)
    assert Answer.objects.filter(author__is_anon=True).count() == 4
    assert Answer.objects.filter(author=class_of_two[1].user).count() == 4
    assert bea.reveal(receipt).restored == {"websubmit.answer": 4}
    assert application_dump() == before


def test_anonymise_then_delete_with_the_key(class_of_two: list[Student], bea: Student) -> None:
    """Whoever speaks for the anonymous authors takes their answers along; first the one, then the other comes back."""
    before = application_dump()
    edna.disguise_all(ANONYMISE_ALL)
    anonymised = application_dump()

    receipt = bea.disguise(DELETE, with_key=True)
    assert Answer.objects.count() == 4
    assert User.objects.filter(is_anon=True).count() == 2

    assert bea.reveal(receipt).complete
    assert application_dump() == anonymised
    for student in class_of_two:
        student.reveal_everything()
    assert application_dump() == before


def test_anonymise_then_delete_without_the_key(class_of_two: list[Student], bea: Student) -> None:
    """Nobody can tell whose the anonymised answers are, so they stay; both disguises come back in the end."""
    before = application_dump()
    edna.disguise_all(ANONYMISE_ALL)
    anonymised = application_dump()
    receipt = bea.disguise(DELETE)
    assert Answer.objects.count() == 8
    assert bea.reveal(receipt).complete
    assert application_dump() == anonymised
    for student in class_of_two:
        student.reveal_everything()
    assert application_dump() == before


@pytest.mark.parametrize("times", [2, 4])
def test_anonymise_again_and_again(class_of_two: list[Student], times: int) -> None:
    """A global disguise covers anonymous authors too, to any depth (promises 10, 22)."""
    before = application_dump()
    states = []
    for _ in range(times):
        states.append(application_dump())
        assert len(edna.disguise_all(ANONYMISE_ALL)) in (2, 4)
    first, second = class_of_two
    # Each level has an entry for each author below it: go back level by level, as they were applied.
    first.reveal_everything()
    assert first.texts().keys() == set(Question.objects.values_list("pk", flat=True))
    second.reveal_everything()
    assert application_dump() == before
    assert not User.objects.filter(is_anon=True).exists()


def test_anonymise_thrice_then_delete_takes_everything_along(class_of_two: list[Student], bea: Student) -> None:
    """Composition reaches any depth (promises 5, 22)."""
    before = application_dump()
    for _ in range(3):
        edna.disguise_all(ANONYMISE_ALL)
    bea.disguise(DELETE, with_key=True)
    assert Answer.objects.count() == 4
    # What is left belongs to the other student: an author per lecture and level. Of this one's, the last level is gone; under the
    # others are bags that staff have sealed to them, and what is in a list may be somebody else's, too.
    assert User.objects.filter(is_anon=True).count() == 6 + 4
    for student in class_of_two:
        student.reveal_everything()
    assert application_dump() == before


@first_everywhere("seed", range(6))
def test_any_order_of_revealing_ends_where_it_began(seed: int, class_of_two: list[Student], bea: Student) -> None:
    """What cannot be revealed yet stays sealed, so going round until nothing is left restores everything (promises 8, 9)."""
    source = random.Random(seed)
    before, tables = application_dump(), edna_dump()
    edna.disguise_all(ANONYMISE_ALL)
    edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Question.objects.first().lecture_id})
    bea.disguise(DELETE, with_key=seed % 2 == 0)
    for _ in range(10):
        for student in class_of_two:
            entries = student.history()
            source.shuffle(entries)
            for entry in entries:
                student.reveal(entry.receipt)
        if not any(student.history() for student in class_of_two):
            break
    assert application_dump() == before
    assert edna_dump() == tables


def test_many_students_interleaved(class_of_two: list[Student]) -> None:
    """Who leaves and returns when does not matter to the others."""
    students = [*class_of_two, *(enrol() for _ in range(4))]
    answer_everything(*students[2:])
    before = application_dump()
    receipts = {}
    for student in students[:3]:
        receipts[student.email] = student.disguise(DELETE)
    edna.disguise_all(ANONYMISE_ALL)
    for student in students[3:]:
        receipts[student.email] = student.disguise(DELETE, with_key=True)
    assert Answer.objects.count() == 0
    for student in (students[4], students[0], students[5], students[2], students[3], students[1]):
        assert student.reveal(receipts[student.email]).complete
    for student in students:
        student.reveal_everything()
    assert application_dump() == before


@first_everywhere("way", ["password", "recovery code", "secret key", "receipt alone"])
def test_every_way_back(way: str) -> None:
    """The key opens with each of what the person was given, and the history finds what no receipt was kept of."""
    dora = enrol("Dora@Example.org", password="a long walk home")
    make_course()
    answer_everything(dora)
    before = application_dump()
    receipt = str(dora.disguise(DELETE))
    ways: dict[str, Callable[[], edna.Unlocked]] = {
        "password": lambda: edna.unlock(identifier=" DORA@example.ORG ", password="a long walk home"),
        "recovery code": lambda: edna.unlock(recovery_code=dora.recovery_code.lower().replace("-", " ")),
        "secret key": lambda: dora.unlock(),
        "receipt alone": lambda: dora.unlock(receipts=[receipt]),
    }
    with ways[way]() as unlocked:
        [entry] = edna.history(unlocked)
        assert str(entry.receipt) == receipt
        assert entry.counts == {"websubmit.answer": 4, "websubmit.user": 1}
        assert edna.reveal(entry.receipt, unlocked).complete
        assert edna.history(unlocked) == []
    assert application_dump() == before


@pytest.mark.once
def test_a_hundred_cycles_leave_no_residue(class_of_two: list[Student], bea: Student) -> None:
    """After disguises and reveals every table of edna is as it was (promise 33)."""
    before, tables = application_dump(), edna_dump()
    for _ in range(50):
        bea.reveal(bea.disguise(DELETE))
        bea.reveal(bea.disguise(ANONYMISE_ALL))
    assert application_dump() == before
    assert edna_dump() == tables
