"""Jobs: a disguise of many principals in the background, resumable at any moment. This is their door.

What a job promises: each principal is disguised once or, if they are not there any more, skipped; killing whoever works on it, or losing
every queue, loses nothing, because the database alone says who is still to do; and the counts always add up. A job names nobody
who has been disguised. Which process works on it is not known here: `run` makes the caller one of its runners, and
`edna.signals.job_ready` says that one is wanted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from edna import logs, registry
from edna.db import transactions
from edna.errors import JobForged
from edna.operations import audit
from edna.operations.jobs.batches import Work
from edna.operations.jobs.control import cancel, clear_up_after_runners, pause, resume, retry, tidy
from edna.operations.jobs.job_reports import (
    JobReport,
    JobState,
    forged,
    report,
    reports,
    waiting,
    where_it_is,
)
from edna.operations.jobs.launch import refuse_batches, refuse_client_mode, start
from edna.operations.jobs.runner import Runner, alive_since
from edna.operations.store import jobs as store_jobs
from edna.spec import parsed_params
from edna.store import serverkeys

__all__ = [
    "JobReport",
    "JobState",
    "Work",
    "cancel",
    "forged",
    "pause",
    "report",
    "reports",
    "resume",
    "retry",
    "run",
    "start",
    "tidy",
    "waiting",
]


@where_it_is
def run(
    job_id: int,
    *,
    seconds: float | None = None,
    progress: Callable[[JobReport], None] | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> JobReport:
    """Be one of the job's runners until nothing is left, it is paused or cancelled, ``stopping()``, or the time is up.

    Returns at once if as many as it allows are at work, or it is not running. ``progress`` is called after each batch.

    Raises:
        JobUnknown; UnknownDisguise, InvalidParameters, JobRefused: it was started by other code, or under other settings.
        ServerKeyUnknown: the server's key is not this site's; the job waits for the right one.
        JobForged: this site did not note it, or not as it is now. Once for each job, the audit trail says so.
        DatabaseBusy: the database was away for minutes. What is done is done then, and the job can go on.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    job = report(job_id)
    if job.state is JobState.RUNNING:
        serverkeys.require(using=registry.database())
        if not job.sound:
            _refuse(job)
        cls = registry.get(job.disguise)
        if not job.keep_no_way_back:
            refuse_client_mode(cls)
        if job.everybody:
            refuse_batches(cls)
        work = Work(
            job=job_id,
            disguise=cls,
            model=registry.principal_model_for(cls),
            params=parsed_params(cls, job.params),
            everybody=job.everybody,
            schedule=job.schedule,
            keep_no_way_back=job.keep_no_way_back,
            left_out=job.left_out or 0,
            using=registry.database(),
        )
        told = None if progress is None else (lambda: progress(report(job_id)))
        Runner(work, progress=told, stopping=stopping, deadline=deadline).run()
    else:
        clear_up_after_runners(job_id, using=registry.database())
    return report(job_id)


def _refuse(job: JobReport) -> None:
    """
    Raises:
        JobForged
    """

    def work() -> None:
        # Whoever works on jobs comes again and again. Not the words of the row, which somebody else wrote.
        if not audit.is_noted("job_refused", job=job.id):
            audit.note("job_refused", operator="", job=job.id)

    transactions.run(work, using=registry.database())
    logs.event("job_refused", level=logging.WARNING, area="jobs", job=job.id, error=JobForged.__name__)
    (row,) = store_jobs.job_rows(job=job.id, alive_since=alive_since(), using=registry.database())
    store_jobs.require_sound(row)
