"""Undoes one disguise for one principal, from opened records, in the caller's transaction.

It does not matter who opened the bags. Invariant (nothing lost): a record is erased last, only when it was fully revealed, and
whatever is held is sealed again in the same transaction. A little long: the steps of a reveal stand in the order in which they must be.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace

from django.apps import apps
from django.db.models import Model

from edna import store
from edna.db.rows import Row
from edna.engine.bags import reader as journals
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.chain import Chunk, followed
from edna.engine.bags.opened import Opened, pointing_at
from edna.engine.bags.reader import Holder, Journal
from edna.engine.bags.seal import Sealed, recipient_of, seal_records, seal_shared
from edna.engine.bags.unlisted import indexes_of
from edna.engine.books import announcements, measurements, notices, sessions
from edna.engine.books.expiry_dates import entry_bucket, nothing_kept, today
from edna.engine.graph.outcome import Outcome, in_rows
from edna.engine.graph.references import reference_of
from edna.engine.graph.tally import Recorded
from edna.engine.layers import mentions, returning
from edna.engine.layers.folding import Folding
from edna.engine.layers.forwarded import catch_up
from edna.engine.layers.new_keys import Given, give_keys, without_keys
from edna.engine.layers.returning import Overrides
from edna.engine.planning import terms
from edna.engine.revealing import blobs, files, ledger_strike
from edna.engine.revealing.constraints import require_columns
from edna.engine.revealing.files import Incoming
from edna.engine.revealing.progress import Progress, hold_stuck, note_absent, stays_absent
from edna.engine.revealing.recreate import add_voiceless, is_voiceless, make_again
from edna.engine.revealing.release import LetGo, let_go
from edna.engine.revealing.restore import insert_removed, undo
from edna.errors import BagMissing, RevealRefused, SpecError
from edna.records.diff import Blobs, Changed, Files, Removed, RowBatch, Shares
from edna.records.locator import SEALED_LOCATOR_BYTES, Locator, Receipt, seal_locator
from edna.store import Entry, retention


def reveal(
    receipt: Receipt, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool, chunk: Chunk | None = None
) -> Outcome | None:
    """Open the receipt's bags with what ``unlocked`` holds, or those of one of its chunks, and restore what they say.

    None if the disguise was done in several chunks, and none was asked for: then nothing is done.

    Raises:
        ReceiptUnknown, ReceiptForeign, ReceiptMalformed: there is nothing to open, or not with this key.
        BagError: a bag was changed, moved or forged; it stays where it is, as evidence.
        RevealRefused: something is held and ``allow_partial`` is off.
    """
    require_columns(overrides)
    journal = journals.read(receipt, unlocked, chunk=chunk)
    if journal is None:
        return None
    outcome = restore(journal, unlocked, overrides=overrides, allow_partial=allow_partial)
    ledger_strike.strike(journal, chunk=chunk, using=unlocked.using)
    unlocked.forget_voices()
    return outcome


def restore(journal: Journal, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool) -> Outcome:
    """Bring back what the records say, as far as nothing stands in the way; erase what is done, seal again what is not."""
    using = unlocked.using
    current = journal.current
    named = files.names_by_row(journal)
    catch_up(journal, using=using)
    files.follow(named)
    coming = _shared_with(journal)
    meant = terms.terms_of(current.head.disguise)
    outcome = Outcome()
    returning.drop([current, *coming], meant, outcome)
    make_again(journal, coming, using=using)
    known_batches = [batch for opened in (current, *journal.others) for batch in opened.diffs]
    given = give_keys([current, *coming], among=known_batches, using=using)
    progress = Progress(
        outcome=outcome,
        folding=Folding(current, [opened for opened in journal.others if opened not in coming]),
        altered=returning.alter([current, *coming], meant, using=using),
    )
    overrides = returning.binding(overrides, meant)
    hold_stuck(current, coming, progress)
    shared = [batch for opened in coming for batch in opened.diffs]
    recorded = Recorded(current.head.principal_model, current.head.principal)
    recorded.add(batch for batch in (*current.diffs, *shared) if not isinstance(batch, Blobs))
    progress.before = recorded.before
    for batch in shared:
        progress.shared.setdefault(batch.model, set()).update(batch.primary_keys())
    pointed = {locator for opened in journal.later for locator in opened.pointers}
    for opened in journal.others:
        if opened in journal.later or (opened.locator in pointed and opened not in coming):
            for batch in opened.diffs:
                if isinstance(batch, Removed):
                    note_absent(batch, progress)
            for stuck in opened.stuck:
                stays_absent(stuck, progress)
    progress.files = _look_at_files(current, coming, using=using)
    used = mentions.resolve(journal, coming)
    progress.standing.look(current.diffs, using=using)
    insert_removed([*current.diffs, *shared], progress, overrides=overrides, using=using)
    _keep_shared(coming, progress)
    for batch in reversed(current.diffs):
        if isinstance(batch, Changed):
            undo(batch, progress, overrides=overrides, using=using)
    mentions.finish(journal, used, coming, progress.kept)
    known = {
        reference: bytes(voice.public_key)
        for opened in (current, *journal.others)
        for model in [apps.get_model(opened.head.principal_model)]
        for voice in opened.speaks_for
        for reference in [reference_of(model, voice.principal)]
    }
    released = let_go(journal, progress, using=using)
    _postpone(journal, using=using)
    _settle_files(journal, coming, progress, using=using)
    progress.outcome.due.include(recorded.rows)
    progress.outcome.count()
    progress.kept += _reveal_blobs(journal, progress, unlocked)
    if progress.outcome.held and not allow_partial:
        raise RevealRefused(
            f"{in_rows(progress.outcome.rows_held)} of {current.head.disguise} cannot be revealed now, so none was; "
            "see the outcome for the reasons.",
            outcome=progress.outcome,
        )
    # Erase last: whatever is not back in the application's tables must still lie in a sealed bag.
    entries = _erase(journal, progress, released, given, using=using)
    _attach(journal, progress, entries, known, unlocked)
    store.save_entries(list(entries.values()), using=using)
    head = current.head
    announcements.revealed(
        progress.news, head.disguise, head.principal_model, unlocked.entry, whole=journal.tell, using=using
    )
    reasons = (held.reason.value for held in outcome.held)
    measurements.count(principals=int(journal.tell), rows=sum(outcome.restored.values()), held=reasons, using=using)
    return outcome


def _look_at_files(current: Opened, coming: Sequence[Opened], *, using: str) -> Incoming:
    """
    Raises:
        ReceiptUnknown: the content of a file has expired, and the records that name it are due.
    """
    try:
        return files.look([current, *coming], using=using)
    except BagMissing:
        if current.expires_on is None or current.expires_on > today():
            raise
    raise nothing_kept(current.head.disguise)


def _reveal_blobs(journal: Journal, progress: Progress, unlocked: Unlocked) -> Sequence[RowBatch]:
    """Call the application's function for what it has sealed; return what has to stay.

    Raises:
        SpecError: the function has disguised or revealed something itself, and the journal is not true any more.
    """
    head = journal.current.head
    if not any(isinstance(batch, Blobs) for batch in journal.current.diffs):
        return []
    kept = blobs.reveal(journal.current.diffs, progress.outcome, head=head, unlocked=unlocked)
    entries = store.entries_by_public_key(journal.holders, using=unlocked.using)
    if any(journal.holders[entry.public_key].entry.locators != entry.locators for entry in entries):
        raise SpecError(
            f"{head.disguise}: the function of edna.on_reveal disguised or revealed something of the same principal. "
            "Nothing was changed; do that after the reveal."
        )
    return kept


def _shared_with(journal: Journal) -> list[Opened]:
    """Shared bags whose rows this reveal brings back: its own records point at them, or its pseudoprincipals own the rows.

    Not those at which another bag of the same principal points: they removed the row themselves, and have not taken that back.
    """
    wanted: set[Locator] = set()
    for voice in journal.current.speaks_for:
        holder = journal.held_by(voice)
        wanted |= set(holder.items) if holder else set()
    wanted -= set(pointing_at(opened for opened in journal.others if not opened.shared))
    wanted |= set(journal.current.pointers)
    return [opened for opened in journal.others if opened.shared and opened.locator in wanted and not opened.is_mention]


def _keep_shared(coming: Sequence[Opened], progress: Progress) -> None:
    """Rows of shared bags that could not come back stay in their shared bags, and nowhere else."""
    held: dict[str, set[Row]] = {}
    kept: list[RowBatch] = []
    for batch in progress.kept:
        if isinstance(batch, Removed):
            held.setdefault(batch.model, set()).update(batch.primary_keys())
            batch = batch.without(progress.shared.get(batch.model, set()))
        kept.append(batch)
    progress.kept = kept
    for opened in coming:
        pointers = [batch for batch in opened.diffs if isinstance(batch, Shares)]
        # What leads to files goes along, until it is known which rows have come back.
        opened.keep(batch.only(held.get(batch.model, set())) for batch in opened.diffs if not isinstance(batch, Shares))
        if not opened.empty:
            opened.add(*pointers)  # to mentions of those whom the rows name


def _settle_files(journal: Journal, coming: Sequence[Opened], progress: Progress, *, using: str) -> None:
    """Write the files of rows that are back, and keep what leads to the others with the records that name them."""
    revealed = [(journal.current, progress.kept), *((opened, opened.diffs) for opened in coming)]
    others = [opened for opened in journal.others if opened not in coming]
    own, *shared = files.settle(revealed, others, progress.files, using=using)
    progress.kept += own
    for opened, pointers in zip(coming, shared, strict=True):
        opened.add(*pointers)


# Finishing


def _erase(journal: Journal, progress: Progress, released: LetGo, given: Given, *, using: str) -> dict[bytes, Entry]:
    """Erase what is done and seal again what is not or was rewritten; return the entries whose list has changed."""
    current = journal.current
    entries: dict[bytes, Entry] = {}
    current.reduce_to(_remaining(journal, progress), released.remaining)
    erased = list(current.indexes)
    gone: set[Locator] = set()
    # While a later chunk is there, an empty one marks the way to it.
    if current.empty and not journal.later:
        gone.add(current.locator)
        sealed = []
        for opened in journal.others:
            opened.forget_unlisted(indexes_of(current.locator))
    else:
        sealed = [(current, _sealed(current, given, using=using))]
    emptied = [opened for opened in journal.others if opened.changed and opened.empty]
    marks = followed(journal.own.items) if emptied else set()
    for opened in journal.others:
        if opened.changed:
            erased += opened.indexes
            if opened.empty and opened.locator not in marks:
                gone.add(opened.locator)
            else:
                sealed.append((opened, _sealed(opened, given, using=using)))
    # Nothing lies under these any more: they are taken out of every list.
    for holder in journal.holders.values() if gone else ():
        _unlist(holder, [locator for locator in holder.items if locator in gone], entries)
    taken_over: dict[bytes, list[bytes]] = {}
    for opened, former in released.adopted:
        if former is not None:
            _unlist(journal.holders[former], [opened.locator], entries)
        heir = opened.holder or current.holder
        assert heir is not None
        if not opened.empty:
            item = seal_locator(opened.locator, recipient=recipient_of(heir))
            taken_over.setdefault(heir.public_key, []).append(item)
    for public_key, items in taken_over.items():
        entry = entries.get(public_key, journal.holders[public_key].entry)
        entries[public_key] = replace(entry, locators=b"".join((entry.locators, *items)))
    store.delete_bags(erased, using=using)
    by_expiry: dict[datetime.date | None, list[Sealed]] = {}
    for opened, bags in sealed:
        by_expiry.setdefault(opened.expires_on, []).extend(bags)
        _keep_holder(opened, journal, entries)
    for expires_on, bags in by_expiry.items():
        store.add_bags(bags, expires_on=expires_on, using=using)
    # Records may have moved from the revealed bag into any of these, and must not leave a hold behind.
    retention.spread_hold(current.expires_on, set(by_expiry), using=using)
    return {public_key: entry for public_key, entry in entries.items() if public_key not in released.gone}


def _postpone(journal: Journal, *, using: str) -> None:
    """A bag that may have taken in records of the revealed one is kept as long as that would have been."""
    for opened in journal.others:
        if opened.changed and not opened.shared:
            opened.keep_until(journal.current.expires_on)
            _postpone_shared(opened, journal, using=using)


def _postpone_shared(opened: Opened, journal: Journal, *, using: str) -> None:
    """What a bag points at since records have moved into it, such as mentions, is kept as long as the bag."""
    wanted = set(opened.pointers)
    for other in journal.others if wanted else ():
        kept_until = store.later_bucket(other.expires_on, opened.expires_on)
        if other.locator in wanted and kept_until != other.expires_on:
            other.keep_until(kept_until)
            store.postpone_bags(other.indexes, expires_on=kept_until, using=using)


def _keep_holder(opened: Opened, journal: Journal, entries: dict[bytes, Entry]) -> None:
    """A removed principal's entry is kept as long as the bags that only it leads to."""
    if opened.holder is not None:
        public_key = opened.holder.public_key
        entry = entries.get(public_key, journal.holders[public_key].entry)
        if entry.kept_until(opened.expires_on) is not entry:
            entries[public_key] = entry.kept_until(opened.expires_on)


