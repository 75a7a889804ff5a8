"""Blobs: what an application seals beside rows, for the function that it registered with `edna.on_reveal`.

A blob is bytes that only the application understands: an exported mailbox, the state of another system. It is kept in parts that
are small enough for a segment of a bag, and handed back whole, in the order of saving. Invariant: a blob is erased only after the
function has returned without holding it; if the function fails, the whole reveal has not happened.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.apps import apps
from django.db.models import Model

from edna import registry
from edna.engine.bags.capability import Unlocked
from edna.engine.graph.outcome import Held, Outcome, Reason
from edna.errors import UnknownDisguise
from edna.records.bag import Bag
from edna.records.diff import Blobs, RowBatch

#: A part of a blob: small beside what fits a segment.
PART_BYTES: Final = 1024 * 1024

#: A word for programs, not a sentence that could quote a blob.
_WORD: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)


@dataclass(eq=False)
class Revealed:
    """What a function registered with `edna.on_reveal` is given. The rows are back by now, as far as they could be.

    ``principal`` is the person's row, None if it is not there; ``outcome`` says which rows were restored and which are held.
    The function runs inside the reveal's transaction: what it writes to the same database is undone together with it. After a deadlock
    the reveal, and so the function, may run again. What cannot be undone (a mail, another system) belongs into
    `django.db.transaction.on_commit`.
    """

    name: str
    blobs: tuple[bytes, ...] = field(repr=False)
    principal: Model | None = field(repr=False)
    applied_at: datetime.datetime = field(repr=False)
    outcome: Outcome
    unlocked: Unlocked
    _held: dict[int, str] = field(default_factory=dict, repr=False)

    def hold(self, reason: str, blobs: Iterable[int] | None = None) -> None:
        """Keep blobs sealed, for a later reveal: those at these positions of ``blobs``, or all of them.

        ``reason`` is a word of the application's, without spaces ("courier-gone"): it appears in `Held.field`.

        Raises:
            ValueError: it is not such a word, or there is no such blob.
        """
        if not isinstance(reason, str) or not _WORD.fullmatch(reason):
            raise ValueError("hold(reason): a word of at most 100 of A-Z, a-z, 0-9 and . _ -, without spaces.")
        positions = range(len(self.blobs)) if blobs is None else list(blobs)
        if not set(positions) <= set(range(len(self.blobs))):
            raise ValueError(f"hold(blobs=...): positions from 0 to {len(self.blobs) - 1}.")
        self._held |= dict.fromkeys(positions, reason)


def batch_of(name: str, blobs: Sequence[bytes]) -> Blobs:
    rows = [
        (position, part, blob[start : start + PART_BYTES])
        for position, blob in enumerate(blobs)
        for part, start in enumerate(range(0, max(1, len(blob)), PART_BYTES))
    ]
    return Blobs.of(name, rows)


def reveal(diffs: Iterable[RowBatch], outcome: Outcome, *, head: Bag, unlocked: Unlocked) -> Sequence[RowBatch]:
    """Hand the blobs of a disguise to the application's function; return what has to stay sealed.

    Whatever the function raises is raised: nothing is changed then.
    """
    batches = [batch for batch in diffs if isinstance(batch, Blobs) and batch.rows]
    if not batches:
        return []
    name = head.disguise
    whole = _whole(batches)
    numbers = list(whole)
    try:
        callback = registry.by_hand(name).callback
    except UnknownDisguise:
        return _held(batches, dict.fromkeys(numbers, (Reason.CALLBACK_MISSING, None)), outcome)
    model: type[Model] = apps.get_model(head.principal_model)
    principal = model._base_manager.using(unlocked.using).filter(pk=head.principal).first()
    revealed = Revealed(name, tuple(whole.values()), principal, head.applied_at, outcome, unlocked)
    del whole  # error pages print variables: if the function fails, none here shows a blob
    callback(revealed)
    held = {numbers[index]: (Reason.CALLBACK_REFUSED, reason) for index, reason in sorted(revealed._held.items())}
    outcome.due.add(name, {(number,) for number in numbers})
    kept = _held(batches, held, outcome)
    outcome.count()
    return kept


def hold_unasked(diffs: Iterable[RowBatch], outcome: Outcome, *, head: Bag) -> None:
    """Say of the blobs that they are held: only the application's function could tell, and it is not called."""
    batches = [batch for batch in diffs if isinstance(batch, Blobs) and batch.rows]
    reason = Reason.CALLBACK_REFUSED
    try:
        registry.by_hand(head.disguise)
    except UnknownDisguise:
        reason = Reason.CALLBACK_MISSING
    if batches:
        _held(batches, dict.fromkeys(_whole(batches), (reason, None)), outcome)
        outcome.count()


def _whole(batches: Sequence[Blobs]) -> dict[Any, bytes]:
    """The blobs by their positions, in order, each put together from its parts."""
    parts: dict[Any, list[Any]] = {}
    for batch in batches:
        for position, _, part in batch.rows:
            parts.setdefault(position, []).append(part)
    return {position: b"".join(found) for position, found in parts.items()}


def _held(batches: Sequence[Blobs], held: Mapping[Any, tuple[Reason, str | None]], outcome: Outcome) -> list[Blobs]:
    outcome.stopped.add(batches[0].model, {(position,) for position in held})
    outcome.held += [Held(batches[0].model, position, reason, word) for position, (reason, word) in held.items()]
    kept = [replace(batch, rows=[row for row in batch.rows if row[0] in held]) for batch in batches]
    return [batch for batch in kept if batch.rows]
