"""What the steps of a disguise read of the database by their `where` and `group_by`, and what they change there.

Where the two meet, a condition that is asked again finds something else: for those who come later (`edna.rows_of_others`), or in the
last of several chunks (`edna.engine.chunks.conditions`). Invariant: what cannot be told counts as read.
Reads specifications and model definitions, never rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, FieldError
from django.db.models import Field, ForeignKey, Q, QuerySet
from django.db.models.expressions import Col, RawSQL
from django.db.models.fields.reverse_related import ForeignObjectRel
from django.db.models.lookups import IsNull
from django.db.models.sql import Query
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join
from django.db.models.sql.where import ExtraWhere, WhereNode

from edna import coverage, json_keys, value_owners
from edna.errors import SpecError
from edna.naming import written_names
from edna.spec import ALL, Decorrelate, Disguise, Modify, Remove, Transformation, model_field

#: From a row along relations, by their names.
Way = tuple[str, ...]

#: Of a way along relations, one against its direction.
BACK: Final = "<"
UNKNOWN: Final = "?"


@dataclass(frozen=True)
class Reading:
    """``step`` reads ``column`` by its ``where`` or ``group_by``; ``other`` changes or removes it."""

    step: Transformation
    by: str
    column: str
    other: Transformation

    def __str__(self) -> str:
        what = "removes" if isinstance(self.other, Remove) else "changes"
        whose = "the same step" if self.other is self.step else _written(self.other)
        return f"the {self.by} of {_written(self.step)} reads {self.column}, which {whose} {what}"


def _written(step: Transformation) -> str:
    return (
        f"{type(step).__name__}({step.model.__name__}{f', owner={written_names(step.owners)}' if step.owners else ''})"
    )


def readings(disguise: type[Disguise], meet: Callable[[Transformation, Read, Change], bool]) -> tuple[Reading, ...]:
    """Where what a step reads and what one changes ``meet``: each column once for a step."""
    changes = [change for step in disguise.steps() for change in _changed_by(disguise, step)]
    found: dict[tuple[int, str, str], Reading] = {}
    for step in disguise.steps():
        for read in _read_by(step):
            for change in (change for change in changes if meet(step, read, change)):
                key = id(step), read.by, change.label
                found.setdefault(key, Reading(step, read.by, change.label, change.step))
    return tuple(found.values())


# What is changed


@dataclass(frozen=True)
class Change:
    """A column of a table, or, where there is none, its rows. ``owners``: ways from such a row to those in whose turn it is changed.

    ``repoints``: it names somebody afterwards, too. ``emptied``: not by what the step sets, but as what it refers to is removed.
    """

    step: Transformation
    table: str
    column: Field[Any, Any] | None
    owners: tuple[Way, ...]
    repoints: bool = False
    emptied: bool = False

    @property
    def label(self) -> str:
        models = (model for model in apps.get_models(include_auto_created=True) if not model._meta.proxy)
        table = next((model._meta.label for model in models if model._meta.db_table == self.table), self.table)
        return f"{table}.{self.column.name if self.column else 'pk'}"


def _changed_by(disguise: type[Disguise], step: Transformation) -> Iterator[Change]:
    owners = ways_to_owners(step)
    if isinstance(step, Remove):
        parts = coverage.tables_of_object(step.model._meta.concrete_model or step.model)
        for part in parts:
            yield Change(step, part._meta.db_table, None, owners)
        for relation in coverage.set_null_relations(disguise):
            if relation.target in parts:
                led = tuple((relation.field.name, *way) for way in owners)
                yield Change(step, relation.model._meta.db_table, relation.field, led, emptied=True)
    repointed = [step.column] if isinstance(step, Decorrelate) else step.owners if _is_shared(step) else ()
    # Of a row of several owners, each is re-pointed in their own turn.
    named = [*((name, True, (_way(name),)) for name in repointed), *((name, False, owners) for name in _set(step))]
    for name, repoints, whose in named:
        try:
            column = model_field(step.model, name)
        except (SpecError, FieldDoesNotExist):
            continue  # no column of the row; checks speak about what is none at all
        yield Change(step, column.model._meta.db_table, column, whose, repoints)


def _is_shared(step: Transformation) -> bool:
    return isinstance(step, Remove) and len(step.owners) > 1


def _set(step: Transformation) -> list[str]:
    return list(map(json_keys.column, step.set)) if isinstance(step, Modify) else []


def ways_to_owners(step: Transformation) -> tuple[Way, ...]:
    return tuple(_way(owner) for owner in step.owners) or ((),)


def _way(owner: str) -> Way:
    path, match = value_owners.parsed(owner) if value_owners.is_by_value(owner) else (owner, None)
    names = [name for name in path.split("__") if name]
    if len(names) > 1 and names[-1] in ("pk", "id"):
        names.pop()
    return (*names, *([str(match)] if match is not None else []))


# What is read


@dataclass(frozen=True)
class Read:
    """A column of a row to which ``way`` leads; None for any, of any table. ``by``: a "where" or a "group_by".

    ``emptiness``: only whether it is NULL; ``wants_empty``: and only where it is. ``absence``: also whether there is no such row.
    """

    by: str
    table: str | None
    column: str | None
    way: Way
    emptiness: bool = False
    wants_empty: bool = False
    absence: bool = False


#: That there is a row, whatever its columns say.
_THE_ROW: Final = ""


def _read_by(step: Transformation) -> Iterator[Read]:
    try:
        if step.where is not None:
            yield from _Walk("where").through(QuerySet(model=step.model).filter(step.where).query)
        if isinstance(step, Decorrelate) and step.group_by is not ALL and step.group_paths:
            yield from _Walk("group_by").through(QuerySet(model=step.model).values_list(*step.group_paths).query)
    except (FieldError, FieldDoesNotExist, TypeError, ValueError):
        return  # `edna.E102` speaks about it


@dataclass(frozen=True)
class _Walk:
    """Through a statement and those in it. ``around``: of the one that it is in, the table and the way of each alias."""

    by: str
    around: Mapping[str, tuple[str, Way]] | None = None

    def through(self, query: Query) -> Iterator[Read]:
        within = self.around is not None
        ways: dict[str, tuple[str, Way]] = {}
        for alias, table in query.alias_map.items():
            if not isinstance(table, Join):
                ways[alias] = table.table_name, (UNKNOWN,) if within else ()
            else:
                ways[alias] = table.table_name, _led(ways[table.parent_alias][1], table.join_field)
            if not query.alias_refcount[alias]:
                continue
            if within or alias != query.base_table:
                absence = within or table.join_type == LOUTER
                yield self._read(ways[alias], _THE_ROW, absence=absence)
            if isinstance(table, Join):
                for ours, theirs in table.join_cols:
                    yield self._read(ways[table.parent_alias], ours)
                    yield self._read(ways[alias], theirs)
        if within and query.model and not any(query.alias_refcount.values()):
            yield self._read((query.model._meta.db_table, (UNKNOWN,)), _THE_ROW, absence=True)
        known = {**(self.around or {}), **ways}
        expressions = [query.where, *query.select, *query.annotations.values(), *query.combined_queries]
        for each in expressions:
            yield from self._expression(each, known, certain=None if within else True)

    def _expression(self, part: Any, known: Mapping[str, tuple[str, Way]], *, certain: bool | None) -> Iterator[Read]:
        """``certain``: whether the statement finds rows only where it is true, or false; None if neither is sure."""
        if isinstance(part, Query | QuerySet):
            query = part.query if isinstance(part, QuerySet) else part
            yield from _Walk(self.by, known).through(query)
        elif isinstance(part, Col):
            yield self._column(part, known)
        elif isinstance(part, IsNull) and isinstance(part.lhs, Col):
            wants_empty = certain is not None and bool(part.rhs) is certain
            yield self._column(part.lhs, known, emptiness=True, wants_empty=wants_empty)
        elif isinstance(part, RawSQL | ExtraWhere):
            yield Read(self.by, None, None, (UNKNOWN,), absence=True)
        elif isinstance(part, WhereNode):
            plain = certain if part.connector in (Q.AND, Q.OR) else None
            for child in part.children:
                yield from self._expression(child, known, certain=plain ^ part.negated if plain is not None else None)
        elif isinstance(part, list | tuple | set):
            for each in part:
                yield from self._expression(each, known, certain=None)
        elif hasattr(part, "get_source_expressions"):
            for each in part.get_source_expressions():
                yield from self._expression(each, known, certain=None)

    def _column(
        self, part: Col, known: Mapping[str, tuple[str, Way]], *, emptiness: bool = False, wants_empty: bool = False
    ) -> Read:
        field = part.target
        # The database computes some, of any others of the row.
        column = None if getattr(field, "generated", False) else field.column
        place = known.get(part.alias, (field.model._meta.db_table, (UNKNOWN,)))
        return self._read(place, column, emptiness=emptiness, wants_empty=wants_empty)

    def _read(self, place: tuple[str, Way], column: str | None, **more: bool) -> Read:
        table, way = place
        return Read(self.by, table, column, way, **more)


def _led(way: Way, field: Any) -> Way:
    """One relation further. What lies in the table of a parent is the same object."""
    if isinstance(field, ForeignObjectRel):
        return way if getattr(field, "parent_link", False) else (*way, BACK + field.field.name)
    if isinstance(field, ForeignKey):
        return way if field.remote_field.parent_link else (*way, field.name)
    return (*way, UNKNOWN)
