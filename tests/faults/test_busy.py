"""Others are in the way: deadlocks, serialisation failures and locks are met with a bounded number of tries, then a clear error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from django.db import connection, connections, transaction

from apps.websubmit.models import Answer, Lecture, User
from edna import errors
from edna.db import transactions
from edna.db.transactions import ATTEMPTS
from tests.faults.operations import IN_THE_LECTURE, TELLING, Operation
from tests.faults.runs import Run
from tests.faults.states import State
from tests.faults.steps import watched
from tests.waiting import WAIT_SECONDS, until_waiting

pytestmark = [pytest.mark.usefixtures("applications"), pytest.mark.django_db(transaction=True)]

DISGUISE = next(each for each in IN_THE_LECTURE if each.name == "disguise")
DISGUISE_ALL = next(each for each in IN_THE_LECTURE if each.name == "disguise everybody")


@pytest.fixture(autouse=True)
def hardly_any_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it rests between two tries is no promise."""
    monkeypatch.setattr(transactions, "_FIRST_PAUSE_SECONDS", 0.001)


class Rival:
    """Somebody with another connection who locks an answer first and its author then: the other way round."""

    def __init__(self, *, author: int, rounds: int) -> None:
        self.author, self.rounds = author, rounds
        self.met = 0
        self.holds, self.go, self.gone = threading.Event(), threading.Event(), threading.Event()
        self.gone.set()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        try:
            while self.met < self.rounds:
                with transaction.atomic():
                    with connection.cursor() as cursor:
                        if connection.vendor == "postgresql":
                            cursor.execute(
                                "SET LOCAL deadlock_timeout = '60s'"
                            )  # so that it is the other who finds out
                    # MariaDB ends whoever has changed less.
                    Lecture.objects.bulk_create(Lecture(label=str(n)) for n in range(100))
                    list(Answer.objects.select_for_update().filter(author=self.author))
                    self.holds.set()
                    self.go.wait(WAIT_SECONDS)
                    self.go.clear()
                    list(User.objects.select_for_update().filter(pk=self.author))
                    transaction.set_rollback(True)
                self.gone.set()
        finally:
            connections.close_all()

    def reached(self, number: int, name: str) -> None:
        # The next try lets the other one go first: PostgreSQL gives the author to whoever comes before those who waited wake up.
        assert self.gone.wait(WAIT_SECONDS)
        if "websubmit_answer" not in name or self.met >= self.rounds or not self.holds.wait(WAIT_SECONDS):
            return
        self.holds.clear()
        self.gone.clear()
        self.met += 1
        self.go.set()
        until_waiting()


@contextmanager
def a_rival(run: Run, *, rounds: int) -> Iterator[Rival]:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET deadlock_timeout = '10ms'")
    rival = Rival(author=run.scene.actor.user.pk, rounds=rounds)
    rival.thread.start()
    try:
        yield rival
    finally:
        rival.rounds = 0
        rival.go.set()
        rival.thread.join(WAIT_SECONDS)
        connection.close()
    assert not rival.thread.is_alive()


@pytest.mark.only_on("mysql", "postgresql")
def test_a_deadlock_is_tried_again() -> None:
    run = Run(DISGUISE)
    with a_rival(run, rounds=ATTEMPTS - 1) as rival, watched(rival.reached):
        run.work()
    assert rival.met == ATTEMPTS - 1
    run.check_end()


@pytest.mark.only_on("mysql", "postgresql")
def test_a_deadlock_every_time_is_an_error() -> None:
    run = Run(DISGUISE)
    with a_rival(run, rounds=ATTEMPTS) as rival, watched(rival.reached), pytest.raises(errors.DatabaseBusy):
        run.work()
    assert rival.met == ATTEMPTS
    assert State.now() == run.before
    run.work()
    run.check_end()


def of_the_caller(run: Run) -> None:
    with transaction.atomic():
        Lecture.objects.create(label="of the caller")
        run.work()


@pytest.mark.only_on("mysql", "postgresql")
def test_a_deadlock_within_the_callers_transaction_is_theirs_to_repeat() -> None:
    """The database has undone what they did before, too."""
    run = Run(DISGUISE)
    with a_rival(run, rounds=1) as rival, watched(rival.reached):
        with pytest.raises(errors.DatabaseBusy, match="roll the transaction back"):
            of_the_caller(run)
        assert rival.met == 1
    assert State.now() == run.before


