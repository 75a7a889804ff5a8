"""Numbers about this site's edna: jobs, the key pool, storage, files, recurring tasks. Read now, in a statement or a few each.

Counts, sizes and times only; which principals there are, and how many, is not among them. Judges nothing: see `health`.
"""

from __future__ import annotations

from dataclasses import dataclass

from edna import keypool, registry
from edna.operations.jobs import runner
from edna.operations.retention import expiry
from edna.operations.retention.expiry import Bucket
from edna.operations.store import runs as store_runs
from edna.operations.store import statistics
from edna.operations.store.runs import Run
from edna.operations.store.statistics import Queue

__all__ = ["Bucket", "KeyPool", "Queue", "Run", "key_pool", "pending_files", "queue", "recurring", "storage"]


@dataclass(frozen=True)
class KeyPool:
    """The key pool of this process, since it began. ``inline`` are keys that were made while somebody waited."""

    depth: int
    size: int
    low_water: int
    taken: int
    inline: int
    refilled: int
    #: How fast it is filled while it is; None if it never was.
    refills_per_second: float | None


def key_pool() -> KeyPool:
    found = keypool.pool.statistics()
    return KeyPool(
        depth=found.depth,
        size=found.size,
        low_water=found.low_water,
        taken=found.taken,
        inline=found.drained,
        refilled=found.refilled,
        refills_per_second=found.refilled / found.refill_seconds if found.refill_seconds else None,
    )


def queue() -> Queue:
    """Four statements."""
    return statistics.queue(alive_since=runner.alive_since(), using=registry.database())


def storage() -> list[Bucket]:
    """A few statements, one of which reads the length of every bag: nothing to do every second."""
    return expiry.upcoming()


def pending_files() -> int:
    return statistics.pending_files(using=registry.database())


def recurring() -> dict[str, Run]:
    """By name, when each recurring task was last done, and what it counted; without the notes that some keep for themselves."""
    return {run.name: run for run in store_runs.last_runs(using=registry.database()) if run.name.isidentifier()}
