"""Undoes one disguise for one principal, from opened records, in the caller's transaction.

Its steps stand below in the order in which they must be; each says what it needs and what it leaves. It does not matter who opened the
bags. Invariant (nothing lost): a record is erased last, only when it was fully revealed, and whatever is held is sealed again in the same
transaction.
"""

from __future__ import annotations

from collections.abc import Callable

from django.apps import apps

from edna.clock import today
from edna.db.rows import Row
from edna.engine.bags import reader as journals
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.opened_bag import Opened, pointing_at
from edna.engine.bags.reader import Journal
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.graph.outcome import Outcome
from edna.engine.graph.references import reference_of
from edna.engine.graph.tally import Recorded
from edna.engine.layers import acceptance, journal_forwarding, mentions, new_keys, terms_of_return
from edna.engine.layers.acceptance import Rows
from edna.engine.layers.folding import Folding
from edna.engine.layers.terms_of_return import Overrides
from edna.engine.planning import terms
from edna.engine.revealing import (
    finish,
    incoming_references,
    insert,
    progress,
    release,
    shared_rows,
    undo,
)
from edna.engine.revealing.constraints import require_columns
from edna.engine.revealing.progress import Reveal
from edna.engine.surroundings import files, recreate
from edna.errors import BagMissing
from edna.records.chain import Chunk
from edna.records.diff import Blobs, Changed, Removed, RowBatch, Shares
from edna.records.locator import Locator, Receipt


