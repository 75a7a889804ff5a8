"""Whoever goes leaves nothing in what edna keeps beside bags and entries."""

from __future__ import annotations

import pytest
from django.utils import timezone

from edna.operations import jobs
from edna.operations.models import DormancyNotice, JobItem
from tests.support import DELETE, enrol, enrol_in_course, statements

pytestmark = pytest.mark.django_db


def test_what_a_schedule_told_is_forgotten_although_the_project_has_it_no_more() -> None:
    student, other = enrol(), enrol()
    for each in (student, other):
        DormancyNotice.objects.create(
            schedule="of-an-earlier-release",
            model="websubmit.user",
            reference=str(each.user.pk),
            stage=30,
            sent_on=timezone.now().date(),
        )
    kept = str(other.user.pk)
    student.disguise(DELETE)
    assert list(DormancyNotice.objects.values_list("reference", flat=True)) == [kept]


def test_a_place_on_the_list_of_a_paused_job_is_forgotten() -> None:
    student, other = enrol_in_course("ada@example.org"), enrol()
    job = jobs.start("websubmit.anonymize-all", principals=[student.user, other.user])
    jobs.pause(job.id)
    kept = str(other.user.pk)
    student.disguise(DELETE)
    assert list(JobItem.objects.values_list("reference", flat=True)) == [kept]
    assert jobs.report(job.id).skipped == 1


def test_where_nothing_is_kept_one_statement_finds_out() -> None:
    student = enrol_in_course("ada@example.org")
    sent = statements(lambda: student.disguise(DELETE))
    kept = ("edna_sessionlink", "edna_jobitem", "edna_dormancynotice")
    assert [sum(table in sql for table in kept) for sql in sent if any(table in sql for table in kept)] == [3]
