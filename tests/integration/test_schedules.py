"""Schedules on a site: who is warned when, who is disguised, who is left alone, and what each of them costs."""

from __future__ import annotations

import datetime
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMessage
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import Q
from django.test.utils import override_settings

import edna
from apps.websubmit.models import Answer, User
from edna.engine.chunks import disguise as chunked
from edna.models import PrincipalEntry
from edna.operations import jobs
from edna.operations.models import DormancyNotice, LastRun
from edna.operations.schedules import rounds
from edna.operations.schedules.turns import Turn
from edna.spec import Disguise, Modify
from tests.installed import registering
from tests.schedules import FIRST, NAME, YEAR, Clock, days, run, running_clock, scheduled, was_here
from tests.support import (
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    edna_dump,
    enrol,
    enrol_many,
    make_course,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]


@pytest.fixture
def clock() -> Iterator[Clock]:
    with running_clock() as clock:
        yield clock


@pytest.fixture
def asked() -> Iterator[list[edna.Notice]]:
    with scheduled() as asked:
        yield asked


def away(*, since: datetime.date = FIRST, **fields: Any) -> Student:
    student = enrol(**fields)
    was_here(student.user, since)
    return student


def there(student: Student) -> bool:
    return User.objects.filter(pk=student.user.pk).exists()


def notices() -> list[tuple[int, datetime.date]]:
    return list(DormancyNotice.objects.values_list("stage", "sent_on"))


# When


