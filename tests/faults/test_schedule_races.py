"""Schedules while people come back, while two processes are at it, and while one of them is killed."""

from __future__ import annotations

import datetime
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.db import connection, connections, transaction
from django.test.utils import override_settings

import edna
from apps.websubmit.models import User
from edna import inner_door
from edna.db import transactions
from edna.models import Bag, PrincipalEntry
from edna.operations import jobs
from edna.operations.models import DormancyNotice, LastRun
from edna.operations.schedules import rounds
from edna.operations.schedules.rounds import ScheduleReport
from tests.schedules import NAME, Clock, days, run, running_clock, scheduled, was_here
from tests.support import Student, enrol, in_another_process
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

pytestmark = [pytest.mark.django_db(transaction=True)]

#: Long enough for the other one to come to the lock, and nothing is said about how long that takes.


@pytest.fixture
def clock() -> Iterator[Clock]:
    with running_clock() as clock:
        yield clock
    connections.close_all()


def away(clock: Clock, number: int) -> list[Student]:
    students = [enrol() for _ in range(number)]
    for student in students:
        was_here(student.user, clock.day)
    return students


def due_job(clock: Clock) -> int:
    clock.pass_(400)
    (report,) = rounds.run_schedules(only=NAME)
    assert report.job is not None
    return report.job


def by_request(student: Student, day: datetime.date) -> None:
    inner_door.note_activity(student.user, today=day)


def by_login(student: Student, day: datetime.date) -> None:
    moment = datetime.datetime.combine(day, datetime.time(1), tzinfo=datetime.UTC)
    User.objects.filter(pk=student.user.pk).update(last_login=moment)


@pytest.mark.parametrize("come_back", [by_request, by_login])
def test_who_is_coming_back_while_the_batch_begins_is_left_alone(clock: Clock, come_back: Any) -> None:
    """Their request has written, and is not committed yet: the batch waits for it, and sees it."""
    bea, carl = away(clock, 2)
    with scheduled(notices=()):
        job = due_job(clock)
        written, working = threading.Event(), threading.Event()

        def request() -> None:
            with transaction.atomic():
                come_back(bea, clock.day)
                written.set()
                assert working.wait(WAIT_SECONDS)
                if connection.vendor != "sqlite":  # which has one lock, and cannot tell who waits for it
                    until_waiting()

        def work() -> Any:
            assert written.wait(WAIT_SECONDS)
            working.set()
            return jobs.run(job)

        outcomes = at_once(request, work)
    assert outcomes[0] is None
    assert (outcomes[1].done, outcomes[1].skipped, outcomes[1].failed) == (1, 1, 0), outcomes
    assert set(User.objects.values_list("pk", flat=True)) == {bea.user.pk}
    assert [letter.to for letter in mail.outbox] == [[carl.email]]


def test_whoever_comes_back_at_the_same_moment_is_there_or_gone_and_nothing_between(clock: Clock) -> None:
    students = away(clock, 12)
    with scheduled(notices=()):
        job = due_job(clock)

        seen = set()

        def noted(student: Student) -> bool:
            inner_door.note_activity(student.user, today=clock.day)
            return PrincipalEntry.objects.filter(reference=student.user.pk, last_seen_on=clock.day).exists()

        def come_back() -> None:
            for student in students:
                if transactions.run(lambda student=student: noted(student), using="default"):
                    seen.add(student.user.pk)

        assert [each for each in at_once(come_back, lambda: jobs.run(job)) if isinstance(each, Exception)] == []
    there = set(User.objects.values_list("pk", flat=True))
    assert seen == there
    for student in students:
        entry = PrincipalEntry.objects.get(public_key=bytes(student.secret_key.public_key))
        assert (entry.reference is not None) == (student.user.pk in there)
        # Neither disguised although they were seen, nor seen although they were disguised.
        assert entry.last_seen_on == (clock.day if student.user.pk in there else None)
    gone = len(students) - len(there)
    assert len(mail.outbox) == gone
    assert Bag.objects.count() >= gone


