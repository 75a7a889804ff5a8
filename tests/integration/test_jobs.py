"""Jobs: what they promise, in one process."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import DatabaseError, IntegrityError, OperationalError

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import Disguise, Modify, Remove, placeholders, signals
from edna.engine.chunks import disguise as chunked
from edna.errors import (
    DatabaseBusy,
    InvalidParameters,
    JobRefused,
    JobUnknown,
    PrincipalError,
    UnknownDisguise,
    UnregisteredOwners,
)
from edna.operations import audit, jobs
from edna.operations.jobs import JobReport, JobState, batches, runner
from edna.operations.jobs.runner import MOST_ATTEMPTS
from edna.operations.models import Job, JobItem, JobRunner
from edna.operations.store import jobrunners
from edna.operations.store import jobs as store_jobs
from edna.records.chain import chunks_of
from edna.testing import application_dump
from edna.testing.search import finds
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    edna_dump,
    enrol_many,
    loot,
    make_course,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

NUMBER = 7


@pytest.fixture
def students() -> list[Student]:
    make_course()
    students = enrol_many(NUMBER)
    answer_everything(*students)
    return students


@pytest.fixture
def at_once(settings: Any) -> Callable[[int], None]:
    """How many principals a batch has."""

    def change(number: int, **more: Any) -> None:
        settings.EDNA = {**settings.EDNA, "JOB_BATCH": number, **more}

    return change


def adds_up(report: JobReport) -> JobReport:
    """What a report says is what the tables say."""
    assert report.done + report.skipped + report.failed + report.left == report.total
    items = JobItem.objects.filter(job=report.id)
    assert report.failed == items.filter(state=JobItem.State.FAILED).count() == sum(report.failures.values())
    if report.state is not JobState.CANCELLED:
        assert report.left == items.filter(state=JobItem.State.PENDING).count()
    return report


def finished(report: JobReport, **kwargs: Any) -> JobReport:
    report = adds_up(jobs.run(report.id, progress=adds_up, **kwargs))
    assert report.state is JobState.FINISHED
    assert report.finished_on
    assert not JobRunner.objects.exists()
    return report


class Redaction:
    """Of an application that has not thought of everything."""

    refused: str | None = None

    @classmethod
    def make(cls, field: Any, original: Any) -> str:
        if cls.refused is not None and cls.refused in (original or ""):
            raise ZeroDivisionError(f"cannot redact {original!r}")
        return "redacted"


REDACTED = placeholders.Placeholder("redacted", Redaction.make, reads_original=True)


class Stubborn(Disguise):
    name = "test.stubborn"
    transformations = [Modify(Answer, owner="author", set={"text": REDACTED})]


@pytest.fixture
def stubborn(students: list[Student]) -> Iterator[type[Redaction]]:
    with registering(Stubborn):
        yield Redaction
    Redaction.refused = None


# What it does


@pytest.mark.parametrize("batch", [1, 3, 50])
def test_everybody_is_disguised_once_and_gets_everything_back(
    batch: int, students: list[Student], at_once: Any
) -> None:
    at_once(batch)
    before = application_dump()
    started = adds_up(jobs.start(ANONYMISE_ALL, operator="olga"))
    assert (started.state, started.total, started.done, started.left) == (JobState.RUNNING, NUMBER, 0, NUMBER)
    assert application_dump() == before
    report = finished(started)
    assert (report.done, report.skipped, report.failed, report.left) == (NUMBER, 0, 0, 0)
    assert report.seconds > 0
    assert report.rate_per_second
    assert report.remaining_seconds is None
    assert not Answer.objects.filter(author__is_anon=False).exists()
    for student in students:
        assert len(student.history()) == 1
        student.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_a_selection(students: list[Student], at_once: Any) -> None:
    at_once(2)
    chosen = students[:3]
    report = finished(jobs.start(DELETE, principals=User.objects.filter(pk__in=[each.user.pk for each in chosen])))
    assert not report.everybody
    assert report.done == 3
    assert set(User.objects.values_list("pk", flat=True)) == {each.user.pk for each in students[3:]}


@pytest.mark.once
def test_who_is_named_twice_is_disguised_once(students: list[Student]) -> None:
    report = finished(jobs.start(ANONYMISE_ALL, principals=[students[0].user, students[0].user]))
    assert report.total == 1
    assert len(students[0].history()) == 1


@pytest.mark.once
def test_a_job_for_nobody_is_finished_at_once(students: list[Student]) -> None:
    report = jobs.start(DELETE, principals=[])
    assert (report.state, report.total) == (JobState.FINISHED, 0)
    assert report.finished_on is not None
    assert jobs.run(report.id) == report


@pytest.mark.once
def test_everybody_includes_pseudoprincipals(students: list[Student]) -> None:
    edna.disguise_all(ANONYMISE_ALL)
    anonymous = set(User.objects.filter(is_anon=True).values_list("pk", flat=True))
    report = finished(jobs.start(ANONYMISE_ALL))
    assert report.total == len(anonymous)
    assert not Answer.objects.filter(author__in=anonymous).exists()
    for student in students:
        assert len(student.history()) == 1 + len(anonymous) // NUMBER
        student.reveal_everything()
    assert not User.objects.filter(is_anon=True).exists()


def test_the_same_number_of_statements_for_many_rows_and_principals(at_once: Any) -> None:
    at_once(100)

    def statements_of_a_batch(students: int, questions: int) -> int:
        Answer.objects.all().delete()
        lecture = make_course(lectures=2, questions=questions)[0].pk
        answer_everything(*enrol_many(students))
        job = jobs.start(ANONYMISE_LECTURE, params={"lecture": lecture})
        work = jobs.Work(job.id, edna.registry.get(job.disguise), User, {"lecture": lecture}, True, "", "default")
        counted = []
        found = statements(
            lambda: batches.perform(work, most=100, claimed=[], count=lambda *counts: counted.append(counts))
        )
        assert counted == [(students, 0)]
        return len([each for each in found if "SAVEPOINT" not in each])

    few = statements_of_a_batch(2, 2)
    assert statements_of_a_batch(40, 10) == few


@pytest.mark.once
def test_parameters_are_kept_as_text_and_read_back(students: list[Student]) -> None:
    first, other = Lecture.objects.order_by("pk")
    job = jobs.start(ANONYMISE_LECTURE, params={"lecture": first.pk})
    assert job.params == {"lecture": str(first.pk)}
    finished(job)
    assert not Answer.objects.filter(question__lecture=first, author__is_anon=False).exists()
    assert Answer.objects.filter(question__lecture=other, author__is_anon=False).count() == NUMBER * 2


def test_parameters_of_every_type_read_back() -> None:
    import uuid

    given = {
        "a": -5,
        "b": "Müller, \n true",
        "c": False,
        "d": 0.1,
        "e": decimal.Decimal("1.50"),
        "f": datetime.date(2026, 11, 21),
        "g": datetime.datetime(2026, 11, 21, 9, 5, 1, 17, tzinfo=datetime.UTC),
        "h": uuid.UUID(int=7),
    }

    class Everything(Disguise):
        name = "test.everything"
        params = {name: type(value) for name, value in given.items()}
        transformations = [Remove(Answer, owner="author")]

    with registering(Everything):
        job = jobs.start(Everything.name, params=given, principals=[])
        assert edna.spec.parsed_params(Everything, job.params) == given
        with pytest.raises(InvalidParameters):
            jobs.start(Everything.name, params=given | {"d": float("nan")}, principals=[])


# Refusals


@pytest.mark.once
def test_refused_before_anything_is_noted(students: list[Student], settings: Any) -> None:
    edna_before = edna_dump()
    refusals: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownDisguise, {"name": "no.such-disguise"}),
        (InvalidParameters, {"name": ANONYMISE_LECTURE}),
        (InvalidParameters, {"name": ANONYMISE_LECTURE, "params": {"lecture": "1"}}),
        (PrincipalError, {"name": DELETE, "principals": [students[0].user, Group(pk=1)]}),
        (PrincipalError, {"name": DELETE, "principals": [User()]}),
        (JobRefused, {"name": DELETE, "concurrency": 0}),
        (JobRefused, {"name": DELETE, "rate_per_second": 0.0}),
        (JobRefused, {"name": DELETE, "rate_per_second": float("inf")}),
    ]
    for error, kwargs in refusals:
        with pytest.raises(error):
            jobs.start(kwargs.pop("name"), **kwargs)
    stranger = User.objects.create_user("stranger@example.org")
    Answer.objects.filter(author=students[0].user).update(author=stranger)
    with pytest.raises(UnregisteredOwners, match="1 owner"):
        jobs.start(ANONYMISE_ALL)
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with pytest.raises(JobRefused, match="mode client"):
        jobs.start(DELETE, principals=[])
    assert edna_dump() == edna_before


@pytest.mark.once
def test_another_principal_model_is_refused() -> None:
    from apps.lobsters_sim.models import User as Lobster

    lobster = Lobster(pk=1)
    with nothing_changes(), pytest.raises(PrincipalError, match=r"websubmit\.User"):
        jobs.start(DELETE, principals=[lobster])


@pytest.mark.once
@pytest.mark.parametrize("act", [jobs.report, jobs.run, jobs.pause, jobs.resume, jobs.cancel, jobs.retry])
def test_no_such_job(act: Callable[[int], Any]) -> None:
    with pytest.raises(JobUnknown):
        act(1)


@pytest.mark.once
def test_a_job_is_named_by_its_number_or_by_a_report_of_it(students: list[Student]) -> None:
    job = jobs.start(DELETE)
    assert jobs.pause(job).state is JobState.PAUSED
    assert jobs.resume(jobs.report(job)).id == job.id
    assert jobs.run(job).done == jobs.report(job.id).total == len(students)


def test_a_job_is_not_run_in_client_mode(students: list[Student], settings: Any) -> None:
    """Started before the setting was changed: its receipts would be nobody's."""
    job = jobs.start(DELETE)
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    with nothing_changes(), pytest.raises(JobRefused):
        jobs.run(job.id)


