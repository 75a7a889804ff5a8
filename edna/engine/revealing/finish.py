"""The last steps of a reveal: what is done is erased, what is not is sealed again, and everybody is told.

Invariants (nothing lost): a record is erased only when it was fully revealed, and last of all; bags, lists and entries change in the same
transaction as the rows. (Nothing linkable): what moved into a bag is kept as long as the bag, and leaves no hold behind.
Knows bags, entries and books; writes no tables of the application.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna import store
from edna.clock import today
from edna.crypto.keys import KEY_BYTES
from edna.engine.bags import held_copies
from edna.engine.bags.key_graph import Holder
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.openers import Handover, items_of, recipient_of
from edna.engine.bags.reader import Journal
from edna.engine.bags.seal import Sealed, seal_records, seal_shared
from edna.engine.books import announcements, beside, measurements, sessions, under_way
from edna.engine.books.expiry_dates import entry_bucket
from edna.engine.graph.references import reference_of
from edna.engine.layers.new_keys import Given, without_keys
from edna.engine.revealing import blobs
from edna.engine.revealing.progress import Progress, Reveal
from edna.engine.surroundings import files
from edna.engine.surroundings.recreate import add_voiceless, is_voiceless
from edna.errors import SpecError
from edna.records.chain import followed
from edna.records.diff import TRIED, Blobs, Changed, Files, Listed, Removed, RowBatch, Shares
from edna.records.ledgernote import what
from edna.records.locator import Locator, seal_locator
from edna.store import Entry


def postpone(reveal: Reveal) -> None:
    """A bag that may have taken in records of the revealed one is kept as long as that would have been."""
    journal = reveal.journal
    for opened in journal.others:
        if opened.changed and not opened.shared:
            opened.keep_until(journal.current.expires_on)
            _postpone_shared(opened, journal, using=reveal.using)


def _postpone_shared(opened: Opened, journal: Journal, *, using: str) -> None:
    """What a bag points at since records have moved into it, such as mentions, is kept as long as the bag."""
    wanted = set(opened.pointers)
    for other in journal.others if wanted else ():
        kept_until = store.later_bucket(other.expires_on, opened.expires_on)
        if other.locator in wanted and kept_until != other.expires_on:
            other.keep_until(kept_until)
            store.postpone_bags(other.indexes, expires_on=kept_until, using=using)


def settle_files(reveal: Reveal) -> None:
    """Needs to know what is back. Writes the files of such rows, and keeps what leads to the others with the records that name them."""
    progress = reveal.progress
    revealed = [(reveal.current, progress.kept), *((opened, opened.diffs) for opened in reveal.coming)]
    coming = set(reveal.coming)
    others = [opened for opened in reveal.journal.others if opened not in coming]
    own, *shared = files.settle(revealed, others, progress.files, using=reveal.using)
    progress.kept += own
    for opened, pointers in zip(reveal.coming, shared, strict=True):
        opened.add(*pointers)


def count(reveal: Reveal) -> None:
    """Before the application's function is called: it is shown the outcome."""
    reveal.outcome.due.include(reveal.recorded.rows)
    reveal.outcome.waiting = reveal.outcome.waiting.without(reveal.recorded.left_out)
    reveal.outcome.count()


def reveal_blobs(reveal: Reveal) -> None:
    """Needs all rows where they are to be. Calls the application's function for what it has sealed, and keeps what has to stay.

    Raises:
        SpecError: the function has disguised or revealed something itself, and the journal is not true any more.
    """
    head, holders = reveal.current.head, reveal.journal.holders
    if not any(isinstance(batch, Blobs) for batch in reveal.current.diffs):
        return
    kept = blobs.reveal(reveal.current.diffs, reveal.outcome, head=head, unlocked=reveal.unlocked)
    entries = store.entries_by_public_key(holders, using=reveal.using)
    if any(holders[entry.public_key].entry.locators != entry.locators for entry in entries):
        raise SpecError(
            f"{head.disguise}: the function of edna.on_reveal disguised or revealed something of the same principal. "
            "Nothing was changed; do that after the reveal."
        )
    reveal.progress.kept += kept


def refuse(reveal: Reveal) -> None:
    """
    Raises:
        RevealRefused: something is held, and that is not allowed.
    """
    if not reveal.allow_partial:
        reveal.outcome.require_complete(reveal.current.head.disguise)


