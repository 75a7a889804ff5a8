"""A small course with people in it, and ways to compare and to search the whole database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client

import edna
from apps.showcase.tests import tables
from apps.showcase.tests.tables import Rows
from apps.websubmit.models import Answer, Lecture, Question, User

PASSWORD = "a long walk home"


@dataclass
class Person:
    """Somebody with an account, a key, and a browser in which they are logged in."""

    user: User
    client: Client
    recovery_code: str


@pytest.fixture
def enrol(db: None) -> Callable[..., Person]:
    """Makes people, each with a key."""

    def make(email: str, **fields: Any) -> Person:
        user = User.objects.create_user(email, PASSWORD, **fields)
        registration = edna.register_principal(user, password=PASSWORD)
        client = Client()
        client.force_login(user)
        return Person(user, client, str(registration.recovery_code))

    return make


@pytest.fixture
def bea(enrol: Callable[..., Person]) -> Person:
    return enrol("bea@example.org")


@pytest.fixture
def carl(enrol: Callable[..., Person]) -> Person:
    return enrol("carl@example.org")


@pytest.fixture
def staff(enrol: Callable[..., Person]) -> Person:
    return enrol("staff@example.org", is_admin=True)


@pytest.fixture
def course(db: None) -> list[Lecture]:
    """Two lectures with two questions each."""
    lectures = [Lecture.objects.create(label=label) for label in ("Virtual memory", "Deadlock")]
    for lecture in lectures:
        Question.objects.bulk_create(
            Question(lecture=lecture, number=number, text=f"What is hard about {lecture.label}, part {number}?")
            for number in (1, 2)
        )
    return lectures


@pytest.fixture
def answered(course: list[Lecture], bea: Person, carl: Person) -> list[Lecture]:
    """The same, with everything answered by both students."""
    Answer.objects.bulk_create(
        Answer(
            author=person.user,
            question=question,
            text=f"{person.user.email} thinks about question {question.pk}.\nTwice.",
        )
        for person in (bea, carl)
        for question in Question.objects.all()
    )
    return course


def dump() -> dict[str, Rows]:
    return tables.dump("websubmit", "admin.LogEntry")
