"""WebSubmit for a load: a course, and some of its students who will come and go."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from django.core.management import call_command
from django.utils.html import escape

import edna
from apps.websubmit.management.commands.websubmit_seed import DEMO_PASSWORD
from apps.websubmit.models import Answer, Lecture, User
from benchmarks.kit.driver import Affected
from loadtest.people import Account, People
from loadtest.registering import register_disguiser, register_ordinary

USERS, LECTURES, QUESTIONS = 2000, 20, 4
LECTURES_ANONYMISED = 5

#: Columns that others or logging in may change while their rows are there, and why.
IGNORED: Final[Mapping[str, str]] = {
    "websubmit_user.last_login": "a disguiser logs in before and after",
}
#: Of all rows, disguisers' or not: what nobody changes. Every one that was there before is there at the end.
KEPT: Final[Mapping[str, Sequence[str]]] = {
    "websubmit_user": ("id", "email", "apikey", "is_admin", "is_anon", "joined_on"),
    "websubmit_answer": ("id", "author_id", "question_id"),
}
#: Tables that normal requests neither add rows to nor take any from.
SAME_SIZE: Final[Sequence[str]] = ("websubmit_user", "websubmit_answer")


def everything_of(user: int) -> list[Affected]:
    """The account, and every row that names it."""
    return [
        Affected("websubmit_user", "t.id = %s", (user,)),
        Affected("websubmit_answer", "t.author_id = %s", (user,)),
        Affected("django_admin_log", "t.user_id = %s", (user,)),
    ]


def prepare(*, scale: float, source: random.Random, drawn: int) -> People:
    """``scale`` 1 is the published course; another has more or fewer students."""
    users = max(10, round(USERS * scale))
    call_command("websubmit_seed", users=users, lectures=LECTURES, questions=QUESTIONS, no_register=True, verbosity=0)
    students = list(User.objects.filter(is_admin=False, is_anon=False).order_by("pk"))
    source.shuffle(students)
    drawn = min(drawn, len(students) // 2)
    leaving, staying = students[:drawn], students[drawn:]
    staff = User.objects.get(is_admin=True)
    register_ordinary([staff])
    accounts = [_account(student) for student in leaving]
    # Of everybody, for a lecture that is anonymised is everybody's to reclaim; only those who leave have a password for their key.
    codes = {student.email: str(edna.register_principal(student).recovery_code) for student in staying}
    codes |= {account.name: account.recovery_code for account in accounts}
    lectures = dict(Lecture.objects.order_by("pk").values_list("pk", "label"))
    anonymised = list(lectures)[-LECTURES_ANONYMISED:]
    return People(
        app="websubmit",
        password=DEMO_PASSWORD,
        ordinary={"students": [student.email for student in staying], "staff": [staff.email]},
        # Everybody has handed in as much as everybody else.
        disguisers={"random": accounts, "light": accounts[:1], "median": accounts[:1], "heaviest": accounts[:1]},
        facts={
            # What students write into a lecture while it is anonymised would be in the way of what comes back.
            "lectures": [lecture for lecture in lectures if lecture not in anonymised],
            "other_lectures": anonymised,
            "labels": {str(lecture): lectures[lecture] for lecture in anonymised},
            "codes": codes,
            "staff": staff.email,
        },
        scale=f"{users:,} students x {LECTURES} lectures x {QUESTIONS} questions",
    )


def _account(student: User) -> Account:
    answers = list(Answer.objects.filter(author=student).values_list("question__lecture", "text"))
    marks: dict[str, list[str]] = {}
    for lecture, text in answers:
        marks.setdefault(str(lecture), []).append(escape(text))
    return register_disguiser(student, name=student.email, password=DEMO_PASSWORD, rows=len(answers) + 1, marks=marks)
