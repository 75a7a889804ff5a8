"""A disguise's statements: each transformation compiled once per process, to one selection for each table that it is about.

Knows specifications and models; binds no owners or parameters, and runs nothing.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from django.db.models import ForeignKey, Model, Q

from edna import coverage, json_keys, registry, value_owners
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table, table_of
from edna.element_steps import require_own_elements
from edna.engine.graph.owner_expressions import limited_to_keys, names_anybody
from edna.engine.planning.selection import Selection
from edna.records.diff import Decorrelated, Modified, Operation, Removed
from edna.spec import Decorrelate, Disguise, Modify, Remove, Transformation, model_field


@dataclass(frozen=True)
class CompiledStep:
    transformation: Transformation
    operation: Operation
    table: Table
    columns: tuple[str, ...]
    selection: Selection | None
    #: With locks and joins, ``selection`` finds keys only; the rows are then locked by key, so no joined table is.
    keys_only: bool
    #: Columns of the table that say who owns a row, and where behind the key the selection has them.
    watched: tuple[tuple[str, int], ...]
    #: Owners of a removal in the tables of parents: the key and the column there, behind the owners.
    inherited: tuple[tuple[str, Table], ...]
    #: How many values of a row behind its columns are meant to be seen; what follows is only watched.
    extras: int
    #: What the selection reads of each row; None where not all rows of the owners are meant, or other tables are joined, so that
    #: it may find a row several times.
    names: tuple[str, ...] | None
    #: Of a selection that serves other steps, too: the positions of ``names`` in its rows.
    picks: tuple[int, ...] | None = None
    #: Whether the selection finds rows of other owners, too.
    narrower: bool = False
    #: Raw primary keys, of a step that is limited to rows that have one of them.
    keys: Collection[Row] = ()

    def without_rows(self) -> CompiledStep:
        """The same step, which finds nothing and asks nobody."""
        return replace(self, selection=None, keys_only=False)

    def first(self, number: int, *, behind: int | None = None, using: str) -> CompiledStep:
        """The same step, which finds so many of its rows, of those ``behind`` a primary key."""
        assert self.selection is not None
        return replace(self, selection=self.selection.first(number, behind=behind, using=using))

    @property
    def finds_principals(self) -> bool:
        """Whether its selection is of the principals' own rows, each of them, and locks those if it is to lock."""
        alone = self.picks is None or not self.narrower
        return not self.transformation.owners and self.names is not None and alone

    @functools.cached_property
    def takes_keys(self) -> bool:
        """Whether the selection reads documents of which the step means single keys."""
        return not self.keys_only and json_keys.any_of(self.columns)

    @property
    def guarded(self) -> bool:
        """Whether whoever writes a row for these owners waits for a lock on their own rows: the database looks there for the keys."""
        owners = [self.table.field(name) for name in self.transformation.owners if name in self.table.names]
        watched = [owner for owner in owners if isinstance(owner, ForeignKey) and owner.target_field.primary_key]
        enforced = [owner for owner in watched if getattr(owner, "db_constraint", True)]
        # A table that others have made may lack the constraint.
        return len(enforced) == len(self.transformation.owners) and self.table.model._meta.managed

    @property
    def node(self) -> type[Model]:
        """The table whose rows the step is about; with multi-table inheritance, ``table`` may be a parent's."""
        return table_of(self.transformation.model).model

    @property
    def tables_read(self) -> tuple[str, ...]:
        """By the database's names, each as often as the selection reads it."""
        return self.selection.tables if self.selection is not None else ()


@dataclass(frozen=True)
class Probe:
    """One statement that says which selections would find anything."""

    selections: tuple[Selection, ...]
    asking: Selection

    @classmethod
    def of(cls, steps: Sequence[CompiledStep], *, using: str) -> Probe:
        """About those that read a table of their own each: along an index, and there may be many."""
        asked: dict[int, Selection] = {}
        waiting: set[int] = set()
        for step in steps:
            if step.names is not None and not step.finds_principals and step.selection is not None:
                asked[id(step.selection)] = step.selection
                # As the selection would wait for somebody who is writing a row just now, and has not committed.
                waiting |= set() if step.guarded else {id(step.selection)}
        selections = tuple(asked.values())
        waits = [key in waiting for key in asked]
        return cls(selections, Selection.any_of_each(selections, waiting=waits, using=using))