def test_somebody_is_warned_twice_and_then_disguised(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    happened = []
    for day in range(YEAR + 2):
        clock.day = FIRST + days(day)
        report = run()
        if asked:
            happened.append((day, asked[-1].kind, asked[-1].days_left, asked[-1].applies_on, report.due))
            asked.clear()
    last = FIRST + days(YEAR)
    assert happened == [(335, "warning", 30, last, 0), (358, "warning", 7, last, 0), (365, "applied", 0, last, 1)]
    assert not there(student)
    assert [letter.to for letter in mail.outbox] == [[student.email]] * 3


@pytest.mark.once
@pytest.mark.parametrize("rows", [None, 2])
def test_the_last_mail_has_the_receipt_which_brings_everything_back(
    clock: Clock, asked: list[edna.Notice], rows: int | None
) -> None:
    make_course()
    student = away()
    answer_everything(student)
    texts = student.texts()
    with cut_into_chunks(rows):
        decay(clock)
    receipt = re.search(r"edna1:\S+", mail.outbox[-1].body)
    assert receipt is not None
    assert not there(student)
    assert not Answer.objects.filter(text__in=texts.values()).exists()
    student.reveal(receipt.group())
    assert student.texts() == texts


def decay(clock: Clock) -> None:
    """Everybody who was away since the first day is warned, and goes."""
    for day in (335, 358, 365):
        clock.day = FIRST + days(day)
        run()


def test_who_comes_back_is_not_taken_for_dormant_by_the_login_of_long_ago(
    clock: Clock, asked: list[edna.Notice]
) -> None:
    student = away()
    User.objects.update(last_login=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    decay(clock)
    student.reveal_latest()
    entry = PrincipalEntry.objects.get(natural=True)
    assert entry.last_seen_on == datetime.datetime.now(datetime.UTC).date()
    PrincipalEntry.objects.update(last_seen_on=clock.day)  # the day of this test's clock
    for _ in range(300):
        clock.pass_(1)
        assert not run().warned
    assert there(student)


@pytest.mark.once
def test_a_scheduler_that_was_down_gives_everybody_the_time_that_was_promised(
    clock: Clock, asked: list[edna.Notice]
) -> None:
    student = away()
    clock.pass_(2_000)
    assert run().warned == {30: 1}
    assert asked[-1].applies_on == clock.day + days(30)
    for _ in range(22):
        clock.pass_(1)
        assert run().warned == {}
    clock.pass_(1)
    assert run().warned == {7: 1}
    assert asked[-1].applies_on == clock.day + days(7)
    for _ in range(6):
        clock.pass_(1)
        assert run().due == 0
    assert there(student)
    clock.pass_(1)
    assert run().due == 1
    assert not there(student)


@pytest.mark.once
def test_down_after_the_first_notice_the_second_one_is_not_left_out(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    clock.pass_(335)
    run()
    clock.pass_(60)
    assert run().warned == {7: 1}
    clock.pass_(6)
    assert run().due == 0
    assert there(student)
    clock.pass_(1)
    assert run().due == 1


def test_the_same_day_twice_is_as_once(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    clock.pass_(335)
    assert run().warned == {30: 1}
    before = edna_dump()
    assert run().warned == {}
    assert {**edna_dump(), "edna_lastrun": []} == {**before, "edna_lastrun": []}
    assert len(mail.outbox) == 1


@pytest.mark.once
def test_without_notices_the_disguise_comes_at_once(clock: Clock) -> None:
    student = away()
    with scheduled(notices=()):
        clock.pass_(364)
        assert run().due == 0
        clock.pass_(1)
        assert run().due == 1
    assert not there(student)


@pytest.mark.once
def test_a_schedule_that_got_longer_warns_again_in_its_time(clock: Clock) -> None:
    away()
    with scheduled():
        clock.pass_(335)
        assert run().warned == {30: 1}
    with scheduled(inactive=730):
        clock.pass_(40)
        report = run()
        assert (report.warned, report.returned, report.due) == ({}, 1, 0)
        clock.day = FIRST + days(700)
        assert run().warned == {30: 1}


# Who returns


@pytest.mark.once
@pytest.mark.parametrize("after", [0, 1, 22, 29])
def test_who_returns_after_a_notice_is_left_alone(clock: Clock, asked: list[edna.Notice], after: int) -> None:
    student = away()
    clock.pass_(335)
    run()
    clock.pass_(after)
    if after >= 23:
        run()
    was_here(student.user, clock.day)
    asked.clear()
    report = run()
    assert (report.returned, report.warned, report.due) == (1, {}, 0)
    assert notices() == []
    for _ in range(30):
        clock.pass_(1)
        run()
    assert asked == []
    assert there(student)


@pytest.mark.once
def test_who_returned_while_the_scheduler_was_down_is_warned_anew(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    clock.pass_(335)
    run()
    was_here(student.user, clock.day)
    clock.pass_(1_000)
    assert (run().warned, there(student)) == ({30: 1}, True)
    clock.pass_(22)
    assert run().warned == {}


@pytest.mark.once
def test_a_login_counts_as_well_as_a_request(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    clock.pass_(335)
    run()
    moment = datetime.datetime.combine(clock.day, datetime.time(12), tzinfo=datetime.UTC)
    User.objects.filter(pk=student.user.pk).update(last_login=moment)
    assert run().returned == 1
    clock.pass_(30)
    assert run().due == 0


def test_who_returns_between_the_start_of_the_job_and_the_batch_is_left_alone(
    clock: Clock, asked: list[edna.Notice]
) -> None:
    bea, carl = away(), away()
    for day in (335, 358):
        clock.day = FIRST + days(day)
        run()
    clock.day = FIRST + days(365)
    (report,) = rounds.run_schedules(only=NAME)
    was_here(bea.user, clock.day)
    assert report.job is not None
    done = jobs.run(report.job)
    assert (done.done, done.skipped, done.failed) == (1, 1, 0)
    assert (there(bea), there(carl)) == (True, False)
    assert [letter.to for letter in mail.outbox if "applied" in letter.subject] == [[carl.email]]
    assert run().returned == 1


@pytest.mark.once
def test_who_returns_between_two_chunks_keeps_the_account(
    clock: Clock, asked: list[edna.Notice], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was put away so far is in their list, and comes back from there."""
    make_course()
    student = away()
    answer_everything(student)
    texts = student.texts()
    real = chunked._Disguising.do

    def do(self: Any, part: Any) -> bool:
        again = real(self, part)
        was_here(student.user, clock.day)
        return again

    monkeypatch.setattr(chunked._Disguising, "do", do)
    with cut_into_chunks(2):
        decay(clock)
    assert there(student)
    assert 0 < Answer.objects.filter(author=student.user).count() < len(texts)
    assert not any("applied" in letter.subject for letter in mail.outbox)
    student.reveal_latest()
    assert student.texts() == texts


@pytest.mark.once
def test_a_job_of_a_schedule_that_is_gone_disguises_nobody(clock: Clock) -> None:
    student = away()
    with scheduled(notices=()):
        clock.pass_(400)
        (report,) = rounds.run_schedules(only=NAME)
    assert report.job is not None
    assert jobs.run(report.job).done == 0
    assert there(student)


# Whom


def test_who_has_no_key_or_was_never_seen_is_left_alone(clock: Clock, asked: list[edna.Notice]) -> None:
    User.objects.create_user("keyless@example.org", last_login=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    enrol("unseen@example.org", last_login=None)
    clock.pass_(5_000)
    report = run()
    assert (report.warned, report.due, asked) == ({}, 0, [])


@pytest.mark.once
def test_a_pseudoprincipal_is_never_dormant(clock: Clock) -> None:
    make_course()
    student = away(since=FIRST + days(5_000))
    answer_everything(student)
    student.disguise("websubmit.anonymize-all")
    User.objects.exclude(pk=student.user.pk).update(last_login=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    assert User.objects.count() > 1
    clock.pass_(5_000)
    with scheduled(notices=()):
        assert run().due == 0


def test_only_narrows_whom_it_is_for(clock: Clock) -> None:
    student, teacher = away(), away(is_admin=True)
    with scheduled(only=Q(is_admin=False)):
        decay(clock)
    assert (there(student), there(teacher)) == (False, True)


@pytest.mark.once
def test_who_no_longer_is_meant_starts_anew(clock: Clock) -> None:
    student = away()
    with scheduled(only=Q(is_admin=False)):
        clock.pass_(335)
        run()
        User.objects.update(is_admin=True)
        clock.pass_(30)
        assert run().returned == 1
        assert notices() == []
        User.objects.update(is_admin=False)
        assert run().warned == {30: 1}
    assert there(student)


@pytest.mark.once
def test_who_is_no_longer_meant_when_the_batch_comes_is_left_alone(clock: Clock) -> None:
    student = away()
    with scheduled(only=Q(is_admin=False), notices=()):
        clock.pass_(400)
        (report,) = rounds.run_schedules(only=NAME)
        User.objects.update(is_admin=True)
        assert report.job is not None
        assert jobs.run(report.job).skipped == 1
    assert there(student)


def test_several_fields_say_who_was_active_and_the_latest_counts(clock: Clock) -> None:
    student = enrol(joined_on=FIRST)
    with scheduled(last_active=["last_login", "joined_on"], notices=()):
        clock.pass_(364)
        assert run().due == 0
        clock.pass_(1)
        assert run().due == 1
    assert not there(student)


def test_without_a_field_the_days_of_the_middleware_count(clock: Clock) -> None:
    student = away(last_login=datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC))
    with scheduled(last_active=None, notices=()):
        clock.pass_(364)
        assert run().due == 0
        clock.pass_(1)
        assert run().due == 1
    assert not there(student)


class Redact(Disguise):
    """Empty the answers of people who are away; the account stays."""

    name = "tests.redact"
    transformations = [Modify(Answer, owner="author", set={"text": "[away]"})]


@pytest.mark.once
def test_where_the_account_stays_it_is_done_once_for_each_absence(clock: Clock) -> None:
    make_course()
    student = away()
    answer_everything(student)
    with registering(Redact), scheduled(Redact, notices=(7,)):
        for _ in range(150):
            clock.pass_(10)
            run()
        assert len(student.history()) == 1
        assert notices() == [(0, FIRST + days(YEAR))]
        was_here(student.user, clock.day)
        run()
        assert notices() == []
        for _ in range(60):
            clock.pass_(10)
            run()
        assert len(student.history()) == 2


def test_keys_of_people_may_be_uuids_or_texts(clock: Clock, world: Any) -> None:
    people = [world.Person.objects.create(handle=name) for name in ("Ada", "Bob")]
    members = [world.Member.objects.create(code=code) for code in ("meg", "7 a")]
    edna.register_principals([*people, *members])
    clock.day = datetime.datetime.now(datetime.UTC).date()
    for person in people:
        was_here(person, clock.day)
    for name, key, field in (("world.leave", people[0].pk, None), ("world.resign", "meg", "joined")):
        found: list[edna.Notice] = []
        with scheduled(edna.registry.get(name), notify=found.append, last_active=field, only=Q(pk=key)):
            start = clock.day
            for day in (335, 358, 365):
                clock.day = start + days(day)
                run()
            clock.day = start
        assert [(notice.kind, notice.principal.pk) for notice in found] == [
            ("warning", key),
            ("warning", key),
            ("applied", key),
        ]
    assert world.Person.objects.get() == people[1]
    assert world.Member.objects.get() == members[1]
    assert notices() == []


# Mails


@pytest.mark.once
def test_a_notice_that_could_not_be_mailed_does_not_count(
    clock: Clock, asked: list[edna.Notice], caplog: pytest.LogCaptureFixture
) -> None:
    student = away()
    clock.pass_(335)
    with override_settings(EMAIL_BACKEND="tests.schedules.Refusing"):
        report = run()
    assert (report.warned, report.failed) == ({}, 1)
    assert notices() == []
    assert "SMTPRecipientsRefused" in caplog.text
    assert student.email not in caplog.text
    clock.pass_(29)
    assert run().warned == {30: 1}
    assert asked[-1].applies_on == clock.day + days(30)


@pytest.mark.once
def test_one_address_that_fails_keeps_no_other_from_its_mail(clock: Clock) -> None:
    broken, whole = away(), away()

    def notify(notice: edna.Notice) -> EmailMessage:
        if notice.principal.pk == broken.user.pk:
            raise ValueError(notice.principal.email)
        return EmailMessage("Hello", "Hello", to=[notice.principal.email])

    clock.pass_(335)
    with scheduled(notify=notify):
        report = run()
    assert (report.warned, report.failed) == ({30: 1}, 1)
    assert [letter.to for letter in mail.outbox] == [[whole.email]]


@pytest.mark.once
def test_a_server_of_mails_that_is_down_is_tried_once(clock: Clock, asked: list[edna.Notice]) -> None:
    for _ in range(5):
        away()
    clock.pass_(335)
    with override_settings(EMAIL_BACKEND="tests.schedules.Down"):
        report = run()
    assert (report.warned, report.failed, len(asked)) == ({}, 5, 1)


@pytest.mark.once
def test_who_gets_no_mail_counts_as_warned(clock: Clock) -> None:
    student = away()
    with scheduled(notify=lambda notice: None):
        clock.pass_(335)
        report = run()
        assert (report.warned, report.unmailed) == ({30: 1}, 1)
        for day in (358, 365):
            clock.day = FIRST + days(day)
            run()
    assert not there(student)
    assert mail.outbox == []


@pytest.mark.once
def test_a_receipt_that_cannot_be_mailed_undoes_nothing(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    for day in (335, 358):
        clock.day = FIRST + days(day)
        run()
    clock.day = FIRST + days(365)
    with override_settings(EMAIL_BACKEND="tests.schedules.Refusing"):
        run()
    assert not there(student)
    assert student.reveal_latest().complete


@pytest.mark.once
def test_a_notice_shows_neither_the_person_nor_the_receipt(clock: Clock, asked: list[edna.Notice]) -> None:
    student = away()
    decay(clock)
    for notice in asked:
        assert student.email not in repr(notice)
        assert "edna1:" not in repr(notice)
        assert "principal" not in repr(notice)


# What stays


@pytest.mark.once
def test_nothing_of_a_notice_stays_when_somebody_goes(clock: Clock, asked: list[edna.Notice]) -> None:
    """By the schedule, by themselves, or by code that knows nothing of edna."""
    for leave in (lambda student: student.disguise(DELETE), lambda student: student.user.delete()):
        student = away(since=clock.day)
        clock.pass_(335)
        run()
        assert len(notices()) == 1
        leave(student)
        assert notices() == []
    away(since=clock.day)
    clock.pass_(400)
    run()
    clock.pass_(30)
    run()
    assert len(notices()) == 1
    clock.pass_(7)
    run()
    assert notices() == []


@pytest.mark.once
def test_a_notice_is_not_kept_of_somebody_who_left_while_the_mails_were_sent(clock: Clock) -> None:
    students = [away(), away()]

    def notify(notice: edna.Notice) -> EmailMessage:
        if there(students[0]):
            students[0].disguise(DELETE)
        return EmailMessage("Hello", "Hello", to=[notice.principal.email])

    clock.pass_(335)
    with scheduled(notify=notify):
        run()
    assert list(DormancyNotice.objects.values_list("reference", flat=True)) == [str(students[1].user.pk)]


@pytest.mark.once
def test_notices_of_a_schedule_that_is_gone_go_with_the_next_run(clock: Clock) -> None:
    away()
    with scheduled():
        clock.pass_(335)
        run()
        assert len(notices()) == 1
    rounds.run_schedules()
    assert notices() == []


@pytest.mark.once
def test_the_log_names_nobody(clock: Clock, asked: list[edna.Notice], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="edna")
    student = away()
    decay(clock)
    assert student.email not in caplog.text
    assert "edna1:" not in caplog.text


# One at a time, and in pages


def test_while_another_process_is_at_it_nothing_is_done(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    clock.pass_(335)
    with Turn(rounds.RUN, seconds=60, using="default") as turn:
        assert turn.taken
        assert run().trouble == "busy"
    assert asked == []
    assert run().warned == {30: 1}


def test_the_turn_of_a_process_that_was_killed_ends_by_itself(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    clock.pass_(335)
    Turn(rounds.RUN, seconds=-1, using="default").__enter__()
    assert run().warned == {30: 1}


def test_who_lost_the_turn_sends_nothing_more(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process hung for longer than its turn, and another one is at it."""
    for _ in range(5):
        away()
    monkeypatch.setattr(rounds, "_LEASE_SECONDS", 0)

    def notify(notice: edna.Notice) -> EmailMessage:
        LastRun.objects.filter(name=rounds.RUN).update(busy_until=datetime.datetime.now(datetime.UTC) + days(1))
        return EmailMessage("Hello", "Hello", to=[notice.principal.email])

    clock.pass_(335)
    with scheduled(notify=notify):
        assert run().trouble == "busy"
    assert len(mail.outbox) == 1
    assert len(notices()) == 1
    assert LastRun.objects.get().busy_until is not None  # the other one's


def test_finding_takes_as_many_statements_for_200_people_as_for_2(clock: Clock) -> None:
    numbers = []
    with scheduled(notify=lambda notice: None):
        for number in (2, 98, 100):
            for student in enrol_many(number):
                was_here(student.user, clock.day)
            for passed in (335, 23):
                clock.pass_(passed)
                numbers.append(len(statements(lambda: rounds.run_schedules(only=NAME))))
            clock.pass_(8)
            PrincipalEntry.objects.update(last_seen_on=clock.day)
            run()
    first, second = numbers[:2]
    assert numbers[2:4] == [first, second]
    # Beyond a hundred mails there is another commit.
    assert numbers[4] - first == numbers[5] - second
    assert numbers[4] - first < 12


@pytest.mark.once
@pytest.mark.slow
def test_3000_dormant_people_are_warned_in_pages_and_disguised_by_one_job(clock: Clock) -> None:
    for _ in range(3):
        enrol_many(1_000)
    PrincipalEntry.objects.update(last_seen_on=FIRST)
    seen = []
    with scheduled():
        for day, stage in ((335, 30), (358, 7)):
            clock.day = FIRST + days(day)
            report = run(progress=lambda _, done, total: seen.append((done, total)))
            assert report.warned == {stage: 3_000}
        assert seen == [(number, 3_000) for number in range(1_000, 3_001, 1_000)] * 2
        assert len(mail.outbox) == 6_000
        clock.day = FIRST + days(365)
        (report,) = rounds.run_schedules(only=NAME)
    assert report.due == 3_000
    assert report.job is not None
    assert jobs.report(report.job).left == 3_000


# Dry, and by command


@pytest.mark.once
def test_a_dry_run_counts_and_changes_nothing(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    for day in (335, 358, 365):
        clock.day = FIRST + days(day)
        with nothing_changes():
            report = run(dry_run=True)
        assert (sum(report.warned.values()), report.due) == ((0, 1) if day == 365 else (1, 0))
        assert asked == []
        if day < 365:
            run()
            asked.clear()


@pytest.mark.once
def test_an_unfinished_job_gets_no_second_one_beside_it(clock: Clock) -> None:
    away()
    clock.pass_(400)
    with scheduled(notices=()):
        (first,) = rounds.run_schedules(only=NAME)
        (second,) = rounds.run_schedules(only=NAME)
    assert first.job is not None
    assert second.job == first.job
    assert len(jobs.reports()) == 1


def test_the_job_keeps_to_the_rate_of_the_schedule(clock: Clock) -> None:
    away()
    clock.pass_(400)
    with scheduled(notices=(), rate_per_second=3):
        (report,) = rounds.run_schedules(only=NAME)
    assert report.job is not None
    assert jobs.report(report.job).limit_per_second == 3
    assert jobs.report(report.job).schedule == NAME


@pytest.mark.once
def test_a_schedule_in_trouble_keeps_no_other_from_being_run(clock: Clock) -> None:
    away()
    clock.pass_(335)
    with scheduled(name="a.broken", last_active="no_such_field"), scheduled():
        reports = {report.schedule: report for report in rounds.run_schedules()}
    assert reports["a.broken"].trouble == "FieldError"
    assert reports[NAME].warned == {30: 1}


@pytest.mark.once
def test_the_run_is_noted_with_numbers_alone(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    clock.pass_(335)
    run()
    noted = LastRun.objects.get(name="schedules")
    assert noted.counts == {"warned": 1, "failed": 0, "returned": 0, "due": 0, "in_trouble": 0}
    assert noted.finished_at is not None
    assert noted.busy_until is None


@pytest.mark.once
def test_the_command_warns_starts_and_runs(clock: Clock, asked: list[edna.Notice], capsys: Any) -> None:
    student = away()
    for day in (335, 358, 365):
        clock.day = FIRST + days(day)
        call_command("edna_run_schedules", schedule=NAME)
    told = capsys.readouterr().out
    assert "1 (30 days)" in told
    assert "1 disguised, 0 left alone, 0 failed" in told
    assert student.email not in told
    assert not there(student)


@pytest.mark.once
def test_the_command_prints_one_document_and_progress_elsewhere(clock: Clock, capsys: Any) -> None:
    away()
    clock.pass_(400)
    with scheduled(notices=()):
        call_command("edna_run_schedules", schedule=NAME, json=True)
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["schedules"][0]["due"] == 1
    assert document["jobs"][0]["done"] == 1
    assert "1 of 1" in captured.err


@pytest.mark.once
def test_a_function_that_returns_something_else_is_a_mail_that_failed(clock: Clock) -> None:
    away()
    clock.pass_(335)
    with scheduled(notify=lambda notice: "Hello"):
        assert run().failed == 1
    assert notices() == []


@pytest.mark.once
def test_the_command_leaves_jobs_to_others_if_told(clock: Clock, capsys: Any) -> None:
    student = away()
    clock.pass_(400)
    with scheduled(notices=()):
        call_command("edna_run_schedules", schedule=NAME, no_run=True)
    assert there(student)
    assert jobs.waiting()


@pytest.mark.once
def test_the_command_says_in_its_exit_status_that_mails_failed(clock: Clock, asked: list[edna.Notice]) -> None:
    away()
    clock.pass_(335)
    with override_settings(EMAIL_BACKEND="tests.schedules.Refusing"), pytest.raises(CommandError) as caught:
        call_command("edna_run_schedules", schedule=NAME)
    assert caught.value.returncode == 3


@pytest.mark.once
def test_the_command_refuses_an_unknown_schedule() -> None:
    with pytest.raises(CommandError, match="No schedule is called 'nothing'"):
        call_command("edna_run_schedules", schedule="nothing")