# Locks that are not given up

#: Wait for a lock for a moment only; 0 is at once. Nothing else of the database's behaviour is changed.
IMPATIENT = {
    "postgresql": "SET lock_timeout = '10ms'",
    "mysql": "SET innodb_lock_wait_timeout = 0",
    "sqlite": "PRAGMA busy_timeout = 10",
}


@contextmanager
def everything_locked() -> Iterator[None]:
    """Somebody else has locked all entries; on SQLite, as always when somebody writes, the whole database."""
    with closing(connection.copy()) as other:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("DELETE FROM django_session")
            else:
                cursor.execute("SELECT * FROM edna_principalentry FOR UPDATE")
        yield
        other.rollback()


def attempts(steps: list[str]) -> int:
    """All begin with the same statement; SQLite, with the lock itself."""
    return steps.count(steps[0])


@pytest.mark.parametrize("operation", [each for each in TELLING if each.locks], ids=str)
def test_a_lock_that_is_not_given_up_is_an_error(operation: Operation) -> None:
    run = Run(operation)
    steps: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute(IMPATIENT[connection.vendor])
    with everything_locked(), pytest.raises(errors.DatabaseBusy), watched(lambda number, name: steps.append(name)):
        run.work()
    assert attempts(steps) == ATTEMPTS
    assert State.now() == run.before
    run.work()
    run.check_end()


def test_who_has_waited_for_long_does_not_begin_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight waits for a lock, of a minute each, would be more than anybody wants to wait for a page."""
    run = Run(DISGUISE)
    steps: list[str] = []
    monkeypatch.setattr(transactions, "PATIENCE_SECONDS", 0)
    with connection.cursor() as cursor:
        cursor.execute(IMPATIENT[connection.vendor])
    busy = pytest.raises(errors.DatabaseBusy, match="too busy")
    with everything_locked(), busy, watched(lambda number, name: steps.append(name)):
        run.work()
    assert attempts(steps) == 1
    assert State.now() == run.before


def test_a_lock_that_is_given_up_is_waited_for() -> None:
    run = Run(DISGUISE)
    steps: list[str] = []
    with connection.cursor() as cursor:
        cursor.execute(IMPATIENT[connection.vendor])
    locked = everything_locked()
    locked.__enter__()

    def give_up_in_the_end(number: int, name: str) -> None:
        steps.append(name)
        if attempts(steps) == ATTEMPTS:
            locked.__exit__(None, None, None)

    with watched(give_up_in_the_end):
        run.work()
    run.check_end()


# Serialisation failures


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.parametrize("times", [1, ATTEMPTS])
def test_a_snapshot_that_is_overtaken(times: int) -> None:
    """Rows have been changed by somebody else when they are locked: PostgreSQL says so from REPEATABLE READ on, MariaDB with
    innodb_snapshot_isolation, which is the default from 11.6.2 on."""
    run = Run(DISGUISE_ALL)
    if connection.vendor == "postgresql":
        strict = ["SET default_transaction_isolation = 'repeatable read'"]
    else:
        strict = ["SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SET innodb_snapshot_isolation = ON"]
    with connection.cursor() as cursor:
        for statement in strict:
            cursor.execute(statement)
    overtaken = 0

    def overtake(number: int, name: str) -> None:
        nonlocal overtaken
        if "websubmit_answer" in name and "FOR UPDATE" in name and overtaken < times:
            overtaken += 1
            with closing(connection.copy()) as other, other.cursor() as cursor:
                cursor.execute("UPDATE websubmit_answer SET text = %s", [f"Changed {overtaken} times"])

    try:
        with watched(overtake):
            run.work()
    except errors.DatabaseBusy:
        assert times == ATTEMPTS
    else:
        assert times == 1
    finally:
        connection.close()
    assert overtaken == times
    assert Answer.objects.filter(author__is_anon=True).exists() == (times == 1)
    assert set(Answer.objects.values_list("text", flat=True)) == {f"Changed {times} times"}