@dataclass(frozen=True)
class Compiled:
    steps: tuple[CompiledStep, ...]
    #: Only with locks: what is looked at without them may wait for nobody.
    probe: Probe | None
    #: Relations to removed rows that no step deals with, but their ``on_delete`` does: ``SET_NULL`` and its like.
    emptied: tuple[coverage.Relation, ...]


def compiled_disguise(disguise: type[Disguise], *, using: str, lock: bool = False, everyone: bool = False) -> Compiled:
    """The disguise's statements, compiled once per process: only values are bound per call."""
    return _compiled_disguise(disguise, using=using, lock=lock, everyone=everyone)  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=256)
def _compiled_disguise(disguise: type[Disguise], *, using: str, lock: bool, everyone: bool) -> Compiled:
    coverage.require_covered(disguise)
    principal = registry.principal_model_for(disguise)
    steps = tuple(
        _compile(step, table, principal=principal, using=using, lock=lock, everyone=everyone)
        for step in _each_for_one(disguise.steps())
        for table in _tables(step)
    )
    steps = tuple(_read_together(steps, principal, using=using, lock=lock, everyone=everyone))
    probe = Probe.of(steps, using=using) if lock else None
    return Compiled(steps, probe, tuple(coverage.set_null_relations(disguise)))


def _each_for_one(steps: Iterable[Transformation]) -> Iterator[Transformation]:
    """What is put in place of a value may depend on who leaves, as where a name is taken out of a text: of several owners who leave at
    once, each is asked for, one after the other."""
    for step in steps:
        if isinstance(step, Modify) and step.asks_each_owner:
            yield from step.for_each_owner
        else:
            yield step


def _read_together(
    steps: Sequence[CompiledStep], principal: type[Model], *, using: str, lock: bool, everyone: bool
) -> Iterator[CompiledStep]:
    """Steps about one table share one selection of the rows that any of them means: the rows are read, and locked, once.

    Not in a plan for everybody, in which the database alone can tell owners from values that name nobody.
    """
    together: dict[Table, list[CompiledStep]] = {}
    for step in steps:
        if step.names is not None and not everyone:
            together.setdefault(step.table, []).append(step)
    selections: dict[Table, tuple[list[str], frozenset[str], Selection | None]] = {}
    for table, own in together.items():
        if len(own) > 1:
            names = list(dict.fromkeys(name for step in own for name in _documents(step.names or ())))
            owners = list(dict.fromkeys(key for step in own for key in owner_keys(step.transformation, principal)))
            selection = Selection.compile(
                table.model,
                names,
                owners=owners,
                where=None,
                lock=lock and connection_of(using).features.has_select_for_update,
                using=using,
            )
            selections[table] = names, frozenset(owners), selection
    for step in steps:
        if step.names is None or step.table not in selections:
            yield step
            continue
        names, owners_of_all, selection = selections[step.table]
        yield replace(
            step,
            selection=selection,
            picks=tuple(map(names.index, _documents(step.names))),
            narrower=owners_of_all != {*owner_keys(step.transformation, principal)},
        )


def _tables(step: Transformation) -> list[Table]:
    """The tables that have the step's columns: with multi-table inheritance, parents' tables have some of them."""
    if isinstance(step, Remove):
        return [table_of(step.model)]  # the other parts of the rows that it finds are read along the links
    names = step.set if isinstance(step, Modify) else (step.column,)
    return list(dict.fromkeys(table_of(model_field(step.model, name).model) for name in names))


def owner_keys(step: Transformation, principal: type[Model]) -> list[str]:
    return [registry.owner_key(step.model, owner, principal=principal) for owner in step.owners or (None,)]


def compiled_for_keys(disguise: type[Disguise], *, using: str, lock: bool) -> Sequence[CompiledStep]:
    """The steps of `compiled_disguise`, in that order, each to be limited to rows with some primary keys."""
    return _compiled_for_keys(disguise, using=using, lock=lock)  # type: ignore[arg-type]  # classes are hashable


