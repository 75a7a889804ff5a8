"""What a disguise would do: which rows of which tables, for whom. Reads, never writes.

The same `Plan` is a dry run, the admin's preview, and what `engine.disguise` executes (then built with locks, in the
executing transaction). Every table is read with one statement, or two where the condition joins other tables, for all
principals of the plan together. Raw values throughout; nothing is sealed here. Long because a plan's parts (who, what, in which
order) only make sense side by side.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connections
from django.db.models import Model, Q

from edna import coverage, registry
from edna import rows as raw
from edna.engine.selection import Selection
from edna.errors import SpecError
from edna.records import values
from edna.records.diff import Operation
from edna.rows import Row, Table, table_of
from edna.spec import ALL, Decorrelate, Disguise, Modify, Remove, Transformation
from edna.store import Entry

_SAMPLE_ROWS = 100


@dataclass(frozen=True)
class Target:
    """A principal to disguise: the entry to seal to, and every entry whose rows are meant (itself first)."""

    entry: Entry
    owners: tuple[Entry, ...]


@dataclass
class PlannedStep:
    """Rows of one table under one operation, each with the target it belongs to.

    ``rows`` hold the values of ``columns``: all stored columns for a removal, otherwise the key and then the columns to
    change. ``groups`` says, for a decorrelation, which rows share a pseudoprincipal.
    """

    operation: Operation
    table: Table
    columns: tuple[str, ...]
    transformation: Transformation | None
    rows: list[Row] = field(default_factory=list, repr=False)
    targets: list[int] = field(default_factory=list, repr=False)
    groups: list[Any] = field(default_factory=list, repr=False)

    def primary_keys(self) -> list[Row]:
        if self.operation is not Operation.REMOVE:
            return [row[: len(self.table.key)] for row in self.rows]
        positions = [self.columns.index(name) for name in self.table.key_names]
        return [tuple(row[position] for position in positions) for row in self.rows]


@dataclass(frozen=True)
class PlannedTable:
    """One line of a preview."""

    model: str
    operation: str
    rows: int


@dataclass(frozen=True)
class Plan:
    """What applying ``disguise`` with ``params`` would do. ``removals`` are in the order in which they can be deleted."""

    disguise: type[Disguise]
    params: Mapping[str, Any]
    principal_model: type[Model]
    targets: tuple[Target, ...]
    removals: tuple[PlannedStep, ...]
    changes: tuple[PlannedStep, ...]

    @property
    def steps(self) -> tuple[PlannedStep, ...]:
        return self.changes + self.removals

    @property
    def tables(self) -> list[PlannedTable]:
        """Rows by table and operation, in the order of execution; tables without rows are listed too."""
        return [PlannedTable(step.table.label, step.operation.name.lower(), len(step.rows)) for step in self.steps]

    @property
    def rows(self) -> int:
        return sum(len(step.rows) for step in self.steps)

    @property
    def pseudoprincipals(self) -> int:
        return sum(len(set(step.groups)) for step in self.changes)

    @functools.cached_property
    def estimated_bytes(self) -> int:
        """About how many bytes the records take before compression and padding, from a sample of each table."""
        total = 0
        for step in self.steps:
            sample = step.rows[:_SAMPLE_ROWS]
            total += len(values.encode([list(row) for row in sample])) * len(step.rows) // max(1, len(sample))
        return total

    def as_dict(self) -> dict[str, Any]:
        return {
            "disguise": self.disguise.name,
            "tables": [{"model": t.model, "operation": t.operation, "rows": t.rows} for t in self.tables],
            "rows": self.rows,
            "pseudoprincipals": self.pseudoprincipals,
            "estimated_bytes": self.estimated_bytes,
        }


# Who


def reference_of(model: type[Model], key: Any) -> str:
    """The text form of a raw primary key, the same on every database."""
    return str(key) if type(key) is int else str(model._meta.pk.to_python(key))


def key_of(model: type[Model], reference: str, *, using: str) -> Any:
    """The raw primary key that `reference_of` wrote as text."""
    pk = model._meta.pk
    return pk.get_db_prep_value(pk.to_python(reference), connections[using], prepared=False)


def without_row(model: type[Model], references: Sequence[str], *, using: str) -> list[str]:
    """Those of ``references`` that no row of the principal model has."""
    table = table_of(model)
    keys = [(key_of(model, reference, using=using),) for reference in references]
    found = {reference_of(model, key) for (key,) in raw.read(table, table.key_names, keys, lock=False, using=using)}
    return [reference for reference in references if reference not in found]


def owners_with_rows(disguise: type[Disguise], params: Mapping[str, Any], *, using: str) -> set[str]:
    """References of everybody, registered or not, who owns a row that the disguise means."""
    found: set[str] = set()
    for step in disguise.steps():
        path = step.owner or "pk"
        selection = Selection.compile(step.model, [path], owner=None, where=step.where, using=using)
        if selection is not None:
            model = registry.principal_model_for(disguise)
            keys = {key for (key,) in selection.run(owners=None, params=params, using=using) if key is not None}
            found |= {reference_of(model, key) for key in keys}
    return found


def lock_principals(model: type[Model], targets: Sequence[Target], *, using: str) -> None:
    """Lock the principals' rows: whoever wants to add a row that refers to one has to wait until we are done."""
    if connections[using].features.has_select_for_update:
        table = table_of(model)
        references = [entry.reference for target in targets for entry in target.owners if entry.attached]
        keys = [(key_of(model, str(reference), using=using),) for reference in references]
        raw.read(table, table.key_names, keys, lock=True, using=using)


