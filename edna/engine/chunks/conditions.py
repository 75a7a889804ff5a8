"""Whether the conditions of a disguise's steps mean the same rows, whichever chunks are done.

The last chunk asks them again, and so does whoever goes on after an interruption. Where the chunks before have changed what a condition
reads, that would remove rows that are to stay, and what others have attached to them. Such a disguise is not cut.
Invariant: what a condition may read is taken to be read. Knows compiled steps and models; reads no tables.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model
from django.db.models.expressions import Col, RawSQL
from django.db.models.lookups import IsNull
from django.db.models.sql import Query
from django.db.models.sql.constants import LOUTER
from django.db.models.sql.datastructures import Join
from django.db.models.sql.where import ExtraWhere

from edna import coverage, registry
from edna.db.rows import Table, table_of
from edna.engine.chunks.units import units_before_account
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import Compiled, CompiledStep, compiled_disguise
from edna.spec import Decorrelate, Disguise, Remove, Transformation


@functools.lru_cache(maxsize=256)
def are_lasting(disguise: type[Disguise], *, using: str) -> bool:
    """Whether no condition reads what a step of the same disguise changes in a chunk before the last one."""
    if all(step.where is None for step in disguise.steps()):
        return True
    compiled = compiled_disguise(disguise, using=using)
    model = registry.principal_model_for(disguise)
    before = [step for unit in units_before_account(compiled.steps, model) for step in unit.steps]
    changes = list(_changes(before, compiled))
    asked = {id(step.transformation): step.transformation for step in compiled.steps}
    return not any(
        change.shows_in(read, step)
        for step in asked.values()
        for read in _reads(step, using=using)
        for change in changes
    )


@dataclass(frozen=True)
class _Read:
    """A condition reads a column, by the database's names; None stands for any.

    ``own``: of the row that is meant. ``null``: only whether it is NULL. ``absent``: it also asks whether there is no such row.
    """

    table: str | None
    column: str | None
    own: bool = False
    null: bool = False
    absent: bool = False


@dataclass(frozen=True)
class _Change:
    """A step changes a column of some rows; None if it takes the rows away."""

    table: str
    column: str | None
    step: Transformation | None

    def shows_in(self, read: _Read, asking: Transformation) -> bool:
        """Whether ``asking`` may mean other rows than before."""
        if read.table not in (None, self.table):
            return False
        if self.column is None:
            # Who needs the row to be there goes before it, and finds no more than before.
            return read.absent
        if read.column not in (None, self.column):
            return False
        if isinstance(self.step, Decorrelate) and read.null:
            return False  # it names somebody afterwards, too
        return not (read.own and self._only_hides(asking))

    def _only_hides(self, asking: Transformation) -> bool:
        """Whether the rows that are changed are those that ``asking`` has dealt with, or no longer owned by whom it is for."""
        if self.step is asking:
            return True
        decorrelated = isinstance(self.step, Decorrelate) and asking.owners == (self.step.column,)
        return decorrelated and self.step is not None and table_of(asking.model) is table_of(self.step.model)


def _changes(steps: Sequence[CompiledStep], compiled: Compiled) -> Iterator[_Change]:
    """What the steps do before the last chunk, and what becomes of what refers to rows that they remove."""
    for step in steps:
        transformation = step.transformation
        if not isinstance(transformation, Remove):
            for name in step.columns[len(step.table.key) :]:
                yield _change(step.table, name, transformation)
            continue
        for part in coverage.tables_of_object(step.node):
            yield _Change(part._meta.db_table, None, transformation)
        if len(transformation.owners) > 1:
            # Of rows that stay with the others, owners who leave are re-pointed.
            for name in {*transformation.owners} & {*step.table.names}:
                yield _change(step.table, name, transformation)
            for name, table in step.inherited:
                yield _change(table, name, transformation)
    removed = {table for step in steps if isinstance(step.transformation, Remove) for table in _parts(step.node)}
    for relation in compiled.emptied:
        if table_of(relation.target).model in removed:
            yield _change(table_of(relation.model), relation.field.name, None)


def _parts(model: type[Model]) -> Sequence[type[Model]]:
    return [table_of(part).model for part in coverage.tables_of_object(model)]


def _change(table: Table, name: str, step: Transformation | None) -> _Change:
    return _Change(table.model._meta.db_table, table.field(name).column, step)


def _reads(step: Transformation, *, using: str) -> Iterator[_Read]:
    if step.where is None:
        return
    selection = Selection.compile(step.model, ["pk"], owners=(), where=step.where, using=using)
    if selection is not None:
        yield from _read_by(selection.query, within=False)


def _read_by(query: Query, *, within: bool) -> Iterator[_Read]:
    """``within``: it is a part of another one, which may ask whether it finds nothing."""
    own = None if within else query.base_table
    used = {alias: table for alias, table in query.alias_map.items() if query.alias_refcount[alias]}
    for alias, table in used.items():
        absent = within or table.join_type == LOUTER
        if alias != own:
            yield _Read(table.table_name, "", absent=absent)
        if isinstance(table, Join):
            parent = query.alias_map[table.parent_alias]
            for left, right in table.join_cols:
                yield _Read(parent.table_name, left, own=table.parent_alias == own)
                yield _Read(table.table_name, right)
    if not used and within and query.model:
        yield _Read(query.model._meta.db_table, "", absent=True)
    parts: list[Any] = [query.where, *query.annotation_select.values(), *query.combined_queries]
    while parts:
        part = parts.pop()
        if isinstance(part, Query):
            yield from _read_by(part, within=True)
        elif isinstance(part, Col):
            yield _column(part, own=own, null=False)
        elif isinstance(part, IsNull) and isinstance(part.lhs, Col):
            yield _column(part.lhs, own=own, null=True)
        elif isinstance(part, RawSQL | ExtraWhere):
            yield _Read(None, None, absent=True)
        elif hasattr(part, "get_source_expressions"):
            parts += part.get_source_expressions()


def _column(read: Col, *, own: str | None, null: bool) -> _Read:
    field = read.target
    # The database computes it, of any others.
    column = None if getattr(field, "generated", False) else field.column
    return _Read(field.model._meta.db_table, column, own=read.alias == own, null=null)
