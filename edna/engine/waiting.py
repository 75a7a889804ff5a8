"""What still waits of disguises that a principal has taken back: what a reveal has tried and held, and what has become of the reasons.

Invariant: it reads only. Which records were tried stands in their bags; whether something is in the way is looked up now. Costs who has
nothing waiting no more than their history.
"""

from __future__ import annotations

import dataclasses
import datetime
from typing import Any

from edna.engine import history as histories
from edna.engine.bags.capability import Unlocked
from edna.engine.graph.outcome import Held, Outcome
from edna.engine.revealing.rehearsal import Sealed, rehearse
from edna.errors import BagError, EntryForged, ReceiptError
from edna.records.chain import Chunk, chunks_of
from edna.records.locator import Receipt


@dataclasses.dataclass(frozen=True)
class Waiting:
    """What is left of one disguise that was taken back.

    ``held`` cannot come back now; `Held.reason` says why, and ``reason.can_be_accepted`` whether it can be given up. ``ready`` counts rows,
    by model, that nothing seems to be in the way of any more: reveal the receipt again.
    """

    receipt: Receipt
    name: str
    applied_at: datetime.datetime
    params: dict[str, Any]
    held: list[Held]
    ready: dict[str, int]
    _sealed: Sealed = dataclasses.field(default_factory=dict, repr=False, compare=False)

    @property
    def rows_held(self) -> int:
        """How many rows there are in ``held``, each once."""
        return len({(row.model, str(row.pk)) for row in self.held})

    def sealed(self, row: Held) -> dict[str, Any]:
        """What is sealed of a row of ``held``: the values of its columns, as the driver gave them. For its owner's eyes only."""
        return dict(self._sealed.get((row.model, row.pk), {}))


def of(unlocked: Unlocked, *, refused: Receipt | None = None) -> list[Waiting]:
    """Newest first. ``refused``: a receipt of which nothing was brought back, since not all could be: nothing notes that it was tried."""
    waiting = []
    for entry in histories.of(unlocked):
        # Where no record is left, a pseudoprincipal is there for what came to it and could not go to the person.
        if not entry._tried and entry.receipt != refused and entry.counts:
            continue
        chunks: list[Chunk | None] = [
            Chunk(entry.receipt.locator, number)
            for number in reversed(chunks_of(entry.receipt.locator, unlocked.listed().keys()))
        ]
        together, sealed = Outcome(), Sealed()
        for chunk in chunks if len(chunks) > 1 else [None]:
            try:
                outcome, values = rehearse(entry.receipt, unlocked, chunk=chunk)
            except (ReceiptError, BagError, EntryForged):
                continue  # it has expired, or something that it leads to does not open: its receipt says what
            together.include(outcome)
            sealed |= values
        if not together.held and not together.restored:
            continue
        waiting.append(
            Waiting(
                entry.receipt,
                entry.name,
                entry.applied_at,
                dict(entry.params),
                together.held,
                {model: rows for model, rows in together.restored.items() if rows},
                sealed,
            )
        )
    return waiting
