"""What a disguise would do: which rows of which tables, for whom. Reads, never writes.

The same `Plan` is a dry run, the admin's preview, and what `engine.disguising` executes (then built with locks, in the
executing transaction). Every table is read with one statement, or two where the condition joins other tables, for all
principals of the plan together. Raw values throughout; nothing is sealed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from django.db.models import CharField, Model

from edna import coverage, registry
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, table_of
from edna.engine.graph.order import deletion_order
from edna.engine.graph.references import key_of, reference_of
from edna.engine.planning.division import divide
from edna.engine.planning.mentions import mentioned_by
from edna.engine.planning.owners import note_owners
from edna.engine.planning.removals import changes_beside, emptied, removed_by
from edna.engine.planning.scope import Scope
from edna.engine.planning.search import Finding
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import (
    Compiled,
    CompiledStep,
    compiled_disguise,
    compiled_for_keys,
    owner_keys,
)
from edna.engine.planning.steps import Finished, First, Part, Plan, PlannedStep, Target
from edna.records.diff import Modified
from edna.spec import Disguise
from edna.store import Entry

# Who


def owners_with_rows(disguise: type[Disguise], params: Mapping[str, Any], *, using: str) -> set[str]:
    """References of everybody, registered or not, who owns a row that the disguise means."""
    references: set[str] = set()
    model = registry.principal_model_for(disguise)
    for step in disguise.steps():
        paths = owner_keys(step, model)
        # Each once: what is found is in memory, and they may own a hundred times as many rows. Not where collations may take two for one.
        once = not isinstance(model._meta.pk, CharField)
        selection = Selection.compile(step.model, paths, owners=(), where=step.where, using=using, distinct=once)
        if selection is not None:
            owners = selection.run(owners=None, params=params, using=using)
            keys = {key for row in owners for key in row if key is not None}
            references |= {reference_of(model, key) for key in keys}
    return references


def lock_principals(model: type[Model], targets: Sequence[Target], *, using: str) -> None:
    """Lock the principals' rows: whoever wants to add a row that refers to one has to wait until we are done."""
    if connection_of(using).features.has_select_for_update:
        table = table_of(model)
        references = [entry.reference for target in targets for entry in target.owners if entry.attached]
        keys = [(key_of(model, str(reference), using=using),) for reference in references]
        raw.read(table, table.key_names, keys, lock=True, using=using)


# What


def build(
    scope: Scope,
    *,
    part: Part | None = None,
    finished: Finished | None = None,
    at_most: Mapping[type[Model], int] | None = None,
) -> Plan:
    """The plan for everything that ``scope`` means, or for a chunk of it.

    Only rows of ``part`` are planned for. Of the tables in ``at_most`` it has so many, or one more if there are more. No row of
    ``finished`` is modified again, unless it has come back. In a plan for what is left every step looks again, also one with a
    ``where``: what was written meanwhile is meant as much as what was there before.

    Raises:
        DanglingReferences: the disguise would leave rows that point at nothing.
    """
    prepared, finding = _prepared(scope), _finding(scope)
    chosen: Iterable[CompiledStep] = prepared.steps
    if part is not None:
        chosen = _of_part(part, prepared.steps, finding, scope)
    elif at_most:
        chosen = (
            step.first(at_most[step.node] + 1, using=scope.using) if step.node in at_most else step
            for step in prepared.steps
        )
    steps = _found(finding, chosen, scope, most=None)
    assert steps is not None
    return _planned(steps, prepared, scope, finished or {})


def build_within(scope: Scope, *, most: int | None, lock_principals_first: bool = False) -> Plan | None:
    """The plan for everything, unless the steps find more rows than ``most``: then None. If one step alone does, a plan for the first rows
    of its table, within the same scope, does not read them again.

    ``lock_principals_first``: as `lock_principals` does, in the statement that reads their rows if one does.

    Raises:
        DanglingReferences: the disguise would leave rows that point at nothing.
    """
    prepared, finding = _prepared(scope), _finding(scope)
    if lock_principals_first:
        _lock_principals_first(prepared, finding, scope)
    steps = _found(finding, prepared.steps, scope, most=most)
    return None if steps is None else _planned(steps, prepared, scope, {})


