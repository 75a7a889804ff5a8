"""When each recurring task was last done, what it counted, and until when a process is at it. Knows no task."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from edna import logs
from edna.operations.models import LastRun


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


# Whose turn it is


def know(name: str, *, using: str) -> None:
    """The task has a row. Of several who write the first at once, MariaDB may ask some for another try."""
    LastRun.objects.using(using).bulk_create([LastRun(name=name)], ignore_conflicts=True)


def take_turn(name: str, *, now: datetime.datetime, until: datetime.datetime, using: str) -> bool:
    """Whether nobody was at it. In one statement, so that of two who try at once one succeeds."""
    free = Q(busy_until=None) | Q(busy_until__lte=now)
    return bool(LastRun.objects.using(using).filter(free, name=name).update(busy_until=until))


def change_turn(name: str, *, ends: datetime.datetime, until: datetime.datetime | None, using: str) -> bool:
    """Whether it was still ours, the one that ends then; with None, it has ended now."""
    return bool(LastRun.objects.using(using).filter(name=name, busy_until=ends).update(busy_until=until))
