"""When a reveal takes somebody off the erasure ledger: once nothing of the disguise is left to bring back.

Knows opened records; the ledger itself is `engine.books.ledger`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edna import conf
from edna.engine.bags.chain import Chunk
from edna.engine.bags.opened import Opened
from edna.engine.bags.reader import Journal
from edna.engine.books import ledger
from edna.records.ledgernote import what


def strike(journal: Journal, *, chunk: Chunk | None, using: str) -> None:
    """Take the disguise that was revealed off the erasure ledger, once nothing of it is left to bring back."""
    head = journal.current.head
    if not conf.ledger() or head.principal is None:
        return
    if chunk is not None and not chunk.earlier.isdisjoint(journal.own.items):
        return  # that comes back next
    others = [opened for opened in journal.others if not opened.shared and _same(opened, journal.current)]
    if any(_holds_something(opened) for opened in (journal.current, *others)):
        return
    subject = what(head.disguise, head.params)
    ledger.strike(head.principal_model, str(head.principal), subject, using=using)


def _same(one: Opened, other: Opened) -> bool:
    """Whether both are of the same person and disguise: of two with the same parameters, one row speaks."""

    def subject(opened: Opened) -> tuple[str, Any, str, Mapping[str, Any]]:
        head = opened.head
        return head.principal_model, head.principal, head.disguise, head.params

    return subject(one) == subject(other)


def _holds_something(opened: Opened) -> bool:
    return bool(opened.stuck) or any(batch.rows for batch in opened.diffs)
