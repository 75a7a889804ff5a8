"""Erases what a receipt leads to, in one transaction: its records, the contents of its files, and the keys of its pseudoprincipals.

The tables of the application stay as they are. Invariant (nothing lost): what was not named stays openable, so a bag that was sealed to
one of those pseudoprincipals becomes one of the person who erases, under the same locator. What others hold as well is theirs, and stays.
All or nothing. Knows opened bags, lists and entries; writes no tables of the application.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from django.apps import apps

from edna import registry, store
from edna.db import transactions
from edna.engine import history, key_slots
from edna.engine.bags import reader as journals
from edna.engine.bags.capability import Unlocked, require_unlocked
from edna.engine.bags.openers import recipient_of
from edna.engine.bags.reader import Journal
from edna.engine.books import beside, former_keys, measurements
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.erasing.erasure import Counting, Erasure
from edna.engine.files.pointers import pointers_in
from edna.engine.graph.references import recognisable
from edna.engine.revealing import finish
from edna.engine.revealing.progress import LetGo, Listing, Reveal
from edna.engine.surroundings import files
from edna.errors import EdnaError, ErasureRefused, ReceiptsIncomplete, ReceiptUnknown
from edna.records.bag import BagKind
from edna.records.chain import Chunk, chunks_of
from edna.records.locator import Locator, Receipt, seal_locator
from edna.records.speaksfor import SpeaksFor
from edna.store import serverkeys

#: What is a disguise's own, and not shared with others.
_OWN = (BagKind.DIFF, BagKind.SPEAKS_FOR)


def erase(receipt: Receipt, unlocked: Unlocked, *, receipts_complete: bool = False) -> Erasure:
    """Destroy what the receipt leads to; of a disguise in chunks, all of them.

    Raises:
        ReceiptUnknown, ReceiptForeign, ReceiptMalformed: there is nothing to open, or not with this key.
        ReceiptsIncomplete: what is left of others could not be opened any more, as far as can be seen.
        ErasureRefused: a legal hold is on it.
        BagError: a bag of it was changed, moved or forged; it stays where it is, as evidence.
    """
    require_unlocked(unlocked, "An erasure")
    using = unlocked.using
    serverkeys.require(using=using)

    def work() -> Erasure:
        unlocked.start_over()
        counting = Counting()
        _destroy(receipt, unlocked, counting)
        forgets = _leads_to(unlocked, receipts_complete=receipts_complete) == set()
        if forgets:
            _forget(unlocked)
        erasure = counting.result(forgets=forgets)
        measurements.count(principals=1, rows=lambda: sum(erasure.rows.values()), using=using)
        return erasure

    erasure = transactions.run(work, using=using)
    unlocked.forget_voices()
    if erasure.forgets:
        unlocked.close()
    return erasure


def forget_removed(unlocked: Unlocked) -> bool:
    """If the account is gone: erase every disguise, and forget the person, in the caller's transaction. Whether nothing is left.

    Raises:
        What `erase` raises; BagError: a bag does not open, of which it cannot be told what it leads to.
    """
    found = store.entries_by_public_key([bytes(unlocked.public_key)], using=unlocked.using)
    if any(entry.attached for entry in found):
        return False
    if found:
        _follow_those_gone(unlocked)
        unlocked.require_everything()
        for entry in history.of(unlocked):
            _destroy(entry.receipt, unlocked, Counting())
        for damage in unlocked.damaged:
            raise damage
        if _leads_to(unlocked, receipts_complete=False) != set():
            return False
        store.delete_entries([unlocked.entry(lock=True)], using=unlocked.using)
    _keep_no_key(unlocked)
    return True


def forget_given_up(unlocked: Unlocked) -> bool:
    """If the account is gone, and what was given up was the last that waited for it: forget the person, in the caller's transaction.
    Whether nothing is left."""
    forgets = _leads_to(unlocked, receipts_complete=False) == set()
    if forgets:
        _forget(unlocked)
    return forgets


def _follow_those_gone(unlocked: Unlocked) -> None:
    """Placeholders went with the account, whose lists a browser had handed over."""
    if (handover := unlocked.handover) is not None:
        there = {entry.public_key for entry in store.entries_by_public_key(handover.lists, using=unlocked.using)}
        handover.follow((), gone=handover.lists.keys() - there, new={})


def _destroy(receipt: Receipt, unlocked: Unlocked, counting: Counting) -> None:
    # Locked: a chunk that somebody is adding meanwhile is waited for.
    listed = unlocked.key_graph(lock_entries=True).own.items
    read = partial(journals.read, unlocked=unlocked)
    for journal, chunk in _journals(receipt, listed, read):
        counting.add(journal.current, journal.others, journal.placeholder_rows)
        bucket = journal.current.expires_on
        is_held = bucket is not None and not beside.kept().lock_unheld(bucket, using=unlocked.using)
        _require_erasable(journal, is_held=is_held)
        _erase(Reveal(journal, unlocked, {}, True, chunk))


def plan(receipt: Receipt, unlocked: Unlocked, *, receipts_complete: bool = False) -> Erasure:
    """What `erase` would destroy now, with what it would refuse. Reads only."""
    planned = plan_each([receipt], unlocked, receipts_complete=receipts_complete)[receipt]
    if isinstance(planned, EdnaError):
        raise planned
    return planned


def plan_each(
    receipts: Collection[Receipt], unlocked: Unlocked, *, receipts_complete: bool
) -> dict[Receipt, Erasure | EdnaError]:
    """Of each receipt, what `erase` would destroy if it came first, or why it would refuse. Everything is read once."""
    require_unlocked(unlocked, "An erasure")

    def work() -> dict[Receipt, Erasure | EdnaError]:
        unlocked.start_over()
        overview = journals.Overview(receipts, unlocked)
        found: dict[Receipt, list[Journal] | EdnaError] = {}
        for receipt in receipts:
            try:
                found[receipt] = [journal for journal, _ in _journals(receipt, overview.items, overview.journal)]
            except EdnaError as error:
                found[receipt] = error.with_traceback(None)
        read = [journal for each in found.values() if isinstance(each, list) for journal in each]
        buckets = {day for journal in read if (day := journal.current.expires_on) is not None}
        held = beside.kept().held_among(buckets, using=unlocked.using) if buckets else set()
        left = _leads_to(unlocked, receipts_complete=receipts_complete)
        return {
            receipt: each if isinstance(each, EdnaError) else _planned(each, held, left)
            for receipt, each in found.items()
        }

    return transactions.run(work, using=unlocked.using)


def _planned(
    found: Sequence[Journal], held: Collection[datetime.date | None], left: Collection[Locator] | None
) -> Erasure | EdnaError:
    counting = Counting()
    for journal in found:
        counting.add(journal.current, journal.others, journal.placeholder_rows)
        try:
            _require_erasable(journal, is_held=journal.current.expires_on in held)
        except EdnaError as error:
            return error.with_traceback(None)
    return counting.result(forgets=left is not None and {journal.current.locator for journal in found}.issuperset(left))


def _journals(
    receipt: Receipt, listed: Collection[Locator], read: Callable[..., Journal | None]
) -> Iterator[tuple[Journal, Chunk | None]]:
    """Of one disguise, the last chunk first: what is read of each knows nothing of those before it."""
    numbers = chunks_of(receipt.locator, listed) if receipt.locator in listed else [0]
    chunks: list[Chunk | None] = [None]
    if len(numbers) > 1:
        chunks = [Chunk(receipt.locator, number) for number in reversed(numbers)]
    found = False
    for chunk in chunks:
        try:
            journal = read(receipt, chunk=chunk)
        except ReceiptUnknown:  # this one has expired
            continue
        assert journal is not None
        found = True
        yield journal, chunk
    if not found:
        raise nothing_kept(receipt.disguise)


def _require_erasable(journal: Journal, *, is_held: bool) -> None:
    current = journal.current
    if any(bytes(voice.public_key) in journal.damaged for voice in current.speaks_for):
        raise ReceiptsIncomplete(
            f"Another bag may need a key that {current.head.disguise} holds, and cannot be opened: it is damaged, or its receipt was not "
            "given. Unlock with all receipts, or restore the bag from a backup. Nothing was changed."
        )
    if is_held:
        raise ErasureRefused(
            f"A legal hold is on what {current.head.disguise} has sealed: it is kept until somebody lifts the hold "
            "(manage.py edna_hold). Nothing was changed."
        )


def _erase(reveal: Reveal) -> None:
    """Take one bag away, with what only it leads to."""
    journal, using = reveal.journal, reveal.using
    current = journal.current
    voices = current.speaks_for
    incoming = files.Incoming(pointers={current.locator: list(pointers_in(current.diffs))})
    files.settle([(current, ())], journal.others, incoming, using=using)
    reveal.released = LetGo([], _gone(journal, voices), list(_adopted(journal, voices)))
    current.reduce_to((), ())
    finish.erase(reveal)
    _keep_from_sweep(reveal, voices)
    store.save_entries(list(reveal.entries.values()), using=using)
    store.delete_entries(
        [journal.holders[public_key].entry for public_key in sorted(reveal.released.gone)], using=using
    )
    if (handover := reveal.unlocked.handover) is not None:
        silent = {bytes(voice.public_key) for voice in voices}
        handover.follow(reveal.entries.values(), gone=silent, new=reveal.new_items)


def _gone(journal: Journal, voices: tuple[SpeaksFor, ...]) -> set[bytes]:
    """Entries of those whose row lies in a bag: nobody has the key that would find anything by them."""
    holders = [holder for holder in map(journal.holder_of, voices) if holder is not None]
    return {holder.entry.public_key for holder in holders if not holder.entry.attached}


def _adopted(journal: Journal, voices: tuple[SpeaksFor, ...]) -> Iterator[Listing]:
    """Bags that were sealed to those whose keys go: the person's own from now on. What they restore goes to where it was. And what tells
    of other owners of their rows, or waits for them, which nobody would find in those ones' lists any more."""
    own, keys = journal.own.entry, {bytes(voice.public_key) for voice in voices}
    lost = {locator for key in keys if (holder := journal.holders.get(key)) is not None for locator in holder.items}
    for opened in journal.others:
        if opened.listings and opened.locator in lost and opened.locator not in journal.own.items:
            yield Listing(opened)
    for opened in journal.others:
        if opened.holder is not None and opened.holder.public_key in keys:
            former = opened.holder.public_key
            # Whoever reveals it next finds no voice for the pseudoprincipal whose it was, and must not give them this person's key.
            opened.name_principal(journal.current.head.principal)
            opened.hand_over(own)
            yield Listing(opened, former)


