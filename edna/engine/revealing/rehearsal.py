"""A reveal that changes nothing: what would come back now, and what would be in the way.

It goes the way of a reveal (`revealing.reveal`) as far as that only reads. Invariant: nothing is written or locked, no function of the
application is called, and no content of a file is opened; so what only the database would refuse, by a constraint of its own, it cannot
tell. Knows opened records, as a reveal does; they are its own copies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.apps import apps
from django.db.models import Model

from edna.db.rows import table_of
from edna.engine.bags import reader as journals
from edna.engine.bags.capability import Unlocked
from edna.engine.files.pointers import pointers_in
from edna.engine.files.stored_files import may_exist
from edna.engine.graph.outcome import Outcome, named
from edna.engine.revealing import blobs, finish, release
from edna.engine.revealing import reveal as revealing
from edna.engine.revealing.progress import Reveal
from edna.engine.surroundings import recreate
from edna.engine.surroundings.current_rows import CurrentRows
from edna.records.chain import Chunk
from edna.records.diff import Changed, Removed, RowBatch
from edna.records.locator import Receipt

#: What is sealed of a row: the values that its columns had, by model and key.
Sealed = dict[tuple[str, Any], dict[str, Any]]


def rehearse(receipt: Receipt, unlocked: Unlocked, *, chunk: Chunk | None) -> tuple[Outcome, Sealed]:
    """What `reveal` would say now, and the old values of the rows that it would hold.

    Raises:
        ReceiptUnknown, ReceiptForeign, BagError: as it would.
    """
    journal = journals.read(receipt, unlocked, chunk=chunk, lock=False)
    assert journal is not None  # whoever asks knows its chunks
    reveal = Reveal(journal, unlocked, overrides={}, allow_partial=True, chunk=chunk)
    reveal.progress.rehearsed, reveal.progress.current_rows = True, CurrentRows(lock=False)
    for step in _STEPS:
        step(reveal)
    return reveal.outcome, _sealed(reveal)


def _expect_made_again(reveal: Reveal) -> None:
    """Instead of `make_again`: pseudoprincipals who were swept would be there."""
    expected = recreate.to_be_made(reveal.journal, reveal.coming)
    for label, keys in expected.items():
        model: type[Model] = apps.get_model(label)
        table = table_of(model)
        reveal.progress.present.setdefault((table.model, table.key_names[0]), set()).update(keys)
    recreate.forget_swept(reveal.journal, reveal.coming, using=reveal.using)


def _look_for_files(reveal: Reveal) -> None:
    """Instead of `look_at_files`: whatever has the name of a sealed file is taken for another one."""
    for opened in reveal.bags:
        for pointer in pointers_in(opened.diffs):
            column = pointer.column
            if column is not None and may_exist(column.storage, pointer.name):
                key = column.model._meta.label_lower, column.name
                reveal.progress.files.taken.setdefault(key, set()).add(pointer.name)


def _look_at_incoming(reveal: Reveal) -> None:
    """Instead of `let_go`."""
    release.look_at_incoming(reveal.journal, reveal.progress, using=reveal.using)


def _hold_blobs(reveal: Reveal) -> None:
    """Instead of `reveal_blobs`: only the application's function knows, and it is not asked."""
    blobs.hold_unasked(reveal.current.diffs, reveal.outcome, head=reveal.current.head)


#: Those of a reveal that read, and what stands for those that write.
_STEPS: tuple[Callable[[Reveal], None], ...] = (
    revealing.bring_forward,
    revealing.find_shared,
    revealing.drop_rows,
    _expect_made_again,
    revealing.alter_rows,
    revealing.hold_stuck,
    revealing.note_rows,
    revealing.note_later_chunks,
    _look_for_files,
    revealing.resolve_mentions,
    revealing.look_at_owners,
    revealing.lock_rows,
    revealing.insert_rows,
    revealing.keep_shared,
    revealing.undo_on_top,
    revealing.undo_changes,
    revealing.try_handed_over,
    _look_at_incoming,
    finish.count,
    _hold_blobs,
)


def _sealed(reveal: Reveal) -> Sealed:
    """The newest value first: what a disguise removed is the row, what it changed are columns of it."""
    bags = (reveal.current, *reveal.coming)
    stuck = [each.batch for opened in bags for each in opened.stuck]
    shared = [batch for opened in reveal.coming for batch in opened.diffs]
    batches: list[RowBatch] = [*reveal.progress.kept, *reveal.progress.waiting, *shared, *stuck]
    wanted = {(held.model, held.pk) for held in reveal.outcome.held}
    found: Sealed = {}
    for batch in batches:
        if not isinstance(batch, Removed | Changed):
            continue
        for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
            if (batch.model, named(key)) in wanted:
                old = batch.old(row) if isinstance(batch, Changed) else row
                found.setdefault((batch.model, named(key)), {}).update(zip(batch.columns, old, strict=True))
    return found
