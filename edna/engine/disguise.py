"""Applies a plan: changes the application's rows and writes the bags that can undo it, in the caller's transaction.

Invariants: rows and bags change together (DESIGN 2.1); what leaves here in the database is sealed (2.2) and linked by
nothing (2.3); the number of statements depends on the tables, not on rows, targets or pseudoprincipals (2.7). A global
disguise comes here once for each batch of 500 principals.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from edna import conf, registry, store
from edna import rows as raw
from edna.crypto.keys import PublicKey
from edna.engine import pseudoprincipals, sessions
from edna.engine.plan import Plan, PlannedStep, reference_of
from edna.records.bag import Bag, BagKind, seal_bag
from edna.records.diff import DiffBatch
from edna.records.locator import Locator, Receipt, seal_locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.rows import Row
from edna.spec import Decorrelate, Modify
from edna.store import Entry


@dataclass
class Records:
    """What one target's bags will hold."""

    diffs: list[DiffBatch] = field(default_factory=list)
    speaks_for: list[SpeaksFor] = field(default_factory=list)


def execute(plan: Plan, *, now: datetime.datetime, using: str) -> list[Receipt]:
    """Apply ``plan`` and return a receipt for each of its targets, in their order. Runs inside a transaction."""
    records = [Records() for _ in plan.targets]
    changed: set[tuple[type[Model], str]] = set()
    # Changes before removals: a database without deferred constraints refuses to delete what is still referred to.
    for step in plan.changes:
        columns = {(step.table.model, name) for name in step.columns[len(step.table.key) :]}
        if columns & changed:
            step = _read_again(step, using=using)
        changed |= columns
        if isinstance(step.transformation, Decorrelate):
            _decorrelate(plan, step, records, using=using)
        else:
            _modify(step, records, using=using)
    for step in plan.removals:
        _unlink(step, using=using)
        raw.delete(step.table, step.primary_keys(), using=using)
        _record(step, step.columns, step.rows, records)
    receipts, entries = _write_bags(plan, records, now=now, using=using)
    gone = _entries_of_removed(plan)
    entries |= {entry.id: entries.get(entry.id, entry).detached() for entry in gone}
    store.save_entries(list(entries.values()), using=using)
    sessions.end([entry for entry in gone if entry.natural], using=using)
    return receipts


def _unlink(step: PlannedStep, *, using: str) -> None:
    """Empty the references between the rows to remove: a database that checks each row at once may take a parent first."""
    names = step.table.links_within
    if not names or connections[using].features.can_defer_constraint_checks:
        return
    positions = [step.columns.index(name) for name in names]
    linked = [
        key
        for key, row in zip(step.primary_keys(), step.rows, strict=True)
        if any(row[position] is not None for position in positions)
    ]
    if linked:
        raw.update(step.table, names, [(*key, *[None] * len(names)) for key in linked], using=using)


def _read_again(step: PlannedStep, *, using: str) -> PlannedStep:
    """The step with the values that an earlier step of this disguise left: a reveal undoes them one after the other."""
    width = len(step.table.key)
    rows = raw.read(step.table, step.columns, step.primary_keys(), lock=False, using=using)
    now = {row[:width]: row for row in rows}
    return replace(step, rows=[now[key] for key in step.primary_keys()])


def _modify(step: PlannedStep, records: list[Records], *, using: str) -> None:
    width = len(step.table.key)
    names = step.columns[width:]
    keys = [row[:width] for row in step.rows]
    new = _placeholder_values(step, names, using=using)
    if keys:
        raw.update(step.table, names, [(*key, *values) for key, values in zip(keys, new, strict=True)], using=using)
    # Read again: a reveal compares with what the database made of the values, not with what it was given.
    now = raw.read(step.table, (*step.table.key_names, *names), keys, lock=False, using=using)
    by_key = {row[:width]: row[width:] for row in now}
    _record(step, names, [(*row, *by_key[row[:width]]) for row in step.rows], records)


def _placeholder_values(step: PlannedStep, names: Sequence[str], *, using: str) -> list[Row]:
    """The placeholders' values, drawn per row; NULL for a reference that is emptied."""
    if not isinstance(step.transformation, Modify):
        return [(None,) * len(names)] * len(step.rows)
    connection = connections[using]
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


def _decorrelate(plan: Plan, step: PlannedStep, records: list[Records], *, using: str) -> None:
    groups = {
        group: position for position, group in enumerate(dict.fromkeys(zip(step.targets, step.groups, strict=True)))
    }
    generator = registry.pseudoprincipal_for(plan.disguise, plan.principal_model)
    made = pseudoprincipals.make(generator, plan.principal_model, len(groups), using=using)
    new = [made[groups[group]].key for group in zip(step.targets, step.groups, strict=True)]
    width = len(step.table.key)
    changed = [(*row, key) for row, key in zip(step.rows, new, strict=True)]
    if changed:
        raw.update(step.table, step.columns[width:], [(*row[:width], row[-1]) for row in changed], using=using)
    _record(step, step.columns[width:], changed, records)
    for (target, _), position in groups.items():
        pseudoprincipal = made[position]
        records[target].speaks_for.append(
            SpeaksFor(pseudoprincipal.key, pseudoprincipal.secret_key.public_key, pseudoprincipal.secret_key)
        )


