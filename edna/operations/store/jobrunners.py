"""Runners at work on jobs, and how far each has come: rows of their own, so that they do not wait for each other's counts.

Decides nothing: when a runner counts as dead is for the caller.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections
from django.db.models import F

from edna.operations.models import Job, JobRunner


@dataclass(frozen=True, slots=True)
class RunnerRow:
    id: int
    job: int
    name: str
    seen_at: datetime.datetime


def add_runner(job: int, *, name: str, now: datetime.datetime, using: str, **counts: float) -> int:
    return JobRunner.objects.using(using).create(job=job, name=name[:100], seen_at=now, **counts).pk


def runners_of(jobs: Sequence[int], *, using: str) -> list[RunnerRow]:
    query = JobRunner.objects.using(using).filter(job__in=list(jobs)).order_by("id")
    return [RunnerRow(*row) for row in query.values_list("id", "job", "name", "seen_at")]


def jobs_with_runners(*, using: str) -> list[int]:
    return list(JobRunner.objects.using(using).order_by("job").values_list("job", flat=True).distinct())


def note_work(
    runner: int, *, done: int = 0, skipped: int = 0, seconds: float = 0, now: datetime.datetime, using: str
) -> bool:
    """Add to a runner's counts, and that it is alive; False if it was taken for dead and has no row any more."""
    query = JobRunner.objects.using(using).filter(pk=runner)
    return bool(
        query.update(done=F("done") + done, skipped=F("skipped") + skipped, seconds=F("seconds") + seconds, seen_at=now)
    )


def fold_runners(job: int, runners: Sequence[int], *, using: str) -> None:
    """Add the counts of these runners to their job's, and forget them. The job is locked."""
    query = JobRunner.objects.using(using).filter(job=job, pk__in=list(runners))
    if connections[using].features.has_select_for_update:
        query = query.select_for_update()
    found = list(query.order_by("id").values_list("id", "done", "skipped", "seconds"))
    if found:
        Job.objects.using(using).filter(pk=job).update(
            done=F("done") + sum(row[1] for row in found),
            skipped=F("skipped") + sum(row[2] for row in found),
            seconds=F("seconds") + sum(row[3] for row in found),
        )
        gone = JobRunner.objects.using(using).filter(pk__in=[row[0] for row in found])
        gone._raw_delete(using)
