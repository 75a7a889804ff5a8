"""Something fails in the middle, at every step there is: an error for the caller, and nothing was changed."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, OperationalError, connection

from tests.faults.operations import DEEP, HERE, TELLING, Operation
from tests.faults.runs import Run
from tests.faults.states import State
from tests.faults.steps import MOST_STEPS, failing_at, watched

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("applications"), pytest.mark.django_db(transaction=True)]
if not DEEP:
    pytestmark.append(
        pytest.mark.once
    )  # the errors are made here; test_server and test_busy have those of the databases

ATOMIC = [each for each in HERE if not each.resumable]


class Broken(DatabaseError):
    """Anything that cannot be foreseen. The database's, because Django expects nothing else of a COMMIT."""


def please_repeat() -> OperationalError:
    """What each database says when a transaction has lost against another."""
    error = OperationalError(1213 if connection.vendor == "mysql" else "database is locked")
    if connection.vendor == "postgresql":
        error.__cause__ = SerializationFailure()
    return error


class SerializationFailure(Exception):
    sqlstate = "40001"


@pytest.mark.parametrize("operation", ATOMIC, ids=str)
def test_an_error_at_every_step(operation: Operation) -> None:
    """Whoever gets an error may rely on it that nothing was done, and try again with what they have in hand."""
    run = Run(operation)
    for number in range(MOST_STEPS):
        happened: list[str] = []
        with watched(failing_at(number, Broken, happened)):
            refused = run.refused()
        if isinstance(refused, Broken):
            assert State.now() == run.before, happened
            continue
        # Also where it came too late to stop anything: it is done, and the caller was not told otherwise.
        assert refused is None
        if not happened:
            break
        assert run.check_interrupted(), happened
    run.check_end()
    assert number > 3


@pytest.mark.parametrize("operation", [each for each in TELLING if not each.resumable], ids=str)
def test_a_second_try_at_every_step(operation: Operation) -> None:
    """The database undoes an attempt at any statement or at its end; the next one starts from nothing."""
    run = Run(operation)
    for number in range(MOST_STEPS):
        happened: list[str] = []
        with watched(failing_at(number, please_repeat, happened)):
            run.work()
        run.check_end()
        if not happened:
            break
        run.again()
    assert number > 3


@pytest.mark.only_on("sqlite3")
@pytest.mark.parametrize("operation", ATOMIC, ids=str)
def test_the_disk_is_full(operation: Operation) -> None:
    run = Run(operation)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        [pages] = cursor.execute("PRAGMA page_count").fetchone()
    for more in range(MOST_STEPS):
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA max_page_count = {pages + more}")
        refused = run.refused()
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA max_page_count = 1000000")
        if refused is None:
            break
        assert isinstance(refused, OperationalError)
        assert "disk is full" in str(refused)
        assert State.now() == run.before
    run.check_end()
