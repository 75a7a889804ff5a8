"""The paper's course: 2,000 students and 160,000 answers. On SQLite a quarter of it: how much that is is for servers to say."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Iterator

import pytest
from django.core.management import call_command
from django.db import connection, transaction

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna.testing.dumps import tables
from edna.testing.search import finds
from tests.support import ANONYMISE_ALL, DELETE, Student, loot, secrets_of

pytestmark = [pytest.mark.slow, pytest.mark.only_on("sqlite3", "mysql"), pytest.mark.django_db(transaction=True)]

STUDENTS, LECTURES, QUESTIONS = 500 if connection.vendor == "sqlite" else 2000, 20, 4
PICKED = 3

#: Primary keys that are nothing else: a thief who finds such a number anywhere knows what it is.
FIRST_USER, FIRST_ANSWER = 0x5EED_0000_0000, 0x5EED_1000_0000


@pytest.fixture
def course() -> Iterator[list[Student]]:
    """A few students of the seeded course, drawn by lot, with a password and a recovery code and words of their own."""
    seed = int(os.environ.get("EDNA_SCALE_SEED") or (time.time_ns() if os.environ.get("EDNA_RANDOM_EXAMPLES") else 1))
    print(f"The students are drawn with EDNA_SCALE_SEED={seed}.")  # shown if the test fails
    start_counting()
    call_command(
        "websubmit_seed", users=STUDENTS, lectures=LECTURES, questions=QUESTIONS, no_register=True, verbosity=0
    )
    assert Answer.objects.count() == STUDENTS * LECTURES * QUESTIONS
    users = list(User.objects.filter(is_admin=False).order_by("pk"))
    source = random.Random(seed)
    drawn = source.sample(to_be_told_by_name(users), PICKED)
    students = []
    for user in drawn:
        password = f"{source.getrandbits(128):x}"
        user.set_password(password)  # a hash of their own: the course shares one
        user.save()
        answers = list(Answer.objects.filter(author=user))
        for answer in answers:
            answer.text = f"{mark(user)}: {answer.text}"
        Answer.objects.bulk_update(answers, ["text"], batch_size=50)
        made = edna.register_principal(user, password=password)
        assert made.secret_key is not None
        students.append(Student(user, made.secret_key, str(made.recovery_code)))
    edna.register_principals([user for user in users if user not in drawn])
    yield students
    call_command("flush", interactive=False, verbosity=0)  # and count from 1 again
    connection.close()


def to_be_told_by_name(users: list[User]) -> list[User]:
    """Those whose name nobody else has in theirs (as karim.martin70 is in karim.martin705), nor random digits (as they may have “bea”)."""
    addresses = "\n".join(user.email for user in users)
    return [user for user in users if len(name_of(user)) >= 10 and addresses.count(name_of(user)) == 1]


def name_of(user: User) -> str:
    return str(user.email.partition("@")[0])


def start_counting() -> None:
    """Let the database number users and answers from far above."""
    user = User.objects.create(pk=FIRST_USER, email="nobody@example.org")
    question = Question.objects.create(lecture=Lecture.objects.create(), number=1)
    Answer.objects.create(pk=FIRST_ANSWER, author=user, question=question)
    Answer.objects.all().delete()
    Lecture.objects.all().delete()
    user.delete()


def mark(user: User) -> str:
    """What stands in each answer of this student, and in nobody else's."""
    return "As I noted in " + hashlib.sha256(user.email.encode()).hexdigest()[:20]


def personal(student: Student) -> dict[str, str | bytes | int]:
    """What the database holds of a student until they leave."""
    user = student.user
    named = {"e-mail": user.email, "name": name_of(user), "API key": user.apikey, "words": mark(user)}
    return named | {"password hash": user.password, "salted part": user.password.rpartition("$")[2]}


def numbers(student: Student) -> dict[str, str | bytes | int]:
    """The primary keys of the student and of the answers, which are to be found in no column, bag or session."""
    answers = student.user.answers.values_list("pk", flat=True)
    return {"key": student.user.pk} | {f"key of answer {key}": key for key in answers}


def written_by_others(students: list[Student]) -> set[bytes]:
    """Each cell of the answers of everybody else: what equals one of them says nothing about these students."""
    author, marks = connection.ops.quote_name("author_id"), ", ".join(["%s"] * len(students))
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(Answer._meta.db_table)
        cursor.execute(f"SELECT * FROM {name} WHERE {author} NOT IN ({marks})", [each.user.pk for each in students])
        return {str(value).encode() for row in cursor.fetchall() for value in row}


def loot_without(known: set[bytes]) -> bytes:
    """All of the database, but for what is known to be of others, so that searching it for everything takes seconds."""
    return b"\n".join(line for line in loot().split(b"\n") if line not in known)


def loot_with(needles: dict[str, str | bytes | int]) -> bytes:
    """What the thief would read if these secrets were in a table."""
    with transaction.atomic():
        for needle in needles.values():
            Lecture.objects.create(label=needle.hex() if isinstance(needle, bytes) else str(needle))
        haystack = b"\n".join(str(label).encode() for label in Lecture.objects.values_list("label", flat=True))
        transaction.set_rollback(True)
    return haystack


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


def test_course_of_the_papers_size(course: list[Student]) -> None:
    """Both on one course, since the first leaves it as it was and making another takes as long as either."""
    anybody_can_leave_without_a_trace_and_return_to_the_byte(course)
    everybody_is_anonymised_and_some_go_back(course)


def anybody_can_leave_without_a_trace_and_return_to_the_byte(course: list[Student]) -> None:
    """One after another, then all of them away at once; in between nothing personal is anywhere in the database."""
    before, known = digests(), written_by_others(course)
    haystack = loot_without(known)
    texts = {student.email: student.texts().values() for student in course}
    keys = {student.email: numbers(student) for student in course}
    for student in course:  # this search finds what there is
        assert finds(haystack, personal(student)) == list(personal(student))
        assert all(text.encode() in haystack for text in texts[student.email])
        assert finds(haystack, keys[student.email]) == list(keys[student.email])
        assert len(keys[student.email]) == 1 + len(texts[student.email]) == 1 + LECTURES * QUESTIONS

    receipts = {}
    for student in course:
        receipts[student.email] = student.disguise(DELETE)
    assert Answer.objects.count() == (STUDENTS - PICKED) * LECTURES * QUESTIONS

    haystack = loot_without(known)
    for student in course:
        secrets = secrets_of(student, receipts[student.email])
        assert finds(loot_with(secrets), secrets) == list(secrets)
        assert finds(haystack, personal(student) | secrets | keys[student.email]) == []
        assert not any(text.encode() in haystack for text in texts[student.email])

    for student in reversed(course):
        outcome = student.reveal(receipts[student.email])
        assert outcome.complete
        assert outcome.restored["websubmit.answer"] == LECTURES * QUESTIONS
    connection.check_constraints()
    assert digests() == before


def everybody_is_anonymised_and_some_go_back(course: list[Student]) -> None:
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