def test_a_number_starts_one_job(students: list[Student]) -> None:
    first = jobs.start(DELETE, job_id=42)
    with nothing_changes():
        assert jobs.start(DELETE, job_id=42) == first
    assert first.id == 42


def test_job_numbers_say_nothing(students: list[Student]) -> None:
    ids = [jobs.start(DELETE, principals=[]).id for _ in range(8)]
    assert all(0 < each < 2**63 for each in ids)
    assert ids != sorted(ids) or ids != sorted(ids, reverse=True)
    assert max(ids) > 2**40


def test_the_list_is_in_no_order(students: list[Student]) -> None:
    """Neither of people's keys nor of when they came: some of seven orders are another one."""
    orders = set()
    for _ in range(7):
        job = jobs.start(DELETE)
        orders.add(tuple(JobItem.objects.filter(job=job.id).order_by("id").values_list("reference", flat=True)))
    assert len(orders) > 1


# Steering


@pytest.mark.once
def test_pause_resume_and_cancel(students: list[Student], at_once: Any) -> None:
    at_once(2)
    job = jobs.start(DELETE)
    job = adds_up(jobs.run(job.id, progress=lambda report: jobs.pause(report.id)))
    assert job.state is JobState.PAUSED
    assert job.done in (1, 2)  # the end of the list, where a batch may be small, is anywhere
    with nothing_changes():
        assert jobs.run(job.id).done == job.done
    assert jobs.waiting() == []
    jobs.resume(job.id)
    assert jobs.waiting() == [job.id]
    job = adds_up(jobs.run(job.id, progress=lambda report: jobs.cancel(report.id)))
    assert job.state is JobState.CANCELLED
    assert job.done in (2, 3, 4)
    assert not JobItem.objects.exists()
    assert User.objects.count() == job.left == NUMBER - job.done
    for act in (jobs.pause, jobs.resume, jobs.cancel, jobs.retry):
        with pytest.raises(JobRefused):
            act(job.id)
    for student in students:
        if student.history():
            student.reveal_everything()
    assert User.objects.count() == NUMBER


