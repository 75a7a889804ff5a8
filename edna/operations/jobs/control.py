"""Pauses, resumes, cancels and retries jobs, each noted in the trail, and clears up after what was killed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from edna import clock, logs, registry, store
from edna.db import transactions
from edna.errors import JobRefused, JobUnknown
from edna.operations import audit
from edna.operations.books import job_lists
from edna.operations.jobs.job_reports import JobReport, JobState, report, where_it_is
from edna.operations.jobs.launch import tell_runners
from edna.operations.jobs.runner import bury
from edna.operations.store import jobrunners
from edna.operations.store import jobs as store_jobs

#: Rows that are looked at in one statement.
_AT_ONCE: Final = 5_000
#: The state that a job is in afterwards, and what else of it changes.
Change = tuple[JobState, dict[str, Any]]


@where_it_is
def pause(job_id: int, *, operator: str = "") -> JobReport:
    """Let runners stop after the batch that they are at. Pausing a paused job changes nothing.

    Raises:
        JobUnknown, JobForged; JobRefused: it is over.
    """
    states = {JobState.RUNNING, JobState.PAUSED}
    return _steer(job_id, "pause", states, lambda _: (JobState.PAUSED, {}), operator=operator)


@where_it_is
def resume(job_id: int, *, operator: str = "") -> JobReport:
    """Go on with a paused job, or ask for a runner once more if it runs.

    Raises:
        JobUnknown, JobForged; JobRefused: it is over.
    """
    states = {JobState.RUNNING, JobState.PAUSED}
    return _steer(job_id, "resume", states, lambda _: (JobState.RUNNING, {}), operator=operator)


@where_it_is
def cancel(job_id: int, *, operator: str = "") -> JobReport:
    """Forget who is still to do, and who failed; what is done stays, and each person can reveal it.

    Of a finished job, who failed is given up, and counted as skipped.

    Raises:
        JobUnknown, JobForged; JobRefused: there is nothing to cancel.
    """
    using = registry.database()

    def forget_failed(state: JobState) -> Change:
        failed = store_jobs.delete_failed(job_id, using=using)
        if state is JobState.FINISHED and not failed:
            raise JobRefused(f"Job {job_id} is finished, and nobody has failed in it: there is nothing to cancel.")
        store_jobs.add_to_job(job_id, skipped=failed, using=using)
        if state is JobState.FINISHED:
            return state, {}
        return JobState.CANCELLED, {"finished_on": clock.today()}

    states = {JobState.RUNNING, JobState.PAUSED, JobState.FINISHED}
    if _steer(job_id, "cancel", states, forget_failed, operator=operator).state is JobState.CANCELLED:
        _forget_list(job_id, using=using)
    return report(job_id)


@where_it_is
def retry(job_id: int, *, operator: str = "") -> JobReport:
    """Try those who failed again. A finished job runs again; a paused one does once it is resumed.

    Raises:
        JobUnknown, JobForged; JobRefused: it was cancelled, or nobody has failed.
    """
    using = registry.database()

    def again(state: JobState) -> Change:
        if not store_jobs.failed_to_pending(job_id, using=using):
            raise JobRefused(f"Nobody has failed in job {job_id}; there is nothing to try again.")
        return JobState.PAUSED if state is JobState.PAUSED else JobState.RUNNING, {"finished_on": None}

    states = {JobState.RUNNING, JobState.PAUSED, JobState.FINISHED}
    return _steer(job_id, "retry", states, again, operator=operator)


def _steer(
    job_id: int, action: str, states: set[JobState], change: Callable[[JobState], Change], *, operator: str
) -> JobReport:
    using = registry.database()

    def work() -> None:
        job = store_jobs.lock_job(job_id, using=using)
        if job is None:
            raise JobUnknown(f"There is no job {job_id}; manage.py edna_jobs lists them.")
        store_jobs.require_sound(job)
        if job.state not in states:
            raise JobRefused(f"Job {job_id} is {job.state}: {action} does not apply to it.")
        new, columns = change(JobState(job.state))
        store_jobs.save_job(job, state=new.value, using=using, **columns)
        if new is JobState.RUNNING:
            tell_runners(job_id, using=using)
        audit.note(action, operator=operator, disguise=report(job_id).disguise, job=job_id)

    transactions.run(work, using=using)
    after = report(job_id)
    told = {"pause": "job_paused", "resume": "job_resumed", "cancel": "job_cancelled", "retry": "job_retried"}
    logs.event(told[action], area="jobs", job=job_id, disguise=after.disguise, left=after.left, failed=after.failed)
    return after


def tidy() -> int:
    """Take from the lists who has no key any more, and clear up after runners that were killed, and a `cancel` that was.

    How many have no key: they count as skipped. Whoever a disguise removes is off all lists with their account; this is for those whom
    the application has deleted behind our back.
    """
    using = registry.database()
    for job in store_jobs.jobs_in((JobState.CANCELLED,), using=using):
        _forget_list(job, using=using)
    for job in jobrunners.jobs_with_runners(using=using):
        clear_up_after_runners(job, using=using)
    gone, after = 0, 0
    while part := store_jobs.items_after(after, most=_AT_ONCE, using=using):
        after = part[-1][0]
        gone += _take_out(part, using=using)
    return gone


def _take_out(items: list[tuple[int, int, str]], *, using: str) -> int:
    gone = 0
    by_job: dict[int, dict[str, int]] = {}
    for item, job, reference in items:
        by_job.setdefault(job, {})[reference] = item
    for job, found in by_job.items():
        try:
            disguise = report(job).disguise
        except JobUnknown:
            continue  # not written here, and nothing to count: the sweep deletes items of no job
        here: set[str] = set()
        for label in job_lists.labels_of(disguise):
            here |= store.references_there(label, found, using=using)
        left = sorted(found.keys() - here)
        ids = [found[reference] for reference in left]
        if ids:
            gone += transactions.run(lambda job=job, ids=ids: _skip(job, ids, using=using), using=using)  # type: ignore[misc]
    return gone


def _skip(job: int, ids: list[int], *, using: str) -> int:
    store_jobs.lock_job(job, using=using)
    count = store_jobs.delete_known_items(ids, using=using)
    store_jobs.add_to_job(job, skipped=count, using=using)
    return count


def clear_up_after_runners(job: int, *, using: str) -> None:
    def work() -> None:
        store_jobs.lock_job(job, using=using)
        bury(job, using=using)

    if jobrunners.runners_of([job], using=using):
        transactions.run(work, using=using)


def _forget_list(job: int, *, using: str) -> None:
    """Of a cancelled job: also who has failed since, in the hands of a runner that did not know yet."""
    while transactions.run(lambda: store_jobs.delete_some_items(job, using=using), using=using):
        pass
