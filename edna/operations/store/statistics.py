"""How much there is in edna's tables, for whoever watches them: a handful of statements, however many rows there are.

Counts and sizes only, and no more than somebody with a copy of the tables could count. How many principals there are, and how many
have left, is not among them. Writes nothing.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.db.models import Count

from edna.models import FileTask
from edna.operations.models import Job, JobItem, JobRunner


@dataclass(frozen=True, slots=True)
class Queue:
    """Jobs by state, what is left of those that are not over, what has failed of any, and runners that have said something lately."""

    jobs: dict[str, int]
    left: int
    failed: int
    runners: int


def queue(*, alive_since: datetime.datetime, using: str) -> Queue:
    """In four statements, none of which reads all that is left to do."""
    jobs = Job.objects.using(using)
    by_state = dict(jobs.values_list("state").annotate(Count("id")).order_by())
    going_on = jobs.filter(state__in=(Job.State.RUNNING, Job.State.PAUSED)).values_list(
        "id", "total", "done", "skipped"
    )
    left = {pk: total - done - skipped for pk, total, done, skipped in going_on}
    # Job by job, along the index: the list of who is still to do may be long, and is not looked at.
    failed = JobItem.objects.using(using).filter(job__in=Job.objects.values("id"), state=JobItem.State.FAILED)
    failed_by_job = dict(failed.values_list("job").annotate(Count("id")).order_by())
    runners = list(JobRunner.objects.using(using).values_list("job", "done", "skipped", "seen_at"))
    done_now = sum(done + skipped for job, done, skipped, _ in runners if job in left)
    return Queue(
        jobs={state: by_state.get(state, 0) for state in Job.State.values},
        left=max(0, sum(left.values()) - done_now - sum(failed_by_job.get(job, 0) for job in left)),
        failed=sum(failed_by_job.values()),
        runners=sum(seen_at >= alive_since for _, _, _, seen_at in runners),
    )


def pending_files(*, using: str) -> int:
    return FileTask.objects.using(using).count()