def reveal(
    receipt: Receipt,
    unlocked: Unlocked,
    *,
    overrides: Overrides,
    allow_partial: bool,
    chunk: Chunk | None = None,
    given_up: Rows | None = None,
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
    outcome = restore(Reveal(journal, unlocked, overrides, allow_partial, chunk, given_up or {}))
    unlocked.forget_voices()
    return outcome


def restore(reveal: Reveal) -> Outcome:
    """Bring back what the records say, as far as nothing stands in the way; erase what is done, seal again what is not."""
    for step in STEPS:
        step(reveal)
    return reveal.outcome


# Preparing the records


def bring_forward(reveal: Reveal) -> None:
    """Needs the bags as they were sealed. Leaves records of the tables of today; what nothing brings here is stuck."""
    named = files.names_by_row(reveal.journal)
    journal_forwarding.catch_up(reveal.journal, using=reveal.using)
    files.follow(named)


def find_shared(reveal: Reveal) -> None:
    """Needs all bags. Leaves the shared ones whose rows come back, and the others to fold into."""
    journal = reveal.journal
    others = reveal.others
    reveal.coming = [*_shared_with(journal), *others.handed]
    apart = {*reveal.coming, *(each for each in journal.others if each.tells_of_more)} - others.passing
    reveal.progress.folding = Folding([reveal.current], [each for each in journal.others if each not in apart])
    if others:
        reveal.progress.others = others
        reveal.progress.passing = {
            (batch.model, key)
            for opened in others.passing
            for batch in opened.diffs
            if isinstance(batch, Removed)
            for key in batch.primary_keys()
        }
    reveal.progress.mentioned = mentions.followed(
        journal, incoming_references.policies_of(reveal.current.head.disguise)
    )


def drop_rows(reveal: Reveal) -> None:
    """Leaves the terms of return, and no record of a row that they do not let come back, or that the person gives up: nobody is made
    again for it."""
    reveal.terms = terms.terms_of(reveal.current.head.disguise)
    terms_of_return.drop(reveal.bags, reveal.terms, reveal.outcome)
    bags, rows = shared_rows.given_up(reveal)
    reveal.progress.given_up = rows
    reveal.progress.accepted = acceptance.give_up(bags, rows, reveal.outcome)
    progress.note_taken(reveal.given_up, reveal.progress)


def make_again(reveal: Reveal) -> None:
    """Leaves a row and an entry of every pseudoprincipal whom the records name and who was swept. Some have another key then: so this
    comes before anybody looks at keys."""
    recreate.make_again(reveal.journal, reveal.coming, using=reveal.using)
    recreate.forget_swept(reveal.journal, reveal.coming, using=reveal.using)


def give_keys(reveal: Reveal) -> None:
    """Leaves a key in every row that a record migration has made: from here on, rows are known by their keys."""
    batches = [batch for opened in (reveal.current, *reveal.journal.others) for batch in opened.diffs]
    reveal.given = new_keys.give_keys(reveal.bags, among=batches, using=reveal.using)


def alter_rows(reveal: Reveal) -> None:
    """Needs the keys and the terms. Leaves the specification's values in the records, which the caller's do not overrule."""
    reveal.progress.altered = terms_of_return.alter(reveal.bags, reveal.terms, using=reveal.using)
    reveal.overrides = terms_of_return.binding(reveal.overrides, reveal.terms)


def hold_stuck(reveal: Reveal) -> None:
    """Leaves a word in the outcome about each record that is stuck."""
    progress.hold_stuck(reveal.current, reveal.coming, reveal.progress)


def note_rows(reveal: Reveal) -> None:
    """Needs the records as they are to be revealed. Leaves what they are about: to count it, to know rows by their former keys, and to
    keep shared rows out of one owner's bag. Of a row in one owner's bag a shared one may hold a change: it is that owner's nevertheless."""
    head, placeholders = reveal.current.head, reveal.journal.placeholder_rows
    reveal.recorded = Recorded(head.principal_model, head.principal, placeholders)
    passing = {id(batch) for opened in reveal.others.passing for batch in opened.diffs}
    due = [batch for batch in (*reveal.current.diffs, *reveal.shared) if id(batch) not in passing]
    reveal.recorded.add(batch for batch in due if not isinstance(batch, Blobs))
    reveal.progress.before = reveal.recorded.before
    for batch in (each for each in reveal.shared if isinstance(each, Removed)):
        reveal.progress.shared.setdefault(batch.model, set()).update(batch.primary_keys())


def note_later_chunks(reveal: Reveal) -> None:
    """Leaves the keys of rows that later chunks of the disguise still hold: who has one of them now is another row."""
    later, coming = set(reveal.journal.later), set(reveal.coming)
    pointed = {locator for opened in later for locator in opened.pointers}
    for opened in reveal.journal.others:
        if opened in later or (opened.locator in pointed and opened not in coming):
            for batch in opened.diffs:
                if isinstance(batch, Removed):
                    progress.note_absent(batch, reveal.progress)
            for stuck in opened.stuck:
                progress.stays_absent(stuck, reveal.progress)


def look_at_files(reveal: Reveal) -> None:
    """Leaves what is stored under the names of the rows' files: a name that somebody else has holds back its row.

    Raises:
        ReceiptUnknown: the content of a file has expired, and the records that name it are due.
    """
    try:
        reveal.progress.files = files.look(reveal.bags, using=reveal.using)
        return
    except BagMissing:
        if reveal.current.expires_on is None or reveal.current.expires_on > today():
            raise
    raise nothing_kept(reveal.current.head.disguise)


def resolve_mentions(reveal: Reveal) -> None:
    """Leaves in the records whoever stands now for those of others whom they name."""
    reveal.mentions = mentions.resolve(reveal.journal, reveal.coming)


def require_whole(reveal: Reveal) -> None:
    """Needs the records, and whose else the rows are. Leaves no doubt that a browser has kept back nothing about these."""
    shared_rows.require_whole(reveal)


# Bringing rows back


def look_at_owners(reveal: Reveal) -> None:
    """Needs whom the records name now. Leaves out removed rows that another owner has taken out of sight since."""
    shared_rows.leave_out_removed(reveal)


def lock_rows(reveal: Reveal) -> None:
    """Needs the last word on keys. Leaves all rows that are to change read and locked, before one is written."""
    reveal.progress.current_rows.look(reveal.current.diffs, using=reveal.using)


def insert_rows(reveal: Reveal) -> None:
    """Before changes are undone: those may refer to them. Leaves what was removed in the tables, or held."""
    batches = [*reveal.current.diffs, *reveal.shared]
    insert.insert_removed(batches, reveal.progress, overrides=reveal.overrides, using=reveal.using)


def keep_shared(reveal: Reveal) -> None:
    """Leaves rows of shared bags that could not come back in their shared bags, and nowhere else."""
    held: dict[str, set[Row]] = {}
    kept: list[RowBatch] = []
    for batch in reveal.progress.kept:
        if isinstance(batch, Removed):
            held.setdefault(batch.model, set()).update(batch.primary_keys())
            batch = batch.without(reveal.progress.shared.get(batch.model, set()))
        kept.append(batch)
    reveal.progress.kept = kept
    changed = {*reveal.others.handed, *(opened for opened in reveal.coming if opened.changed_by_all)}
    for opened in changed:
        opened.keep(
            batch.only(held.get(batch.model, set())) if isinstance(batch, Removed) else batch for batch in opened.diffs
        )
    for opened in (opened for opened in reveal.coming if opened not in changed):
        pointers = [batch for batch in opened.diffs if isinstance(batch, Shares)]
        # What leads to files goes along, until it is known which rows have come back.
        opened.keep(batch.only(held.get(batch.model, set())) for batch in opened.diffs if not isinstance(batch, Shares))
        if not opened.empty:
            opened.add(*pointers)  # to mentions of those whom the rows name


def undo_on_top(reveal: Reveal) -> None:
    """Before the own changes, over which it may lie. Leaves what several had left as it was, or where it is."""
    shared_rows.put_back_on_top(reveal)


def undo_changes(reveal: Reveal) -> None:
    """From the last to the first. Leaves old values in the tables, in records that lie on top, or held."""
    for batch in reversed(reveal.current.diffs):
        if isinstance(batch, Changed):
            undo.undo(batch, reveal.progress, overrides=reveal.overrides, using=reveal.using)


def try_handed_over(reveal: Reveal) -> None:
    """Needs all rows, and the own changes undone. Leaves, of what others have handed over, what still waits."""
    shared_rows.try_handed_over(reveal)


def hand_over(reveal: Reveal) -> None:
    """Needs to know what is held. Leaves what waits for another owner in shared bags, which that one finds."""
    shared_rows.hand_over(reveal)


def finish_mentions(reveal: Reveal) -> None:
    """Needs to know what is held and what has moved. Leaves the mentions that such a record needs."""
    holding = [*reveal.coming, *reveal.handed_over]
    mentions.finish(reveal.journal, reveal.mentions, holding, reveal.progress.kept)


def note_voices(reveal: Reveal) -> None:
    """Before any is let go of. Leaves whose key each pseudoprincipal's is, for those whose rows are back."""
    reveal.voices = {
        reference: bytes(voice.public_key)
        for opened in (reveal.current, *reveal.journal.others)
        for model in [apps.get_model(opened.head.principal_model)]
        for voice in opened.speaks_for
        for reference in [reference_of(model, voice.principal)]
    }


def let_go(reveal: Reveal) -> None:
    """Needs all rows where they are to be. Leaves no pseudoprincipal that nothing needs, and nothing that names one."""
    reveal.released = release.let_go(reveal.journal, reveal.progress, using=reveal.using)


#: In this order: each needs what those before it leave.
STEPS: tuple[Callable[[Reveal], None], ...] = (
    bring_forward,
    find_shared,
    require_whole,
    drop_rows,
    make_again,
    give_keys,
    alter_rows,
    hold_stuck,
    note_rows,
    note_later_chunks,
    look_at_files,
    resolve_mentions,
    look_at_owners,
    lock_rows,
    insert_rows,
    keep_shared,
    undo_on_top,
    undo_changes,
    try_handed_over,
    hand_over,
    finish_mentions,
    note_voices,
    let_go,
    finish.postpone,
    finish.settle_files,
    finish.count,
    finish.reveal_blobs,
    finish.refuse,
    finish.erase,
    finish.attach,
    finish.tell,
    finish.strike_off_ledger,
)


def _shared_with(journal: Journal) -> list[Opened]:
    """Shared bags whose rows this reveal brings back: its own records point at them, or its pseudoprincipals own the rows.

    Not those at which another bag of the same principal points: they removed the row themselves, and have not taken that back.
    """
    wanted: set[Locator] = set()
    for voice in journal.current.speaks_for:
        if (holder := journal.holder_of(voice)) is not None and holder.items:
            wanted |= set(holder.items)
    wanted -= set(pointing_at(opened for opened in journal.others if not opened.shared))
    wanted |= set(journal.current.pointers)
    together = (opened for opened in journal.others if opened.shared and opened.locator in wanted)
    return [each for each in together if not (each.is_mention or each.tells_of_more or each.handed_over)]
