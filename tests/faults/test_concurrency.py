"""Several at once: nothing is mixed up, lost or left dangling (promise 29)."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, connections, transaction

import edna
from apps.websubmit.models import Answer, Question, User
from edna import errors, placeholders
from edna.testing import Person, application_dump
from tests.faults.operations import DEEP, everything_comes_back, letters
from tests.installed import registering
from tests.support import ANONYMISE_ALL, Student, answer_everything, edna_dump, enrol, make_course
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def students() -> Iterator[list[Student]]:
    make_course()
    made = [enrol() for _ in range(4)]
    answer_everything(*made)
    yield made
    connections.close_all()


def test_different_people_leave_at_once_and_return_at_once(students: list[Student]) -> None:
    """Each gets their own records back, and nobody else's."""
    before, tables = application_dump(), edna_dump()
    for _ in range(3):
        receipts = at_once(*(student.disguise for student in students))
        assert all(isinstance(receipt, edna.Receipt) for receipt in receipts), receipts
        assert Answer.objects.count() == User.objects.count() == 0
        for student, receipt in zip(students, receipts, strict=True):
            [entry] = student.history()
            assert entry.receipt == receipt
        outcomes = at_once(*(lambda s=s, r=r: s.reveal(r) for s, r in zip(students, receipts, strict=True)))
        assert all(outcome.complete for outcome in outcomes), outcomes
        assert application_dump() == before
        assert edna_dump() == tables


class Masked(edna.Disguise):
    name = "test.masked"
    transformations = [edna.Modify(Answer, owner="author", set={"text": placeholders.constant("-")})]


@pytest.mark.only_on("postgresql")
def test_who_refers_to_a_row_that_gets_its_values_back_waits_for_nobody(students: list[Student]) -> None:
    """For a foreign key PostgreSQL locks the key of the other row alone. If a reveal locked more than an UPDATE does, two who give back
    rows, and insert some that refer to the other's, would wait for each other."""
    bea, answers = students[0], list(Answer.objects.values_list("pk", flat=True))
    with registering(Masked):
        receipt = bea.disguise(Masked.name)
        with transaction.atomic():
            assert bea.reveal(receipt).complete
            with closing(connection.copy()) as other, other.cursor() as cursor:
                cursor.execute("SET lock_timeout = '1s'")
                cursor.execute("SELECT 1 FROM websubmit_answer WHERE id = ANY(%s) FOR KEY SHARE", [answers])
                assert len(cursor.fetchall()) == len(answers)
                with pytest.raises(OperationalError, match="lock timeout"):  # who would change one, waits
                    cursor.execute("UPDATE websubmit_answer SET text = 'mine' WHERE id = ANY(%s)", [answers])


def test_one_person_leaves_twice_at_once(students: list[Student]) -> None:
    """One of the two wins; the other is told that there is nobody to disguise, and nothing is sealed twice."""
    bea = students[0]
    before = application_dump()
    results = at_once(*[bea.disguise] * 4)
    won = [result for result in results if isinstance(result, edna.Receipt)]
    lost = [result for result in results if not isinstance(result, edna.Receipt)]
    assert len(won) == 1, results
    assert {type(error) for error in lost} <= {errors.PrincipalNotRegistered, errors.DatabaseBusy}, results
    assert [entry.receipt for entry in bea.history()] == won
    assert bea.reveal(won[0]).complete
    assert application_dump() == before


def test_one_receipt_is_used_twice_at_once(students: list[Student]) -> None:
    bea = students[0]
    before = application_dump()
    receipt = bea.disguise()
    results = at_once(*[lambda: bea.reveal(receipt)] * 4)
    won = [result for result in results if isinstance(result, edna.Outcome)]
    assert len(won) == 1, results
    assert won[0].complete
    others = {type(result) for result in results if not isinstance(result, edna.Outcome)}
    assert others <= {errors.ReceiptUnknown, errors.DatabaseBusy}
    assert application_dump() == before


def test_the_staff_anonymise_while_people_leave(students: list[Student]) -> None:
    """Whoever comes first, every answer is somebody's to bring back."""
    before, tables = application_dump(), edna_dump()
    results = at_once(lambda: edna.disguise_all(ANONYMISE_ALL), *(s.disguise for s in students[:2]))
    for result in results:
        assert isinstance(result, list | edna.Receipt | errors.DatabaseBusy | errors.UnregisteredOwners), results
    for student in students:
        for _ in range(3):
            for entry in student.history():
                student.reveal(entry.receipt)
    assert application_dump() == before
    assert edna_dump() == tables


def test_the_staff_anonymise_twice_at_once(students: list[Student]) -> None:
    before, tables = application_dump(), edna_dump()
    at_once(*[lambda: edna.disguise_all(ANONYMISE_ALL)] * 2)
    assert not Answer.objects.filter(author__is_anon=False).exists()
    for student in students:
        for _ in range(4):
            for entry in student.history():
                student.reveal(entry.receipt)
    assert application_dump() == before
    assert edna_dump() == tables


