"""Scrubbing is stopped anywhere, and people leave and return while it is at work: nothing is lost, and nobody is refused."""

from __future__ import annotations

import contextlib
import random
import re
import threading

import pytest
from django.db import OperationalError, connection, connections

from apps.websubmit.models import Answer, User
from edna.db import transactions
from edna.errors import DatabaseBusy
from edna.operations.upkeep.scrubbing import scrub
from edna.testing import Dump, application_dump
from tests.faults.operations import DEEP, anonymised_and_deleted, everything_comes_back_but
from tests.faults.steps import killed_at, watched
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    enrol,
    in_another_process,
    make_course,
    whole_dump,
)
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nobody_beside", "applications")]

#: Of the many tables that are treated alike.
TABLES = (User._meta.db_table, Answer._meta.db_table, "edna_bag", "edna_principalentry", "edna_lastrun")
#: How often somebody is killed, and comes and goes: MariaDB makes each table anew for every scrub.
TIMES, ROUNDS = (4, 3) if connection.vendor == "mysql" else (8, 6)


def state() -> Dump:
    """All that lasts, but for when it was scrubbed last."""
    return {table: rows for table, rows in whole_dump().items() if table != "edna_lastrun"}


def kinds_of_steps() -> list[int]:
    """The numbers of the steps of one run: of each kind of statement on each of a few tables, the first."""
    found: dict[str, int] = {}
    last = ""

    def note(number: int, name: str) -> None:
        nonlocal last
        if name not in {"COMMIT", "after COMMIT", "BEGIN"}:
            last = next((table for table in TABLES if table in name), last)
        if last and (
            any(table in name for table in TABLES) or "COMMIT" in name or "VACUUM" in name or "set_config" in name
        ):
            found.setdefault(f"{last} {re.sub(r'[0-9]+', '', name)[:80]}", number)

    with watched(note):
        scrub()
    return sorted(found.values())


@pytest.mark.slow
@pytest.mark.only_on("sqlite3", "postgresql")
def test_killed_at_every_kind_of_step() -> None:
    made = anonymised_and_deleted()
    before = state()
    scrub()  # the first one notes that it was done with other statements than the next
    steps = kinds_of_steps()
    assert len(steps) >= (3 if connection.vendor == "sqlite" else 20)
    for number in steps:
        assert killed_at(number, scrub) is not None
        assert state() == before
    assert scrub().left == []
    assert state() == before
    everything_comes_back_but(made, "edna_lastrun")


@pytest.mark.slow
def test_killed_at_any_moment() -> None:
    made = anonymised_and_deleted()
    before = state()
    for _ in range(100 if DEEP else TIMES):
        in_another_process(scrub, killed_after=random.uniform(0, 1))
        assert state() == before
    assert scrub().left == []
    everything_comes_back_but(made, "edna_lastrun")


def test_people_leave_and_return_meanwhile() -> None:
    """They wait at most."""
    make_course()
    students = [enrol() for _ in range(4)]
    answer_everything(*students)
    before = application_dump()
    problems: list[Exception] = []
    over = threading.Event()

    def come_and_go(student: Student) -> None:
        try:
            for _ in range(ROUNDS):
                student.disguise(ANONYMISE_ALL)
                student.disguise(DELETE)
                student.reveal_everything()
        except Exception as error:
            problems.append(error)
        finally:
            connections.close_all()

    def scrub_on() -> None:
        try:
            while not over.is_set():
                with contextlib.suppress(DatabaseBusy):  # done, and others wrote so much that this could not be noted
                    scrub()
        except Exception as error:
            problems.append(error)
        finally:
            connections.close_all()

    scrubbing = threading.Thread(target=scrub_on, daemon=True)
    threads = [threading.Thread(target=come_and_go, args=[student], daemon=True) for student in students]
    for thread in (scrubbing, *threads):
        thread.start()
    for thread in threads:
        thread.join(5 * WAIT_SECONDS)  # each comes and goes several times
    over.set()
    scrubbing.join(WAIT_SECONDS)
    assert not any(thread.is_alive() for thread in (scrubbing, *threads))
    assert problems == []
    assert application_dump() == before


@pytest.mark.only_on("mysql")
def test_who_looked_before_and_looks_again_is_asked_to_begin_again() -> None:
    """A snapshot that is older than a rebuilt table does not have it; whatever edna does then begins again by itself."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            assert scrub().left == []
            with pytest.raises(OperationalError) as refused:
                cursor.execute("SELECT count(*) FROM edna_bag")
    finally:
        other.close()
    assert transactions.asks_for_another_try(refused.value)