# What


@dataclass(frozen=True)
class _CompiledStep:
    transformation: Transformation
    operation: Operation
    table: Table
    columns: tuple[str, ...]
    selection: Selection | None
    #: With locks and joins, ``selection`` finds keys only; the rows are then locked by key, so no joined table is.
    keys_only: bool


@dataclass(frozen=True)
class _Compiled:
    steps: tuple[_CompiledStep, ...]
    #: ``SET_NULL`` relations to removed rows that no step deals with.
    emptied: tuple[coverage.Relation, ...]


@functools.lru_cache(maxsize=256)
def _compiled(disguise: type[Disguise], using: str, lock: bool, everyone: bool) -> _Compiled:
    """The disguise's statements, compiled once per process: only values are bound per call."""
    coverage.require_covered(disguise)
    steps = tuple(_compile(step, using=using, lock=lock, everyone=everyone) for step in disguise.steps())
    return _Compiled(steps, tuple(coverage.set_null_relations(disguise)))


def _compile(step: Transformation, *, using: str, lock: bool, everyone: bool) -> _CompiledStep:
    if step.model._meta.parents:
        raise SpecError(
            f"{step.model._meta.label} inherits from another table; disguises of multi-table models are not supported."
        )
    table = table_of(step.model)
    operation, columns = _shape(step, table)
    extra = [step.owner or "pk", *(step.group_paths if isinstance(step, Decorrelate) else ())]
    where = step.where
    if everyone:
        where = (where or Q()) & Q(**{f"{step.owner or 'pk'}__isnull": False})
    joins = step.where is not None or any("__" in path for path in extra)
    lock = lock and connections[using].features.has_select_for_update
    names = [*(table.key_names if lock and joins else columns), *extra]
    selection = Selection.compile(
        step.model,
        names,
        owner=None if everyone else step.owner or "pk",
        where=where,
        lock=lock and not joins,
        using=using,
    )
    return _CompiledStep(step, operation, table, columns, selection, keys_only=lock and joins)


def _shape(step: Transformation, table: Table) -> tuple[Operation, tuple[str, ...]]:
    if isinstance(step, Remove):
        return Operation.REMOVE, table.names
    if isinstance(step, Modify):
        return Operation.MODIFY, (*table.key_names, *step.set)
    return Operation.DECORRELATE, (*table.key_names, step.owner)


def build(
    disguise: type[Disguise],
    targets: Sequence[Target],
    *,
    params: Mapping[str, Any],
    using: str,
    lock: bool,
    everyone: bool = False,
) -> Plan:
    """The plan for ``targets``; for everybody at once (a preview) where ``everyone`` is set.

    Raises:
        DanglingReferences: the disguise would leave rows that point at nothing.
    """
    model = registry.principal_model_for(disguise)
    owners: dict[str, int] = {}
    for position, target in enumerate(targets):
        owners |= {str(entry.reference): position for entry in target.owners if entry.attached}
    keys = [key_of(model, reference, using=using) for reference in owners]
    steps = []
    prepared = _compiled(disguise, using, lock, everyone)  # type: ignore[arg-type]  # classes are hashable
    for compiled in prepared.steps:
        step = PlannedStep(compiled.operation, compiled.table, compiled.columns, compiled.transformation)
        selection = compiled.selection
        if selection is not None and (keys or everyone):
            found = selection.run(owners=None if everyone else keys, params=params, using=using)
            if compiled.keys_only:
                found = _locked(compiled, found, using=using)
            _fill(step, found, model=model, owners=owners)
        steps.append(step)
    removals = [step for step in steps if step.operation is Operation.REMOVE]
    removed = _merge_removed(removals)
    emptied = [_emptied(relation, removed, lock=lock, using=using) for relation in prepared.emptied]
    changes = [_without(step, removed) for step in steps if step.operation is not Operation.REMOVE]
    ordered = tuple(removed[model] for model in deletion_order(list(removed)))
    return Plan(disguise, params, model, tuple(targets), ordered, tuple(emptied) + tuple(changes))