def build_for_everybody(disguise: type[Disguise], *, params: Mapping[str, Any], using: str, but: Set[str]) -> Plan:
    """The plan for everybody who owns a row that the disguise means, ``but`` these references: to be looked at, and not to be executed.

    In one statement a table, unless somebody is left out: then it is a plan for all the others, who are found first.

    Raises:
        DanglingReferences
    """
    owners = owners_with_rows(disguise, params, using=using) if but else set()
    if owners.isdisjoint(but):
        return build(Scope(disguise, (), params=params, using=using, everyone=True))
    label = registry.principal_model_for(disguise)._meta.label_lower
    # Nothing is sealed to them here, so their keys and lists are not read.
    entries = [Entry(0, b"", label, reference, True, b"", None) for reference in sorted(owners - but)]
    targets = [Target(entry, (entry,)) for entry in entries]
    return build(Scope(disguise, targets, params=params, using=using))


# How


def _prepared(scope: Scope) -> Compiled:
    return compiled_disguise(scope.disguise, using=scope.using, lock=scope.lock, everyone=scope.everyone)


def _finding(scope: Scope) -> Finding:
    of_one = len(scope.targets) == 1
    return Finding(scope.model, scope.owners.keys(), scope.keys, scope.params, scope.using, of_one, scope.too_many)


def _lock_principals_first(prepared: Compiled, finding: Finding, scope: Scope) -> None:
    principals = table_of(scope.model)
    own = next((each for each in prepared.steps if each.table is principals and each.finds_principals), None)
    if own is None:
        lock_principals(scope.model, scope.targets, using=scope.using)
    else:
        finding.find(own)
    if prepared.probe is not None:
        finding.leave_out_empty(prepared.probe)


def _of_part(part: Part, steps: Sequence[CompiledStep], finding: Finding, scope: Scope) -> Iterator[CompiledStep]:
    for whole, by_key in zip(steps, compiled_for_keys(scope.disguise, using=scope.using, lock=scope.lock), strict=True):
        meant = part.get(whole.node, ())
        if isinstance(meant, First):
            first = whole.first(meant.number, behind=meant.behind, using=scope.using)
            if meant.behind is None and whole.node in finding.too_many:
                finding.know(first, finding.too_many[whole.node][: meant.number])
            yield first
        else:
            yield replace(by_key, keys=meant) if meant else by_key.without_rows()


def _found(
    finding: Finding, chosen: Iterable[CompiledStep], scope: Scope, *, most: int | None
) -> list[PlannedStep] | None:
    """The steps with their rows; None as soon as there are more rows than ``most``."""
    steps: list[PlannedStep] = []
    count = 0
    for compiled in chosen:
        rows = finding.find_within(compiled, most=most)
        count += len(rows or ())
        if rows is None or (most is not None and count > most):
            return None
        steps += divide(compiled, finding.lock(compiled, rows) if compiled.keys_only else rows, scope)
    return steps


def _planned(steps: Sequence[PlannedStep], prepared: Compiled, scope: Scope, finished: Finished) -> Plan:
    """One plan of what several steps have found, in which each row is removed or changed in one way."""
    again = _found_again(steps) if finished else {}
    removed = removed_by(steps, scope)
    nulled = [emptied(relation, removed, lock=scope.lock, using=scope.using) for relation in prepared.emptied]
    changed = (*nulled, *(_unfinished(step, finished, again) for step in changes_beside(steps, removed, scope)))
    removals = tuple(removed[model] for model in deletion_order(list(removed)))
    mentioned: dict[tuple[str, Any], Entry] = {}
    if not scope.everyone:
        steps = [*removals, *changed]
        if scope.lock:
            note_owners(steps, scope)
        mentioned = mentioned_by(steps, scope.owners, model=scope.model, lock=scope.lock, using=scope.using)
    return Plan(scope.disguise, scope.params, scope.model, tuple(scope.targets), removals, changed, mentioned)


def _found_again(steps: Sequence[PlannedStep]) -> Finished:
    """Rows that a step finds which takes them away, or gives them to somebody: if that was done, they have been revealed since, and what
    was modified in them is so no more."""
    again: dict[type[Model], set[Row]] = {}
    for step in steps:
        if step.operation is not Modified:
            for table in coverage.tables_of_object(step.table.model):
                again.setdefault(table, set()).update(step.primary_keys())
    return again


def _unfinished(step: PlannedStep, finished: Finished, again: Finished) -> PlannedStep:
    """Without rows that an earlier chunk has modified: unlike others, they are found again."""
    done, back = finished.get(step.table.model), again.get(step.table.model, ())
    if not done or step.operation is not Modified:
        return step
    return step.only(lambda key: key not in done or key in back)
