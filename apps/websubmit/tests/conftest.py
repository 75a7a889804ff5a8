"""A small course with people in it, and ways to compare and to search the whole database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

import edna
from apps.showcase.tests.tables import rows_of
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


def _select(model: Any, *, last_login: bool = True) -> list[tuple[Any, ...]]:
    table, *key = (
        connection.ops.quote_name(name)
        for name in (model._meta.db_table, *(column.column for column in model._meta.pk_fields))
    )
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY {', '.join(key)}")
        return rows_of(cursor, last_login=last_login)


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the application's tables, as the database has them; but when people logged in last."""
    models = [*apps.get_app_config("websubmit").get_models(include_auto_created=True), apps.get_model("admin.LogEntry")]
    return {model._meta.db_table: _select(model, last_login=False) for model in models}


def thief() -> str:
    """Everything that somebody with a copy of the database can read."""
    return repr(
        {
            model._meta.db_table: _select(model)
            for model in apps.get_models(include_auto_created=True)
            if model._meta.managed
        }
    )
