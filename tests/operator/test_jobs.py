"""The pages about jobs, about the site's health, and the audit trail."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from edna.operations import audit, jobs
from edna.operations.admin import words
from edna.operations.jobs import JobState
from edna.operations.models import Job
from edna.testing.search import finds
from tests.operator.conftest import Operator, Refusal, Stubborn, address
from tests.operator.test_disguises import text_of
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    answer_everything,
    enrol,
    enrol_many,
    make_course,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def students(db: None) -> list[Student]:
    make_course()
    students = enrol_many(4)
    answer_everything(*students)
    return students


def begun(students: list[Student], name: str = ANONYMISE_ALL) -> int:
    return jobs.start(name, principals=[student.user for student in students], operator="olga@example.org").id


def live(operator: Operator, job: int) -> dict[str, Any]:
    (found,) = operator.get("job_progress", job).json()["jobs"]
    return dict(found)


# Running


def test_a_running_job_shows_how_far_it_is(operator: Operator, students: list[Student]) -> None:
    with override_settings(EDNA={**settings.EDNA, "JOB_BATCH": 1}):
        job = begun(students)
        jobs.run(job, progress=lambda report: jobs.pause(job) if report.done == 3 else None)
        jobs.resume(job)
    text = text_of(operator.get("job_job", job))
    assert f"{ANONYMISE_ALL} waiting for a worker" in text
    assert "running" not in text
    assert "3 of 4 done 1 still to do 0 skipped 0 failed" in text
    assert re.search(r"[\d,.]+ per (second|minute) rate", text)
    assert "No process works on it now. Start one: manage.py edna_run" in text
    found = live(operator, job)
    assert (found["id"], found["percent"]) == (str(job), 75)
    assert (found["figures"]["done"], found["figures"]["left"]) == ("3", "1")
    assert operator.get("job_progress_of_all").json()["jobs"][0]["id"] == str(job)
    assert "3 of 4 done" in text_of(operator.get("job_changelist"))


def test_the_page_is_made_anew_when_more_than_its_figures_has_changed(
    operator: Operator, students: list[Student]
) -> None:
    job = begun(students)
    before = live(operator, job)["version"]
    assert f'data-version="{before}"' in operator.html("job_job", job)
    jobs.pause(job)
    paused = live(operator, job)["version"]
    jobs.resume(job)
    jobs.run(job)
    assert len({before, paused, live(operator, job)["version"]}) == 3


@pytest.mark.parametrize(
    ("action", "state"), [("pause", JobState.PAUSED), ("resume", JobState.RUNNING), ("cancel", JobState.CANCELLED)]
)
def test_a_job_is_steered_and_the_trail_says_by_whom(
    operator: Operator, students: list[Student], action: str, state: JobState
) -> None:
    job = begun(students)
    answer = operator.post("job_action", job, action)
    assert (answer.status_code, answer.url) == (302, address("job_job", job))
    assert jobs.report(job).state is state
    newest = audit.entries()[0]
    assert (newest.action, newest.operator, newest.details) == (action, "olga@example.org", {"job": job})


def test_what_cannot_be_done_to_a_job_is_said(operator: Operator, students: list[Student]) -> None:
    job = begun(students)
    jobs.run(job)
    answer = operator.client.post(address("job_action", job, "pause"), follow=True)
    assert f"Job {job} is finished: pause does not apply to it." in answer.content.decode()


@pytest.mark.parametrize("job", [1, 2**63 - 1, 2**63, 10**30])
def test_an_unknown_job_is_not_found(operator: Operator, job: int) -> None:
    assert operator.get("job_job", job).status_code == 404
    assert operator.get("job_progress", job).status_code == 404
    assert operator.post("job_action", job, "cancel").status_code == 404
    assert operator.post("job_action", 1, "reveal").status_code == 404


# Over


def test_a_finished_job_shows_counts_duration_failures_by_reason_and_retries(
    operator: Operator, students: list[Student], refusal: type[Refusal]
) -> None:
    refusal.key = str(students[0].user.pk)
    job = begun(students, Stubborn.name)
    jobs.run(job)
    text = text_of(operator.get("job_job", job))
    assert "3 of 4 done" in text
    assert "1 failed" in text
    assert "ZeroDivisionError" in text
    assert "Retry what failed" in text
    assert "An answer" not in text
    assert "finished, 1 failed" in text_of(operator.get("job_changelist"))

    refusal.key = ""
    assert "Retry" in text
    operator.post("job_action", job, "retry")
    jobs.run(job)
    text = text_of(operator.get("job_job", job))
    assert "4 of 4 done" in text
    assert "What failed" not in text
    assert "Retry" not in text


def test_a_job_that_failed_for_all_is_neither_finished_nor_green(
    operator: Operator, students: list[Student], refusal: type[Refusal]
) -> None:
    refusal.key = str(students[0].user.pk)
    job = jobs.start(Stubborn.name, principals=[students[0].user]).id
    jobs.run(job)
    for page in (operator.html("job_job", job), operator.html("job_changelist")):
        assert '<span class="edna-badge edna-bad">failed</span>' in page
        assert "edna-good" not in page


def test_a_job_is_running_while_somebody_works_on_it(operator: Operator, students: list[Student]) -> None:
    job = begun(students)
    assert "edna-good" not in operator.html("job_job", job)
    shown = []
    with override_settings(EDNA={**settings.EDNA, "JOB_BATCH": 1}):
        jobs.run(job, progress=lambda report: shown.append(operator.html("job_job", job)))
    assert '<span class="edna-badge edna-good">running</span>' in shown[0]
    assert '<span class="edna-badge edna-good">finished</span>' in operator.html("job_job", job)


def test_a_job_that_this_site_did_not_note_is_refused_and_has_no_button(
    operator: Operator, students: list[Student]
) -> None:
    """Whatever it says of itself, in whatever shape."""
    job = begun(students)
    for state, params in (("running", {}), ("paused", ["x"]), ("finished", {"a": {"b": 1}}), ("no such", "text")):
        Job.objects.filter(pk=job).update(state=state, params=params, operator="somebody else")
        page = operator.get("job_job", job)
        assert "This site did not note this job" in text_of(page)
        assert '<span class="edna-badge edna-bad">refused</span>' in page.content.decode()
        assert address("job_action", job, "cancel").rpartition("/cancel")[0] not in re.findall(
            r'action="([^"]+)/\w+/"', page.content.decode()
        )
        assert "refused" in text_of(operator.get("job_changelist")) or state == "no such"
    assert operator.post("job_action", job, "resume").status_code == 302
    assert Job.objects.get(pk=job).state == "no such"


def test_reasons_of_edna_come_with_what_to_do() -> None:
    cause, remedy = words.reason("ConstraintRefused")
    assert cause.startswith("The database refused the disguise")
    assert "unique placeholder" in remedy
    assert words.reason("ZeroDivisionError") == (
        "An error of the kind ZeroDivisionError.",
        "The log of the runner says where it happened.",
    )
    assert words.reason("annotations")[0] == "An error of the kind annotations."


def test_without_jobs_the_page_says_so(operator: Operator) -> None:
    text = text_of(operator.get("job_changelist"))
    assert "No job is running or paused." in text
    assert "No job is over yet." in text


def test_queries_do_not_depend_on_how_many_jobs_there_are(operator: Operator, students: list[Student]) -> None:
    def shown() -> int:
        return len(statements(lambda: operator.get("job_changelist")))

    for student in students[:2]:
        jobs.run(begun([student]))
        begun([student])
    few = shown()
    for student in students[2:] * 3:
        jobs.run(begun([student]))
        begun([student])
    assert shown() == few


# Health


def test_health_shows_pool_storage_and_what_needs_attention(operator: Operator, students: list[Student]) -> None:
    assert "Nothing is under disguise." in text_of(operator.get("sitehealth_changelist"))
    with override_settings(EDNA={**settings.EDNA, "RETENTION_DAYS": 30}):
        students[0].disguise(DELETE)
    students[1].disguise(DELETE)
    with nothing_changes():
        text = text_of(operator.get("sitehealth_changelist"))
    for words_shown in (
        "Runners and workers ok",
        "Schedules",
        "keys ready",
        "refill rate",
        "For good",
        "Legal hold",
        "System checks",
        "Nothing has been noted yet.",
    ):
        assert words_shown in text
    assert finds(text.encode(), {"email": students[2].email}) == []


def test_health_says_when_the_trail_was_tampered_with(operator: Operator, students: list[Student]) -> None:
    begun(students)
    assert "The only entry verifies." in text_of(operator.get("sitehealth_changelist"))
    begun(students)
    assert "All 2 entries verify." in text_of(operator.get("sitehealth_changelist"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE edna_auditentry SET operator = 'otto' WHERE id = 2")
    assert "1 of 2 entries do not verify, the first of them number 2." in text_of(operator.get("sitehealth_changelist"))


def test_health_does_not_read_a_trail_without_end(
    operator: Operator, students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(students)
    monkeypatch.setattr("edna.operations.admin.health._MOST_VERIFIED", 0)
    assert "1 entry: too many to verify while you wait" in text_of(operator.get("sitehealth_changelist"))


# Audit trail


def trail(operator: Operator, **query: str) -> str:
    answer = operator.client.get(address("auditentry_changelist"), query)
    assert answer.status_code == 200
    return re.sub(r"<[^>]*>", " ", answer.content.decode().partition('id="result_list"')[2].partition("</table>")[0])


def test_the_trail_names_operators_and_disguises_and_nobody_else(operator: Operator, students: list[Student]) -> None:
    bea = enrol("bea@example.org", pk=7_654_310_928_377)
    job = begun([bea, *students], DELETE)
    jobs.run(job)
    text = trail(operator)
    assert "olga@example.org" in text
    assert DELETE in text
    assert "principals 5" in text
    assert f'href="{address("job_job", job)}"' in operator.html("auditentry_changelist")
    assert str(bea.user.pk) not in operator.html("auditentry_changelist")
    assert bea.email not in text


def test_the_trail_is_filtered_and_searched(operator: Operator, students: list[Student]) -> None:
    jobs.cancel(begun(students), operator="otto")
    audit.note("scrub", operator="")
    assert "cancel" not in trail(operator, action__exact="start")
    assert "olga" not in trail(operator, action__exact="cancel")
    assert "scrub" not in trail(operator, disguise__exact=ANONYMISE_ALL)
    assert "olga" not in trail(operator, q="otto")
    assert "not named: a schedule, or code" in trail(operator, action__exact="scrub")


def test_an_entry_is_not_changed_from_here(operator: Operator, students: list[Student]) -> None:
    begun(students)
    with nothing_changes():
        for data in (
            {"action": "delete_selected", "_selected_action": ["1"], "post": "yes"},
            {"_save": "Save", "form-0-operator": "otto"},
        ):
            operator.client.post(address("auditentry_changelist"), data)
        operator.client.post(f"{address('auditentry_changelist')}1/change/", {"operator": "otto"})
        operator.client.post(f"{address('auditentry_changelist')}1/delete/", {"post": "yes"})
