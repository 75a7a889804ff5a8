"""What the tests of schedules share: a schedule over WebSubmit's students, and a clock that the test turns."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from smtplib import SMTPRecipientsRefused
from typing import Any
from unittest import mock

from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

import edna
from apps.websubmit.disguises import DeleteAccount
from apps.websubmit.models import User
from edna import inner_door, schedules
from edna.operations import jobs
from edna.operations.dormancy import dormant_batches
from edna.operations.schedules import rounds
from edna.operations.schedules.rounds import ScheduleReport

NAME = "tests.decay"
FIRST = datetime.date(2030, 1, 1)
#: Two notices, a year.
YEAR, NOTICES = 365, (30, 7)


class Refusing(BaseEmailBackend):
    """A server of mails that knows none of the addresses."""

    def send_messages(self, email_messages: Any) -> int:
        raise SMTPRecipientsRefused({address: (550, b"No") for each in email_messages for address in each.to})


class Down(BaseEmailBackend):
    """A server of mails that does not answer."""

    def open(self) -> bool:
        raise ConnectionRefusedError

    def send_messages(self, email_messages: Any) -> int:
        raise AssertionError("Nothing is sent over a connection that could not be opened.")


def days(number: int) -> datetime.timedelta:
    return datetime.timedelta(days=number)


class Clock:
    """``clock.day`` is today for schedules; `pass_` turns it."""

    def __init__(self, day: datetime.date = FIRST) -> None:
        self.day = day

    def __call__(self) -> datetime.date:
        return self.day

    def pass_(self, number: int) -> datetime.date:
        self.day += days(number)
        return self.day


@contextmanager
def running_clock() -> Iterator[Clock]:
    clock = Clock()
    with mock.patch.object(rounds, "utc_day", clock), mock.patch.object(dormant_batches, "utc_day", clock):
        yield clock


@contextmanager
def scheduled(
    disguise: Any = DeleteAccount,
    *,
    inactive: int = YEAR,
    notices: tuple[int, ...] = NOTICES,
    notify: Any = None,
    **options: Any,
) -> Iterator[list[edna.Notice]]:
    """The schedule `NAME` is registered; the block gets a list of all notices that its function is asked to write."""
    asked: list[edna.Notice] = []

    def write(notice: edna.Notice) -> EmailMessage | None:
        asked.append(notice)
        if notify is not None:
            return notify(notice)  # type: ignore[no-any-return]
        words = f"{notice.kind} {notice.days_left} {notice.applies_on} {notice.receipt}"
        return EmailMessage(f"Notice {notice.kind}", words, to=[notice.principal.email])

    before = [days(each) for each in notices]
    options = {"name": NAME, "inactive_for": days(inactive), "notify_before": before, **options}
    edna.schedule(disguise, **options)(write)
    try:
        yield asked
    finally:
        schedules.unregister(write)


def run(**options: Any) -> ScheduleReport:
    """One run of the schedule, and of the job that it starts."""
    (report,) = rounds.run_schedules(only=NAME, **options)
    if report.job is not None:
        jobs.run(report.job)
    return report


def was_here(user: User, day: datetime.date) -> None:
    """A request of theirs, as the middleware notes it."""
    inner_door.note_activity(user, today=day)
