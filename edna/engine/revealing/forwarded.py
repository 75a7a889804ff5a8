"""Brings every opened bag to the tables of today before anything of it is restored, and accounts for what cannot come along.

Invariant: what is stuck stays sealed as it was, and so does whatever it needs. Changes opened bags and the account of the reveal;
reads tables as `engine.forwarding` and `engine.forwarding.replay_log` do, writes none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edna.engine.bags.opened import Opened
from edna.engine.bags.reader import Journal
from edna.engine.forwarding.replay_log import Replays, logged_since
from edna.engine.forwarding.walk import Stuck, bring_forward, table_by_label
from edna.engine.graph.outcome import Held
from edna.engine.revealing.progress import Progress, hold
from edna.records.diff import Removed


def catch_up(journal: Journal, *, using: str) -> None:
    """All bags, because records of one are put into another: migrations first, and logged updates each in its time."""
    bags = (journal.current, *journal.others)
    updates = logged_since(min(opened.head.applied_at for opened in bags), using=using)
    for opened in bags:
        replays = Replays(updates, opened.head.applied_at, using=using) if updates else None
        opened.bring_forward(bring_forward(opened.diffs, follower=replays, using=using))


def hold_stuck(current: Opened, coming: Sequence[Opened], progress: Progress) -> None:
    """Say what is stuck. That of shared bags stays where it is; the revealed bag's own is sealed again with the rest."""
    for stuck in reversed(current.stuck):
        hold(progress, stuck.batch, stuck.batch.rows, stuck.reason, stuck.field)
    for opened in coming:
        for stuck in opened.stuck:
            for key in stuck.batch.primary_keys():
                held = Held(stuck.batch.model, key[0] if len(key) == 1 else key, stuck.reason, stuck.field)
                progress.outcome.held.append(held)
            progress.outcome.stopped.add(stuck.batch.model, stuck.batch.primary_keys())
    for stuck in (*current.stuck, *[stuck for opened in coming for stuck in opened.stuck]):
        stays_absent(stuck, progress)


def stays_absent(stuck: Stuck, progress: Progress) -> None:
    """A row that has the key of a removed one now is another one: nothing may be restored below it."""
    table = table_by_label(stuck.batch.model)
    if table is not None and isinstance(stuck.batch, Removed) and stuck.batch.key == table.key_names:
        for key in stuck.batch.primary_keys():
            for name, value in zip(table.key_names, key, strict=True):
                progress.absent.setdefault((table.model, name), set()).add(value)


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
