"""What a disguise would do: which rows of which tables, for whom. Reads, never writes.

The same `Plan` is a dry run, the admin's preview, and what `engine.disguising` executes (then built with locks, in the
executing transaction). Every table is read with one statement, or two where the condition joins other tables, for all
principals of the plan together. Raw values throughout; nothing is sealed here. A little long: how what several steps find becomes one plan,
each row once, is decided in one place.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from django.db import connections
from django.db.models import CharField, Model

from edna import coverage, registry
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.graph import families
from edna.engine.graph.ordering import deletion_order
from edna.engine.graph.references import key_of, reference_of
from edna.engine.planning import sharing
from edna.engine.planning.mentions import mentioned_by
from edna.engine.planning.search import Finding
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import among, compiled_disguise, owner_keys
from edna.engine.planning.steps import Finished, Part, Plan, PlannedStep, Target, TooManyRows
from edna.records.diff import Operation
from edna.spec import ALL, Decorrelate, Disguise, Remove
from edna.store import Entry

# Who


def owners_with_rows(disguise: type[Disguise], params: Mapping[str, Any], *, using: str) -> set[str]:
    """References of everybody, registered or not, who owns a row that the disguise means."""
    found: set[str] = set()
    model = registry.principal_model_for(disguise)
    for step in disguise.steps():
        paths = owner_keys(step, model)
        # Each once: what is found is in memory, and they may own a hundred times as many rows. Not where collations may take two for one.
        once = not isinstance(model._meta.pk, CharField)
        selection = Selection.compile(step.model, paths, owners=(), where=step.where, using=using, distinct=once)
        if selection is not None:
            owners = selection.run(owners=None, params=params, using=using)
            keys = {key for row in owners for key in row if key is not None}
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


def build(
    disguise: type[Disguise],
    targets: Sequence[Target],
    *,
    params: Mapping[str, Any],
    using: str,
    lock: bool,
    everyone: bool = False,
    first_owner_only: bool = False,
    part: Part | None = None,
    finished: Finished | None = None,
    most: int | None = None,
    lock_principals_first: bool = False,
) -> Plan:
    """The plan for ``targets``; for everybody at once (a preview) where ``everyone`` is set.

    ``first_owner_only`` says that ``targets`` are a part of everybody: a row with several owners is then modified only for the
    first of them, in whichever part they are. Only rows of ``part`` are planned for. In a plan for what is left, no row of
    ``finished`` tables is modified again, and steps with a ``where`` are done.

    ``lock_principals_first``: as `lock_principals` does, in the statement that reads their rows if one does.

    Raises:
        DanglingReferences: the disguise would leave rows that point at nothing.
        TooManyRows: the steps find more rows than ``most``.
    """
    model = registry.principal_model_for(disguise)
    owners: dict[str, int] = {}
    for position, target in enumerate(targets):
        owners |= {str(entry.reference): position for entry in target.owners if entry.attached}
    keys = [key_of(model, reference, using=using) for reference in owners]
    steps = []
    count = 0
    finding = Finding(model, owners.keys(), None if everyone else keys, params, using)
    prepared = compiled_disguise(disguise, using, lock, everyone)  # type: ignore[arg-type]  # classes are hashable
    if lock_principals_first:
        principals = table_of(model)
        own = next((each for each in prepared.steps if each.table is principals and each.finds_principals), None)
        if own is None:
            lock_principals(model, targets, using=using)
        else:
            finding.find(own)
        finding.leave_out_empty(prepared.probe)
    for compiled in prepared.steps:
        step = PlannedStep(compiled.operation, compiled.table, compiled.columns, compiled.transformation)
        steps.append(step)
        if part is None and finished and compiled.node in finished and compiled.transformation.where is not None:
            continue  # its rows were found before the others were changed; what it would find now is another question
        if part is not None:
            keys_of_part = part.get(compiled.node, ())
            if keys_of_part is not None:
                compiled = among(compiled, keys_of_part, disguise, using=using, lock=lock)
        if keys or everyone:
            found = finding.find(compiled)
            count += len(found)
            if most is not None and count > most:
                raise TooManyRows
            found = finding.lock(compiled, found)
            shared = len(compiled.transformation.owners) > 1 and not everyone
            if shared and isinstance(compiled.transformation, Remove):
                steps += _shared(
                    step,
                    found,
                    compiled.inherited,
                    model=model,
                    owners=owners,
                    lock=lock,
                    using=using,
                )
            else:
                _fill(step, found, model=model, owners=owners, first_owner_only=first_owner_only)
    removals = [step for step in steps if step.operation is Operation.REMOVE]
    merged = _merge_removed(removals)
    _spare_pseudoprincipals(merged, targets, model=model)
    removed = with_families(merged, lock=lock, using=using)
    nulled = [emptied(relation, removed, lock=lock, using=using) for relation in prepared.emptied]
    changes = [_without(step, removed) for step in steps if step.operation is not Operation.REMOVE]
    changes = [_unfinished(step, finished or {}) for step in changes]
    ordered = tuple(removed[model] for model in deletion_order(list(removed)))
    changed = (*nulled, *changes)
    mentioned = {} if everyone else mentioned_by([*ordered, *changed], owners, model=model, lock=lock, using=using)
    return Plan(disguise, params, model, tuple(targets), ordered, changed, mentioned)


def build_for_everybody(
    disguise: type[Disguise], *, params: Mapping[str, Any], using: str, but: Set[str] = frozenset()
) -> Plan:
    """The plan for everybody who owns a row that the disguise means, ``but`` these references: to be looked at, and not to be executed.

    In one statement a table, unless somebody is left out: then it is a plan for all the others, who are found first.

    Raises:
        DanglingReferences
    """
    owners = owners_with_rows(disguise, params, using=using) if but else set()
    if owners.isdisjoint(but):
        return build(disguise, [], params=params, using=using, lock=False, everyone=True)
    label = registry.principal_model_for(disguise)._meta.label_lower
    # Nothing is sealed to them here, so their keys and lists are not read.
    entries = [Entry(0, b"", label, reference, True, b"", None) for reference in sorted(owners - but)]
    targets = [Target(entry, (entry,)) for entry in entries]
    return build(disguise, targets, params=params, using=using, lock=False, first_owner_only=True)


def _spare_pseudoprincipals(
    removed: Mapping[type[Model], PlannedStep], targets: Sequence[Target], *, model: type[Model]
) -> None:
    """Keep the rows of the targets' pseudoprincipals that others may need: a row that they share with somebody names them, and
    whoever comes back first brings it back."""
    step = removed.get(table_of(model).model)
    entries = [entry for target in targets for entry in target.owners if not entry.natural]
    if step is None or not entries:
        return
    named = {name for other in removed.values() for share in other.shares.values() for name in share.names}
    needed = {key for target in targets for key in target.needed}
    # What is in a list may be such a row, removed earlier: only the key would tell.
    spared = {
        str(entry.reference)
        for entry in entries
        if entry.locators or entry.reference in named or entry.public_key in needed
    }
    kept = [position for position, (key,) in enumerate(step.primary_keys()) if reference_of(model, key) not in spared]
    step.rows = [step.rows[position] for position in kept]
    step.targets = [step.targets[position] for position in kept]


def _once(step: PlannedStep, found: Sequence[Row]) -> list[Row]:
    """A join, or several owners, may find a row twice: once is enough."""
    if not found:
        return []
    key_of_row = operator.itemgetter(*[step.columns.index(name) for name in step.table.key_names])
    return list({key_of_row(row): row for row in reversed(found)}.values())[::-1]


def _fill(
    step: PlannedStep,
    found: Sequence[Row],
    *,
    model: type[Model],
    owners: Mapping[str, int],
    first_owner_only: bool = False,
) -> None:
    """Split each row into its columns, its owner and its group."""
    width = len(step.columns)
    rows = _once(step, found)
    paths = step.transformation.owner_paths if step.transformation else ()
    several = len(set(owners.values())) > 1
    if not several and not (first_owner_only and len(paths) > 1):
        step.targets = [0] * len(rows)
    elif len(paths) == 1:
        step.targets = [owners[reference_of(model, row[width])] for row in rows]
    else:
        end = width + len(paths)
        holders = [_first_owner(row[width:end], model, owners, first_owner_only=first_owner_only) for row in rows]
        rows = [row for row, target in zip(rows, holders, strict=True) if target is not None]
        step.targets = [target for target in holders if target is not None]
    step.rows = [row[:width] for row in rows]
    if isinstance(step.transformation, Decorrelate):
        everything = step.transformation.group_by is ALL
        keys = step.primary_keys()
        step.groups = [
            (row[width], None if everything else tuple(row[width + 1 :]) or key)
            for row, key in zip(rows, keys, strict=True)
        ]


def _first_owner(holders: Row, model: type[Model], owners: Mapping[str, int], *, first_owner_only: bool) -> int | None:
    """The target of the first owner that is meant; None if the row waits for the part of everybody that its first owner is in."""
    references = [reference_of(model, holder) for holder in holders if holder is not None]
    for reference in references:
        if reference in owners:
            return owners[reference]
        if first_owner_only:
            return None
    return None


def _shared(
    step: PlannedStep,
    found: Sequence[Row],
    inherited: Sequence[tuple[str, Table]],
    *,
    model: type[Model],
    owners: Mapping[str, int],
    lock: bool,
    using: str,
) -> list[PlannedStep]:
    """Divide rows with several owners: fill the removal ``step``, and return the steps that re-point owners who leave."""
    paths = step.transformation.owners if step.transformation else ()
    width, end = len(step.columns), len(step.columns) + len(paths)
    rows = _once(step, found)
    shares = sharing.decide([row[width:end] for row in rows], owners=owners, model=model, lock=lock, using=using)
    going = [(row[:width], share) for row, share in zip(rows, shares, strict=True) if not share.stays]
    step.rows = [row for row, _ in going]
    step.targets = [share.targets[0] for _, share in going]
    keys = step.primary_keys()
    step.shares = {key: share for key, (_, share) in zip(keys, going, strict=True) if not share.alone}
    steps = []
    for position, path in enumerate(paths):
        place = _place(path, step, inherited, end)
        if place is not None:
            table, columns = place
            parts = [
                PlannedStep(
                    Operation.DECORRELATE,
                    table,
                    (*table.key_names, path),
                    Decorrelate(table.model, path),
                    on_paper=on_paper,
                )
                for on_paper in (False, True)
            ]
            for row, share in zip(rows, shares, strict=True):
                target, holder = dict(share.own).get(position), row[width + position]
                # In a row that goes, too: others can bring it back before this owner reveals what took it.
                if target is not None and not share.alone:
                    part = parts[not share.stays]
                    part.rows.append(tuple(row[column] for column in columns))
                    part.targets.append(target)
                    part.groups.append((holder, part.rows[-1][:-1]))
            steps += [part for part in parts if part.rows]
    return steps


def _place(
    path: str, step: PlannedStep, inherited: Sequence[tuple[str, Table]], start: int
) -> tuple[Table, list[int]] | None:
    """The table that has the owner ``path`` as a column, and where its key and the column stand in a row that was found."""
    if path in step.columns:
        return step.table, [step.columns.index(name) for name in (*step.table.key_names, path)]
    for owner, table in inherited:
        width = len(table.key) + 1
        if owner == path:
            return table, list(range(start, start + width))
        start += width
    return None


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
                    if key in step.shares:
                        first.shares[key] = step.shares[key]
    return merged


def with_families(removed: dict[type[Model], PlannedStep], *, lock: bool, using: str) -> dict[type[Model], PlannedStep]:
    """With the rows of parents' and children's tables that are the same objects as rows to be removed."""
    found: families.Found = {
        model: {
            key: (row, (target, step.shares.get(key)))
            for key, row, target in zip(step.primary_keys(), step.rows, step.targets, strict=True)
        }
        for model, step in removed.items()
        if families.links_of(model)
    }
    if not found:
        return removed
    families.complete(found, lock=lock, using=using)
    for model, rows in found.items():
        table = table_of(model)
        step = PlannedStep(Operation.REMOVE, table, table.names, None)
        step.rows = [row for row, _ in rows.values()]
        step.targets = [target for _, (target, _) in rows.values()]
        step.shares = {key: share for key, (_, (_, share)) in rows.items() if share is not None}
        removed[model] = step
    return removed


def _without(step: PlannedStep, removed: Mapping[type[Model], PlannedStep]) -> PlannedStep:
    """A row that is removed is not modified as well."""
    gone = set(removed[step.table.model].primary_keys()) if step.table.model in removed else set()
    if gone and not step.on_paper:
        kept = [position for position, key in enumerate(step.primary_keys()) if key not in gone]
        step.rows = [step.rows[position] for position in kept]
        step.targets = [step.targets[position] for position in kept]
        step.groups = [step.groups[position] for position in kept] if step.groups else []
    return step


def _unfinished(step: PlannedStep, finished: Finished) -> PlannedStep:
    """Without rows that an earlier chunk has modified: unlike others, they are found again."""
    done = finished.get(step.table.model)
    if not done or step.operation is not Operation.MODIFY:
        return step
    kept = [position for position, key in enumerate(step.primary_keys()) if key not in done]
    return replace(step, rows=[step.rows[i] for i in kept], targets=[step.targets[i] for i in kept])


def emptied(
    relation: coverage.Relation, removed: Mapping[type[Model], PlannedStep], *, lock: bool, using: str
) -> PlannedStep:
    """References to removed rows that become NULL, or what their model says: recorded, so that a reveal fills them again."""
    target = removed[table_of(relation.target).model]
    position = target.columns.index(relation.field.target_field.name)
    owner = {row[position]: target_index for row, target_index in zip(target.rows, target.targets, strict=True)}
    table = table_of(relation.model)
    names = (*table.key_names, relation.field.name)
    step = PlannedStep(Operation.MODIFY, table, names, None, relation=relation)
    for row in raw.read_where(table, names, relation.field.name, list(owner), lock=lock, using=using):
        step.rows.append(row)
        step.targets.append(owner[row[-1]])
    return _without(step, removed)