def _remaining(journal: Journal, progress: Progress) -> list[RowBatch]:
    """What is held, and pointers at shared bags that still hold something."""
    alive = {(opened.locator.expose(),) for opened in journal.others if opened.shared and not opened.empty}
    removed = [batch for batch in progress.kept if isinstance(batch, Removed)]
    # Changes were undone, and held, from the last to the first: keep them in the order in which they were made.
    changed = [batch for batch in reversed(progress.kept) if isinstance(batch, Changed)]
    kept_blobs = [batch for batch in progress.kept if isinstance(batch, Blobs)]
    kept_files = [batch for batch in progress.kept if isinstance(batch, Files)]
    pointers = [batch.only(alive) for batch in journal.current.diffs if isinstance(batch, Shares)]
    return [batch for batch in (*removed, *pointers, *changed, *kept_files, *kept_blobs) if batch.rows]


def _sealed(opened: Opened, given: Given, *, using: str) -> list[Sealed]:
    diffs = [*without_keys(opened.diffs, given), *[stuck.batch for stuck in opened.stuck]]
    if opened.holder is None:
        return seal_shared(opened.head, diffs, locator=opened.locator, using=using)
    recipient = recipient_of(opened.holder)
    return seal_records(
        opened.head,
        diffs,
        opened.speaks_for,
        locator=opened.locator,
        recipient=recipient,
        using=using,
        unlisted=opened.unlisted,
    )


