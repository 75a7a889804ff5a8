"""How jobs stand: their reports. Reads; changes nothing, and names nobody."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

from edna import registry, shards
from edna.engine.searched_shards import SearchedShards
from edna.errors import JobUnknown
from edna.operations.jobs.runner import alive_since, is_alive
from edna.operations.store import jobrunners
from edna.operations.store import jobs as store_jobs
from edna.operations.store.jobs import JobRow

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_UNKNOWN: Final = "Which jobs are there is not known."


class JobState(StrEnum):
    RUNNING = store_jobs.RUNNING
    PAUSED = store_jobs.PAUSED
    CANCELLED = store_jobs.CANCELLED
    FINISHED = store_jobs.FINISHED


@dataclass(frozen=True)
class JobReport:
    """A job at one moment: ``done + skipped + failed + left == total``.

    ``left`` are still to do, or, of a cancelled job, were never done. ``skipped`` had gone, had no key or had returned; of those that
    failed and were given up, too. ``failures`` counts by the class of the error. ``runners`` are at work now, ``seconds`` is how long
    some were. No number here names a principal.
    """

    id: int
    disguise: str
    params: dict[str, str]
    everybody: bool
    schedule: str
    operator: str
    state: JobState
    #: For good: nobody can reveal what it does.
    keep_no_way_back: bool
    total: int
    #: How many of those meant are not on the list, because they run the site; None where nobody has counted.
    left_out: int | None
    done: int
    skipped: int
    failed: int
    left: int
    failures: dict[str, int]
    runners: int
    concurrency: int
    limit_per_second: float | None
    seconds: float
    rate_per_second: float | None
    remaining_seconds: float | None
    created_on: datetime.date
    finished_on: datetime.date | None
    #: False of a job that this site did not note, or not as it is now: nobody works on it.
    sound: bool
    #: In which of several databases it is, and whose people it is for.
    database: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it should run, and no runner is at it."""
        return self.sound and self.state is JobState.RUNNING and self.left > 0 and not self.runners

    @property
    def standing(self) -> str:
        """In words: "running" is said only while somebody works on it, and "finished" only if it was done for somebody. "Refused" is
        what this site did not note, whatever it says of itself."""
        if not self.sound:
            return "refused"
        if self.waits:
            return "waiting for a worker"
        if self.state is JobState.FINISHED and self.failed and not self.done:
            return "failed"
        return str(self.state)

    def as_dict(self) -> dict[str, Any]:
        found = {**vars(self), "state": str(self.state)}
        if self.database is None:
            del found["database"]
        return found


def where_it_is(
    function: Callable[Concatenate[int, Arguments], Result],
) -> Callable[Concatenate[int | JobReport, Arguments], Result]:
    """Decorates what is done with one job, by its number or a report of it: of several databases, in the one that has it. Its number is no
    other job's.

    What is decorated raises `JobUnknown` before it changes anything.
    """

    @wraps(function)
    def there(job: int | JobReport, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        job_id = job.id if isinstance(job, JobReport) else job
        databases, unknown = SearchedShards(registry.databases()), JobUnknown()
        for using in databases.there():
            with databases.passed_over_if_away(using), shards.at(using):
                try:
                    return function(job_id, *args, **kwargs)
                except JobUnknown as error:
                    unknown = error
        databases.require_all(otherwise="The job is in none of the others.")
        raise unknown

    return there


@where_it_is
def report(job_id: int) -> JobReport:
    """
    Raises:
        JobUnknown
    """
    found = reports_of(job=job_id)
    if not found:
        raise JobUnknown(f"There is no job {job_id}; manage.py edna_jobs lists them.")
    return found[0]


def reports(*, unfinished: bool = False, operator: str | None = None, most: int = 100) -> list[JobReport]:
    """The newest first, by the day: no finer moment is kept. ``unfinished`` are those that run or are paused, and with ``operator``
    those that they have started."""
    states = (JobState.RUNNING, JobState.PAUSED) if unfinished else None
    databases = SearchedShards(registry.databases())

    def ask(using: str) -> list[JobReport]:
        with shards.at(using):
            return reports_of(states=states, operator=operator, most=most)

    found = [each for each, _ in databases.ask(ask)]
    databases.require_all(otherwise=_UNKNOWN)
    if len(databases.there()) > 1:
        found.sort(key=lambda each: each.created_on, reverse=True)
    return found[:most]


def waiting() -> list[int]:
    """Jobs that could use another runner, those whose runners were killed among them, in a random order."""
    databases = SearchedShards(registry.databases())

    def ask(using: str) -> list[int]:
        jobs = store_jobs.job_rows(states=(JobState.RUNNING,), alive_since=alive_since(), using=using)
        runners = jobrunners.runners_of([job.id for job in jobs], using=using)
        alive = [runner.job for runner in runners if is_alive(runner)]
        return [job.id for job in jobs if alive.count(job.id) < job.concurrency]

    found = [job for job, _ in databases.ask(ask)]
    databases.require_all(otherwise=_UNKNOWN)
    secrets.SystemRandom().shuffle(found)
    return found


def forged() -> list[int]:
    """Jobs that should run, or may be asked to, and that this site did not note, or not as they are now. One statement."""
    states = (JobState.RUNNING, JobState.PAUSED)
    return [job for using in registry.databases() for job in store_jobs.forged_among(states, using=using)]


def reports_of(
    *, job: int | None = None, states: Any = None, operator: str | None = None, most: int | None = None
) -> list[JobReport]:
    using = registry.database()
    found = store_jobs.job_rows(
        job=job, states=states, operator=operator, most=most, alive_since=alive_since(), using=using
    )
    failures = store_jobs.failures([row.id for row in found if row.failed], using=using)
    database = shards.named(using)
    return [_report(row, failures.get(row.id, {}), database) for row in found]


def _report(row: JobRow, failures: dict[str, int], database: str | None) -> JobReport:
    left = row.total - row.done - row.skipped - row.failed
    worked = row.done + row.skipped
    rate = row.pace or (worked / row.seconds if worked and row.seconds else None)
    running = row.state == JobState.RUNNING
    return JobReport(
        id=row.id,
        disguise=row.disguise,
        params=row.params,
        everybody=row.everybody,
        schedule=row.schedule,
        operator=row.operator,
        # One that is not ours may have any.
        state=JobState(row.state) if row.state in list(JobState) else JobState.PAUSED,
        keep_no_way_back=row.keep_no_way_back,
        total=row.total,
        left_out=row.left_out,
        done=row.done,
        skipped=row.skipped,
        failed=row.failed,
        left=left,
        failures=failures,
        runners=row.runners,
        concurrency=row.concurrency,
        limit_per_second=row.rate_per_second,
        seconds=row.seconds,
        rate_per_second=rate,
        remaining_seconds=left / rate if rate and running else None,
        created_on=row.created_on,
        finished_on=row.finished_on,
        sound=row.sound,
        database=database,
    )
