"""Applies a plan: changes the application's rows and writes the bags that can undo it, in the caller's transaction.

Invariants: rows and bags change together (DESIGN 2.1); what leaves here in the database is sealed (2.2) and linked by
nothing (2.3); the number of statements depends on the tables, not on rows, targets or pseudoprincipals (2.7). A global
disguise comes here once for each batch of 500 principals.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db import connections
from django.db.models import Model

from edna import conf, registry, store
from edna import rows as raw
from edna.crypto.keys import PublicKey
from edna.engine import announcing, files, leaving, ledger, measuring, pseudoprincipals
from edna.engine.bags import seal_records, seal_shared
from edna.engine.expiring import bucket_of, entry_bucket
from edna.engine.ordering import against_order
from edna.engine.planned import Plan, PlannedStep
from edna.engine.pseudoprincipals import Made
from edna.engine.recording import Records, SharedRows, mention, record, share
from edna.engine.references import reference_of
from edna.engine.sharing import Share
from edna.records.bag import Bag, BagKind
from edna.records.diff import Operation
from edna.records.locator import Locator, Receipt, seal_locator
from edna.records.speaksfor import SpeaksFor
from edna.rows import Row
from edna.spec import Modify
from edna.store import Entry


def execute(
    plan: Plan,
    *,
    now: datetime.datetime,
    using: str,
    locators: Sequence[Locator] = (),
    more_to_come: bool = False,
) -> list[Receipt]:
    """Apply ``plan`` and return a receipt for each of its targets, in their order. Runs inside a transaction.

    A chunk of a larger disguise brings its ``locators``; nobody is told whom was disguised while there is ``more_to_come``.
    """
    records = [Records() for _ in plan.targets]
    shared: list[SharedRows] = []
    changed: set[tuple[type[Model], str]] = set()
    moved: Moved = {}
    # Changes before removals: a database without deferred constraints refuses to delete what is still referred to.
    changes = sorted(plan.changes, key=_changes_key)
    for step, made in zip(changes, _pseudoprincipals(plan, changes, using=using), strict=True):
        step = _where_now(step, moved)
        if step.on_paper:
            decorrelate(plan, step, records, moved, made, using=using)
            continue
        columns = {(step.table.model, name) for name in step.columns[len(step.table.key) :]}
        if columns & changed:
            step = _read_again(step, using=using)
        changed |= columns
        if step.gives_away:
            decorrelate(plan, step, records, moved, made, using=using)
        else:
            modify(step, records, using=using)
            shared += mention(plan, step, records)
    before = {model: {new: old for old, new in keys.items()} for model, keys in moved.items()}
    unlink(plan.removals, before, using=using)
    for step in plan.removals:
        keys = step.primary_keys()
        raw.delete(step.table, _translated(keys, before.get(step.table.model)), using=using)
        if step.shares:
            own = [position for position, key in enumerate(keys) if key not in step.shares]
            shared += share(plan, step, records)
            step = replace(step, rows=[step.rows[i] for i in own], targets=[step.targets[i] for i in own])
        shared += mention(plan, step, records)
        record(step, step.columns, step.rows, records)
    return finish(plan, records, shared, moved, now=now, using=using, locators=locators, more_to_come=more_to_come)


def finish(
    plan: Plan,
    records: Sequence[Records],
    shared: Sequence[SharedRows],
    moved: Moved,
    *,
    now: datetime.datetime,
    using: str,
    locators: Sequence[Locator] = (),
    more_to_come: bool = False,
) -> list[Receipt]:
    """Seal what was recorded while ``plan`` was executed, and tell the application once it is committed."""
    shared = _with_files(records, shared, now=now, using=using)
    locators = locators or [Locator.new() for _ in plan.targets]
    receipts, entries = _write_bags(plan, records, shared, locators, now=now, using=using)
    gone = _entries_of_removed(plan)
    listed_before = any(entry.locators for entry in gone)
    kept_until = entry_bucket(now.date(), listed_before=listed_before, using=using) if gone else None
    entries |= {entry.id: entries.get(entry.id, entry).detached(expires_on=kept_until) for entry in gone}
    store.save_entries(list(entries.values()), using=using)
    leaving.forget(gone, using=using)
    ledger.note(plan, now=now, using=using)
    announcing.disguised(plan, moved, whole=not more_to_come, using=using)
    measuring.count(principals=0 if more_to_come else len(plan.targets), rows=plan.rows, using=using)
    return receipts


def _with_files(
    records: Sequence[Records], shared: Sequence[SharedRows], *, now: datetime.datetime, using: str
) -> list[SharedRows]:
    """Seal the files that the rows named, and put into each bag what leads to those of its rows."""
    expires_on = bucket_of(now.date())
    bags = [*(own.diffs for own in records), *(each.batches for each in shared)]
    found = files.collect(bags, now=now, expires_on=expires_on, using=using)
    for own, pointers in zip(records, found, strict=False):
        own.diffs += pointers
    return [
        replace(each, batches=(*each.batches, *pointers))
        for each, pointers in zip(shared, found[len(records) :], strict=True)
    ]


#: By table, keys that this disguise has changed: the former and the new one.
Moved = dict[type[Model], dict[Row, Row]]


def _changes_key(step: PlannedStep) -> bool:
    """Such steps come last: the others find their rows under the keys that were planned, and so do their records."""
    return step.operation is Operation.DECORRELATE and step.columns[-1] in step.table.key_names


def _where_now(step: PlannedStep, moved: Moved) -> PlannedStep:
    """The step with the keys that earlier steps of this disguise have given to its rows."""
    if step.table.model not in moved:
        return step
    width = len(step.table.key)
    keys = _translated(step.primary_keys(), moved[step.table.model])
    return replace(step, rows=[(*key, *row[width:]) for key, row in zip(keys, step.rows, strict=True)])


def _translated(keys: list[Row], moved: Mapping[Row, Row] | None) -> list[Row]:
    return [moved.get(key, key) for key in keys] if moved else keys


def unlink(
    removals: Sequence[PlannedStep], before: Mapping[type[Model], Mapping[Row, Row]] | None = None, *, using: str
) -> None:
    """Empty references between the rows to remove, which are in the order of their removal, where they would be in the way.

    Between tables those that refer to an earlier one; within a table all: a database that checks each row at once may take a
    parent first. ``before`` has the keys under which rows still are that have others on paper.
    """
    if connections[using].features.can_defer_constraint_checks:
        return
    back = against_order([step.table.model for step in removals])
    for step in removals:
        names = step.table.links_within
        if back:
            others = (link.field for link in back.get(step.table.model, ()) if link.field.null)
            names = (*names, *(column.name for column in others))
        positions = [step.columns.index(name) for name in names]
        linked = [
            key
            for key, row in zip(step.primary_keys() if names else (), step.rows if names else (), strict=True)
            if any(row[position] is not None for position in positions)
        ]
        if linked:
            linked = _translated(linked, (before or {}).get(step.table.model))
            raw.update(step.table, names, [(*key, *[None] * len(names)) for key in linked], using=using)


def _read_again(step: PlannedStep, *, using: str) -> PlannedStep:
    """The step with the values that an earlier step of this disguise left: a reveal undoes them one after the other."""
    width = len(step.table.key)
    rows = raw.read(step.table, step.columns, step.primary_keys(), lock=False, using=using)
    now = {row[:width]: row for row in rows}
    return replace(step, rows=[now[key] for key in step.primary_keys()])


def modify(step: PlannedStep, records: list[Records], *, using: str) -> None:
    width = len(step.table.key)
    names = step.columns[width:]
    keys = [row[:width] for row in step.rows]
    new = _placeholder_values(step, names, using=using)
    if keys:
        raw.update(step.table, names, [(*key, *values) for key, values in zip(keys, new, strict=True)], using=using)
    # Read again: a reveal compares with what the database made of the values, not with what it was given.
    now = raw.read(step.table, (*step.table.key_names, *names), keys, lock=False, using=using)
    by_key = {row[:width]: row[width:] for row in now}
    record(step, names, [(*row, *by_key[row[:width]]) for row in step.rows], records)


def _placeholder_values(step: PlannedStep, names: Sequence[str], *, using: str) -> list[Row]:
    """The placeholders' values, drawn per row; for references to removed rows what their model says, NULL for most."""
    connection = connections[using]
    if not isinstance(step.transformation, Modify):
        value = step.relation.value_on_delete() if step.relation and step.rows else None
        if isinstance(value, Model):
            value = getattr(value, step.table.field(names[0]).target_field.attname)  # type: ignore[attr-defined]
        if value is not None:
            value = step.table.field(names[0]).get_db_prep_save(value, connection)
        return [(value,) * len(names)] * len(step.rows)
    width = len(step.table.key)
    columns = []
    for position, name in enumerate(names):
        column = step.table.field(name)
        placeholder = step.transformation.placeholders[name]
        originals = [
            raw.python_value(column, row[width + position], using=using) if placeholder.reads_original else None
            for row in step.rows
        ]
        columns.append(
            [column.get_db_prep_save(placeholder.make(column, original), connection) for original in originals]
        )
    return list(zip(*columns, strict=True))