def test_what_is_paused_between_the_look_and_the_locks_is_not_done(students: list[Student]) -> None:
    job = jobs.start(DELETE)
    work = jobs.Work(job.id, edna.registry.get(DELETE), User, {}, True, "", "default")
    jobs.pause(job.id)
    with nothing_changes():
        assert batches.perform(work, most=5, claimed=[], count=lambda *_: None).found == 0


@pytest.mark.once
def test_what_is_paused_once_nobody_is_left_is_finished(students: list[Student]) -> None:
    """There would be nothing to resume."""
    job = jobs.start(DELETE, principals=[students[0].user]).id
    jobs.run(job, progress=lambda _: jobs.pause(job))  # called once everybody is done
    assert (jobs.report(job).state, jobs.report(job).left) == (JobState.FINISHED, 0)


@pytest.mark.once
def test_a_finished_job_is_not_paused_or_cancelled(students: list[Student]) -> None:
    job = finished(jobs.start(DELETE))
    for act in (jobs.pause, jobs.resume, jobs.cancel, jobs.retry):
        with nothing_changes(), pytest.raises(JobRefused):
            act(job.id)


@pytest.mark.once
def test_time_that_is_up(students: list[Student], at_once: Any) -> None:
    at_once(1)
    job = jobs.start(DELETE)
    assert jobs.run(job.id, seconds=0).done == 0
    stops = iter([False, False, True])
    job = jobs.run(job.id, stopping=lambda: next(stops, True))
    assert job.state is JobState.RUNNING
    assert 0 < job.done < NUMBER
    assert not JobRunner.objects.exists()
    finished(job)


