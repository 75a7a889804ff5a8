"""What comes with the rows that a disguise removes: each row once, the other parts of the same objects, references that are emptied.

Invariant: a row that is removed is not modified as well, unless somebody else can bring it back; a pseudoprincipal that others may need
stays. Reads what hangs on removed rows; writes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from django.db.models import Model

from edna import coverage, registry
from edna.companions import links_to
from edna.db import rows as raw
from edna.db.rows import Row, table_of
from edna.engine.graph import families
from edna.engine.graph.references import reference_of
from edna.engine.planning.scope import Scope
from edna.engine.planning.steps import PlannedStep
from edna.records.diff import Decorrelated, Modified, Removed

#: By table, the step that removes its rows.
Removals = dict[type[Model], PlannedStep]


def removed_by(steps: Sequence[PlannedStep], scope: Scope) -> Removals:
    """Everything that goes with the removals among ``steps``."""
    removed = _merged([step for step in steps if step.operation is Removed])
    _spare_pseudoprincipals(removed, scope)
    return with_families(removed, lock=scope.lock, using=scope.using)


def _merged(removals: Sequence[PlannedStep]) -> Removals:
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


def _spare_pseudoprincipals(removed: Removals, scope: Scope) -> None:
    """Keep the rows of the targets' pseudoprincipals that others may need, and their companions: a row that they share with somebody
    names them, and whoever comes back first brings it back. But not a companion of which something goes that is attached to it: a
    sweep might take it, and nothing would say whose it was."""
    principals = table_of(scope.model).model
    entries = [entry for target in scope.targets for entry in target.owners if not entry.natural]
    if principals not in removed or not entries:
        return
    named = {name for step in removed.values() for share in step.shares.values() for name in share.names}
    needed = {key for target in scope.targets for key in target.needed}
    # What is in a list may be such a row, removed earlier: only the key would tell.
    spared = {
        str(entry.reference)
        for entry in entries
        if entry.locators or entry.reference in named or entry.public_key in needed
    }
    removed[principals] = removed[principals].only(lambda key: reference_of(scope.model, key[0]) not in spared)
    for link in links_to(scope.model) if spared else ():
        step = removed.get(table_of(link.model).model)
        if step is not None and link.target_field.primary_key:
            position = step.columns.index(link.name)
            whose = {key: row[position] for key, row in zip(step.primary_keys(), step.rows, strict=True)}
            stays = {key for key, value in whose.items() if reference_of(scope.model, value) in spared}
            stays -= _referred_to(step, removed)
            removed[step.table.model] = step.only(lambda key, stays=stays: key not in stays)  # type: ignore[misc]  # mypy cannot type a default of a lambda


def _referred_to(step: PlannedStep, removed: Removals) -> set[Row]:
    """The keys of its rows to which others refer that go as well."""
    found: set[Row] = set()
    for relation in coverage.relations_to(step.table.model):
        other = removed.get(table_of(relation.model).model)
        if other is not None:
            place = step.columns.index(relation.field.target_field.name)
            naming = other.columns.index(relation.field.name)
            named = {row[naming] for row in other.rows}
            keys = zip(step.primary_keys(), step.rows, strict=True)
            found |= {key for key, row in keys if row[place] in named}
    return found


def with_families(removed: Removals, *, lock: bool, using: str) -> Removals:
    """With the rows of parents' and children's tables that are the same objects as rows to be removed."""
    parts: families.Found = {
        model: {
            key: (row, (target, step.shares.get(key)))
            for key, row, target in zip(step.primary_keys(), step.rows, step.targets, strict=True)
        }
        for model, step in removed.items()
        if families.links_of(model)
    }
    if not parts:
        return removed
    families.complete(parts, lock=lock, using=using)
    for model, rows in parts.items():
        table = table_of(model)
        step = PlannedStep(Removed, table, table.names, None)
        step.rows = [row for row, _ in rows.values()]
        step.targets = [target for _, (target, _) in rows.values()]
        step.shares = {key: share for key, (_, (_, share)) in rows.items() if share is not None}
        removed[model] = step
    return removed


def without_removed(step: PlannedStep, removed: Mapping[type[Model], PlannedStep]) -> PlannedStep:
    """A row that is removed is not modified as well."""
    going = removed.get(step.table.model)
    if going is None or not going.rows or step.on_paper:
        return step
    gone = set(going.primary_keys())
    return step.only(lambda key: key not in gone)


def changes_beside(steps: Sequence[PlannedStep], removed: Removals, scope: Scope) -> Iterator[PlannedStep]:
    """The changes among ``steps``, in rows that stay, and in rows that go and that somebody else can bring back: without what is taken
    out of them, and with pseudoprincipals in place of whom they name."""
    changes = [step for step in steps if step.operation is not Removed]
    renamed: dict[type[Model], set[str]] = {}
    for step in changes:
        if step.on_paper:
            renamed.setdefault(step.table.model, set()).add(step.columns[-1])
    # Whose account goes is missed by the row itself.
    accounts_stay = len(scope.targets) > 1 and not registry.removes_account(scope.disguise)
    for step in changes:
        going = removed.get(step.table.model)
        of_others = _of_others(step, going) if accounts_stay and going is not None else set()
        if going is None or not (going.shares or of_others) or step.on_paper or step.transformation is None:
            yield without_removed(step, removed)
        elif step.operation is Decorrelated:
            yield without_removed(step, removed)
            on_paper = _renamed_on_paper(step, going, of_others)
            if on_paper.rows and step.columns[-1] not in renamed.get(step.table.model, ()):
                yield on_paper
        else:
            yield from _changed_before_it_goes(step, going, renamed.get(step.table.model, ()), of_others)


def _of_others(step: PlannedStep, going: PlannedStep) -> set[Row]:
    """The keys of rows that go with one person alone, and that the step changes for somebody else."""
    if step.operation is Decorrelated and (step.columns[-1] in step.table.key_names or not step.refers_to_key):
        return set()  # no mention would find whoever stands for them
    whose = dict(zip(going.primary_keys(), going.targets, strict=True))
    return {
        key
        for key, target in zip(step.primary_keys(), step.targets, strict=True)
        if key in whose and key not in going.shares and whose[key] != target
    }


def _renamed_on_paper(step: PlannedStep, going: PlannedStep, of_others: Set[Row]) -> PlannedStep:
    """Of rows that go: whoever owns them brings them back, and only they; so it is for one of them."""
    targets = dict(zip(step.primary_keys(), step.targets, strict=True))
    own = {key for key, share in going.shares.items() if targets.get(key) in share.targets}
    return replace(step.only((own | of_others).__contains__), on_paper=True)


def _changed_before_it_goes(
    step: PlannedStep, going: PlannedStep, renamed: Collection[str], of_others: Set[Row]
) -> Iterator[PlannedStep]:
    """``renamed`` are columns in which the rows that go name pseudoprincipals already."""
    gone, width = set(going.primary_keys()), len(step.table.key)
    changed = {key for key, share in going.shares.items() if not (key in step.shares and step.shares[key].same(share))}
    changed |= of_others
    names = [name for name in step.columns[width:] if name not in renamed]
    if len(names) == len(step.columns) - width:
        yield step.only(lambda key: key not in gone or key in changed)
        return
    yield step.only(lambda key: key not in gone)
    if names:
        part = step.only(changed.__contains__)
        places = [*range(width), *map(part.columns.index, names)]
        yield replace(
            part,
            columns=(*part.columns[:width], *names),
            rows=[tuple(row[place] for place in places) for row in part.rows],
        )


def emptied(
    relation: coverage.Relation, removed: Mapping[type[Model], PlannedStep], *, lock: bool, using: str
) -> PlannedStep:
    """References to removed rows that become NULL, or what their model says: recorded, so that a reveal fills them again."""
    target = removed[table_of(relation.target).model]
    position = target.columns.index(relation.field.target_field.name)
    owner = {row[position]: target_index for row, target_index in zip(target.rows, target.targets, strict=True)}
    table = table_of(relation.model)
    names = (*table.key_names, relation.field.name)
    step = PlannedStep(Modified, table, names, None, relation=relation)
    for row in raw.read_where(table, names, relation.field.name, list(owner), lock=lock, using=using):
        step.rows.append(row)
        step.targets.append(owner[row[-1]])
    return without_removed(step, removed)