def _fill(step: PlannedStep, found: Sequence[Row], *, model: type[Model], owners: Mapping[str, int]) -> None:
    """Split each row into its columns, its owner and its group. A join may find a row twice: once is enough."""
    width = len(step.columns)
    key_of_row = operator.itemgetter(*[step.columns.index(name) for name in step.table.key_names])
    rows = list({key_of_row(row): row for row in reversed(found)}.values())[::-1] if found else []
    step.rows = [row[:width] for row in rows]
    if len(owners) == 1:
        step.targets = [0] * len(rows)
    else:
        step.targets = [owners[reference_of(model, row[width])] if owners else 0 for row in rows]
    if isinstance(step.transformation, Decorrelate):
        everything = step.transformation.group_by is ALL
        step.groups = [(row[width], None if everything else row[width + 1 :] or key_of_row(row)) for row in rows]


def _locked(compiled: _CompiledStep, found: Sequence[Row], *, using: str) -> list[Row]:
    """Lock by primary key what the joining statement found; rows that changed hands meanwhile are left out."""
    width = len(compiled.table.key)
    extras = {row[:width]: row[width:] for row in reversed(found)}
    owner = compiled.transformation.owner
    owner_column = [owner] if owner is not None and "__" not in owner else []
    names = (*compiled.table.key_names, *compiled.columns, *owner_column)
    locked = []
    for row in raw.read(compiled.table, names, list(extras), lock=True, using=using):
        extra = extras[row[:width]]
        if owner_column and row[-1] != extra[0]:
            continue
        locked.append((*row[width : width + len(compiled.columns)], *extra))
    return locked


def _merge_removed(removals: Sequence[PlannedStep]) -> dict[type[Model], PlannedStep]:
    """One removal per table, each row once, however many steps name it."""
    merged: dict[type[Model], PlannedStep] = {}
    for step in removals:
        first = merged.setdefault(step.table.model, step)
        if first is not step:
            known = set(first.primary_keys())
            for key, row, target in zip(step.primary_keys(), step.rows, step.targets, strict=True):
                if key not in known:
                    first.rows.append(row)
                    first.targets.append(target)
    return merged


def _without(step: PlannedStep, removed: Mapping[type[Model], PlannedStep]) -> PlannedStep:
    """A row that is removed is not modified as well."""
    gone = set(removed[step.table.model].primary_keys()) if step.table.model in removed else set()
    if gone:
        kept = [position for position, key in enumerate(step.primary_keys()) if key not in gone]
        step.rows = [step.rows[position] for position in kept]
        step.targets = [step.targets[position] for position in kept]
        step.groups = [step.groups[position] for position in kept] if step.groups else []
    return step


def _emptied(
    relation: coverage.Relation, removed: Mapping[type[Model], PlannedStep], *, lock: bool, using: str
) -> PlannedStep:
    """``SET_NULL`` references to removed rows: emptied by us and recorded, so that a reveal fills them again."""
    target = removed[table_of(relation.target).model]
    position = target.columns.index(relation.field.target_field.name)
    owner = {row[position]: target_index for row, target_index in zip(target.rows, target.targets, strict=True)}
    table = table_of(relation.model)
    names = (*table.key_names, relation.field.name)
    step = PlannedStep(Operation.MODIFY, table, names, None)
    for row in raw.read_where(table, names, relation.field.name, list(owner), lock=lock, using=using):
        step.rows.append(row)
        step.targets.append(owner[row[-1]])
    return _without(step, removed)


def deletion_order(models: Sequence[type[Model]]) -> list[type[Model]]:
    """Referring tables before the tables they refer to; among equals, the order given."""
    remaining = list(models)
    ordered: list[type[Model]] = []
    while remaining:
        free = [
            model for model in remaining if not any(_refers(other, model) for other in remaining if other is not model)
        ]
        # A cycle of tables: deferred constraints may still accept it, so the database decides.
        ordered += free or remaining[:1]
        remaining = [model for model in remaining if model not in ordered]
    return ordered


def _refers(model: type[Model], target: type[Model]) -> bool:
    return any(relation.model is model for relation in relations_to(target))


@functools.cache
def relations_to(target: type[Model]) -> tuple[coverage.Relation, ...]:
    """`coverage.relations_to`, looked up once per process."""
    return tuple(coverage.relations_to(target))
