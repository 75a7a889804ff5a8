"""The paper's course: 2,000 students and 160,000 answers."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

import edna
from apps.websubmit.models import Answer, User
from edna import SecretKey
from tests.support import ANONYMISE_ALL, DELETE, Student, finds, loot, secrets_of, tables

pytestmark = [pytest.mark.slow, pytest.mark.only_on("sqlite3", "mysql"), pytest.mark.django_db(transaction=True)]

STUDENTS, LECTURES, QUESTIONS = 2000, 20, 4
PICKED = 3


@pytest.fixture
def course(tmp_path: Path) -> Iterator[list[Student]]:
    """A few students, drawn by lot, of the seeded course."""
    keys = tmp_path / "keys"
    call_command(
        "websubmit_seed", users=STUDENTS, lectures=LECTURES, questions=QUESTIONS, keys_file=str(keys), verbosity=0
    )
    assert Answer.objects.count() == STUDENTS * LECTURES * QUESTIONS
    lines = [line.split(",") for line in keys.read_text().splitlines()]
    drawn = random.Random(time.time_ns()).sample([line for line in lines if not line[0].startswith("staff")], PICKED)
    yield [Student(User.objects.get(email=email), SecretKey.parse(text)) for email, text in drawn]
    connection.close()


def digests() -> dict[str, str]:
    """A fingerprint of each of the application's tables, of the values as the driver reads them."""
    found = {}
    for table in tables():
        if not table.startswith("edna_"):
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
                rows = sorted(map(repr, cursor.fetchall()))
            found[table] = hashlib.sha256("\n".join(rows).encode()).hexdigest()
    return found


def test_anybody_can_leave_without_a_trace_and_return_to_the_byte(course: list[Student]) -> None:
    """One after another, then all of them away at once; in between nothing personal is anywhere in the database."""
    before = digests()
    receipts = {}
    for student in course:
        receipts[student.email] = student.disguise(DELETE)
    assert Answer.objects.count() == (STUDENTS - PICKED) * LECTURES * QUESTIONS

    haystack = loot()
    for student in course:
        name = student.email.partition("@")[0]
        traces = {"e-mail": student.email, "name": name, "API key": student.user.apikey}
        assert finds(haystack, traces | secrets_of(student, receipts[student.email])) == []
        assert not Answer.objects.filter(author_id=student.user.pk).exists()

    for student in reversed(course):
        outcome = student.reveal(receipts[student.email])
        assert outcome.complete
        assert outcome.restored["websubmit.answer"] == LECTURES * QUESTIONS
    connection.check_constraints()
    assert digests() == before


def test_everybody_is_anonymised_and_some_go_back(course: list[Student]) -> None:
    """The staff's command over the whole course: 40,000 anonymous authors, and every student finds their own answers."""
    mine = {student.email: set(Answer.objects.filter(author=student.user).values_list()) for student in course}

    receipts = edna.disguise_all(ANONYMISE_ALL)

    assert len(receipts) == STUDENTS
    assert not Answer.objects.filter(author__is_anon=False).exists()
    assert User.objects.filter(is_anon=True).count() == STUDENTS * LECTURES
    for student in course:
        student.reveal_everything()
        assert set(Answer.objects.filter(author=student.user).values_list()) == mine[student.email]
    assert User.objects.filter(is_anon=True).count() == (STUDENTS - PICKED) * LECTURES
    connection.check_constraints()
