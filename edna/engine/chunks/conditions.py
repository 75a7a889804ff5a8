"""Whether the conditions of a disguise's steps mean the same rows, whichever chunks are done.

The last chunk asks them again, and so does whoever goes on after an interruption. Where the chunks before have changed what a condition
reads, that would remove rows that are to stay, and what others have attached to them. Such a disguise is not cut.
Invariant: what a condition may read is taken to be read. Knows specifications and models; reads no tables.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db.models import Model

from edna import coverage, read_columns, registry
from edna.db.rows import table_of
from edna.engine.chunks.units import tables_before_account
from edna.engine.planning.selection import tables_read
from edna.engine.planning.statements import owner_keys
from edna.read_columns import Change, Read, Reading
from edna.spec import Decorrelate, Disguise, Modify, Transformation


def are_lasting(disguise: type[Disguise]) -> bool:
    """Whether no condition reads what a step of the same disguise changes in a chunk before the last one."""
    return not what_changes(disguise)


def what_changes(disguise: type[Disguise]) -> tuple[Reading, ...]:
    """What conditions read that is changed or removed in a chunk before the last one; each column once for a step."""
    return _what_changes(disguise)  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=256)
def _what_changes(disguise: type[Disguise]) -> tuple[Reading, ...]:
    if all(step.where is None for step in disguise.steps()):
        return ()
    model = registry.principal_model_for(disguise)
    steps = [_Ordered.of(step, model) for step in disguise.steps()]
    before = {table for tables in tables_before_account(steps, model) for table in tables}
    return read_columns.readings(disguise, functools.partial(_shows, before))


@dataclass(frozen=True)
class _Ordered:
    """A step, as far as it tells when its rows go."""

    transformation: Transformation
    node: type[Model]
    tables_read: Sequence[str]

    @classmethod
    def of(cls, step: Transformation, principal: type[Model]) -> _Ordered:
        owners = owner_keys(step, principal)
        names = ["pk", *owners, *(step.group_paths if isinstance(step, Decorrelate) else ())]
        read = tables_read(step.model, names, owners=owners, where=step.where)
        return cls(step, table_of(step.model).model, read)


def _shows(before: Collection[type[Model]], asking: Transformation, read: Read, change: Change) -> bool:
    """Whether ``asking`` may mean other rows after the tables ``before`` the account have been done."""
    if read.by != "where" or read.table not in (None, change.table) or table_of(change.step.model).model not in before:
        return False
    if change.column is None:
        # Who needs the row to be there goes before it, and finds no more than before.
        return read.absence
    if read.column not in (None, change.column.column):
        return False
    if isinstance(change.step, Decorrelate) and read.emptiness:
        return False  # it names somebody afterwards, too
    return bool(read.way) or change.emptied or not _only_hides(change.step, asking)


def _only_hides(changing: Transformation, asking: Transformation) -> bool:
    """Whether the rows that are changed are those that ``asking`` has dealt with, or no longer owned by whom it is for."""
    if changing is asking:
        return not (isinstance(asking, Modify) and not coverage.changes_once(asking))
    decorrelated = isinstance(changing, Decorrelate) and asking.owners == (changing.column,)
    return decorrelated and table_of(asking.model) is table_of(changing.model)
