"""Signals that edna sends once a disguise or a reveal has been committed, or just before, so that search indexes, counters and caches can
follow.

Every receiver gets ``sender`` (a model class), ``name`` (of the disguise), ``keys`` (a tuple of primary keys, as instances have them)
and ``using`` (in which database), and nothing else: no values, no receipt, and in the signals about rows not whose they were.

- ``rows_removed``, ``rows_restored``, ``rows_changed``: one for each model; ``sender`` is the model, ``keys`` its rows.
- ``disguised``, ``revealed``: ``sender`` is the principal model, ``keys`` the people for whom it was done.

- ``before_commit``: one for each model whose rows were removed, changed or restored, still inside the transaction of that, with
  ``referred_to``: by foreign key, the primary keys of what the removed rows referred to, people left out.
  For values that a library computes from other rows, such as places in a tree. Not robust: a receiver that raises refuses all of it.

For what a site has made of files, thumbnails say; ``sender`` is the model, with ``field`` and ``file_name`` alone:

- ``file_deleted``: just before a disguised row's file is deleted. ``file_written``: when it is back. If the process dies there, again.

For the operator:

- ``job_ready``: a job wants a runner; ``sender`` is None, and ``job`` is its number. Whatever runs tasks listens to it.
- ``measured``: something was done or refused; ``sender`` is None, with ``operation`` ("disguise", "disguise_all", "session", "reveal",
  or "batch": of a job), ``name`` (of the disguise), ``seconds``, ``principals``, ``rows``, ``held`` (how many rows by reason) and
  ``error`` (the class of the error, or ""). No principal, key or value.
- ``request_counted``: a request has asked for something that ``EDNA["REQUEST_RATE_PER_SECOND"]`` limits; ``sender`` is None, and ``result``
  "admitted", "refused", or "uncounted": let in, because the cache did not count.

All but ``before_commit`` are sent robustly: a receiver that fails breaks neither the caller nor other receivers, and the log says which
one failed with which class of error, never with which words. Nothing is computed for a signal that nobody listens to.

This module holds the signals only, as `django.contrib.auth.signals` does, so that it can be imported from anywhere, at any time. What
edna itself listens to is in `edna.receivers`.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from django.dispatch import Signal

__all__ = [
    "before_commit",
    "disguised",
    "file_deleted",
    "file_written",
    "job_ready",
    "measured",
    "request_counted",
    "revealed",
    "rows_changed",
    "rows_removed",
    "rows_restored",
]

logger = logging.getLogger("edna")


class Announcement(Signal):
    """A signal whose receivers' errors are logged without their words: those may quote what was disguised."""

    def _log_robust_failure(self, receiver: Any, err: Exception) -> None:
        named = receiver if hasattr(receiver, "__qualname__") else type(receiver)
        where = f"{named.__module__}.{named.__qualname__}"
        logger.error("%s, a receiver of edna's signals, raised %s.", where, type(err).__name__)


rows_removed: Final = Announcement()
rows_restored: Final = Announcement()
rows_changed: Final = Announcement()
before_commit: Final = Announcement()
disguised: Final = Announcement()
revealed: Final = Announcement()
file_deleted: Final = Announcement()
file_written: Final = Announcement()
job_ready: Final = Announcement()
measured: Final = Announcement()
request_counted: Final = Announcement()
