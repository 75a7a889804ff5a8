"""Whatever happens to one person and to the scheduler: nobody is disguised while active, or without every notice in its time."""

from __future__ import annotations

import datetime

import pytest
from django.core import mail
from django.db import transaction
from django.test.utils import override_settings
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import edna
from apps.websubmit.models import User
from edna.operations import jobs
from edna.operations.models import DormancyNotice
from edna.operations.schedules import rounds
from tests.schedules import FIRST, NAME, Clock, days, running_clock, scheduled, was_here
from tests.support import Student, enrol

pytestmark = [pytest.mark.django_db, pytest.mark.once]

INACTIVE = 60

#: So many days later: the scheduler runs, with the jobs that it starts or without, or while no mail can be sent; runners catch up; the
#: person is here, by a request or by a login alone. Around the days on which something is due.
event = st.sampled_from(["schedule", "schedule", "schedule", "start", "work", "mute", "here", "login"])
timelines = st.lists(st.tuples(st.sampled_from([0, 1, 3, 7, 23, 30, 40, 60, 100]), event), max_size=12)
notices = st.sampled_from([(), (7,), (30, 7), (59, 58), (20, 10, 1)])


class Timeline:
    """One person, and all that they were told."""

    def __init__(self, clock: Clock, told: list[edna.Notice], notices: tuple[int, ...]) -> None:
        self.clock, self.asked, self.notices = clock, told, notices
        self.student: Student = enrol()
        self.delivered: list[tuple[datetime.date, edna.Notice]] = []
        self.last_here = clock.day
        self.disguised = 0
        was_here(self.student.user, clock.day)

    def act(self, passed: int, event: str) -> None:
        self.clock.pass_(passed)
        getattr(self, f"do_{event}")()
        self.look()

    def do_schedule(self) -> None:
        self.do_start()
        self.do_work()

    def do_start(self) -> None:
        rounds.run_schedules(only=NAME)

    def do_work(self) -> None:
        for job in jobs.waiting():
            jobs.run(job)

    def do_mute(self) -> None:
        with override_settings(EMAIL_BACKEND="tests.schedules.Down"):
            self.do_schedule()

    def do_here(self) -> None:
        self.last_here = self.clock.day
        if not self.there():
            self.student.reveal_latest()
        was_here(self.student.user, self.clock.day)

    def do_login(self) -> None:
        if self.there():
            self.last_here = self.clock.day
            moment = datetime.datetime.combine(self.clock.day, datetime.time(23), tzinfo=datetime.UTC)
            User.objects.filter(pk=self.student.user.pk).update(last_login=moment)

    def there(self) -> bool:
        return User.objects.filter(pk=self.student.user.pk).exists()

    def look(self) -> None:
        """Judge what has just happened, by what was mailed and when the person was here, and by nothing that edna keeps."""
        assert len(mail.outbox) <= len(self.asked)
        sent = {letter.body for letter in mail.outbox}
        for notice in self.asked:
            words = f"{notice.kind} {notice.days_left} {notice.applies_on} {notice.receipt}"
            if words in sent:
                self.delivered.append((self.clock.day, notice))
            if notice.kind == "warning":
                assert self.clock.day >= self.last_here + days(INACTIVE - notice.days_left), "warned while active"
        gone = any(notice.kind == "applied" for notice in self.asked)
        self.asked.clear()
        mail.outbox.clear()
        if gone:
            self.judge_disguise()
        assert self.there() or not DormancyNotice.objects.exists()

    def judge_disguise(self) -> None:
        assert not self.there()
        today = self.clock.day
        assert today >= self.last_here + days(INACTIVE), "disguised while active"
        warned = [(day, notice) for day, notice in self.delivered if notice.kind == "warning" and day > self.last_here]
        assert [notice.days_left for _, notice in warned] == list(self.notices), "not warned, or twice"
        for (day, notice), (next_day, following) in zip(warned, [*warned[1:], (today, None)], strict=False):
            assert next_day >= day + days(notice.days_left - (following.days_left if following else 0)), "too soon"
            assert notice.applies_on <= today, "before the day that was promised"
        self.disguised += 1


@pytest.mark.slow
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(timeline=timelines, notices=notices)
@example(timeline=[(40, "schedule"), (7, "here")], notices=(30, 7))  # a notice of an earlier absence
@example(timeline=[(40, "schedule"), (60, "schedule")], notices=(30, 7))  # the scheduler was down
def test_nobody_is_disguised_while_active_or_without_every_notice_in_its_time(
    db: None, timeline: list[tuple[int, str]], notices: tuple[int, ...]
) -> None:
    with transaction.atomic(), running_clock() as clock, scheduled(inactive=INACTIVE, notices=notices) as asked:
        try:
            mail.outbox.clear()
            life = Timeline(clock, asked, notices)
            for passed, event in timeline:
                life.act(passed, event)
            # And who stays away is disguised in the end, within the longest that notices may take.
            before = life.disguised
            if life.there():
                for _ in range(30):
                    life.act(5, "schedule")
                assert life.disguised == before + 1
            assert clock.day >= FIRST
        finally:
            transaction.set_rollback(True)