@functools.lru_cache(maxsize=256)
def _compiled_for_keys(disguise: type[Disguise], *, using: str, lock: bool) -> Sequence[CompiledStep]:
    principal = registry.principal_model_for(disguise)
    return [
        _compile(
            each.transformation, each.table, principal=principal, using=using, lock=lock, everyone=False, for_keys=True
        )
        for each in compiled_disguise(disguise, using=using, lock=lock).steps
    ]


def _compile(
    step: Transformation,
    table: Table,
    *,
    principal: type[Model],
    using: str,
    lock: bool,
    everyone: bool,
    for_keys: bool = False,
) -> CompiledStep:
    require_own_elements(step)
    operation, columns = _shape(step, table)
    owners = owner_keys(step, principal)
    inherited = _inherited_owners(step, table)
    extra = [*owners, *(step.group_paths if isinstance(step, Decorrelate) else ())]
    extra += [name for owner, other in inherited for name in (*other.key_names, owner)]
    joins = _joins(step, table, [*_documents(columns), *extra], owners=owners, using=using)
    lock = lock and connection_of(using).features.has_select_for_update
    keys_only = lock and joins
    says_whose = [*step.owners, *value_owners.own_columns(step.model, step.owners)]
    watched = [name for name in says_whose if name in table.names] if keys_only else []
    behind = [*extra, *(owner for owner in watched if owner not in extra)]
    names = (*(table.key_names if keys_only else columns), *behind)
    # Asked for owners as well, a database may go through all that they have, for each chunk anew, and lock what it passes.
    by_key = for_keys and not joins
    read = (*(table.key_names if keys_only else _documents(columns)), *behind)
    selection = Selection.compile(
        step.model,
        read,
        owners=() if everyone or by_key else owners,
        where=_condition(
            step.where,
            model=step.model,
            everyones=owners if everyone else (),
            for_keys=for_keys,
            principal=principal,
            using=using,
        ),
        lock=lock and not joins,
        using=using,
    )
    return CompiledStep(
        transformation=step,
        operation=operation,
        table=table,
        columns=columns,
        selection=selection,
        keys_only=keys_only,
        watched=tuple((owner, behind.index(owner)) for owner in watched),
        inherited=inherited,
        extras=len(extra),
        names=None if joins or step.where is not None else names,
        narrower=by_key,
    )


def _documents(names: Iterable[str]) -> list[str]:
    """What is read for these columns: for single keys of JSON columns the whole."""
    return list(map(json_keys.column, names))


def _joins(step: Transformation, table: Table, names: Collection[str], *, owners: Sequence[str], using: str) -> bool:
    """Whether other tables are read, too: for what is named, or for the condition."""
    if table is not table_of(step.model) or not {*names} <= {*table.names, "pk"}:
        return True
    if step.where is None:
        return False
    alone = Selection.compile(step.model, table.key_names, owners=owners, where=step.where, using=using)
    return alone is not None and alone.joins


def _condition(
    where: Q | None,
    *,
    model: type[Model],
    everyones: Sequence[str],
    for_keys: bool,
    principal: type[Model],
    using: str,
) -> Q | None:
    """``where``, of rows that somebody owns by one of the paths ``everyones``, and ``for_keys`` of those that have one of the keys."""
    if everyones:
        owned = (names_anybody(model, path, principal, using=using) for path in everyones)
        where = (where or Q()) & functools.reduce(operator.or_, owned)
    if for_keys:
        where = limited_to_keys() & (where or Q())
    return where


def _inherited_owners(step: Transformation, table: Table) -> tuple[tuple[str, Table], ...]:
    """Owners of a shared row that are columns of a parent's table: those who leave are re-pointed there."""
    if not isinstance(step, Remove) or len(step.owners) < 2:
        return ()
    columns = {column.name: column.model for column in step.model._meta.concrete_fields}
    return tuple((owner, table_of(columns[owner])) for owner in step.owners if owner in columns.keys() - {*table.names})


def _shape(step: Transformation, table: Table) -> tuple[Operation, tuple[str, ...]]:
    if isinstance(step, Remove):
        return Removed, table.names
    if isinstance(step, Modify):
        names = [name for name in step.set if json_keys.column(name) in table.names]
        if value_owners.element_of(step.owners) is not None:
            names = list(dict.fromkeys(_documents(names)))  # which of their elements, the values will tell
        return Modified, (*table.key_names, *names)
    return Decorrelated, (*table.key_names, step.column)
