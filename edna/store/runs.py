"""When each recurring task was last done, what it counted, and whose turn it is.

A task that must not run twice at once takes its turn first: a lease, so that the turn of a process that was killed ends by
itself, and no transaction is open meanwhile. Knows no task.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from edna import logs
from edna.models import LastRun


@dataclass(frozen=True, slots=True)
class Run:
    """``finished_at`` is None of a task that has begun and never ended."""

    name: str
    finished_at: datetime.datetime | None
    counts: dict[str, int]
    busy_until: datetime.datetime | None


def note_run(name: str, counts: Mapping[str, int], *, using: str) -> None:
    """Say that the task is done now, and what it counted: numbers alone. The log says so, too, unless the name is not of one word:
    a note that a task keeps for itself."""
    done = {"finished_at": timezone.now(), "counts": dict(counts)}
    LastRun.objects.using(using).update_or_create(name=name, defaults=done)
    if name.isidentifier():
        logs.event(f"{name}_done", area=name, **{key.replace(" ", "_"): number for key, number in counts.items()})


def last_runs(*, using: str) -> list[Run]:
    """By name."""
    return [
        Run(run.name, run.finished_at, dict(run.counts), run.busy_until)
        for run in LastRun.objects.using(using).order_by("name")
    ]


class Turn:
    """``with Turn(name, seconds=300, using=alias) as turn: if turn.taken: ...``; call `keep` while it goes on.

    Not inside a transaction: others must see it at once.
    """

    def __init__(self, name: str, *, seconds: float, using: str) -> None:
        self._name, self._seconds, self._using = name, seconds, using
        self._until: datetime.datetime | None = None
        self.taken = False

    def __enter__(self) -> Turn:
        LastRun.objects.using(self._using).bulk_create([LastRun(name=self._name)], ignore_conflicts=True)
        now = timezone.now()
        self.taken = self._set(now + self._length, Q(busy_until=None) | Q(busy_until__lte=now))
        return self

    def __exit__(self, *_: object) -> None:
        if self.taken:
            self.taken = self._set(None, Q(busy_until=self._until))

    def keep(self) -> bool:
        """Whether the turn is still ours; it is for as long again. Costs a statement only when half of its time is over."""
        now = timezone.now()
        if self.taken and self._until is not None and self._until - now < self._length / 2:
            # Of a turn that was not kept in time, somebody else may have taken the next.
            self.taken = self._set(now + self._length, Q(busy_until=self._until))
        return self.taken

    @property
    def _length(self) -> datetime.timedelta:
        return datetime.timedelta(seconds=self._seconds)

    def _set(self, until: datetime.datetime | None, condition: Q) -> bool:
        """In one statement, so that of two who try at once one succeeds."""
        changed = LastRun.objects.using(self._using).filter(condition, name=self._name).update(busy_until=until)
        if changed:
            self._until = until
        return bool(changed)
