"""The key pool of this process, as whoever starts workers sees it: only how full it is, and that it may be filled.

Keeps nothing; hands out no key.
"""

from __future__ import annotations

from edna.keypool import PoolStatistics, pool

__all__ = ["PoolStatistics", "statistics", "warm"]


def warm() -> None:
    """Begin to fill the pool in the background, so that the first disguise of this process finds keys.

    For hooks that run in each new worker: gunicorn's ``post_fork``, Celery's ``worker_process_init``. Not before the fork: a child
    starts with an empty pool. Without it, the first `disguise` that needs a key begins the filling.
    """
    pool.start()


def statistics() -> PoolStatistics:
    """Of this process alone; each has a pool of its own."""
    return pool.statistics()
