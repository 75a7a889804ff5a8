"""How long somebody was away, and what a schedule does about it next: the rules, on days.

Invariant: nobody is disguised before they were away for as long as the schedule says, nor before every notice, each as long ago as it
promised; a notice that was given before they last came counts for nothing. Writes nothing and sends nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.utils import timezone

from edna import store
from edna.engine.graph.references import reference_of
from edna.operations.store import dormancy as stored
from edna.operations.store.dormancy import Told
from edna.schedules import Schedule


@dataclass(frozen=True, slots=True)
class Absence:
    """Since when somebody is away, as far as that is known, and what they were last told about it."""

    reference: str
    since: datetime.date
    told: Told | None


@dataclass(frozen=True, slots=True)
class Step:
    """What comes next, and from which day on: a notice of so many days, or with 0 the disguise."""

    days: int
    due_on: datetime.date


def next_step(schedule: Schedule, absence: Absence) -> Step | None:
    """What the schedule does next about somebody who does not return; None if it has done all."""
    told = absence.told if absence.told is not None and counts(schedule, absence.since, absence.told) else None
    if told is not None and told.days == 0:
        return None
    still_to_give = [days for days in schedule.notify_days if told is None or days < told.days]
    days = still_to_give[0] if still_to_give else 0
    due_on = absence.since + datetime.timedelta(days=schedule.inactive_days - days)
    if told is not None:
        # What was promised then holds, however long the scheduler was down since.
        due_on = max(due_on, told.sent_on + datetime.timedelta(days=told.days - days))
    return Step(days, due_on)


def counts(schedule: Schedule, since: datetime.date, told: Told) -> bool:
    """Whether a notice was given for this absence: on its day they had been away for long enough already."""
    return since + datetime.timedelta(days=schedule.inactive_days - told.days) <= told.sent_on


def read(
    schedule: Schedule,
    model: type[Model],
    seen: Mapping[str, datetime.date | None],
    *,
    using: str,
    lock: bool = False,
) -> dict[str, Absence]:
    """The absences of those of ``seen`` (whom requests noted, and when) for whom the schedule is. Of whom nothing is known, none.

    Two statements. With ``lock``, three that read what is there now, and keep it so.
    """
    people = model._base_manager.using(using).filter(pk__in=[model._meta.pk.to_python(each) for each in seen])
    if lock:
        # On its own: `only` may join tables, whose rows are not to be locked, or cannot be.
        days = _days(model, schedule, people.order_by("pk").select_for_update())
        meant = set(people.filter(schedule.only).values_list("pk", flat=True)) if schedule.only else set(days)
        days = {key: found for key, found in days.items() if key in meant}
    else:
        days = _days(model, schedule, people.filter(schedule.only))
    absences: dict[str, Absence] = {}
    told = stored.told(schedule.name, model._meta.label_lower, seen, using=using, lock=lock)
    for key, found in days.items():
        reference = reference_of(model, key)
        known = [day for day in (*found, seen.get(reference)) if day is not None]
        if known and reference in seen:
            absences[reference] = Absence(reference, max(known), told.get(reference))
    return absences


def read_now(schedule: Schedule, model: type[Model], references: list[str], *, using: str) -> dict[str, Absence]:
    """As `read`, with locks, of those of ``references`` who are there: in a transaction nobody can return until it has ended."""
    entries = store.entries_by_reference(model._meta.label_lower, references, using=using, lock=True)
    seen = {str(entry.reference): entry.last_seen_on for entry in entries if entry.natural}
    return read(schedule, model, seen, using=using, lock=True) if seen else {}


def _days(model: type[Model], schedule: Schedule, people: Any) -> dict[Any, list[datetime.date | None]]:
    return {key: [_day(value) for value in values] for key, *values in people.values_list("pk", *schedule.last_active)}


def _day(value: datetime.date | datetime.datetime | None) -> datetime.date | None:
    """The day in UTC, which is everybody's here, as it is for the middleware."""
    if isinstance(value, datetime.datetime):
        aware = value if timezone.is_aware(value) else timezone.make_aware(value, timezone.get_default_timezone())
        return aware.astimezone(datetime.UTC).date()
    return value