def erase(reveal: Reveal) -> None:
    """Erase what is done, and seal again what is not or was rewritten. Leaves the entries whose list has changed.

    Last: whatever is not back in the application's tables must still lie in a sealed bag.
    """
    journal, current, using = reveal.journal, reveal.current, reveal.using
    current.reduce_to(_remaining(journal, reveal.progress), reveal.released.remaining)
    if reveal.outcome.held and not current.empty:
        current.add(TRIED)
    _list_adopted(reveal)
    # While a later chunk is there, an empty one marks the way to it.
    done = [current] if current.empty and not journal.later else []
    if done:
        for opened in journal.others:
            opened.forget_unlisted(current.locator.first_indexes())
    changed = [opened for opened in journal.others if opened.changed]
    marks = followed(journal.own.items) if any(opened.empty for opened in changed) else set()
    done += [opened for opened in changed if opened.empty and opened.locator not in marks]
    erased = set(done)
    left = [opened for opened in (current, *changed) if opened not in erased]
    handover = reveal.unlocked.handover
    sealed = [(opened, _sealed(opened, reveal.given, handover=handover, using=using)) for opened in left]
    _unlist_done(reveal, {opened.locator for opened in done})
    _unlist_for_others(reveal, [opened for opened in done if opened.listings])
    store.delete_bags([index for opened in (current, *changed) for index in opened.indexes], using=using)
    there = {index for _, bags in sealed for index, _ in bags}
    # Shared bags belong to no disguise, so that nobody has a copy of what opens them.
    declared = {index for opened in (current, *changed) if not opened.shared for index in opened.indexes}
    held_copies.forget(declared - there, using=using)
    by_expiry: dict[datetime.date | None, list[Sealed]] = {}
    for opened, bags in sealed:
        by_expiry.setdefault(opened.expires_on, []).extend(bags)
        _keep_holder(opened, journal, reveal.entries)
    for expires_on, bags in by_expiry.items():
        store.add_bags(bags, expires_on=expires_on, using=using)
    # Records may have moved from the revealed bag into any of these, and must not leave a hold behind.
    beside.kept().spread_hold(current.expires_on, set(by_expiry), using=using)
    for public_key in reveal.released.gone:
        reveal.entries.pop(public_key, None)


def _unlist_done(reveal: Reveal, done: set[Locator]) -> None:
    """Nothing lies under these any more: they are taken out of every list."""
    for holder in reveal.journal.holders.values() if done else ():
        if holder.items:
            _unlist(holder, [locator for locator in holder.items if locator in done], reveal.entries)


def _unlist_for_others(reveal: Reveal, done: Sequence[Opened]) -> None:
    """Nothing lies under these any more: they are taken out of the lists of those who were told, too."""
    items: dict[bytes, set[bytes]] = {}
    for public_key, item in (each for opened in done for each in opened.listings):
        items.setdefault(public_key, set()).add(item)
    if not items:
        return
    known = reveal.entries | {
        key: holder.entry for key, holder in reveal.journal.holders.items() if key not in reveal.entries
    }
    strangers = items.keys() - known.keys()
    found = store.entries_by_public_key(strangers, using=reveal.using, lock=True) if strangers else []
    for entry in [*(known[key] for key in items.keys() & known.keys()), *found]:
        reveal.entries[entry.public_key] = _without_items(entry, items[entry.public_key])
    if lost := strangers - {entry.public_key for entry in found}:
        _unlist_for_successors(reveal, [opened for opened in done if lost & {key for key, _ in opened.listings}], lost)


def _unlist_for_successors(reveal: Reveal, done: Sequence[Opened], lost: Collection[bytes]) -> None:
    """The same for those who have a new key, which a browser made: what several own says the former one. They are among those whom rows
    name now, or named when they were disguised."""
    others = reveal.others
    references = {need.reference for needs in others.needs.values() for need in needs if need.public_key in lost}
    references |= others.standing.entries.keys()
    label = others.model._meta.label_lower
    for found in store.entries_by_reference(label, references, using=reveal.using, lock=True) if references else ():
        entry = reveal.entries.get(found.public_key, found)
        if not entry.sound:
            continue
        # Of either kind of key, an item begins with what follows from its locator.
        ours = tuple(seal_locator(opened.locator, recipient=recipient_of(entry))[:KEY_BYTES] for opened in done)
        dead = [item for item in items_of(entry) if item.startswith(ours)]
        if dead:
            reveal.entries[entry.public_key] = _without_items(entry, dead)


def _list_adopted(reveal: Reveal) -> None:
    """Bags that have another holder now are in that one's list."""
    journal, entries = reveal.journal, reveal.entries
    taken_over: dict[bytes, list[bytes]] = {}
    for opened, former, named in reveal.released.adopted:
        if former is not None:
            _unlist(journal.holders[former], [opened.locator], entries)
        heir = opened.holder or named or reveal.current.holder
        assert heir is not None
        if not opened.empty:
            item = seal_locator(opened.locator, recipient=recipient_of(heir))
            taken_over.setdefault(heir.public_key, []).append(item)
            reveal.new_items[item] = opened.locator
            if opened.listings:
                opened.add(Listed.of([(heir.public_key, item)]))
    for public_key, items in taken_over.items():
        entry = entries.get(public_key, journal.holders[public_key].entry)
        entries[public_key] = entry._replace(locators=b"".join((entry.locators, *items)))


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
    waiting = {(batch.model, key) for batch in (*removed, *changed) for key in batch.primary_keys()}
    owners = [batch.only({key for model, key in waiting if model == batch.model}) for batch in journal.current.owners]
    kept_files = [batch for batch in progress.kept if isinstance(batch, Files)]
    pointers = [batch.only(alive) for batch in journal.current.diffs if isinstance(batch, Shares)]
    return [batch for batch in (*removed, *pointers, *changed, *owners, *kept_files, *kept_blobs) if batch.rows]


