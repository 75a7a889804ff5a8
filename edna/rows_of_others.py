"""What a step's condition, or what it groups by, reads of what the same disguise changes in somebody else's turn.

All in one plan, each step is asked once, before anything is changed. In parts, or batches of a job, it is asked again for those who come
later, and no longer finds what earlier ones have changed: texts stay, and what were several groups become one. Invariant: what cannot be
told counts as somebody else's. What changes in a person's own turn alone does not.
Reads specifications and model definitions, never rows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import Field, ForeignKey, Model, QuerySet
from django.db.models.expressions import Col, RawSQL
from django.db.models.fields.reverse_related import ForeignObjectRel
from django.db.models.lookups import IsNull
from django.db.models.sql import Query
from django.db.models.sql.datastructures import Join
from django.db.models.sql.where import ExtraWhere

from edna import coverage, json_keys, value_owners
from edna.errors import SpecError
from edna.naming import written_names
from edna.spec import ALL, Decorrelate, Disguise, Modify, Remove, Transformation, model_field

#: Of a way along relations, one against its direction.
_BACK: Final = "<"
_UNKNOWN: Final = "?"

#: From a row along relations, by their names.
_Way = tuple[str, ...]


@dataclass(frozen=True)
class Reading:
    """``step`` reads ``column`` by its ``where`` or ``group_by``; ``other`` changes or removes it for somebody else."""

    step: Transformation
    by: str
    column: str
    other: Transformation

    def __str__(self) -> str:
        what = "removes" if isinstance(self.other, Remove) else "changes"
        whose = "the same step" if self.other is self.step else _written(self.other)
        return f"the {self.by} of {_written(self.step)} reads {self.column}, which {whose} {what} for others"


def _written(step: Transformation) -> str:
    return (
        f"{type(step).__name__}({step.model.__name__}{f', owner={written_names(step.owners)}' if step.owners else ''})"
    )


def refusal(disguise: type[Disguise]) -> str:
    """Why it is for one plan alone, in one sentence; "" where it is not."""
    found = readings(disguise)
    return (
        f"{disguise.name} is for one transaction: {found[0]}. Who comes later would not be found any more."
        if found
        else ""
    )


def readings(disguise: type[Disguise]) -> tuple[Reading, ...]:
    """Each column once for a step."""
    return _readings(disguise)  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=256)
def _readings(disguise: type[Disguise]) -> tuple[Reading, ...]:
    changes = [change for step in disguise.steps() for change in _changes(disguise, step)]
    found: dict[tuple[int, str, str], Reading] = {}
    for step in disguise.steps():
        for read in _reads(step):
            for change in changes:
                if _is_of_others(step, read, change, disguise):
                    column = f"{change.label}.{change.column.name if change.column else 'pk'}"
                    found.setdefault((id(step), read.by, column), Reading(step, read.by, column, change.step))
    return tuple(found.values())


# What is changed


@dataclass(frozen=True)
class _Change:
    """A column of a table, or, where there is none, its rows. ``owners``: ways from such a row to those in whose turn it is changed."""

    step: Transformation
    table: str
    column: Field[Any, Any] | None
    owners: tuple[_Way, ...]
    repoints: bool = False

    @property
    def label(self) -> str:
        models = (model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy)
        return next((model._meta.label for model in models if model._meta.db_table == self.table), self.table)


def _changes(disguise: type[Disguise], step: Transformation) -> Iterator[_Change]:
    owners = _ways(step)
    if isinstance(step, Remove):
        for part in coverage.tables_of_object(step.model):
            yield _Change(step, part._meta.db_table, None, owners)
        for relation in coverage.set_null_relations(disguise):
            if coverage.same_table(relation.target, step.model):
                led = tuple((relation.field.name, *way) for way in owners)
                yield _Change(step, relation.model._meta.db_table, relation.field, led)
    repointed = [step.column] if isinstance(step, Decorrelate) else step.owners if _is_shared(step) else ()
    # Of a row of several owners, each is re-pointed in their own turn.
    named = [*((name, True, (_way(name),)) for name in repointed), *((name, False, owners) for name in _set(step))]
    for name, repoints, whose in named:
        try:
            column = model_field(step.model, name)
        except (SpecError, FieldDoesNotExist):
            continue  # no column of the row; checks speak about what is none at all
        yield _Change(step, column.model._meta.db_table, column, whose, repoints)


def _is_shared(step: Transformation) -> bool:
    return isinstance(step, Remove) and len(step.owners) > 1


def _set(step: Transformation) -> list[str]:
    return list(map(json_keys.column, step.set)) if isinstance(step, Modify) else []


def _ways(step: Transformation) -> tuple[_Way, ...]:
    return tuple(_way(owner) for owner in step.owners) or ((),)


def _way(owner: str) -> _Way:
    path, match = value_owners.parsed(owner) if value_owners.is_by_value(owner) else (owner, None)
    names = [name for name in path.split("__") if name]
    if len(names) > 1 and names[-1] in ("pk", "id"):
        names.pop()
    return (*names, *([str(match)] if match is not None else []))


# What is read


@dataclass(frozen=True)
class _Read:
    """A column of a row to which ``way`` leads; None for any, of any table. ``by``: a "where" or a "group_by". ``emptiness``: only whether
    it is NULL."""

    by: str
    table: str | None
    column: str | None
    way: _Way
    emptiness: bool = False


def _reads(step: Transformation) -> Iterator[_Read]:
    try:
        if step.where is not None:
            yield from _of_query(QuerySet(model=step.model).filter(step.where).query, "where", {}, ())
        if isinstance(step, Decorrelate) and step.group_by is not ALL and step.group_paths:
            query = QuerySet(model=step.model).values_list(*step.group_paths).query
            yield from _of_query(query, "group_by", {}, ())
    except (FieldError, FieldDoesNotExist, TypeError, ValueError):
        return  # `edna.E102` speaks about it


def _of_query(query: Query, by: str, around: Mapping[str, tuple[str, _Way]], start: _Way) -> Iterator[_Read]:
    """The columns that it reads. ``around``: of the statement that it is in, the table and the way of each alias."""
    ways: dict[str, tuple[str, _Way]] = {}
    for alias, table in query.alias_map.items():
        if not isinstance(table, Join):
            ways[alias] = table.table_name, start
            continue
        _, way = ways[table.parent_alias]
        ways[alias] = table.table_name, _led(way, table.join_field)
        if query.alias_refcount[alias]:
            for ours, theirs in table.join_cols:
                yield _Read(by, *_of_alias(ways[table.parent_alias], ours))
                yield _Read(by, *_of_alias(ways[alias], theirs))
    parts: list[Any] = [query.where, *query.select, *query.annotations.values()]
    known = {**around, **ways}
    while parts:
        part = parts.pop()
        if isinstance(part, Query):
            yield from _of_query(part, by, known, (_UNKNOWN,))
        elif isinstance(part, QuerySet):
            parts.append(part.query)
        elif isinstance(part, Col):
            if part.alias in known:
                # The database computes some, of any others of the row.
                computed = getattr(part.target, "generated", False)
                yield _Read(by, *_of_alias(known[part.alias], None if computed else part.target.column))
        elif isinstance(part, IsNull) and isinstance(part.lhs, Col) and part.lhs.alias in known:
            yield _Read(by, *_of_alias(known[part.lhs.alias], part.lhs.target.column), emptiness=True)
        elif isinstance(part, (list, tuple, set)):
            parts += part
        elif isinstance(part, RawSQL | ExtraWhere):
            yield _Read(by, None, None, (_UNKNOWN,))
        elif hasattr(part, "children"):
            parts += part.children
        elif hasattr(part, "get_source_expressions"):
            parts += part.get_source_expressions()


def _of_alias(alias: tuple[str, _Way], column: str | None) -> tuple[str, str | None, _Way]:
    table, way = alias
    return table, column, way


def _led(way: _Way, field: Any) -> _Way:
    """One relation further. What lies in the table of a parent is the same object."""
    if isinstance(field, ForeignObjectRel):
        return way if getattr(field, "parent_link", False) else (*way, _BACK + field.field.name)
    if isinstance(field, ForeignKey):
        return way if field.remote_field.parent_link else (*way, field.name)
    return (*way, _UNKNOWN)


# Whose it is


def _is_of_others(step: Transformation, read: _Read, change: _Change, disguise: type[Disguise]) -> bool:
    if read.table not in (None, change.table):
        return False
    if change.column is None:
        if not _may_miss(step.model, read.way, disguise):
            return False
    elif read.column not in (None, change.column.column) or (read.emptiness and change.repoints):
        return False
    if not read.way and change.step is step and isinstance(step, Modify) and not step.asks_each_owner:
        return False  # which changes each row once
    mine = _ways(step)
    return len(mine) > 1 or any(_onward(read.way, owner) != mine[0] for owner in change.owners)


def _onward(way: _Way, owner: _Way) -> _Way:
    """Where the owner of what lies at the end of a way is, seen from its beginning; back along a relation is where one came from."""
    if way and owner and way[-1] == _BACK + owner[0]:
        return _onward(way[:-1], owner[1:])
    return (*way, *owner)


def _may_miss(model: type[Model], way: _Way, disguise: type[Disguise]) -> bool:
    """Whether a row is there, and what lies at the end of the way is removed. What it refers to itself takes it along, or is taken out of
    its column, unless it is kept."""
    here: Any = model
    for name in way:
        if name.startswith((_BACK, _UNKNOWN)):
            return True
        field = here._meta.get_field(name)
        if coverage.kept(disguise, field.model, name):
            return True
        here = field.related_model
    return False
