"""Brings every opened bag to the tables of today before anything of it is restored.

Invariant (nothing lost): what is stuck stays sealed as it was, and so does whatever it needs. Changes opened bags;
reads tables as `engine.forwarding` does, writes none.
"""

from __future__ import annotations

from typing import Any

from edna.engine.bags.reader import Journal
from edna.engine.forwarding.replay_log import Replays, logged_since
from edna.engine.forwarding.walk import bring_forward


def catch_up(journal: Journal, *, using: str) -> None:
    """All bags, because records of one are put into another: migrations first, and logged updates each in its time."""
    bags = (journal.current, *journal.others)
    updates = logged_since(min(opened.head.applied_at for opened in bags), using=using)
    for opened in bags:
        replays = Replays(updates, opened.head.applied_at, using=using) if updates else None
        opened.bring_forward(bring_forward(opened.diffs, follower=replays, using=using))


def mentioned_by_stuck(journal: Journal) -> set[Any]:
    """Every value of every stuck record: which of them are keys of principals cannot be told, so all may be."""
    return {
        value
        for opened in (journal.current, *journal.others)
        for stuck in opened.stuck
        for row in stuck.batch.rows
        for value in row
        if value is not None and not isinstance(value, list | dict)
    }