@pytest.mark.once
def test_what_operators_do_is_in_the_trail(students: list[Student]) -> None:
    job = jobs.start(DELETE, operator="olga")
    jobs.pause(job.id, operator="per")
    jobs.resume(job.id, operator="olga")
    jobs.cancel(job.id, operator="per")
    trail = [(each.action, each.operator, each.disguise, each.details["job"]) for each in reversed(audit.entries())]
    assert trail == [
        ("start", "olga", DELETE, job.id),
        ("pause", "per", DELETE, job.id),
        ("resume", "olga", DELETE, job.id),
        ("cancel", "per", DELETE, job.id),
    ]
    assert audit.entries()[-1].details["principals"] == NUMBER
    assert audit.verify() == []


# Who has too many rows for one transaction


def chunks_of_receipt(student: Student) -> int:
    """How many chunks there are of the one disguise."""
    [entry] = student.history()
    with student.unlock() as unlocked:
        return len(chunks_of(entry.receipt.locator, unlocked.listed()))


@pytest.mark.parametrize("number", [1, 7])
def test_a_very_large_principal_is_disguised_in_chunks(students: list[Student], at_once: Any, number: int) -> None:
    at_once(number)
    before = application_dump()
    with cut_into_chunks(2):  # each has 5 rows
        report = finished(jobs.start(DELETE))
    assert (report.done, report.failures) == (NUMBER, {})
    assert {chunks_of_receipt(student) for student in students} == {3}
    for student in students:
        student.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
