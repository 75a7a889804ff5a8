"""Positive random keys: what a table calls its next rows says nothing of how many pseudoprincipals there are, or when they were made."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection, transaction

import edna
from apps.websubmit.disguises import Anonymous
from apps.websubmit.models import Answer, User
from edna.engine.pseudoprincipals import factory
from edna.testing import application_dump
from tests.support import ANONYMISE_ALL, Student, answer_everything, enrol, make_course, statements

pytestmark = [pytest.mark.django_db]

#: Half of what JavaScript reads exactly: real users come after it, pseudoprincipals before.
HALF = (2**53 - 1) // 2


@pytest.fixture(autouse=True)
def positive(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "PSEUDOPRINCIPAL_KEYS": "random"}


def next_user() -> int:
    key = User.objects.create_user(f"{User.objects.count()}@example.org").pk
    assert isinstance(key, int)
    return key


def anonymous(student: Student) -> edna.Receipt:
    answer_everything(student)
    return student.disguise(ANONYMISE_ALL)


def test_new_users_are_counted_one_by_one_however_many_pseudoprincipals_come_between() -> None:
    make_course()
    bea, carl = enrol(), enrol()
    receipt = anonymous(bea)
    made = set(User.objects.filter(is_anon=True).values_list("pk", flat=True))
    assert made
    assert all(HALF // 2 <= key < HALF for key in made)
    first = next_user()
    # PostgreSQL does not look at keys. The others jump once, to a number that everybody knows; InnoDB goes on from there after a rollback,
    # such as that of another test.
    jumped = first > HALF if connection.vendor == "mysql" else first == HALF + 1
    assert jumped or (connection.vendor == "postgresql" and first == carl.user.pk + 1)
    anonymous(carl)
    assert next_user() == first + 1
    bea.reveal(receipt)
    assert next_user() == first + 2
    assert Answer.objects.filter(author=bea.user).exists()


def test_what_is_rolled_back_leaves_the_next_one_as_safe() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    with transaction.atomic():
        bea.disguise(ANONYMISE_ALL)
        transaction.set_rollback(True)
    bea.disguise(ANONYMISE_ALL)
    first = next_user()
    assert first == HALF + 1 or connection.vendor != "sqlite"
    assert first > HALF or connection.vendor == "postgresql"


def test_nothing_is_left_of_the_row_that_the_counter_is_shown() -> None:
    make_course()
    bea = enrol()
    answer_everything(bea)
    before = application_dump()
    assert bea.reveal(bea.disguise(ANONYMISE_ALL)).complete
    for table, rows in before.items():
        if table != "sqlite_sequence":
            assert application_dump()[table] == rows


def test_the_counter_costs_no_statement_for_each_of_them() -> None:
    factory.make(Anonymous, User, [(1, None)], using="default")

    def taken(count: int) -> int:
        return len(statements(lambda: factory.make(Anonymous, User, [(count, None)], using="default")))

    assert taken(1) == taken(30)
