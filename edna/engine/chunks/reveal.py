"""Undoes a disguise chunk by chunk, from the last to the first.

Invariant: none is erased before a later one, and if it is interrupted, the same receipt leads to the rest.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

from edna.db import transactions
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.key_graph import KeyGraph
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.graph.outcome import Outcome
from edna.engine.layers.acceptance import Rows
from edna.engine.layers.terms_of_return import Overrides
from edna.engine.revealing import reveal as revealing
from edna.errors import ReceiptUnknown
from edna.records.bag import BagKind
from edna.records.chain import Chunk, chunks_of
from edna.records.locator import Locator, Receipt


def reveal(
    receipt: Receipt,
    unlocked: Unlocked,
    *,
    overrides: Overrides,
    give_up: Callable[..., Rows],
    allow_partial: bool,
    separately: bool,
) -> Outcome:
    """Undo the chunks of a disguise, from the last to the first; each ``separately`` in a transaction, or all in the caller's.

    If it is interrupted, what is back is back, and the same receipt leads to the rest. A chunk of which no bag is there any more
    (it has expired, say) does not keep the others from coming back. ``give_up`` says which of the rows that are held in the end are
    to be forgotten.

    Raises:
        BagError: a bag of one of the chunks does not open; that is looked at first, before anything is changed.
        RevealRefused: something is held and ``allow_partial`` is off.
    """
    graph = unlocked.key_graph()
    for number in _chunks_left(receipt, graph):
        _require_openable(graph, receipt.locator.chunk(number))
    outcome = Outcome()
    openable = 0
    given_up: Rows = {}
    former: tuple[Any, ...] = ()
    tried: list[int] = []
    # What had moved into a late chunk, because of one row that it needs, may have waited for one of an early chunk, too.
    for attempt in itertools.count():
        again = Outcome()
        numbers = _chunks_left(receipt, unlocked.key_graph())
        for number in reversed(numbers):
            chunk = Chunk(receipt.locator, number, tell=not attempt and number == numbers[0])
            with contextlib.suppress(ReceiptUnknown):  # it has expired
                reveal_chunk = partial(_reveal_chunk, overrides=overrides, given_up=given_up, separately=separately)
                again.include(reveal_chunk(receipt, chunk, unlocked))
                openable += 1
        if not openable:
            raise nothing_kept(receipt.disguise)
        outcome.forget_held()
        outcome.include(again)
        if again.postponed and numbers != tried:
            tried = numbers
            continue
        said = again.restored, again.deferred, frozenset(again.held)
        # Who says the same as the last time has moved nothing, whatever counts as back.
        if not again.held or not (again.restored or again.deferred) or said == former:
            more = give_up(again, given_up=given_up)
            if not more:
                break
            given_up = {**given_up, **more}
        former = said
    if not allow_partial:
        outcome.require_complete(receipt.disguise)
    return outcome


def _reveal_chunk(
    receipt: Receipt, chunk: Chunk, unlocked: Unlocked, *, overrides: Overrides, given_up: Rows, separately: bool
) -> Outcome:
    def work() -> Outcome:
        outcome = revealing.reveal(
            receipt, unlocked, overrides=overrides, allow_partial=True, chunk=chunk, given_up=given_up
        )
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
