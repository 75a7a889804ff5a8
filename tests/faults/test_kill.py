"""The process is killed in the middle, at every statement there is: the data is there, or an openable bag (DESIGN 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.db import connection

import edna
from apps.websubmit.models import Answer, User
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Dump,
    Student,
    answer_everything,
    application_dump,
    edna_dump,
    enrol,
    in_another_process,
    killed_at,
    make_course,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def bea() -> Iterator[Student]:
    make_course()
    student = enrol("bea@example.org")
    answer_everything(student, enrol("carl@example.org"))
    yield student
    connection.close()


def every_point(work: Callable[[], object], check: Callable[[], None]) -> int:
    """Kill ``work`` before its first statement, its second ... until it survives; ``check`` after each. The number of kills."""
    for number in range(200):
        if not killed_at(number, work):
            return number
        check()
    raise AssertionError("it never came to an end")


def state() -> tuple[Dump, Dump]:
    return application_dump(), edna_dump()


def test_killed_while_disguising(bea: Student) -> None:
    """Nothing has happened as long as it was not done; when it is done, it can be undone."""
    before = state()

    def check() -> None:
        assert state() == before
        assert bea.history() == []

    kills = every_point(lambda: bea.disguise(DELETE), check)

    assert kills >= 8
    assert not User.objects.filter(pk=bea.user.pk).exists()
    [entry] = bea.history()
    assert bea.reveal(entry.receipt).complete
    assert state() == before


def test_killed_while_revealing(bea: Student) -> None:
    """The bag is erased last, together with the rows that it brought back: neither both nor none."""
    before = state()
    receipt = bea.disguise(DELETE)
    away = state()

    def check() -> None:
        assert state() == away
        assert [entry.receipt for entry in bea.history()] == [receipt]

    kills = every_point(lambda: bea.reveal(receipt), check)

    assert kills >= 8
    assert state() == before
    assert bea.history() == []


def test_killed_while_revealing_in_part(bea: Student) -> None:
    """What is held is sealed again in the same transaction."""
    victim = Answer.objects.filter(author=bea.user).first()
    receipt = bea.disguise(DELETE)
    question = type(victim.question).objects.filter(pk=victim.question_id).values().get()
    victim.question.delete()
    away = state()

    def check() -> None:
        assert state() == away

    every_point(lambda: bea.reveal(receipt), check)
    assert [entry.counts for entry in bea.history()] == [{"websubmit.answer": 1}]
    type(victim.question).objects.create(**question)
    assert bea.reveal(receipt).complete
    assert bea.texts().keys() >= {victim.question_id}


def test_killed_while_everybody_is_disguised(bea: Student) -> None:
    """A global disguise is one transaction: pseudoprincipals, their keys and the answers appear together."""
    before = state()
    kills = every_point(lambda: edna.disguise_all(ANONYMISE_ALL), lambda: _same(before))
    assert kills >= 8
    assert not Answer.objects.filter(author__is_anon=False).exists()
    bea.reveal_everything()
    assert len(bea.texts()) == 4


def test_killed_while_an_anonymised_lecture_comes_back(bea: Student) -> None:
    receipt = bea.disguise(ANONYMISE_ALL)
    anonymous = state()
    every_point(lambda: bea.reveal(receipt), lambda: _same(anonymous))
    assert len(bea.texts()) == 4
    assert not User.objects.filter(is_anon=True).exists()


def test_killed_while_leaving_with_the_key(bea: Student) -> None:
    """Composition: the anonymised answers go in the same transaction as the account."""
    before = state()
    receipts = edna.disguise_all(ANONYMISE_ALL)
    assert len(receipts) == 2
    anonymous = state()
    every_point(lambda: bea.disguise(DELETE, with_key=True), lambda: _same(anonymous))
    assert Answer.objects.count() == 4
    bea.reveal_everything()
    assert len(bea.texts()) == 4
    assert len(before[0]["websubmit_answer"]) == Answer.objects.count()


def test_killed_while_registering(bea: Student) -> None:
    """The entry and its key slots appear together, so that nobody has a key that nothing opens."""
    new = User.objects.create(email="new@example.org")
    before = state()
    every_point(lambda: edna.register_principal(new, password="some password"), lambda: _same(before))
    with edna.unlock(identifier="new@example.org", password="some password") as unlocked:
        assert edna.history(unlocked) == []


def test_another_process_opens_what_this_one_sealed(bea: Student) -> None:
    """Nothing that is needed lives in the memory of the process (behaviours 29)."""
    before = state()
    receipt = str(bea.disguise(DELETE))
    assert in_another_process(lambda: bea.reveal(receipt)) == 0
    assert state() == before


def _same(expected: tuple[Dump, Dump]) -> None:
    assert state() == expected
