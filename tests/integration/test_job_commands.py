"""`edna_run`, `edna_jobs` and ``edna_disguise --job``, as they are typed, and as processes that are asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from apps.websubmit.models import Answer, User
from edna.operations import audit, jobs
from edna.operations.jobs import JobState, batches
from edna.operations.models import JobItem
from tests.installed import registering
from tests.integration.shell import refused
from tests.integration.test_jobs import Stubborn
from tests.support import ANONYMISE_LECTURE, DELETE, Student, answer_everything, enrol_many, make_course
from tests.waiting import WAIT_SECONDS, eventually

ROOT = Path(__file__).resolve().parents[2]
NUMBER = 5

#: What is typed and said; jobs themselves are in test_jobs.py, on each database.
pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]


@pytest.fixture
def students() -> list[Student]:
    make_course()
    students = enrol_many(NUMBER)
    answer_everything(*students)
    return students


@pytest.fixture
def one_fails(students: list[Student], monkeypatch: pytest.MonkeyPatch) -> Student:
    """The disguise of this one raises an error, as long as there is the address."""
    unlucky, execute = students[0], batches.disguising.execute

    def fail(plan: Any, **kwargs: Any) -> Any:
        there = User.objects.filter(email=unlucky.email).exists()
        if there and any(target.entry.reference == str(unlucky.user.pk) for target in plan.targets):
            raise ZeroDivisionError(unlucky.email)
        return execute(plan, **kwargs)

    monkeypatch.setattr(batches.disguising, "execute", fail)
    return unlucky


def test_run_works_off_all_that_wait(students: list[Student], typed: Any) -> None:
    assert typed("edna_run").out == "No job is waiting.\n"
    half = len(students) // 2
    several = [jobs.start(DELETE, principals=[s.user for s in part]) for part in (students[:half], students[half:])]
    ran = typed("edna_run")
    assert ran.code == 0
    assert sorted(ran.out.splitlines()) == sorted(
        f"Job {job.id}, {DELETE}: finished; {job.total} of {job.total} disguised." for job in several
    )
    assert f"{half} of {half}" in ran.err
    assert User.objects.count() == 0
    assert typed("edna_run", "--json").json == {"jobs": []}


def test_run_one_job_and_leave_others(students: list[Student], typed: Any) -> None:
    one, other = (jobs.start(DELETE, principals=[student.user]) for student in students[:2])
    document = typed("edna_run", one.id, "--json").json
    assert [(each["id"], each["state"], each["done"]) for each in document["jobs"]] == [(one.id, "finished", 1)]
    assert jobs.report(other.id).done == 0
    jobs.pause(other.id)
    refused(typed("edna_run", other.id), "is paused", f"edna_jobs resume {other.id}")
    refused(typed("edna_run", 1), "no job 1")


def test_run_says_when_some_have_failed(one_fails: Student, typed: Any) -> None:
    job = jobs.start(DELETE)
    ran = typed("edna_run")
    assert ran.code == 3
    assert ran.out == f"Job {job.id}, {DELETE}: finished; 4 of 5 disguised, 1 failed.\n"
    assert one_fails.email not in ran.out + ran.err
    shown = typed("edna_jobs", "show", job.id)
    assert "failed: ZeroDivisionError" in shown.out
    User.objects.filter(pk=one_fails.user.pk).update(email="other@example.org")
    assert typed("edna_jobs", "retry", job.id).code == 0
    assert typed("edna_run", job.id).code == 0


def test_a_job_that_cannot_be_worked_on_keeps_no_other_from_it(students: list[Student], typed: Any) -> None:
    """People who leave are taken off its list, too; whoever stays is left on it."""
    with registering(Stubborn):
        stuck = jobs.start(Stubborn.name)
    fine = jobs.start(DELETE, principals=[students[0].user])
    ran = typed("edna_run")
    assert ran.code == 3
    assert "No disguise is called" in ran.err
    assert jobs.report(fine.id).state is JobState.FINISHED
    assert (jobs.report(stuck.id).left, jobs.report(stuck.id).skipped) == (NUMBER - 1, 1)


def test_the_time_is_up(students: list[Student], typed: Any) -> None:
    job = jobs.start(DELETE)
    ran = typed("edna_run", job.id, "--seconds", 0)
    assert (ran.code, jobs.report(job.id).done) == (0, 0)
    assert f"{NUMBER} left" in ran.out


def test_jobs_are_listed_and_shown(students: list[Student], typed: Any) -> None:
    assert typed("edna_jobs").out == "There is no job.\n"
    lecture = Answer.objects.values_list("question__lecture", flat=True).first()
    job = jobs.start(ANONYMISE_LECTURE, params={"lecture": lecture}, operator="olga", rate_per_second=2.5)
    listed = typed("edna_jobs", "list")
    assert str(job.id) in listed.out
    assert "waiting for a worker" in listed.out
    [document] = typed("edna_jobs", "--unfinished", "--json").json["jobs"]
    assert document["id"] == job.id
    assert document["left"] == NUMBER
    shown = typed("edna_jobs", "show", job.id).out
    for words in ("olga", "everybody", f"{lecture}", "2.5 a second", "0 of at most 2"):
        assert words in shown
    assert typed("edna_jobs", "show", job.id, "--json").json["params"] == {"lecture": str(lecture)}


def test_jobs_are_steered(students: list[Student], typed: Any) -> None:
    job = jobs.start(DELETE)
    for action, state in (("pause", "paused"), ("resume", "waiting for a worker"), ("cancel", "cancelled")):
        ran = typed("edna_jobs", action, job.id, "--operator", "olga")
        assert ran.code == 0
        assert f"{DELETE}: {state}; 0 of 5 disguised" in ran.out
    assert "5 never done" in ran.out
    assert [each.operator for each in audit.entries()[:3]] == ["olga"] * 3
    refused(typed("edna_jobs", "retry", job.id), "is cancelled")
    refused(typed("edna_jobs", "pause", 1), "no job 1")
    refused(typed("edna_jobs", "pause"), "needs the number", code=2)
    refused(typed("edna_jobs", "list", 1), "takes no job", code=2)


def test_disguise_as_a_job(students: list[Student], typed: Any) -> None:
    ran = typed("edna_disguise", DELETE, "--all", "--job", "--yes")
    assert ran.code == 0
    assert "5 of 5 disguised" in ran.out
    assert "edna_run" in ran.err
    assert User.objects.count() == 0
    for student in students:
        student.reveal_everything()
    document = typed("edna_disguise", DELETE, "--all", "--job", "--yes", "--json").json
    assert (document["done"], document["state"]) == (5, "finished")


def test_disguise_as_a_job_says_when_some_have_failed(one_fails: Student, typed: Any) -> None:
    ran = typed("edna_disguise", DELETE, "--all", "--job", "--yes")
    assert ran.code == 3
    assert "4 of 5 disguised, 1 failed" in ran.out


def test_a_job_is_for_everybody_and_hands_out_no_receipts(
    students: list[Student],
    typed: Any,
    tmp_path: Path,
) -> None:
    refused(typed("edna_disguise", DELETE, "--principal", students[0].email, "--job"), "--job goes with --all", code=2)
    refused(typed("edna_disguise", DELETE, "--all", "--job", "--receipts", tmp_path / "r"), "--receipts", code=2)
    assert not JobItem.objects.exists()


def test_a_job_is_confirmed(students: list[Student], typed: Any) -> None:
    refused(typed("edna_disguise", DELETE, "--all", "--job", stdin="no\n"), "Not confirmed")
    assert jobs.reports() == []


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.django_db(transaction=True)
def test_a_process_that_is_asked_to_stop_stops_after_the_batch(asked: signal.Signals, students: list[Student]) -> None:
    """At one principal in five minutes, it would not come to the second."""
    job = jobs.start(DELETE, rate_per_second=1 / 300)
    name = connections["default"].settings_dict["NAME"]
    code = (
        "import django; from django.conf import settings; django.setup(); from django.db import connections;"
        f"connections['default'].settings_dict['NAME'] = {name!r};"
        "from django.core.management import execute_from_command_line;"
        f"execute_from_command_line(['manage.py', 'edna_run', '{job.id}'])"
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings_test"}
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        eventually(lambda: jobs.report(job.id).done)
        process.send_signal(asked)
        out, err = process.communicate(timeout=WAIT_SECONDS)
    finally:
        process.kill()
    report = jobs.report(job.id)
    assert process.returncode == 0, err
    assert f"{report.left} left" in out
    assert (report.state, report.runners) == (JobState.RUNNING, 0)
    assert 0 < report.done < NUMBER
