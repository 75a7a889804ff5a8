"""Undoes a disguise chunk by chunk, from the last to the first.

Invariant: none is erased before a later one, and if it is interrupted, the same receipt leads to the rest.
"""

from __future__ import annotations

import contextlib
import itertools

from edna.db import transactions
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.chain import Chunk, chunks_of
from edna.engine.bags.key_graph import KeyGraph
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.graph.outcome import Outcome, in_rows
from edna.engine.layers.returning import Overrides
from edna.engine.revealing import reveal as revealing
from edna.errors import ReceiptUnknown, RevealRefused
from edna.records.bag import BagKind
from edna.records.locator import Locator, Receipt


def reveal(
    receipt: Receipt, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool, separately: bool
) -> Outcome:
    """Undo the chunks of a disguise, from the last to the first; each ``separately`` in a transaction, or all in the caller's.

    If it is interrupted, what is back is back, and the same receipt leads to the rest. A chunk of which no bag is there any more
    (it has expired, say) does not keep the others from coming back.

    Raises:
        BagError: a bag of one of the chunks does not open; that is looked at first, before anything is changed.
        RevealRefused: something is held and ``allow_partial`` is off.
    """
    graph = unlocked.key_graph()
    for number in _chunks_left(receipt, graph):
        _require_openable(graph, receipt.locator.chunk(number))
    outcome = Outcome()
    openable = 0
    # What had moved into a late chunk, because of one row that it needs, may have waited for one of an early chunk, too.
    for attempt in itertools.count():
        again = Outcome()
        numbers = _chunks_left(receipt, unlocked.key_graph())
        for number in reversed(numbers):
            chunk = Chunk(receipt.locator, number, tell=not attempt and number == numbers[0])
            with contextlib.suppress(ReceiptUnknown):  # it has expired
                again.include(_reveal_chunk(receipt, chunk, unlocked, overrides=overrides, separately=separately))
                openable += 1
        if not openable:
            raise nothing_kept(receipt.disguise)
        outcome.forget_held()
        outcome.include(again)
        if not again.held or not (again.restored or again.deferred):
            break
    if outcome.held and not allow_partial:
        raise RevealRefused(
            f"{in_rows(outcome.rows_held)} of {receipt.disguise} cannot be revealed now, so none was; "
            "see the outcome for the reasons.",
            outcome=outcome,
        )
    return outcome


def _reveal_chunk(
    receipt: Receipt, chunk: Chunk, unlocked: Unlocked, *, overrides: Overrides, separately: bool
) -> Outcome:
    def work() -> Outcome:
        outcome = revealing.reveal(receipt, unlocked, overrides=overrides, allow_partial=True, chunk=chunk)
        assert outcome is not None
        return outcome

    return transactions.run(work, using=unlocked.using) if separately else work()


def _chunks_left(receipt: Receipt, graph: KeyGraph) -> list[int]:
    listed = graph.own.items
    return chunks_of(receipt.locator, listed) if receipt.locator in listed else []


def _require_openable(graph: KeyGraph, locator: Locator) -> None:
    for _ in graph.open([locator], [BagKind.DIFF, BagKind.SPEAKS_FOR]):
        pass
    if (refusal := graph.seen[locator].refusal()) is not None:
        raise refusal