@pytest.mark.parametrize("disguise", [ANONYMISE_ALL, DELETE])
def test_what_is_paused_between_two_chunks_goes_on_under_the_same_receipt(
    students: list[Student], monkeypatch: pytest.MonkeyPatch, disguise: str
) -> None:
    before = application_dump()
    student = students[0]
    job = jobs.start(disguise, principals=[student.user])
    real, paused = chunked._Disguising.do, []

    def do(self: Any, part: Any) -> bool:
        again = real(self, part)
        if not paused:
            paused.append(jobs.pause(job.id))
        return again

    monkeypatch.setattr(chunked._Disguising, "do", do)
    with cut_into_chunks(2):
        report = adds_up(jobs.run(job.id))
        assert (report.state, report.done, report.left) == (JobState.PAUSED, 0, 1)
        assert chunks_of_receipt(student) == 1
        [entry] = student.history()
        jobs.resume(job.id)
        report = finished(job)
    assert (report.done, report.skipped) == (1, 0)
    assert [each.receipt for each in student.history()] == [entry.receipt]
    student.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_a_runner_whose_time_is_up_stops_between_two_chunks(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that goes on a day later does so under the same receipt."""
    job = jobs.start(DELETE, principals=[students[0].user])
    real, stop = chunked._Disguising.do, [False]

    def do(self: Any, part: Any) -> bool:
        again = real(self, part)
        stop[0] = True
        return again

    monkeypatch.setattr(chunked._Disguising, "do", do)
    with cut_into_chunks(2):
        report = jobs.run(job.id, stopping=lambda: stop[0])
        assert (report.done, report.left) == (0, 1)
        assert chunks_of_receipt(students[0]) == 1
        stop[0] = False
        monkeypatch.undo()
        with cut_into_chunks(2):
            assert finished(job).done == 1
    assert chunks_of_receipt(students[0]) == 3


@pytest.mark.once
def test_who_leaves_by_themselves_between_two_chunks_is_skipped(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their own disguise takes along what is left; everything comes back."""
    before = application_dump()
    job = jobs.start(ANONYMISE_ALL, principals=[students[0].user])
    real, left = chunked._Disguising.do, []

    def do(self: Any, part: Any) -> bool:
        again = real(self, part)
        if not left:
            left.append(edna.disguise(DELETE, students[0].user, atomic=True))
        return again

    monkeypatch.setattr(chunked._Disguising, "do", do)
    with cut_into_chunks(2):
        report = finished(job)
    assert (report.done, report.skipped) == (0, 1)
    students[0].reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_a_chunk_that_is_refused_fails_its_principal_alone_and_trying_again_does_the_rest(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    unlucky = str(students[0].user.pk)
    job = jobs.start(DELETE)
    real = chunked._Disguising.do

    def do(self: Any, part: Any) -> bool:
        if self.chunk.number == 1 and self.target.entry.reference == unlucky:
            raise IntegrityError("a value of somebody's row")
        return real(self, part)

    monkeypatch.setattr(chunked._Disguising, "do", do)
    with cut_into_chunks(2):
        report = finished(job)
        assert (report.done, report.failures) == (NUMBER - 1, {"ConstraintRefused": 1})
        [entry] = students[0].history()
        monkeypatch.setattr(chunked._Disguising, "do", real)
        jobs.retry(job.id)
        assert finished(job).done == NUMBER
    assert [each.receipt for each in students[0].history()] == [entry.receipt]


@pytest.mark.once
def test_for_good_nobody_is_cut(students: list[Student]) -> None:
    with cut_into_chunks(2):
        assert finished(jobs.start(DELETE, operator="olga", keep_no_way_back=True)).done == NUMBER
    assert User.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_whoever_runs_jobs_hears_of_them_once_they_are_there(students: list[Student]) -> None:
    heard: list[tuple[int, bool]] = []

    def listen(*, job: int, **_: Any) -> None:
        heard.append((job, Job.objects.filter(pk=job).exists()))
        raise ZeroDivisionError("fails nobody")

    signals.job_ready.connect(listen)
    try:
        job = jobs.start(DELETE)
        jobs.pause(job.id)
        jobs.resume(job.id)
        with pytest.raises(JobRefused):
            jobs.retry(job.id)
    finally:
        signals.job_ready.disconnect(listen)
    assert heard == [(job.id, True)] * 2


# Who is not there any more


@pytest.mark.once
def test_who_has_left_meanwhile_is_skipped_and_on_no_list(students: list[Student]) -> None:
    job = jobs.start(ANONYMISE_ALL)
    gone = students[0]
    gone.disguise(DELETE)
    assert not JobItem.objects.filter(reference=str(gone.user.pk)).exists()
    assert adds_up(jobs.report(job.id)).skipped == 1
    report = finished(job)
    assert (report.done, report.skipped) == (NUMBER - 1, 1)
    assert len(gone.history()) == 1


@pytest.mark.once
def test_who_has_left_while_failed_is_on_no_list(stubborn: type[Redaction], students: list[Student]) -> None:
    stubborn.refused = students[0].email
    report = finished(jobs.start(Stubborn.name))
    assert report.failed == 1
    students[0].disguise(DELETE)
    report = adds_up(jobs.report(report.id))
    assert (report.failed, report.skipped) == (0, 1)


@pytest.mark.once
def test_whose_row_the_application_has_deleted_is_skipped(students: list[Student]) -> None:
    job = jobs.start(DELETE)
    User.objects.filter(pk=students[0].user.pk).delete()  # with signals: the entry is let go of
    queryset = User.objects.filter(pk=students[1].user.pk)
    Answer.objects.filter(author__in=queryset).delete()
    queryset._raw_delete(queryset.db)  # behind our back
    report = finished(job)
    assert (report.done, report.skipped) == (NUMBER - 2, 2)


@pytest.mark.once
def test_who_has_no_key_is_skipped(students: list[Student]) -> None:
    stranger = User.objects.create_user("stranger@example.org")
    report = finished(jobs.start(DELETE, principals=[stranger, students[0].user]))
    assert (report.done, report.skipped) == (1, 1)
    assert User.objects.filter(pk=stranger.pk).exists()


@pytest.mark.once
def test_tidy_takes_out_who_has_no_key_any_more(students: list[Student]) -> None:
    job = jobs.pause(jobs.start(DELETE).id)
    edna.models.PrincipalEntry.objects.filter(reference=str(students[0].user.pk)).delete()
    assert jobs.tidy() == 1
    assert jobs.tidy() == 0
    report = adds_up(jobs.report(job.id))
    assert (report.skipped, report.left) == (1, NUMBER - 1)


@pytest.mark.once
def test_tidy_ends_what_an_interrupted_cancel_has_left(students: list[Student]) -> None:
    job = jobs.start(DELETE)
    Job.objects.filter(pk=job.id).update(state=JobState.CANCELLED)
    jobs.tidy()
    assert not JobItem.objects.exists()


@pytest.mark.once
def test_who_fails_while_the_job_is_cancelled_is_on_no_list(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner had them in hand."""
    job = jobs.start(DELETE)
    item = JobItem.objects.filter(job=job.id).values_list("id", flat=True)[0]
    delete = store_jobs.delete_some_items

    def fail_before(*args: Any, **kwargs: Any) -> int:
        store_jobs.note_failure(item, reason="ZeroDivisionError", for_good=True, using="default")
        return delete(*args, **kwargs)

    monkeypatch.setattr(store_jobs, "delete_some_items", fail_before)
    report = adds_up(jobs.cancel(job.id))
    assert (report.failed, report.left) == (0, NUMBER)
    assert not JobItem.objects.exists()


@pytest.mark.once
def test_who_leaves_is_off_the_lists_of_jobs_whose_code_is_gone(students: list[Student]) -> None:
    with registering(Stubborn):
        job = jobs.pause(jobs.start(Stubborn.name).id)
    students[0].disguise(DELETE)
    edna.models.PrincipalEntry.objects.filter(reference=str(students[1].user.pk)).delete()
    assert jobs.tidy() == 1
    report = adds_up(jobs.report(job.id))
    assert (report.skipped, report.left) == (2, NUMBER - 2)


def test_a_thief_finds_nobody_who_was_disguised(students: list[Student], at_once: Any) -> None:
    at_once(3)
    user = User.objects.create(pk=7_654_321_987, email="bea@example.org")
    edna.register_principal(user)
    job = jobs.start(DELETE)
    needles: dict[str, Any] = {"key": user.pk, "address": user.email}
    assert finds(loot(), needles) == ["key", "address"]
    finished(job)
    assert finds(loot(), needles) == []


# Failures


def test_a_failure_is_one_principals(
    stubborn: type[Redaction], students: list[Student], at_once: Any, caplog: pytest.LogCaptureFixture
) -> None:
    at_once(5)
    unlucky = students[3]
    stubborn.refused = unlucky.email
    report = finished(jobs.start(Stubborn.name))
    assert (report.done, report.failed, report.failures) == (NUMBER - 1, 1, {"ZeroDivisionError": 1})
    assert set(unlucky.texts().values()) != {"redacted"}
    assert unlucky.email not in caplog.text
    assert finds(loot(), {"words": "cannot redact"}) == []
    assert jobs.waiting() == []

    stubborn.refused = None
    again = jobs.retry(report.id)
    assert (again.state, again.left, again.failed, again.finished_on) == (JobState.RUNNING, 1, 0, None)
    report = finished(again)
    assert (report.done, report.failed) == (NUMBER, 0)
    for student in students:
        assert len(student.history()) == 1
        assert set(student.texts().values()) == {"redacted"}


@pytest.mark.once
def test_everybody_fails(stubborn: type[Redaction], students: list[Student]) -> None:
    stubborn.refused = "An answer"
    before = application_dump()
    report = finished(jobs.start(Stubborn.name))
    assert (report.done, report.failures) == (0, {"ZeroDivisionError": NUMBER})
    assert application_dump() == before


@pytest.mark.once
def test_failures_are_given_up(stubborn: type[Redaction], students: list[Student]) -> None:
    stubborn.refused = students[0].email
    job = finished(jobs.start(Stubborn.name))
    report = adds_up(jobs.cancel(job.id))
    assert (report.state, report.failed, report.skipped) == (JobState.FINISHED, 0, 1)
    assert not JobItem.objects.exists()


@pytest.mark.once
def test_retrying_a_paused_job_leaves_it_paused(
    stubborn: type[Redaction], students: list[Student], at_once: Any
) -> None:
    at_once(1)
    stubborn.refused = "An answer"
    job = jobs.run(jobs.start(Stubborn.name).id, progress=lambda report: jobs.pause(report.id))
    assert (job.state, job.failed) == (JobState.PAUSED, 1)
    assert jobs.retry(job.id).state is JobState.PAUSED


def test_a_constraint_is_the_reason_and_not_its_words(students: list[Student]) -> None:
    class Clash(Disguise):
        name = "test.clash"
        transformations = [Modify(User, set={"email": "same@example.org"})]

    with registering(Clash):
        report = finished(jobs.start(Clash.name))
    assert (report.done, report.failures) == (1, {"ConstraintRefused": NUMBER - 1})


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the disguise of these principals fail."""
    execute = batches.disguising.execute

    def change(error: Exception, times: int, *unlucky: Student) -> None:
        references = {str(each.user.pk) for each in unlucky}
        left = [times]

        def fail(plan: Any, **kwargs: Any) -> Any:
            if left[0] and any(target.entry.reference in references for target in plan.targets):
                left[0] -= 1
                raise error
            return execute(plan, **kwargs)

        monkeypatch.setattr(batches.disguising, "execute", fail)

    monkeypatch.setattr("edna.operations.jobs.runner._LOOK_SECONDS", 0.001)
    return change


def test_who_is_locked_by_others_is_tried_again_later(
    students: list[Student], failing: Callable[..., None], at_once: Any
) -> None:
    at_once(4)
    failing(DatabaseBusy("busy"), MOST_ATTEMPTS - 1, students[0])
    report = finished(jobs.start(DELETE))
    assert (report.done, report.failed) == (NUMBER, 0)


def test_who_stays_locked_has_failed(students: list[Student], failing: Callable[..., None]) -> None:
    failing(DatabaseBusy("busy"), 1000, students[0])
    report = finished(jobs.start(DELETE))
    assert (report.done, report.failures) == (NUMBER - 1, {"DatabaseBusy": 1})
    [item] = JobItem.objects.all()
    assert item.attempts == MOST_ATTEMPTS


# One runner and others


def test_no_more_runners_than_it_allows(students: list[Student]) -> None:
    job = jobs.start(DELETE, concurrency=1)
    now = datetime.datetime.now(datetime.UTC)
    other = jobrunners.add_runner(job.id, name="elsewhere:1", now=now, using="default", done=0)
    assert jobs.report(job.id).runners == 1
    assert jobs.waiting() == []
    assert jobs.run(job.id).done == 0
    long_ago = now - datetime.timedelta(minutes=2)
    JobRunner.objects.filter(pk=other).update(seen_at=long_ago, done=0, skipped=0, seconds=3.0)
    assert jobs.waiting() == [job.id]
    report = finished(job)
    assert report.done == NUMBER
    assert report.seconds > 3.0


@pytest.mark.once
def test_a_runner_of_this_machine_whose_process_is_gone_is_dead_at_once(students: list[Student]) -> None:
    import socket
    import subprocess
    import sys

    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    job = jobs.start(DELETE, concurrency=1)
    now = datetime.datetime.now(datetime.UTC)
    jobrunners.add_runner(job.id, name=f"{socket.gethostname()}:{child.pid}", now=now, using="default")
    assert jobs.waiting() == [job.id]
    finished(job)


@pytest.mark.once
def test_a_row_that_a_runner_of_this_process_has_left_behind_is_nobodys(students: list[Student]) -> None:
    """It lost the database, and could not clear up."""
    job = jobs.start(DELETE, concurrency=1)
    now = datetime.datetime.now(datetime.UTC)
    jobrunners.add_runner(job.id, name=runner._name(), now=now, using="default", seconds=3.0)
    assert jobs.waiting() == [job.id]
    assert finished(job).seconds > 3.0
    assert not runner._at_work


def test_the_counts_of_a_runner_that_was_taken_for_dead_are_not_lost(students: list[Student], at_once: Any) -> None:
    at_once(2)
    job = jobs.start(DELETE)

    def bury(report: JobReport) -> None:
        for each in jobrunners.runners_of([job.id], using="default"):
            jobrunners.fold_runners(job.id, [each.id], using="default")
        adds_up(jobs.report(job.id))

    jobs.run(job.id, progress=bury)
    report = adds_up(jobs.report(job.id))
    assert (report.state, report.done) == (JobState.FINISHED, NUMBER)


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("edna.operations.jobs.runner.time", made)
    return made


@pytest.mark.once
@pytest.mark.parametrize(
    ("rate", "others", "seconds"), [(2.0, 0, 3.5), (2.0, 1, 7.0), (0.5, 0, 14.0), (100.0, 0, 0.07)]
)
def test_no_faster_than_the_limit(
    rate: float, others: int, seconds: float, students: list[Student], clock: Clock
) -> None:
    """Each of several takes its part, and no batch is more than a second's worth."""
    job = jobs.start(DELETE, rate_per_second=rate, concurrency=5)
    for _ in range(others):
        now = datetime.datetime.now(datetime.UTC)
        jobrunners.add_runner(job.id, name="elsewhere:1", now=now, using="default")
    seen: list[int] = [0]
    report = jobs.run(job.id, progress=lambda report: seen.append(report.done))
    assert report.done == NUMBER
    assert clock.now == pytest.approx(seconds, abs=0.01)
    assert max(after - before for before, after in pairwise(seen)) <= max(1, rate / (1 + others))


@pytest.mark.once
def test_many_short_runs_are_no_faster_than_a_long_one(students: list[Student], clock: Clock) -> None:
    job = jobs.start(DELETE, rate_per_second=0.5)
    for _ in range(40):
        report = jobs.run(job.id, seconds=1.0)
        assert report.done <= clock.now / 2 + 1
    assert report.state is JobState.FINISHED


@pytest.mark.once
def test_a_runner_that_waits_is_woken_by_a_pause(students: list[Student], clock: Clock) -> None:
    job = jobs.start(DELETE, rate_per_second=0.001)
    ticks: list[float] = []

    def sleep(seconds: float) -> None:
        ticks.append(seconds)
        clock.now += seconds
        if clock.now > 200:
            jobs.pause(job.id)

    clock.sleep = sleep  # type: ignore[method-assign]
    report = jobs.run(job.id)
    assert (report.state, report.done) == (JobState.PAUSED, 1)
    assert 200 < clock.now < 202
    assert max(ticks) <= 1
    assert report.seconds > 180  # told in between: it is not taken for dead


def test_large_principals_are_alone_in_their_transaction(students: list[Student], at_once: Any) -> None:
    at_once(7, CHUNK_ROWS=10)  # each has 5 rows
    seen: list[int] = []
    job = jobs.start(DELETE)
    finished_now = jobs.run(job.id, progress=lambda report: seen.append(report.done))
    assert finished_now.done == NUMBER
    steps = [after - before for before, after in zip([0, *seen], seen, strict=False)]
    assert max(steps) <= 2
    for student in students:
        assert len(student.history()) == 1
        student.reveal_everything()


@pytest.mark.django_db(transaction=True)
def test_a_database_that_was_away_loses_nothing(
    students: list[Student], at_once: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once(2)
    execute = batches.disguising.execute
    troubles = iter([False, True, True, False, True, False, False, False])
    monkeypatch.setattr("edna.operations.jobs.runner._FIRST_PAUSE_SECONDS", 0.001)

    def fail(plan: Any, **kwargs: Any) -> Any:
        if next(troubles):
            raise OperationalError("server has gone away: bea@example.org")
        return execute(plan, **kwargs)

    monkeypatch.setattr(batches.disguising, "execute", fail)
    report = finished(jobs.start(DELETE))
    assert (report.done, report.failed) == (NUMBER, 0)


@pytest.mark.django_db(transaction=True)
def test_what_the_database_always_refuses_is_one_principals_failure(
    students: list[Student], failing: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A packet that is too large, say: to a driver that looks like a server that is away."""
    monkeypatch.setattr("edna.operations.jobs.runner._LONGEST_PAUSE_SECONDS", 0.001)
    failing(OperationalError("packet too large"), 1000, students[0])
    report = finished(jobs.start(DELETE))
    assert (report.done, report.failures) == (NUMBER - 1, {"OperationalError": 1})


def test_an_error_before_anybody_is_in_hand_is_the_callers(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = jobs.start(DELETE)

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise DatabaseError("no such table")

    monkeypatch.setattr(store_jobs, "claim", broken)
    with pytest.raises(DatabaseError):
        jobs.run(job.id)
    assert adds_up(jobs.report(job.id)).left == NUMBER


def test_a_name_that_is_too_long_is_cut_off(students: list[Student]) -> None:
    report = jobs.start(DELETE, principals=[students[0].user], operator="o" * 300)
    assert report.operator == "o" * 255
    assert audit.entries()[0].operator == "o" * 255