def _keep_from_sweep(reveal: Reveal, voices: tuple[SpeaksFor, ...]) -> None:
    """Where no key says that it is a pseudoprincipal's, one that was swept could not be made again without its voice: while other
    bags are left, which may name it, its list says that it is needed."""
    journal = reveal.journal
    if not any(not opened.shared and not opened.empty for opened in journal.others):
        return
    if recognisable(apps.get_model(journal.current.head.principal_model)):
        return
    for holder in (holder for holder in map(journal.holder_of, voices) if holder is not None and holder.entry.attached):
        public_key = holder.entry.public_key
        entry = reveal.entries.get(public_key, holder.entry)
        item = seal_locator(Locator.new(), recipient=recipient_of(entry))
        reveal.entries[public_key] = entry._replace(locators=entry.locators + item)


# The person


def _leads_to(unlocked: Unlocked, *, receipts_complete: bool) -> set[Locator] | None:
    """Under which locators the entry leads to something; None if it is needed anyway: for an account, or for what cannot be seen."""
    graph = unlocked.key_graph()
    if graph.own.entry.attached or (registry.any_unlisted() and not receipts_complete):
        return None
    if graph.own.opener.withholds(graph.own.entry):
        return None
    found = {locator for locator, _ in graph.follow(_OWN, start=unlocked.locators)}
    return None if graph.refused else found


def _forget(unlocked: Unlocked) -> None:
    """Nothing is left to come back to: neither an account nor a bag."""
    _keep_no_key(unlocked)
    store.delete_entries([unlocked.entry(lock=True)], using=unlocked.using)


def _keep_no_key(unlocked: Unlocked) -> None:
    key_slots.remove_all_of(unlocked)
    if unlocked.handover is None:  # in a browser there are no former ones
        former_keys.forget(unlocked.secret_key, using=unlocked.using)