def _unlist(holder: Holder, locators: Sequence[Locator], entries: dict[bytes, Entry]) -> None:
    """Take what is under these locators out of the list."""
    items = {holder.items[locator] for locator in locators if locator in holder.items}
    if items:
        entry = entries.get(holder.entry.public_key, holder.entry)
        size = SEALED_LOCATOR_BYTES
        listed = [entry.locators[start : start + size] for start in range(0, len(entry.locators), size)]
        shortened = b"".join(item for item in listed if item not in items)
        entries[entry.public_key] = replace(entry, locators=shortened)


def _attach(
    journal: Journal, progress: Progress, entries: dict[bytes, Entry], known: dict[str, bytes], unlocked: Unlocked
) -> None:
    """Principals whose row came back, the one who was disguised and pseudoprincipals, get their reference back.

    Raises:
        EntryForged: an entry that this site did not write has the reference of one of them; it is not pushed aside.
    """
    model: type[Model] = apps.get_model(journal.current.head.principal_model)
    label = model._meta.label_lower
    keys = {reference_of(model, key): key for table, key in progress.came_back if table is model._meta.concrete_model}
    back = keys.keys()
    if not back:
        return
    assert journal.current.holder is not None
    whose = {reference: key for reference, key in known.items() if reference in back and key in journal.holders}
    whose.setdefault(str(journal.current.head.principal), journal.current.holder.public_key)
    # The row was gone until now: an entry that has its reference is left over from one that was deleted without edna.
    stale = store.entries_by_reference(label, list(back), using=unlocked.using, lock=True)
    left_over = [entry for entry in stale if entry.public_key not in whose.values()]
    kept_until = entry_bucket(today(), listed_before=True, using=unlocked.using) if left_over else None
    store.save_entries([entry.detached(expires_on=kept_until) for entry in left_over], using=unlocked.using)
    voiceless = [key for reference, key in keys.items() if reference not in whose and is_voiceless(model, key)]
    add_voiceless(model, voiceless, using=unlocked.using)
    for reference in back & set(whose):
        public_key = whose[reference]
        entry = entries.get(public_key, journal.holders[public_key].entry)
        # A removed principal's entry does not say that it is a person's; only a person holds the key that unlocked it.
        natural = public_key == bytes(unlocked.public_key)
        seen = notices.seen_on_return(label) if natural else None
        if natural:
            sessions.begin_epoch(label, reference, using=unlocked.using)
        whole = replace(entry, model=label, reference=reference, natural=natural, expires_on=None)
        entries[public_key] = replace(whole, last_seen_on=seen)
