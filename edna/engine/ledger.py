"""Notes in the erasure ledger who is disguised, so that it can be done again after an older backup was restored (docs/backups.md).

Invariant: a row is there from the transaction that disguises somebody to the one that has brought everything back; nothing in it is
of use without the server's keys. Natural principals only: what belongs to pseudoprincipals is nobody's in a restored backup either.
Disguises by hand are not noted, because nothing could do them again. One statement each, and none while the ledger is off.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from edna import conf
from edna.engine.chains import Chunk
from edna.engine.journal import Journal, Opened
from edna.engine.planned import Plan
from edna.records.ledgernote import LedgerNote, ledger_index, seal_note, what
from edna.records.locator import SEALED_LOCATOR_BYTES
from edna.registry import ByHand
from edna.store import ledger as store


def note(plan: Plan, *, now: datetime.datetime, using: str) -> None:
    """Note whom ``plan`` disguises, in its transaction. A row that is there already is written anew."""
    if not conf.ledger() or issubclass(plan.disguise, ByHand):
        return
    label = plan.principal_model._meta.label_lower
    subject = what(plan.disguise.name, plan.params)
    notes = []
    for entry in (target.entry for target in plan.targets if target.entry.natural):
        index = ledger_index(conf.mac_keys()[0], model=label, reference=str(entry.reference), what=subject)
        position = len(entry.locators) // SEALED_LOCATOR_BYTES
        written = LedgerNote(plan.disguise.name, dict(plan.params), f"{now:%Y-%m}", position)
        notes.append((index, seal_note(written, index=index, server_key=conf.mac_keys()[0])))
    if notes:
        store.put(notes, using=using)


def strike(journal: Journal, *, chunk: Chunk | None, using: str) -> None:
    """Delete the row of the disguise that was revealed, once nothing of it is left to bring back; in the reveal's transaction."""
    head = journal.current.head
    if not conf.ledger() or head.principal is None:
        return
    if chunk is not None and not chunk.earlier.isdisjoint(journal.own.items):
        return  # that comes back next
    others = [opened for opened in journal.others if not opened.shared and _same(opened, journal.current)]
    if any(_holds_something(opened) for opened in (journal.current, *others)):
        return
    store.delete(
        candidates(head.principal_model, str(head.principal), what(head.disguise, head.params), keys=conf.mac_keys()),
        using=using,
    )


def candidates(model: str, reference: str, subject: bytes, *, keys: Sequence[bytes]) -> list[bytes]:
    """Where the note may stand: under each key of the server, the current one first."""
    return [ledger_index(key, model=model, reference=reference, what=subject) for key in keys]


def _same(one: Opened, other: Opened) -> bool:
    """Whether both are of the same person and disguise: of two with the same parameters, one row speaks."""

    def subject(opened: Opened) -> tuple[str, Any, str, Mapping[str, Any]]:
        head = opened.head
        return head.principal_model, head.principal, head.disguise, head.params

    return subject(one) == subject(other)


def _holds_something(opened: Opened) -> bool:
    return bool(opened.stuck) or any(batch.rows for batch in opened.diffs)
