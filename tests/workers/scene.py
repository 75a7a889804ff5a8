"""Everybody decays, in a job; what must be true when it is over, whatever happened meanwhile; and the way back."""

from __future__ import annotations

import os
import random
import signal
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial

from django.db import connection, connections
from django.db.utils import InterfaceError, OperationalError

import edna
from apps.lobsters_sim.keys import DECAY
from apps.lobsters_sim.models import Comment, Hat, User
from edna.operations import jobs
from edna.operations.jobs import JobReport, JobState
from edna.testing import Dump, Person, application_dump
from tests.waiting import eventually
from tests.workers import members

REVEAL_SECONDS = 3_000
HAT, COMMENT = Hat._meta.label_lower, Comment._meta.label_lower


class Scene:
    """A site with members, before anybody is disguised."""

    def __init__(self, number: int) -> None:
        self.people = members.settle(number)
        self.before: Dump = application_dump()
        self.rows = members.rows_by_owner()
        self.cells, self.hats = len(members.owner_cells()), Hat.objects.count()

    def start(self, people: Sequence[Person] | None = None, *, name: str = DECAY, **limits: float) -> int:
        users = None if people is None else [person.user for person in people]
        return jobs.start(name, principals=users, **limits).id  # type: ignore[arg-type]

    # What must be true

    def everybody_is_disguised_once(self, job: int) -> None:
        """As far as that can be seen without keys."""
        done = report(job)
        assert (done.state, done.failures) == (JobState.FINISHED, {})
        assert (done.total, done.done, done.skipped, done.left) == (len(self.people), len(self.people), 0, 0)
        keys = {person.user.pk for person in self.people}
        assert not User.objects.filter(pk__in=keys).exists()
        owners = members.owner_cells()
        # Every row has an owner of its own. A row that was decorrelated twice would have left a pseudoprincipal without rows; so
        # does a hat, if it goes later than who granted it.
        assert len(owners) == len(set(owners)) == self.cells
        assert self.cells <= User.objects.count() <= self.cells + self.hats

    def reveal_everything(self, people: Sequence[Person] | None = None, *, processes: int = 2) -> None:
        """Each has one disguise to reveal, of the very rows that were theirs. In any order; if it is everybody, all is as it was.

        A hat comes back once its owner and who granted it are both there, and then onto the comments that wore it: whoever is first
        has to ask again.
        """
        everybody = list(self.people if people is None else people)
        random.shuffle(everybody)
        left = self._reveal(everybody, processes=processes, first=True)
        while left:
            before, left = len(left), self._reveal(left, processes=1, first=False)
            assert len(left) < before, "nobody gets anything back any more"
        if len(everybody) == len(self.people):
            assert self.is_as_it_was()

    def is_as_it_was(self) -> bool:
        return application_dump() == self.before

    def _reveal(self, people: Sequence[Person], *, processes: int, first: bool) -> list[Person]:
        """Those of them who have not got everything back."""
        with tempfile.TemporaryFile("a+") as incomplete:

            def reveal_for(part: Sequence[Person]) -> None:
                for person in part:
                    if not self._reveal_for(person, first=first):
                        incomplete.write(f"{person.user.pk}\n")
                        incomplete.flush()

            parts = [people[at::processes] for at in range(processes)]
            in_processes([partial(reveal_for, part) for part in parts])
            incomplete.seek(0)
            keys = set(map(int, incomplete))
        return [person for person in people if person.user.pk in keys]

    def _reveal_for(self, person: Person, *, first: bool) -> bool:
        with person.unlock() as unlocked:
            [entry] = edna.history(unlocked)
            if first and entry.name == DECAY:  # others have two records for what they both change and decorrelate
                assert _without_hats(entry.counts) == _without_hats(self.rows[person.user.pk])
            outcome = patiently(lambda: edna.reveal(entry.receipt, unlocked))
            assert {held.model for held in outcome.held} <= {HAT, COMMENT}
            return outcome.complete


def _without_hats(counts: dict[str, int]) -> dict[str, int]:
    """Of a hat that its owner took along before, who granted it has no record."""
    return {model: number for model, number in counts.items() if model != HAT}


def report(job: int) -> JobReport:
    """Also while the database server is not there for a moment."""

    def asked() -> JobReport | None:
        try:
            return jobs.report(job)
        except (OperationalError, InterfaceError):
            connection.close()
            return None

    found = eventually(asked)
    assert isinstance(found, JobReport)
    return found


def halfway(job: int, share: float = 0.3) -> None:
    eventually(lambda: report(job).done >= share * report(job).total)
    assert report(job).state is JobState.RUNNING, "it was over before anything could happen to it"


def finished(job: int, *, within: float) -> None:
    eventually(lambda: report(job).state is JobState.FINISHED, within=within)


def patiently(work: Callable[[], edna.Outcome]) -> edna.Outcome:
    """Others reveal at the same time what is theirs, too."""
    for _ in range(20):
        try:
            return work()
        except edna.errors.DatabaseBusy:
            continue
    return work()


def in_processes(works: Sequence[Callable[[], None]]) -> None:
    """All at once, each in a process of its own; every one has to end well."""
    connections.close_all()
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            signal.alarm(REVEAL_SECONDS)
            status = 1
            try:
                work()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                connections.close_all()
                os._exit(status)
        children.append(child)
    statuses = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert statuses == [0] * len(works)
