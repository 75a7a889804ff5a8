"""Makes updates of an audience, follows them, and counts their wraps and bytes.

Whoever creates an audience has set all of its nodes. They stay here: to remove them costs as much as creating it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from statistics import median

from benchmarks.timing import Clock, Key, Result
from edna.crypto.sealing import seal_small
from edna.custody.audiences.audience import Audience
from edna.custody.audiences.updates import KEY_BYTES, WRAP_BYTES, Member, Update

_AT_ONCE = 32


def measured(count: int, *, removals: int, seed: int, database: str) -> list[Result]:
    """Of removals one after the other, of 32 at once, and of telling everybody who stays by themselves."""
    clock, chance = Clock(_no_statements, processor=True), random.Random(seed)
    creator, *members = [Member.new() for _ in range(count)]
    begun = Audience().follow(bytes(Audience.create(creator, [member.card for member in members])))
    leave, many, flat, read = (
        Key(f"{name}, {count} members", "edna")
        for name in ("leave", f"{_AT_ONCE} leave at once", f"{_AT_ONCE} leave and all are told", "read")
    )
    audience, there, updates = begun, list(members), []
    for _ in clock.rounds(range(removals + 1), warm_up=1):
        by, gone = chance.sample(there, 2)
        there.remove(gone)
        before = audience
        updates.append(clock(leave, lambda by=by, gone=gone, before=before: before.leave(by, gone.id), rows=count))
        audience = audience.follow(bytes(updates[-1]))
        clock(read, lambda by=by, audience=audience: audience.secret(by), rows=count)
    many_updates, told = [], []
    for _ in clock.rounds(range(6), warm_up=1):
        by, *gone = chance.sample(members, _AT_ONCE + 1)
        ids = {each.id for each in gone}
        many_updates.append(clock(many, lambda by=by, ids=ids: begun.leave_many(by, ids), rows=count))
        told.append(clock(flat, lambda ids=ids: _told(begun, ids), rows=count))
    extra = {
        leave: _sizes(updates),
        many: _sizes(many_updates),
        flat: {"bytes": told[0], "wraps": told[0] // WRAP_BYTES},
    }
    return clock.results(app="audiences", level="library", database=database, scale="in memory", extra=extra)


def _told(audience: Audience, gone: set[bytes]) -> int:
    """In bytes, what a wrap for each who stays takes."""
    secret = bytes(KEY_BYTES)
    return sum(
        len(seal_small(secret, recipient=card.public_key))
        for member, card in audience.cards.items()
        if member not in gone
    )


def _sizes(updates: list[Update]) -> dict[str, int]:
    sizes = [len(bytes(update)) for update in updates]
    wraps = [_wraps(update) for update in updates]
    return {"bytes": int(median(sizes)), "most_bytes": max(sizes), "wraps": int(median(wraps))}


def _wraps(update: Update) -> int:
    """With the one of the former secret: each node has one key and, from 16 members on, two wraps."""
    nodes = (len(update.body) - WRAP_BYTES) // (KEY_BYTES + 2 * WRAP_BYTES)
    return 2 * nodes + 1


def _no_statements() -> AbstractContextManager[Callable[[], int]]:
    return nullcontext(lambda: 0)
