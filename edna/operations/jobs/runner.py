"""A runner: one process at work on a job, batch after batch, until nothing is left, it is told to stop, or the time is up.

Invariants: whatever happens to a batch, nobody is disguised twice and nobody is forgotten, because the list of who is to do changes
with them (`batches`); a failure is one principal's and not the job's, and nothing of it is kept but the error's class: its words may
quote what was to be disguised. Killed at any moment, a runner leaves its counts in its row, which the next one adds up.
"""

from __future__ import annotations

import contextlib
import datetime
import logging
import os
import secrets
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db import DatabaseError, IntegrityError, InterfaceError, OperationalError, connections
from django.utils import timezone

from edna import clock, conf, logs
from edna.db import transactions
from edna.engine.files import file_tasks
from edna.errors import ConstraintRefused, DatabaseBusy
from edna.operations.jobs import batches
from edna.operations.jobs.batches import Work
from edna.operations.store import jobrunners
from edna.operations.store import jobs as store_jobs
from edna.operations.store.jobrunners import RunnerRow
from edna.operations.store.jobs import Item, JobRow

#: How often a principal whose rows others keep locked is tried, each time after everybody else.
MOST_ATTEMPTS: Final = 5
#: How long a database may be away.
PATIENCE_SECONDS: Final = 120
_LOOK_SECONDS: Final = 0.5
#: Digits of what can be the number of a process here; of what was not written here, the system's call makes an error.
_LONGEST_PID: Final = 9
_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 5.0


def alive_since() -> datetime.datetime:
    """Since when those who are alive have said something. The clocks of several machines must agree better than that."""
    return timezone.now() - datetime.timedelta(seconds=conf.job_silent_seconds())


#: Of this process. One that lost its database may have left a row behind.
_at_work: set[int] = set()


def _name() -> str:
    return f"{socket.gethostname()[:80]}:{os.getpid()}"


def is_alive(runner: RunnerRow) -> bool:
    """Whether a runner is at work, as far as can be told: one of this machine whose process is gone has been killed."""
    if runner.name == _name():
        return runner.id in _at_work
    host, _, pid = runner.name.rpartition(":")
    if host == socket.gethostname()[:80] and pid.isdecimal() and len(pid) <= _LONGEST_PID:
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass
    return runner.seen_at >= alive_since()


def bury(job: int, *, using: str) -> list[RunnerRow]:
    """Add the counts of dead runners to the job's, which is locked; those that are at work."""
    known = jobrunners.runners_of([job], using=using)
    alive = [runner for runner in known if is_alive(runner)]
    jobrunners.fold_runners(job, [runner.id for runner in known if runner not in alive], using=using)
    return alive


