"""What schedules keep about people: it must not outlive their accounts, where it would say that they were here.

`engine.books.departure` asks first whether there is anything. A day is kept only where the project has a schedule for such people.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from edna import registry, schedules
from edna.clock import today
from edna.errors import SpecError
from edna.operations.store import dormancy
from edna.store import Entry


def forget(entries: Sequence[Entry], *, using: str) -> None:
    """The accounts of these people, of one model, go: what any schedule has told them goes, also one that the project has no more."""
    if entries:
        dormancy.forget(entries[0].model, [str(entry.reference) for entry in entries], using=using)


def seen_on_return(model: str) -> datetime.date | None:
    """The day that is kept of somebody whose account has just come back: the last login that came back with it is long ago, and the
    next run of a schedule must not take them for dormant."""
    return today() if _scheduled(model) else None


def _scheduled(model: str) -> bool:
    """Whether a schedule is for people of this model."""
    for schedule in schedules.schedules().values():
        try:
            if registry.principal_model_for(schedule.disguise)._meta.label_lower == model:
                return True
        except SpecError:
            continue  # the checks speak about it; nobody is ever dormant for it
    return False
