"""Runs schedules: finds who was away for long, tells them in time, and starts jobs for those who were told and did not return.

Invariants: of two processes at it, one does it (a lease); a notice counts once it was handed to the server of mails, so that a
crash may send one twice and never takes one for sent; whoever returns, up to the very transaction that would disguise them, is left alone.
Who is dormant is decided in `absences`; what a batch of the job asks and says then, in `dormant_batches`.
"""

from __future__ import annotations

import dataclasses
import datetime
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.core.exceptions import FieldError
from django.db.models import Model

from edna import logs, registry, schedules, shards, store
from edna.clock import today as utc_day
from edna.db import transactions
from edna.engine.graph.references import reference_of, unread
from edna.errors import EdnaError
from edna.operations import jobs
from edna.operations.dormancy import absences
from edna.operations.dormancy.absences import Absence
from edna.operations.dormancy.mailer import Mailer
from edna.operations.schedules.turns import Turn
from edna.operations.store import dormancy as stored
from edna.operations.store.dormancy import Told
from edna.operations.store.runs import note_run
from edna.schedules import Notice, Schedule
from edna.store import serverkeys

RUN: Final = "schedules"
_PAGE: Final = 1_000
#: Mails between two commits: as many may be sent again after a kill.
_MAILS_AT_ONCE: Final = 100
_LEASE_SECONDS: Final = 300

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class ScheduleReport:
    """What one run of one schedule found and did; with ``dry_run``, what it would have done. Numbers, and nobody's name.

    ``trouble`` is "" or says why it is not finished: "busy" (another process is at it), or a class of errors.
    """

    schedule: str
    disguise: str
    #: Who was told that so many days are left.
    warned: dict[int, int] = field(default_factory=dict)
    #: Of these, for how many the schedule's function had no mail.
    unmailed: int = 0
    #: Who could not be told; that is tried again.
    failed: int = 0
    #: Who had been told, and is no longer dormant.
    returned: int = 0
    #: Who was told of everything, and has run out of days.
    due: int = 0
    #: The job that was started for them, or the one from an earlier run that is not finished.
    job: int | None = None
    trouble: str = ""
    #: For the people of which of several databases.
    database: str | None = None

    def as_dict(self) -> dict[str, Any]:
        found = dataclasses.asdict(self)
        if self.database is None:
            del found["database"]
        return found


def run_schedules(
    *,
    only: str | None = None,
    dry_run: bool = False,
    today: datetime.date | None = None,
    progress: Progress | None = None,
) -> list[ScheduleReport]:
    """Do for each schedule, or for the one that is called ``only``, what is due today. Run it once a day, or more often.

    ``progress(schedule, done, total)`` is called after each page of people. A schedule in trouble keeps no other from being run.

    Raises:
        UnknownSchedule; ServerKeyUnknown: nobody is told; DatabaseBusy: nothing was begun, or all was done and could not be noted.
    """
    wanted = schedules.schedules() if only is None else {only: schedules.get(only)}
    day = today or utc_day()
    databases = registry.databases()
    for using in databases:
        serverkeys.require(using=using)
    reports = []
    for using in databases:
        with shards.at(using):
            reports += _run(wanted, day, dry_run=dry_run, progress=progress, using=using)
    return reports


def _run(
    wanted: Mapping[str, Schedule], day: datetime.date, *, dry_run: bool, progress: Progress | None, using: str
) -> list[ScheduleReport]:
    if dry_run:
        return [_Run(each, day, turn=None, progress=progress).report() for each in wanted.values()]
    with Turn(RUN, seconds=_LEASE_SECONDS, using=using) as turn:
        if not turn.taken:
            database = shards.named(using)
            return [
                ScheduleReport(each.name, each.disguise.name, trouble="busy", database=database)
                for each in wanted.values()
            ]
        transactions.run(lambda: stored.forget_other_schedules(schedules.schedules(), using=using), using=using)
        reports = [_Run(each, day, turn=turn, progress=progress).report() for each in wanted.values()]
        transactions.run(lambda: note_run(RUN, _sum(reports), using=using), using=using)
    return reports


def _sum(reports: Sequence[ScheduleReport]) -> dict[str, int]:
    return {
        "warned": sum(sum(each.warned.values()) for each in reports),
        "failed": sum(each.failed for each in reports),
        "returned": sum(each.returned for each in reports),
        "due": sum(each.due for each in reports),
        "in_trouble": sum(bool(each.trouble) for each in reports),
    }