@dataclass
class Runner:
    work: Work
    #: Called after each batch.
    progress: Callable[[], None] | None
    stopping: Callable[[], bool]
    deadline: float | None
    id: int = 0
    #: Where in the list to go on: each runner begins elsewhere.
    after: int = field(default_factory=lambda: secrets.randbelow(2**63))
    size: int = field(default_factory=conf.job_batch)
    alive: int = 1
    #: Until when its time is counted, and until when it will be once the transaction is committed.
    counted_until: float = field(default_factory=lambda: time.monotonic())
    counting_until: float = 0.0
    #: How often in a row the database has failed with something in hand.
    troubles: int = 0
    away_since: float | None = None
    pause_seconds: float = _FIRST_PAUSE_SECONDS

    def run(self) -> None:
        """
        Raises:
            DatabaseBusy: the database was away for `PATIENCE_SECONDS`.
        """
        try:
            if self._join():
                self._work()
        finally:
            _at_work.discard(self.id)

    def _work(self) -> None:
        try:
            self._settle_debt()
            while self._goes_on() and self._step():
                pass
        finally:
            # If the database is away now, the next runner does it.
            with contextlib.suppress(DatabaseError, InterfaceError, DatabaseBusy):
                self._leave()

    # Coming and going

    def _join(self) -> bool:
        work = self.work

        def join() -> bool:
            job = store_jobs.lock_job(work.job, using=work.using)
            if job is None or not job.sound or job.state != store_jobs.RUNNING:
                return False
            if len(bury(work.job, using=work.using)) >= self._look_at_job().concurrency:
                return False
            self._add_row()
            return True

        return transactions.run(join, using=work.using)

    def _add_row(self, **counts: float) -> None:
        _at_work.discard(self.id)
        self.id = jobrunners.add_runner(
            self.work.job, name=_name(), now=timezone.now(), using=self.work.using, **counts
        )
        _at_work.add(self.id)

    def _leave(self) -> None:
        work = self.work

        def leave() -> None:
            store_jobs.lock_job(work.job, using=work.using)
            self._count(0, 0)
            jobrunners.fold_runners(work.job, [self.id], using=work.using)

        transactions.run(leave, using=work.using)

    def _finish(self) -> None:
        """Nothing is left, and so nobody is at work on anything: items stay until they are committed."""
        work = self.work

        def finish() -> bool:
            job = store_jobs.lock_job(work.job, using=work.using)
            # Paused when nobody was left to do: there is nothing to resume.
            if job is None or not job.sound or job.state not in (store_jobs.RUNNING, store_jobs.PAUSED):
                return False
            if store_jobs.any_pending(work.job, using=work.using):
                return False
            today = clock.today()
            store_jobs.save_job(job, state=store_jobs.FINISHED, finished_on=today, using=work.using)
            return True

        if transactions.run(finish, using=work.using):
            job = self._look_at_job()
            logs.event(
                "job_finished",
                area="jobs",
                job=job.id,
                done=job.done,
                skipped=job.skipped,
                failed=job.failed,
                seconds=job.seconds,
            )

    # One step

    def _step(self) -> bool:
        """Look, and do a batch; whether there may be more to do."""
        try:
            job = self._look_at_job()
            if job.state == store_jobs.PAUSED:
                self._finish()
            if job.state != store_jobs.RUNNING or not job.sound:
                return False
            began = time.monotonic()
            claimed, done = self._batch(min(self.size, self._most(job)))
            self.away_since, self.pause_seconds = None, _FIRST_PAUSE_SECONDS
            if claimed:
                if self.progress is not None:
                    self.progress()
                per_second = self._per_second(job)
                return per_second is None or self._sleep(done / per_second - (time.monotonic() - began))
            if self.after:
                self.after = 0
                return True
            if store_jobs.any_pending(self.work.job, using=self.work.using):
                return self._sleep(_LOOK_SECONDS)  # others are at work on them, and may fail
            # Before it is over, so that the next runner comes for what one that was killed has left to delete.
            file_tasks.finish_left(using=self.work.using)
            self._finish()
            return False
        except DatabaseBusy:
            self._wait_for_database()
        except (OperationalError, InterfaceError):
            self._wait_for_database()
        return True

    def _look_at_job(self) -> JobRow:
        (job,) = store_jobs.job_rows(job=self.work.job, alive_since=alive_since(), using=self.work.using)
        self.alive = max(1, job.runners)
        return job

    def _per_second(self, job: JobRow) -> float | None:
        """This runner's part of the limit."""
        return None if job.rate_per_second is None else job.rate_per_second / self.alive

    def _most(self, job: JobRow) -> int:
        per_second = self._per_second(job)
        return self.size if per_second is None else max(1, int(per_second))

    def _settle_debt(self) -> None:
        """What the runners before have done too fast because their time was up: otherwise many short ones were faster than one."""
        job = self._look_at_job()
        per_second = self._per_second(job)
        if per_second is not None and job.rate_per_second is not None:
            debt = job.done / job.rate_per_second - job.seconds
            self._sleep(min(debt, max(1.0, 1 / per_second)))

    def _batch(self, most: int, among: Sequence[int] | None = None) -> tuple[int, int]:
        """How many items were taken, and how many principals disguised."""
        claimed: list[Item] = []
        try:
            batch = batches.perform(
                self.work,
                most=most,
                after=self.after,
                among=among,
                claimed=claimed,
                count=self._count,
                counted=self._counted,
                goes_on=self._goes_on,
            )
        except Exception as error:
            if not claimed or self._is_away(error):
                raise
            failure: Exception = error
        else:
            self.troubles = 0
            if batch.found:
                self._counted()
            if among is None and not batch.cut:
                self.after = batch.last or self.after
                self.size = min(conf.job_batch(), self.size * 2)
            elif batch.cut:
                self.size = max(1, batch.done)
            return batch.found, batch.done
        self.size = max(1, len(claimed) // 2)
        if len(claimed) == 1:
            self._note_failure(claimed[0], failure)
            return 1, 0
        found, done = 0, 0
        ids = [item.id for item in claimed]
        for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
            if self._goes_on():
                more_found, more_done = self._batch(len(half), half)
                found, done = found + more_found, done + more_done
        return max(found, 1), done

    def _note_failure(self, item: Item, error: Exception) -> None:
        busy = isinstance(error, DatabaseBusy)
        # A constraint's own words quote values, and so may anything else that is said.
        reason = ConstraintRefused.__name__ if isinstance(error, IntegrityError) else type(error).__name__
        for_good = not busy or item.attempts + 1 >= MOST_ATTEMPTS
        transactions.run(
            lambda: store_jobs.note_failure(item.id, reason=reason[:100], for_good=for_good, using=self.work.using),
            using=self.work.using,
        )
        self.after = max(self.after, item.id)
        logs.event(
            "batch_failed",
            level=logging.WARNING,
            area="jobs",
            job=self.work.job,
            error=reason,
            tried_again=not for_good,
        )
        if busy:
            self._sleep(_LOOK_SECONDS)

    def _count(self, done: int, skipped: int) -> None:
        """In the transaction of what is counted. The time is shared among those at work, so that the sum is what a clock shows."""
        seconds = (time.monotonic() - self.counted_until) / self.alive
        self.counting_until = time.monotonic()
        now, using = timezone.now(), self.work.using
        if not jobrunners.note_work(self.id, done=done, skipped=skipped, seconds=seconds, now=now, using=using):
            self._add_row(done=done, skipped=skipped, seconds=seconds)

    def _counted(self) -> None:
        self.counted_until = self.counting_until

    # Waiting

    def _goes_on(self) -> bool:
        return not self.stopping() and (self.deadline is None or time.monotonic() < self.deadline)

    def _sleep(self, seconds: float) -> bool:
        """Whether to go on after so many seconds, or not any more."""
        until = time.monotonic() + seconds
        while self._goes_on() and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_SECONDS))
            if left > _LOOK_SECONDS and self._look_at_job().state != store_jobs.RUNNING:
                return False
            if time.monotonic() - self.counted_until > conf.job_silent_seconds() / 4:
                transactions.run(lambda: self._count(0, 0), using=self.work.using)
                self._counted()
        return self._goes_on()

    def _wait_for_database(self) -> None:
        """It was restarted, or others keep everything locked: the list is as it was, and we go on as soon as we can.

        Raises:
            DatabaseBusy: it takes too long, or we are in somebody else's transaction, which is lost.
        """
        connection = connections[self.work.using]
        self.away_since = self.away_since or time.monotonic()
        if connection.in_atomic_block or time.monotonic() - self.away_since > PATIENCE_SECONDS:
            raise DatabaseBusy(
                f"The database was too busy, or away, in the middle of job {self.work.job}. What is done is done; "
                "manage.py edna_run does the rest."
            )
        connection.close()
        time.sleep(self.pause_seconds if self._goes_on() else 0)
        self.pause_seconds = min(_LONGEST_PAUSE_SECONDS, self.pause_seconds * 2)

    def _is_away(self, error: Exception) -> bool:
        """Whether it is the database's fault; not if it fails again and again with the same principals in hand."""
        if not isinstance(error, (OperationalError, InterfaceError)):
            return False
        self.troubles += 1
        if self.troubles > MOST_ATTEMPTS and not connections[self.work.using].in_atomic_block:
            connections[self.work.using].close()
        return self.troubles <= MOST_ATTEMPTS