def _pseudoprincipals(plan: Plan, steps: Sequence[PlannedStep], *, using: str) -> list[list[Made]]:
    """New pseudoprincipals for each step, one for each of its groups; made all at once, so that steps cost no statements."""
    if not any(step.gives_away for step in steps):
        return [[] for _ in steps]
    wanted = [(len(step.numbered_groups()), step.refers_to) if step.gives_away else (0, None) for step in steps]
    generator = registry.pseudoprincipal_for(plan.disguise, plan.principal_model)
    return pseudoprincipals.make_for_all(generator, plan.principal_model, wanted, using=using)


def decorrelate(
    plan: Plan,
    step: PlannedStep,
    records: list[Records],
    moved: Moved,
    made: Sequence[Made] | None = None,
    *,
    using: str,
    to: Any = None,
) -> None:
    """Re-point the step's column to ``made`` pseudoprincipals, one for each of its groups, or to the value ``to``."""
    groups = step.numbered_groups()
    if made is None:
        [made] = _pseudoprincipals(plan, [step], using=using) if to is None else [[]]
    width = len(step.table.key)
    (name,) = step.columns[width:]
    new = [made[groups[group]].value if made else to for group in zip(step.targets, step.groups, strict=True)]
    changed = [(*row, value) for row, value in zip(step.rows, new, strict=True)]
    if step.on_paper:
        voices = [made[groups[group]] for group in zip(step.targets, step.groups, strict=True)]
        _replace_in_removal(plan, step, {row[:width]: voice for row, voice in zip(changed, voices, strict=True)})
    elif changed:
        raw.update(step.table, (name,), [(*row[:width], row[-1]) for row in changed], using=using)
    if name in step.table.key_names:
        # The record says where the row is found from now on.
        position = step.table.key_names.index(name)
        keys = {row[:width]: (*row[:position], row[-1], *row[position + 1 : width]) for row in changed}
        former = moved.setdefault(step.table.model, {})
        came_from = {key: old for old, key in former.items()}
        former |= {came_from.get(old, old): key for old, key in keys.items()}
        changed = [(*keys[row[:width]], *row[width:]) for row in changed]
    record(step, (name,), changed, records)
    for (target, (owner, _)), number in groups.items() if made else ():
        key, secret_key = made[number].key, made[number].secret_key
        records[target].speaks_for.append(SpeaksFor(key, secret_key.public_key, secret_key, owner))