def _sealed(opened: Opened, given: Given, *, handover: Handover | None, using: str) -> list[Sealed]:
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
        handover=handover,
    )


def _unlist(holder: Holder, locators: Sequence[Locator], entries: dict[bytes, Entry]) -> None:
    """Take what is under these locators out of the list."""
    items = {holder.items[locator] for locator in locators if locator in holder.items}
    if items:
        entry = entries.get(holder.entry.public_key, holder.entry)
        entries[entry.public_key] = under_way.without(_without_items(entry, items), locators)


def _without_items(entry: Entry, items: Collection[bytes]) -> Entry:
    return entry._replace(locators=b"".join(item for item in items_of(entry) if item not in items))


def attach(reveal: Reveal) -> None:
    """Principals whose row came back, the one who was disguised and pseudoprincipals, get their reference back. Leaves entries saved.

    Raises:
        EntryForged: an entry that this site did not write has the reference of one of them; it is not pushed aside.
    """
    model: type[Model] = apps.get_model(reveal.current.head.principal_model)
    came_back = [key for table, key in reveal.progress.came_back if table is model._meta.concrete_model]
    _attach(reveal, model, {reference_of(model, key): key for key in came_back})
    if (handover := reveal.unlocked.handover) is not None:
        handover.follow(reveal.entries.values(), gone=reveal.released.gone, new=reveal.new_items)


def _attach(reveal: Reveal, model: type[Model], keys: dict[str, Any]) -> None:
    label, holders, using = model._meta.label_lower, reveal.journal.holders, reveal.using
    back, own = keys.keys(), bytes(reveal.unlocked.public_key)
    assert reveal.current.holder is not None
    whose = {reference: key for reference, key in reveal.voices.items() if reference in back and key in holders}
    whose.setdefault(str(reveal.current.head.principal), reveal.current.holder.public_key)
    for reference in back & set(whose):
        public_key = whose[reference]
        entry = reveal.entries.get(public_key, holders[public_key].entry)
        # A removed principal's entry does not say that it is a person's; only a person holds the key that unlocked it.
        natural = public_key == own
        seen = beside.kept().seen_on_return(label) if natural else None
        if natural:
            sessions.keep_ended(label, reference, using=using)
        whole = entry._replace(model=label, reference=reference, natural=natural, expires_on=None)
        reveal.entries[public_key] = whole._replace(last_seen_on=seen)
    entries = list(reveal.entries.values())
    voiceless = [key for reference, key in keys.items() if reference not in whose and is_voiceless(model, key)]
    if voiceless or not store.save_free_entries(entries, using=using):
        _push_aside(label, back, set(whose.values()), using=using)
        add_voiceless(model, voiceless, using=using)
        store.save_entries(entries, using=using)


def _push_aside(label: str, back: Collection[str], own: Collection[bytes], *, using: str) -> None:
    """The row was gone until now: an entry that has its reference is left over from one that was deleted without edna."""
    stale = store.entries_by_reference(label, back, using=using, lock=True) if back else []
    left_over = [entry for entry in stale if entry.public_key not in own]
    kept_until = entry_bucket(today(), listed_before=True, using=using) if left_over else None
    store.save_entries([entry.detached(expires_on=kept_until) for entry in left_over], using=using)


def tell(reveal: Reveal) -> None:
    """Tell the application once the transaction is committed, and count for the statistics."""
    head, whole, using = reveal.current.head, reveal.journal.tell, reveal.using
    announcements.revealed(
        reveal.progress.news, head.disguise, head.principal_model, reveal.unlocked.entry, whole=whole, using=using
    )
    reasons = (held.reason.value for held in reveal.outcome.held)
    restored = reveal.outcome.restored
    measurements.count(principals=int(whole), rows=lambda: sum(restored.values()), held=reasons, using=using)


def strike_off_ledger(reveal: Reveal) -> None:
    """Take the disguise that was revealed off the erasure ledger, once nothing of it is left to bring back."""
    journal, head = reveal.journal, reveal.current.head
    if not beside.kept().strikes() or head.principal is None:
        return
    if reveal.chunk is not None and not reveal.chunk.earlier.isdisjoint(journal.own.items):
        return  # that comes back next
    others = [opened for opened in journal.others if not opened.shared and _same(opened, journal.current)]
    if any(_holds_something(opened) for opened in (journal.current, *others)):
        return
    subject = what(head.disguise, head.params)
    beside.kept().strike_disguise(head.principal_model, str(head.principal), subject, using=reveal.using)


def _same(one: Opened, other: Opened) -> bool:
    """Whether both are of the same person and disguise: of two with the same parameters, one row speaks."""

    def subject(opened: Opened) -> tuple[str, Any, str, Mapping[str, Any]]:
        head = opened.head
        return head.principal_model, head.principal, head.disguise, head.params

    return subject(one) == subject(other)


def _holds_something(opened: Opened) -> bool:
    return bool(opened.stuck) or any(batch.rows for batch in opened.diffs)