def test_two_browsers_ask_for_a_new_recovery_code_at_once(students: list[Student]) -> None:
    """The second one waits for the first. Both get a code: the one that was made last is good, and no other."""
    bea = students[0]
    replacing, asking = threading.Event(), threading.Event()

    def wait_until_the_other_asks(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        done = execute(sql, params, many, context)
        if sql.startswith("DELETE") and "edna_keyslot" in sql and not replacing.is_set():
            replacing.set()
            assert asking.wait(WAIT_SECONDS)
            if connection.vendor != "sqlite":  # which has one lock, and cannot tell who waits for it
                until_waiting()
        return done

    def first() -> edna.RecoveryCode:
        with bea.unlock() as unlocked, connection.execute_wrapper(wait_until_the_other_asks):
            return edna.new_recovery_code(unlocked)

    def second() -> edna.RecoveryCode:
        with bea.unlock() as unlocked:
            assert replacing.wait(WAIT_SECONDS)
            asking.set()
            return edna.new_recovery_code(unlocked)

    codes = at_once(first, second)
    assert all(isinstance(code, edna.RecoveryCode) for code in codes), codes
    lost, good = codes
    assert edna.unlock(recovery_code=good).public_key == bea.secret_key.public_key
    for code in (lost, bea.recovery_code):
        with pytest.raises(errors.WrongCredentials):
            edna.unlock(recovery_code=code)


def test_two_register_one_person_at_once(students: list[Student]) -> None:
    new = User.objects.create(email="new@example.org")
    results = at_once(*[lambda: edna.register_principal(new)] * 3)
    assert sum(isinstance(result, edna.Registration) for result in results) == 1, results
    others = [result for result in results if not isinstance(result, edna.Registration)]
    assert {type(error) for error in others} == {errors.PrincipalAlreadyRegistered}, results


@pytest.mark.parametrize("moment", ["the answers were read", "deleting begins"])
def test_an_answer_posted_while_its_author_leaves_does_not_dangle(students: list[Student], moment: str) -> None:
    """It waits until the account is gone and is then refused by the database."""
    bea = students[0]
    Answer.objects.filter(author=bea.user, question=Question.objects.first()).delete()
    before = application_dump()
    leaving, posting, posted = threading.Event(), threading.Event(), []

    def until_the_other_is_posting() -> None:
        leaving.set()
        assert posting.wait(WAIT_SECONDS)
        if connection.vendor != "sqlite":  # which has one lock, and cannot tell who waits for it
            until_waiting()

    def wait_at_that_moment(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.startswith("DELETE") and moment == "deleting begins" and not leaving.is_set():
            until_the_other_is_posting()
        done = execute(sql, params, many, context)
        if "websubmit_answer" in sql and moment == "the answers were read" and not leaving.is_set():
            until_the_other_is_posting()
        return done

    def leave() -> edna.Receipt:
        with connection.execute_wrapper(wait_at_that_moment):
            return bea.disguise()

    def post() -> None:
        assert leaving.wait(WAIT_SECONDS)
        posting.set()
        posted.append(Answer.objects.create(author=bea.user, question=Question.objects.first(), text="too late"))

    receipt, error = at_once(leave, post)

    assert isinstance(receipt, edna.Receipt), receipt
    assert isinstance(error, IntegrityError | OperationalError), error
    assert posted == []
    assert not Answer.objects.filter(author=bea.user.pk).exists()
    connection.check_constraints()
    assert bea.reveal(receipt).complete
    assert application_dump() == before


def test_an_answer_that_is_being_posted_when_its_author_leaves_goes_along(students: list[Student]) -> None:
    """The insertion locks the account's row, so the disguise waits for it and sees it; PostgreSQL, which looks at foreign
    keys when the transaction ends (Django's constraints are deferred), refuses the answer instead."""
    bea = students[0]
    question = Question.objects.first()
    Answer.objects.filter(author=bea.user, question=question).delete()
    inserted, leaving, left = threading.Event(), threading.Event(), threading.Event()

    def post() -> None:
        from django.db import transaction

        with transaction.atomic():
            Answer.objects.create(author=bea.user, question=question, text="just in time")
            inserted.set()
            if connection.vendor == "postgresql":
                assert left.wait(WAIT_SECONDS)
            elif connection.vendor == "mysql":
                until_waiting()
            else:
                assert leaving.wait(WAIT_SECONDS)

    def leave() -> edna.Receipt:
        assert inserted.wait(WAIT_SECONDS)
        leaving.set()
        try:
            return bea.disguise()
        finally:
            left.set()

    error, receipt = at_once(post, leave)

    assert isinstance(receipt, edna.Receipt), receipt
    assert not Answer.objects.filter(author=bea.user.pk).exists()
    assert bea.reveal(receipt).complete
    if connection.vendor == "postgresql":
        assert isinstance(error, IntegrityError)
    else:
        assert error is None
        assert Answer.objects.get(author=bea.user, question=question).text == "just in time"


@pytest.mark.slow
@pytest.mark.usefixtures("applications")
@pytest.mark.parametrize("seed", range(50 if DEEP else 3))
def test_people_who_share_rows_come_and_go_at_once(seed: int) -> None:
    """They lock each other's rows in every order; whoever is told that the database was busy has changed nothing."""
    scene = letters()
    expected = (edna.Receipt, edna.Outcome, errors.DatabaseBusy, errors.PrincipalNotRegistered, errors.ReceiptUnknown)

    def come_and_go(person: Person, dice: random.Random) -> list[Any]:
        done: list[Any] = []
        for _ in range(6):
            entries = person.history()
            try:
                if entries and dice.random() < 0.5:
                    done.append(person.reveal(dice.choice(entries).receipt))
                else:
                    name = dice.choice(["post.leave", "post.veil", "post.blur"])
                    done.append(person.disguise(name, with_key=dice.random() < 0.5))
            except errors.EdnaError as error:
                done.append(error)
        return done

    works = [
        lambda each=each, n=n: come_and_go(each, random.Random(f"{seed}.{n}")) for n, each in enumerate(scene.people)
    ]
    results = at_once(*works)
    assert all(isinstance(each, expected) for result in results for each in result), results
    everything_comes_back(scene)
