"""The data that is measured on: the paper's course, with the keys of everybody in it at hand."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.contrib.auth.hashers import make_password
from django.core.management import call_command

import edna
from apps.websubmit.models import Lecture, User

PASSWORD = "a long walk home"
SENTENCE = "A page fault is served in three steps, and each of them can be measured on its own. "


@dataclass(frozen=True)
class Scale:
    """How large the course is."""

    users: int = 2000
    lectures: int = 20
    questions: int = 4

    def __str__(self) -> str:
        return f"{self.users} users x {self.lectures} lectures x {self.questions} questions"


@dataclass(frozen=True)
class Member:
    """A student with the secret key; some have a password and a recovery code for it as well."""

    user: User
    secret_key: edna.SecretKey
    recovery_code: str = field(default="", repr=False)


class Course:
    """A seeded database. ``members`` are all students in random order, ``with_slots`` those whose password opens their key."""

    def __init__(self, scale: Scale, *, with_slots: int, seed: int) -> None:
        self.scale = scale
        self.source = random.Random(seed)
        call_command("migrate", verbosity=0)
        call_command(
            "websubmit_seed", users=scale.users, lectures=scale.lectures, questions=scale.questions, no_register=True
        )
        self.password_hash = make_password(PASSWORD)
        User.objects.update(password=self.password_hash)
        students = list(User.objects.filter(is_admin=False, is_anon=False))
        self.source.shuffle(students)
        # Real passwords for keys take time on purpose, so a part of the students must do.
        self.with_slots = [register(student, password=PASSWORD) for student in students[:with_slots]]
        self.staff = User.objects.get(is_admin=True)
        others = edna.register_principals([*students[with_slots:], self.staff])[:-1]
        self.members = self.with_slots + [
            Member(student, made.secret_key)
            for student, made in zip(students[with_slots:], others, strict=True)
            if made.secret_key
        ]
        self.lectures = list(Lecture.objects.order_by("pk"))
        self.questions = {
            lecture.pk: list(lecture.questions.order_by("number").values_list("pk", flat=True))
            for lecture in self.lectures
        }

    @property
    def answers_each(self) -> int:
        return self.scale.lectures * self.scale.questions

    def some(self, count: int, members: Sequence[Member] | None = None) -> list[Member]:
        """That many different students, drawn at random; each once, unless there are fewer."""
        chosen = self.members if members is None else members
        return self.source.sample(chosen, min(count, len(chosen)))

    def random_lecture(self) -> Lecture:
        return self.source.choice(self.lectures)

    def random_question(self) -> tuple[int, int]:
        """A lecture and one of its questions."""
        lecture = self.random_lecture()
        return lecture.pk, self.source.choice(self.questions[lecture.pk])

    def text(self) -> str:
        """A new answer, about as long as the seeded ones."""
        return f"{self.source.getrandbits(64):016x} " + SENTENCE * 3


def register(user: User, *, password: str) -> Member:
    """Give a user a key that a password and a recovery code open."""
    made = edna.register_principal(user, password=password)
    assert made.secret_key is not None
    return Member(user, made.secret_key, str(made.recovery_code))
