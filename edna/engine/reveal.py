"""Undoes one disguise for one principal, from opened records, in the caller's transaction.

It does not matter who opened the bags. Invariant (DESIGN 2.1): a record is erased last, only when it was fully revealed, and
whatever is held is sealed again in the same transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna import conf, coverage, registry, store
from edna import rows as raw
from edna.crypto.keys import PublicKey
from edna.engine.conflicts import Held, Outcome, Reason, write_what_fits
from edna.engine.disguise import seal_records
from edna.engine.opening import Opened, open_receipt
from edna.engine.plan import key_of, reference_of, relations_to
from edna.engine.restoring import Overrides, Progress, hold, insert_removed, refusal, undo, with_references
from edna.engine.unlocked import Unlocked
from edna.errors import RevealRefused, UnknownDisguise
from edna.records.diff import DiffBatch, Operation
from edna.records.locator import Receipt
from edna.records.speaksfor import SpeaksFor
from edna.rows import Row, Table, table_of
from edna.store import Entry


def reveal(receipt: Receipt, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool) -> Outcome:
    """Open the receipt's bags with what ``unlocked`` holds, and restore what they say.

    Raises:
        ReceiptUnknown, ReceiptForeign, ReceiptMalformed: there is nothing to open, or not with this key.
        BagError: a bag was changed, moved or forged; it stays where it is, as evidence.
        RevealRefused: something is held and ``allow_partial`` is off.
    """
    opened = open_receipt(receipt, unlocked)
    return restore(opened, unlocked, overrides=overrides, allow_partial=allow_partial)


def restore(opened: Opened, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool) -> Outcome:
    """Bring back what the records say, as far as nothing stands in the way; erase what is done, seal again what is not."""
    using = unlocked.using
    progress = Progress()
    insert_removed(opened.diffs, progress, overrides=overrides, using=using)
    for batch in reversed(opened.diffs):
        if batch.operation is not Operation.REMOVE:
            undo(batch, progress, overrides=overrides, using=using)
    remaining = _let_go_of_pseudoprincipals(opened, progress, using=using)
    if progress.outcome.held and not allow_partial:
        count = len(progress.outcome.held)
        raise RevealRefused(
            f"{count} record(s) of {opened.receipt.disguise} cannot be revealed now, so none was; see the outcome for the reasons.",
            outcome=progress.outcome,
        )
    # Erase last: whatever is not back in the application's tables must still lie in a sealed bag.
    _erase(opened, progress, remaining, unlocked)
    unlocked.forget_voices()
    return progress.outcome


# Pseudoprincipals


def _let_go_of_pseudoprincipals(opened: Opened, progress: Progress, *, using: str) -> list[SpeaksFor]:
    """Fix what refers to the pseudoprincipals of this disguise, delete those that nothing needs; return the others."""
    if not opened.speaks_for:
        return []
    model: type[Model] = apps.get_model(opened.head.principal_model)
    table = table_of(model)
    still_used = {row[-1] for batch in progress.kept if batch.operation is Operation.DECORRELATE for row in batch.rows}
    owners = {
        row[-1]: row[-2] for batch in opened.diffs if batch.operation is Operation.DECORRELATE for row in batch.rows
    }
    # Locked: an entry must not be deleted while somebody else's disguise adds a locator to it.
    keys = [bytes(voice.public_key) for voice in opened.speaks_for]
    entries = {entry.public_key: entry for entry in store.entries_by_public_key(keys, using=using, lock=True)}
    free: dict[Any, SpeaksFor] = {}
    for voice in opened.speaks_for:
        entry = entries.get(bytes(voice.public_key))
        # A pseudoprincipal that was itself disguised still owns the bags of that: it must outlive them.
        if voice.principal not in still_used and not (entry and entry.locators):
            free[voice.principal] = voice
    home = key_of(model, str(opened.head.principal), using=using)
    for relation in relations_to(model):
        for key in _settle(relation, opened, {q: owners.get(q, home) for q in free}, progress, using=using):
            free.pop(key, None)
    if free:
        raw.delete(table, [(key,) for key in free], using=using)
        gone = [entries[bytes(voice.public_key)] for voice in free.values() if bytes(voice.public_key) in entries]
        store.delete_entries(gone, using=using)
    return [voice for voice in opened.speaks_for if voice.principal not in free]


def _settle(
    relation: coverage.Relation, opened: Opened, owners: Mapping[Any, Any], progress: Progress, *, using: str
) -> set[Any]:
    """Deal with rows that came to refer to a pseudoprincipal after the disguise; return the pseudoprincipals still needed."""
    table = table_of(relation.model)
    width = len(table.key)
    found = raw.read_where(
        table, (*table.key_names, relation.field.name), relation.field.name, list(owners), lock=True, using=using
    )
    if not found:
        return set()
    policy = _reference_policy(opened.receipt.disguise, relation)
    if policy == "retain":
        return {row[-1] for row in found}
    if policy == "delete":
        needed = _needed_by_others(table, [row[:width] for row in found], using=using)
        raw.delete(table, [row[:width] for row in found if row[:width] not in needed], using=using)
        for key in sorted(needed):
            pk = key[0] if len(key) == 1 else key
            progress.outcome.held.append(Held(table.label, pk, Reason.CONSTRAINT))
        return {row[-1] for row in found if row[:width] in needed}
    back = {(*row[:width], owners[row[-1]]): row[-1] for row in found}
    batch = DiffBatch(Operation.MODIFY, table.label, "", table.key_names, (relation.field.name,), ())
    names = (*table.key_names, relation.field.name)
    aside = Progress(present=progress.present)
    rows = with_references(batch, table, list(back), names, aside, using=using)
    refused = set(
        write_what_fits(lambda part: raw.update(table, (relation.field.name,), part, using=using), rows, using=using)
    )
    for row in refused:
        hold(aside, batch, [row], *refusal(table, names, row, using=using, row_exists=True))
    # Said, but not sealed: these rows are in their table, under the pseudoprincipal, which stays until they can move.
    progress.outcome.held += aside.outcome.held
    progress.outcome.add(table.label, len(rows) - len(refused))
    return {key for row, key in back.items() if row in refused or row not in rows}


def _needed_by_others(table: Table, keys: Sequence[Row], *, using: str) -> set[Row]:
    """Those of the rows that a row of any table points at: they cannot be deleted without leaving it dangling."""
    needed: set[Row] = set()
    for relation in relations_to(table.model):
        target = relation.field.target_field.name
        values = {
            row[-1]: row[:-1] for row in raw.read(table, (*table.key_names, target), keys, lock=False, using=using)
        }
        referring = table_of(relation.model)
        name = relation.field.name
        for (value,) in raw.read_where(referring, (name,), name, list(values), lock=False, using=using):
            needed.add(values[value])
    return needed


def _reference_policy(name: str, relation: coverage.Relation) -> str:
    try:
        policies = registry.get(name).references
    except UnknownDisguise:
        return "restore"
    return {label.lower(): policy for label, policy in policies.items()}.get(relation.label.lower(), "restore")


# Finishing


def _erase(opened: Opened, progress: Progress, remaining: Sequence[SpeaksFor], unlocked: Unlocked) -> None:
    """Erase what is done and seal again what is not; principals whose row came back get their reference back."""
    using = unlocked.using
    store.delete_bags(opened.indexes, using=using)
    removed = [batch for batch in progress.kept if batch.operation is Operation.REMOVE]
    # Changes were undone, and held, from the last to the first: keep them in the order in which they were made.
    changed = [batch for batch in reversed(progress.kept) if batch.operation is not Operation.REMOVE]
    entry = opened.entry
    if removed or changed or remaining:
        sealed = seal_records(
            opened.head,
            [*removed, *changed],
            remaining,
            locator=opened.receipt.locator,
            recipient=PublicKey(entry.public_key),
        )
        expires_on = store.expiry_bucket(opened.head.applied_at.date(), retention_days=conf.retention_days())
        store.add_bags(sealed, expires_on=expires_on, using=using)
    elif opened.item is not None:
        entry = replace(entry, locators=entry.locators.replace(opened.item, b""))
    entries = _attached(opened, progress, entry, unlocked)
    if entries != [opened.entry]:
        store.save_entries(entries, using=using)


def _attached(opened: Opened, progress: Progress, entry: Entry, unlocked: Unlocked) -> list[Entry]:
    """``entry``, and those of pseudoprincipals whose row came back, each with its reference where it has a row again."""
    model: type[Model] = apps.get_model(opened.head.principal_model)
    back = {reference_of(model, key) for table, key in progress.came_back if table is model._meta.concrete_model}
    own = str(opened.head.principal)
    if own in back:
        # A removed principal's entry does not say that it is a person's; only a person holds the key that unlocked it.
        natural = entry.public_key == bytes(unlocked.public_key)
        entry = replace(entry, model=model._meta.label_lower, reference=own, natural=natural)
    others = back - {own}
    # The row was gone until now: an entry that has its reference is left over from one that was deleted without edna.
    stale = store.entries_by_reference(model._meta.label_lower, list(back), using=unlocked.using, lock=True)
    store.save_entries([each.detached() for each in stale if each.id != entry.id], using=unlocked.using)
    if not others:
        return [entry]
    keys = {voice.entry.public_key: reference_of(model, voice.key) for voice in unlocked.spoken_for()}
    wanted = [public_key for public_key, reference in keys.items() if reference in others]
    # Read again, locked: what the capability remembers may be older than somebody else's disguise.
    found = store.entries_by_public_key(wanted, using=unlocked.using, lock=True)
    label = model._meta.label_lower
    return [entry, *(replace(each, model=label, reference=keys[each.public_key]) for each in found)]