def _record(step: PlannedStep, columns: Sequence[str], rows: Sequence[Row], records: list[Records]) -> None:
    by_target: dict[int, list[Row]] = {0: list(rows)} if len(records) == 1 and rows else {}
    for row, target in zip(rows, step.targets, strict=True) if len(records) > 1 else ():
        by_target.setdefault(target, []).append(row)
    for target, own in by_target.items():
        batch = DiffBatch(
            step.operation,
            step.table.label,
            stamp(step.table.model._meta.app_label),
            step.table.key_names,
            tuple(columns),
            own,
        )
        records[target].diffs.append(batch)


def stamp(app_label: str) -> str:
    """The application's newest migration: which shape of its tables a record was made for."""
    return dict(_newest_migrations()).get(app_label, "")


@functools.cache
def _newest_migrations() -> tuple[tuple[str, str], ...]:
    # From the files, not the database: the running code works with the tables that its own migrations describe.
    return tuple(MigrationLoader(None).graph.leaf_nodes())


# Bags


def _write_bags(
    plan: Plan, records: Sequence[Records], *, now: datetime.datetime, using: str
) -> tuple[list[Receipt], dict[int, Entry]]:
    """Seal and store everything; return the receipts, and the entries whose list of locators has grown."""
    receipts, sealed, listed = [], [], {}
    mode = plan.disguise.locators or conf.locator_mode()
    for target, own in zip(plan.targets, records, strict=True):
        locator, recipient = Locator.new(), PublicKey(target.entry.public_key)
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
            batches=(),
        )
        sealed += seal_records(head, own.diffs, own.speaks_for, locator=locator, recipient=recipient)
        receipts.append(Receipt(plan.disguise.name, locator))
        if listing:
            locators = target.entry.locators + seal_locator(locator, recipient=recipient)
            listed[target.entry.id] = replace(target.entry, locators=locators)
    expires_on = store.expiry_bucket(now.date(), retention_days=conf.retention_days())
    store.add_bags(sealed, expires_on=expires_on, using=using)
    return receipts, listed


def seal_records(
    head: Bag, diffs: Sequence[DiffBatch], speaks_for: Sequence[SpeaksFor], *, locator: Locator, recipient: PublicKey
) -> list[tuple[bytes, bytes]]:
    """Both bags of one (principal, disguise), in segments, as (index, sealed). No diff bag where only voices are left: nothing
    can be revealed by it any more. An empty one where there is nothing at all: it says that the disguise happened."""
    bags = [replace(head, kind=BagKind.DIFF, batches=batches) for batches in _segments(diffs)]
    if not bags and not speaks_for:
        bags = [replace(head, kind=BagKind.DIFF, batches=())]
    rows = list(speaks_for)
    size = conf.chunk_rows()
    voices = [
        replace(
            head, kind=BagKind.SPEAKS_FOR, batches=(SpeaksForBatch(head.principal_model, rows[start : start + size]),)
        )
        for start in range(0, len(rows), size)
    ]
    sealed = []
    for kind in (bags, voices):
        for sequence, bag in enumerate(kind):
            made = seal_bag(
                bag,
                locator=locator,
                sequence=sequence,
                public_key=recipient,
                mac_key=conf.mac_keys()[0],
                compress=conf.compress(),
            )
            sealed.append((made.index, made.sealed))
    return sealed


def _segments(batches: Sequence[DiffBatch]) -> Iterator[tuple[DiffBatch, ...]]:
    """Split into bags of at most ``CHUNK_ROWS`` rows and a few MiB, so that each fits a packet and memory."""
    segment: list[DiffBatch] = []
    most = conf.chunk_rows()
    rows, size = 0, 0
    for batch in batches:
        start = 0
        for end, row in enumerate(batch.rows, start=1):
            rows += 1
            size += raw.row_bytes(row)
            if rows >= most or size >= raw.MAX_STATEMENT_BYTES:
                yield (*segment, replace(batch, rows=batch.rows[start:end]))
                segment, rows, size, start = [], 0, 0, end
        if start < len(batch.rows):
            segment.append(replace(batch, rows=batch.rows[start:]) if start else batch)
    if segment:
        yield tuple(segment)


def _entries_of_removed(plan: Plan) -> list[Entry]:
    """Entries of principals, pseudoprincipals included, whose row the plan removes."""
    principals = plan.principal_model._meta.concrete_model
    removed = [key for step in plan.removals if step.table.model is principals for (key,) in step.primary_keys()]
    gone = {reference_of(plan.principal_model, key) for key in removed}
    return [entry for target in plan.targets for entry in target.owners if entry.reference in gone] if gone else []