def one_scheduler() -> ScheduleReport:
    (report,) = rounds.run_schedules(only=NAME)
    return report


def each_told_once(students: list[Student], reports: list[Any]) -> None:
    assert {report.trouble for report in reports if isinstance(report, ScheduleReport)} <= {"", "busy"}, reports
    assert [report for report in reports if not isinstance(report, ScheduleReport)] == []
    assert sorted(letter.to for letter in mail.outbox) == sorted([student.email] for student in students)
    assert sum(sum(report.warned.values()) for report in reports) == len(students)
    assert DormancyNotice.objects.count() == len(students)


def test_two_schedulers_at_once_send_each_mail_once(clock: Clock) -> None:
    students = away(clock, 40)
    clock.pass_(335)
    with scheduled():
        reports = at_once(*[one_scheduler] * 3)
    each_told_once(students, reports)


@pytest.mark.only_on("mysql", "postgresql")
def test_two_schedulers_wait_for_a_third_that_ends_before_it_has_the_turn(clock: Clock) -> None:
    """None has ever had one, so that its row is not there. When the third is undone, MariaDB lets the two share a lock on that row,
    and each wants it alone: a deadlock."""
    students = away(clock, 3)
    clock.pass_(335)
    written = threading.Event()

    def third() -> None:
        with transaction.atomic():
            LastRun.objects.create(name=rounds.RUN)
            written.set()
            until_waiting(2)
            transaction.set_rollback(True)

    def scheduler() -> ScheduleReport:
        assert written.wait(WAIT_SECONDS)
        return one_scheduler()

    with scheduled():
        undone, *reports = at_once(third, scheduler, scheduler)
    assert undone is None
    each_told_once(students, reports)


def test_two_schedulers_at_once_start_one_job(clock: Clock) -> None:
    away(clock, 5)
    clock.pass_(400)
    with scheduled(notices=()):
        reports = at_once(*[one_scheduler] * 3)
    (job,) = jobs.reports()
    assert {report.job for report in reports} <= {job.id, None}
    assert {report.trouble for report in reports} <= {"", "busy"}


@pytest.mark.every_database
def test_killed_in_the_middle_of_its_mails_nobody_is_left_out(clock: Clock, tmp_path: Path) -> None:
    """Some may be warned twice; nobody counts as warned who was not."""
    students = away(clock, 6)
    clock.pass_(335)
    wrote: list[str] = []

    def notify(notice: edna.Notice) -> EmailMessage:
        wrote.append(notice.principal.email)
        if len(wrote) == 4 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return EmailMessage("Hello", "Hello", to=[notice.principal.email])

    parent = os.getpid()
    files = {"EMAIL_BACKEND": "django.core.mail.backends.filebased.EmailBackend", "EMAIL_FILE_PATH": str(tmp_path)}
    with scheduled(notify=notify), override_settings(**files):
        assert in_another_process(run) == -signal.SIGKILL
        assert run().trouble == "busy"
        LastRun.objects.update(busy_until=datetime.datetime.now(datetime.UTC) - days(1))  # its time is over
        noted = DormancyNotice.objects.count()
        assert run().warned == {30: len(students) - noted}
    mailed = "".join(file.read_text() for file in tmp_path.iterdir())
    assert all(student.email in mailed for student in students)
    assert DormancyNotice.objects.count() == len(students)


def test_asked_to_stop_in_the_middle_of_its_mails_it_keeps_who_was_told(clock: Clock) -> None:
    away(clock, 6)
    clock.pass_(335)

    def notify(notice: edna.Notice) -> EmailMessage:
        if len(mail.outbox) == 3:
            raise SystemExit(1)
        return EmailMessage("Hello", "Hello", to=[notice.principal.email])

    with scheduled(notify=notify):
        with pytest.raises(SystemExit):
            run()
        assert DormancyNotice.objects.count() == 3
        mail.outbox.clear()
    with scheduled():
        assert run().warned == {30: 3}
