"""Applies a plan: changes the application's rows and writes the bags that can undo it, in the caller's transaction.

Invariants: rows and bags change together (nothing lost); what leaves here in the database is sealed (nothing readable) and linked by
nothing (nothing linkable); the number of statements depends on the tables, not on rows, targets or pseudoprincipals (constant statements).
A global disguise comes here once for each batch of 500 principals.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

from django.db.models import Model

from edna import conf, registry, store
from edna.clock import A_MOMENT, moment
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row
from edna.engine.bags import unlisted_bags
from edna.engine.bags.openers import recipient_of
from edna.engine.bags.seal import seal_records, seal_shared
from edna.engine.books import announcements, beside, departure, measurements, under_way
from edna.engine.books.expiry_dates import bucket_of, entry_bucket
from edna.engine.disguising import row_changes
from edna.engine.disguising.record import Records, SharedRows, record_removed
from edna.engine.disguising.row_changes import Moved, translated
from edna.engine.files import seal
from edna.engine.graph.order import against_order
from edna.engine.graph.references import reference_of
from edna.engine.planning.steps import Plan, PlannedStep, Speaking, Target
from edna.records.bag import Bag, BagKind
from edna.records.chain import Chunk
from edna.records.diff import Listed
from edna.records.locator import Locator, Receipt, seal_locator
from edna.store import Entry


def execute(
    plan: Plan,
    *,
    using: str,
    chunks: Sequence[Chunk] = (),
    more_to_come: bool = False,
    for_good: bool = False,
) -> list[Receipt]:
    """Apply ``plan`` and return a receipt for each of its targets, in their order. Runs inside a transaction.

    Of a larger disguise, it is one of the ``chunks``; nobody is told whom was disguised while there is ``more_to_come``. ``for_good``,
    nothing is sealed for the targets, and there are no receipts: only what others own, too, is kept for those.
    """
    records = [Records() for _ in plan.targets]
    shared: list[SharedRows] = []
    moved = row_changes.apply(plan, records, shared, using=using)
    before = {model: {new: old for old, new in keys.items()} for model, keys in moved.items()}
    removals = [step for step in plan.removals if step.rows]
    unlink(removals, before, using=using)
    for step in removals:
        keys = step.primary_keys()
        if former := before.get(step.table.model):
            keys = translated(keys, former)
        raw.delete_each(step.table, keys, using=using)
        shared += record_removed(plan, step, records, for_good=for_good)
    return finish(
        plan,
        records,
        shared,
        moved,
        using=using,
        chunks=chunks,
        more_to_come=more_to_come,
        for_good=for_good,
    )


def finish(
    plan: Plan,
    records: Sequence[Records],
    shared: Sequence[SharedRows],
    moved: Moved,
    *,
    using: str,
    chunks: Sequence[Chunk] = (),
    more_to_come: bool = False,
    for_good: bool = False,
) -> list[Receipt]:
    """Seal what was recorded while ``plan`` was executed, and tell the application once it is committed. For a target whose disguise was
    interrupted between two chunks, without ``chunks`` it is the next one, under the same receipt.

    Raises:
        EntryForged: somebody has put another key into an entry to which this would be sealed.
    """
    owners = [owner for target in plan.targets for owner in (target.entry, *target.owners)]
    store.require_sound([*owners, *(other for each in shared for other in each.others)])
    now = moment(using=using)  # only now are all rows held, so whoever has held one of them before has an earlier one
    expires_on = bucket_of(now.date())
    shared = _with_files(records, shared, for_good=for_good, now=now, expires_on=expires_on, using=using)
    chunks = () if for_good else chunks or _begun(plan, using=using)
    receipts, entries = _write_bags(
        plan,
        records,
        shared,
        chunks,
        more_to_come=more_to_come,
        now=now,
        expires_on=expires_on,
        using=using,
    )
    gone = _entries_of_removed(plan)
    listed_before = any(entry.locators for entry in gone)
    kept_until = entry_bucket(now.date(), listed_before=listed_before, using=using) if gone else None
    entries |= {entry.id: entries.get(entry.id, entry).detached(expires_on=kept_until) for entry in gone}
    # Earlier bags, and receipts, lead to an entry; without any, it leads to nothing.
    forgets = for_good and not registry.any_unlisted()
    forgotten = {entry.id for entry in gone if forgets and not entries[entry.id].locators}
    store.save_entries([entry for entry in entries.values() if entry.id not in forgotten], using=using)
    if forgotten:
        store.delete_entries([entry for entry in gone if entry.id in forgotten], using=using)
    departure.forget(gone, using=using)
    beside.kept().note_disguise(plan, now=now, for_good=for_good, using=using)
    announcements.disguised(plan, moved, whole=not more_to_come, using=using)
    measurements.count(principals=0 if more_to_come else len(plan.targets), rows=lambda: plan.rows, using=using)
    return receipts


def _with_files(
    records: Sequence[Records],
    shared: Sequence[SharedRows],
    *,
    for_good: bool,
    now: datetime.datetime,
    expires_on: datetime.date | None,
    using: str,
) -> list[SharedRows]:
    """Seal the files that the rows named, and put into each bag what leads to those of its rows. ``for_good``, those of shared rows
    alone: the others are deleted."""
    bags = [*(own.diffs for own in records), *(each.batches for each in shared)]
    unsealed = len(records) if for_good else 0
    pointers_by_bag = seal.collect(bags, unsealed=unsealed, now=now, expires_on=expires_on, using=using)
    for own, pointers in zip(records, pointers_by_bag, strict=False):
        own.diffs += pointers
    return [
        replace(each, batches=(*each.batches, *pointers))
        for each, pointers in zip(shared, pointers_by_bag[len(records) :], strict=True)
    ]


def unlink(
    removals: Sequence[PlannedStep], before: Mapping[type[Model], Mapping[Row, Row]] | None = None, *, using: str
) -> None:
    """Empty references between the rows to remove, which are in the order of their removal, where they would be in the way.

    Between tables those that refer to an earlier one; within a table all: a database that checks each row at once may take a
    parent first. ``before`` has the keys under which rows still are that have others on paper.
    """
    if connection_of(using).features.can_defer_constraint_checks:
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
            linked = translated(linked, (before or {}).get(step.table.model, {}))
            raw.update_each(step.table, names, [(*key, *[None] * len(names)) for key in linked], using=using)


# Bags


def _begun(plan: Plan, *, using: str) -> list[Chunk]:
    """With which chunk the disguise goes on for each target; as a rule, it is all of it."""
    entries = [target.entry for target in plan.targets]
    if any(entry.under_way for entry in entries) and _mode(plan) == "server":
        return under_way.begun(entries, plan.disguise.name, plan.params, using=using)
    return [Chunk(Locator.new(), 0) for _ in entries]


def _mode(plan: Plan) -> str:
    return plan.disguise.locators or conf.locator_mode()


def _write_bags(
    plan: Plan,
    records: Sequence[Records],
    shared: Sequence[SharedRows],
    chunks: Sequence[Chunk],
    *,
    more_to_come: bool,
    now: datetime.datetime,
    expires_on: datetime.date | None,
    using: str,
) -> tuple[list[Receipt], dict[int, Entry]]:
    """Seal and store everything, without ``chunks`` only what is shared; return the receipts, and the entries that have changed."""
    receipts, sealed, listed = [], [], {}
    unlisted_now: list[tuple[Speaking, Locator]] = []
    mode, name = _mode(plan), plan.disguise.name
    for target, own, chunk in zip(plan.targets, records, chunks, strict=True) if chunks else ():
        locator = chunk.locator
        recipient = recipient_of(target.entry)
        # A pseudoprincipal has nobody to keep a receipt for it, and must not be let go of while a bag waits for its key.
        listing = mode == "server" or not target.entry.natural
        head = _head(plan, target, listed=listing, now=now, using=using)
        sealed += seal_records(
            head, own.diffs, own.speaks_for, locator=locator, recipient=recipient, using=using, is_new=True
        )
        receipts.append(Receipt(name, chunk.first))
        if listing:
            item, entry = seal_locator(locator, recipient=recipient), target.entry
            if more_to_come or entry.under_way:
                entry = under_way.after(entry, chunk, name, plan.params, more_to_come=more_to_come, using=using)
            listed[target.entry.id] = entry._replace(locators=entry.locators + item)
        else:
            unlisted_now.append((target.speaking, locator))
    for each in shared:
        items = []
        for entry in each.others:
            entry = listed.get(entry.id, entry)
            item = seal_locator(each.locator, recipient=recipient_of(entry))
            items.append((entry.public_key, item))
            listed[entry.id] = entry._replace(locators=entry.locators + item)
        batches = (*each.batches, Listed.of(items)) if each.says_where else each.batches
        # What lies beneath theirs of this moment lies over all that they have from before it.
        when = now - A_MOMENT if each.beneath else now
        sealed += seal_shared(_head(plan, None, now=when, using=using), batches, locator=each.locator, using=using)
    store.add_bags(sealed, expires_on=expires_on, using=using)
    unlisted_bags.note(unlisted_now, using=using)
    return receipts, listed


def _head(plan: Plan, target: Target | None, *, listed: bool = True, now: datetime.datetime, using: str) -> Bag:
    """What the bags of a target say, or those that are shared."""
    return Bag(
        kind=BagKind.DIFF,
        disguise=plan.disguise.name,
        applied_at=now,
        principal_model=plan.principal_model._meta.label_lower,
        principal=target.entry.reference if target else None,
        params=dict(plan.params),
        database=connection_of(using).vendor,
        listed=listed,
        segments=(0, 0),
        batches=(),
    )


def _entries_of_removed(plan: Plan) -> list[Entry]:
    """Entries of principals, pseudoprincipals included, whose row the plan removes."""
    principals = plan.principal_model._meta.concrete_model
    removed = [key for step in plan.removals if step.table.model is principals for (key,) in step.primary_keys()]
    gone = {reference_of(plan.principal_model, key) for key in removed}
    return [entry for target in plan.targets for entry in target.owners if entry.reference in gone] if gone else []