def _replace_in_removal(plan: Plan, step: PlannedStep, new: Mapping[Row, Made]) -> None:
    """The rows that go say who owned them by pseudoprincipals: another owner may bring them back first.

    What waits for a pseudoprincipal is in its list, so that nobody takes away its row before.
    """
    (removal,) = [each for each in plan.removals if each.table is step.table]
    position = removal.columns.index(step.columns[-1])
    shares: dict[Row, Share] = {}
    former = removal.primary_keys()
    for number, key in enumerate(former):
        if key in new:
            row = removal.rows[number]
            removal.rows[number] = (*row[:position], new[key].value, *row[position + 1 :])
    for key, now in zip(former, removal.primary_keys(), strict=True):
        if key in removal.shares:
            share = removal.shares[key]
            shares[now] = replace(share, voices=(*share.voices, new[key].entry)) if key in new else share
    removal.shares.clear()
    removal.shares.update(shares)


# Bags


def _write_bags(
    plan: Plan,
    records: Sequence[Records],
    shared: Sequence[SharedRows],
    locators: Sequence[Locator],
    *,
    now: datetime.datetime,
    using: str,
) -> tuple[list[Receipt], dict[int, Entry]]:
    """Seal and store everything; return the receipts, and the entries whose list of locators has grown."""
    receipts, sealed, listed = [], [], {}
    mode = plan.disguise.locators or conf.locator_mode()
    for target, own, locator in zip(plan.targets, records, locators, strict=True):
        recipient = PublicKey(target.entry.public_key)
        # A pseudoprincipal has nobody to keep a receipt for it, and must not be let go of while a bag waits for its key.
        listing = mode == "server" or not target.entry.natural
        head = Bag(
            kind=BagKind.DIFF,
            disguise=plan.disguise.name,
            applied_at=now,
            principal_model=plan.principal_model._meta.label_lower,
            principal=target.entry.reference,
            params=dict(plan.params),
            database=connections[using].vendor,
            listed=listing,
            segments=(0, 0),
            batches=(),
        )
        sealed += seal_records(head, own.diffs, own.speaks_for, locator=locator, recipient=recipient)
        receipts.append(Receipt(plan.disguise.name, locator))
        # A bag that the server does not list may name any of the principal's pseudoprincipals: in their lists it says that they
        # must not be let go of by somebody who has not brought its receipt.
        for entry in (target.entry,) if listing else target.owners[1:]:
            item = seal_locator(locator, recipient=PublicKey(entry.public_key))
            listed[entry.id] = replace(entry, locators=entry.locators + item)
    for each in shared:
        sealed += seal_shared(head, each.batches, locator=each.locator)
        for entry in each.others:
            entry = listed.get(entry.id, entry)
            item = seal_locator(each.locator, recipient=PublicKey(entry.public_key))
            listed[entry.id] = replace(entry, locators=entry.locators + item)
    expires_on = bucket_of(now.date())
    store.add_bags(sealed, expires_on=expires_on, using=using)
    return receipts, listed


def _entries_of_removed(plan: Plan) -> list[Entry]:
    """Entries of principals, pseudoprincipals included, whose row the plan removes."""
    principals = plan.principal_model._meta.concrete_model
    removed = [key for step in plan.removals if step.table.model is principals for (key,) in step.primary_keys()]
    gone = {reference_of(plan.principal_model, key) for key in removed}
    return [entry for target in plan.targets for entry in target.owners if entry.reference in gone] if gone else []