class _Run:
    """One schedule, on one day; without a turn it only counts."""

    def __init__(self, schedule: Schedule, day: datetime.date, *, turn: Turn | None, progress: Progress | None) -> None:
        self.schedule, self.day, self.turn, self.dry_run, self.progress = schedule, day, turn, turn is None, progress
        database = shards.named(registry.database())
        self._report = ScheduleReport(schedule.name, schedule.disguise.name, database=database)

    def report(self) -> ScheduleReport:
        try:
            self.model = registry.principal_model_for(self.schedule.disguise)
            self.label = self.model._meta.label_lower
            self.using = registry.database(self.model)
            self._note(returned=sum(map(self._forget_returned, self._told_before())))
            with Mailer(self.schedule) as mailer:
                due = [reference for page in self._pages() for reference in self._tell(page, mailer)]
                self._note(unmailed=mailer.unmailed, failed=mailer.failed, due=len(due))
            if due:
                self._note(job=self._start(due))
        except _Busy:
            self._note(trouble="busy")
        except (EdnaError, FieldError) as error:
            trouble = type(error).__name__
            logs.event(
                "schedule_stopped", level=logging.WARNING, area="schedules", schedule=self.schedule.name, error=trouble
            )
            self._note(trouble=trouble)
        return self._report

    def _note(self, **found: Any) -> None:
        self._report = dataclasses.replace(self._report, **found)

    def _keep_turn(self) -> None:
        if self.turn is not None and not self.turn.keep():
            raise _Busy

    # Who returned

    def _told_before(self) -> Iterator[list[Told]]:
        last: int | None = None
        while page := stored.all_told(self.schedule.name, self.label, after=last, most=_PAGE, using=self.using):
            last = page[-1].id
            yield page

    def _forget_returned(self, page: Sequence[Told]) -> int:
        """Who has been here since, and for whom the schedule is no more, starts anew."""
        self._keep_turn()
        entries = store.entries_by_reference(self.label, [each.reference for each in page], using=self.using)
        seen = {str(entry.reference): entry.last_seen_on for entry in entries if entry.natural}
        known = absences.read(self.schedule, self.model, seen, using=self.using)
        stale = [each.id for each in page if not self._still_counts(known.get(each.reference), each)]
        if stale and not self.dry_run:
            transactions.run(lambda: stored.untell(stale, using=self.using), using=self.using)
        return len(stale)

    def _still_counts(self, absence: Absence | None, told: Told) -> bool:
        return absence is not None and absences.counts(self.schedule, absence.since, told)

    # Who is away

    def _pages(self) -> Iterator[list[Absence]]:
        since = self.day - datetime.timedelta(days=self.schedule.days_before_first)
        total = stored.count_unseen(self.label, since=since, using=self.using) if self.progress else 0
        last: int | None = None
        done = 0
        while page := stored.unseen(self.label, since=since, after=last, most=_PAGE, using=self.using):
            self._keep_turn()
            last = page[-1].entry_id
            seen = {each.reference: each.last_seen_on for each in page}
            yield list(absences.read(self.schedule, self.model, seen, using=self.using).values())
            done += len(page)
            if self.progress is not None:
                self.progress(self.schedule.name, min(done, total), total)

    def _tell(self, page: Sequence[Absence], mailer: Mailer) -> list[str]:
        """Tell those whose next notice is due; return those to whom there is nothing more to tell."""
        due, to_tell = [], []
        for absence in page:
            step = absences.next_step(self.schedule, absence)
            if step is None or step.due_on > self.day:
                continue
            if step.days:
                to_tell.append(Told(absence.reference, step.days, self.day))
            else:
                due.append(absence.reference)
        for start in range(0, len(to_tell), _MAILS_AT_ONCE):
            some = to_tell[start : start + _MAILS_AT_ONCE]
            told = some if self.dry_run else self._mail(some, mailer)
            counted = dict(self._report.warned)
            for each in told:
                counted[each.days] = counted.get(each.days, 0) + 1
            self._note(warned=counted)
        return due

    def _mail(self, people: Sequence[Told], mailer: Mailer) -> list[Told]:
        found = _instances(self.model, [each.reference for each in people], using=self.using)
        told: list[Told] = []
        try:
            for each in people:
                if each.reference not in found:
                    continue  # gone since the page was read
                self._keep_turn()
                days = datetime.timedelta(days=each.days)
                notice = Notice("warning", self.schedule.name, found[each.reference], self.day + days, each.days)
                if mailer.send(notice):
                    told.append(each)
        finally:
            # Also when the process is asked to stop in between: those who have their mail must not get it again.
            transactions.run(lambda: self._keep_told(told), using=self.using)
        return told

    def _keep_told(self, people: Sequence[Told]) -> None:
        there = store.entries_by_reference(self.label, [each.reference for each in people], using=self.using, lock=True)
        references = {entry.reference for entry in there if entry.natural}
        stored.tell(
            self.schedule.name, self.label, [each for each in people if each.reference in references], using=self.using
        )

    # Whose time is over

    def _start(self, due: Sequence[str]) -> int | None:
        unfinished = [
            job.id
            for job in jobs.reports(unfinished=True, most=10_000)
            if job.schedule == self.schedule.name and job.sound
        ]
        if unfinished:
            return unfinished[0]
        if self.dry_run:
            return None
        self._keep_turn()
        return jobs.start(
            self.schedule.disguise.name,
            params=self.schedule.params,
            principals=unread(self.model, due, using=self.using),
            schedule=self.schedule.name,
            rate_per_second=self.schedule.rate_per_second,
        ).id


class _Busy(Exception):
    """Our turn was not kept in time, and may be somebody else's."""


def _instances(model: type[Model], references: Sequence[str], *, using: str) -> dict[str, Model]:
    keys = [model._meta.pk.to_python(reference) for reference in references]
    found: Mapping[Any, Model] = model._base_manager.using(using).in_bulk(keys)
    return {reference_of(model, key): principal for key, principal in found.items()}
