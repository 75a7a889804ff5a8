"""What a step's condition, or what it groups by, reads of what the same disguise changes in somebody else's turn.

All in one plan, each step is asked once, before anything is changed. In parts, or batches of a job, it is asked again for those who come
later, and no longer finds what earlier ones have changed: texts stay, and what were several groups become one. Invariant: what cannot be
told counts as somebody else's. What changes in a person's own turn alone does not.
Reads specifications and model definitions, never rows.
"""

from __future__ import annotations

import functools
from typing import Any

from django.db.models import Model

from edna import coverage, read_columns
from edna.names_left import changes_once
from edna.read_columns import BACK, UNKNOWN, Change, Read, Reading, Way, ways_to_owners
from edna.spec import Disguise, Modify, Transformation


def refusal(disguise: type[Disguise]) -> str:
    """Why it is for one plan alone, in one sentence; "" where it is not."""
    found = readings(disguise)
    return (
        f"{disguise.name} is for one transaction: {found[0]} for others. Who comes later would not be found any more."
        if found
        else ""
    )


def readings(disguise: type[Disguise]) -> tuple[Reading, ...]:
    """What its steps read that is changed or removed for somebody else; each column once for a step."""
    return _readings(disguise)  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=256)
def _readings(disguise: type[Disguise]) -> tuple[Reading, ...]:
    return read_columns.readings(disguise, functools.partial(_is_of_others, disguise))


def _is_of_others(disguise: type[Disguise], step: Transformation, read: Read, change: Change) -> bool:
    if read.table not in (None, change.table):
        return False
    if change.column is None:
        if not _may_miss(step.model, read.way, disguise):
            return False
    elif read.column not in (None, change.column.column) or (read.emptiness and change.repoints):
        return False
    if not read.way and change.step is step and isinstance(step, Modify) and changes_once(disguise, step):  # type: ignore[arg-type]  # classes are hashable
        return False  # which changes each row once
    if change.emptied and read.wants_empty and not change.step.owners:
        return False  # a row whose person has gone is one of nobody's now: it is found besides
    mine = ways_to_owners(step)
    return len(mine) > 1 or any(_onward(read.way, owner) != mine[0] for owner in change.owners)


def _onward(way: Way, owner: Way) -> Way:
    """Where the owner of what lies at the end of a way is, seen from its beginning; back along a relation is where one came from."""
    if way and owner and way[-1] == BACK + owner[0]:
        return _onward(way[:-1], owner[1:])
    return (*way, *owner)


def _may_miss(model: type[Model], way: Way, disguise: type[Disguise]) -> bool:
    """Whether a row is there, and what lies at the end of the way is removed. What it refers to itself takes it along, or is taken out of
    its column, unless it is kept."""
    here: Any = model
    for name in way:
        if name.startswith((BACK, UNKNOWN)):
            return True
        field = here._meta.get_field(name)
        if coverage.kept(disguise, field.model, name):
            return True
        here = field.related_model
    return False
