"""Erases, for good, what has expired: bags of every kind, and the entries of removed principals.

Guarantees: nothing goes before its day, nothing of a bucket that a legal hold is on, and no content of a file that a reveal has yet to
write; what goes, goes in small transactions of their own, so that nobody waits for long, and in an order that says nothing. A run
that is interrupted has erased some of a bucket; the next one erases the rest, and in the meantime a disguise that is half gone counts
as gone.
Does not know whose anything is: it needs no key.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from edna import clock, registry
from edna.db import transactions
from edna.engine.files import file_tasks
from edna.operations import audit
from edna.operations.store import retention
from edna.operations.store.runs import note_run
from edna.store import serverkeys

#: Of one transaction.
_ROWS_AT_ONCE: Final = 500
_BYTES_AT_ONCE: Final = 32 * 1024 * 1024

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Bucket:
    """What expires on one day, the first of a month; ``expires_on`` is None for what is kept for ever.

    ``principals`` are entries of removed ones, pseudoprincipals among them; ``held`` is the reason of a legal hold, or None.
    """

    expires_on: datetime.date | None
    bags: int
    bytes: int
    principals: int
    held: str | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "expires_on": self.expires_on,
            "bags": self.bags,
            "bytes": self.bytes,
            "principals": self.principals,
            "held": self.held,
        }


@dataclass
class Expired:
    """What a run erased. ``held`` bags stay because of legal holds; and with them ``kept`` entries of removed principals although their
    day has come, because some of the bags that are held may be theirs."""

    bags: int = 0
    principals: int = 0
    kept: int = 0
    held: int = 0

    def as_dict(self) -> dict[str, int]:
        return {"bags": self.bags, "principals": self.principals, "kept": self.kept, "held": self.held}


def upcoming() -> list[Bucket]:
    """What expires when, oldest first; reads a few numbers of each bag. What is kept for ever comes last."""
    using = registry.database()
    held = {hold.expires_on: hold.reason for hold in retention.holds(using=using)}
    return [
        Bucket(
            each.expires_on, each.bags, each.bytes, each.entries, held.get(each.expires_on) if each.expires_on else None
        )
        for each in retention.stored_by_bucket(using=using)
    ]


def due(*, today: datetime.date | None = None) -> list[Bucket]:
    """Of `upcoming`, that of which the day has come, held or not."""
    day = today or clock.today()
    return [bucket for bucket in upcoming() if bucket.expires_on is not None and bucket.expires_on <= day]


def expire(*, today: datetime.date | None = None, progress: Progress | None = None, operator: str = "") -> Expired:
    """Erase what has expired by ``today``. ``progress(done, total)`` counts bags and entries, after each transaction. The trail notes it
    if anything was erased.

    Raises:
        ServerKeyUnknown: under another key, what is not to be erased yet would not be known for that.
        DatabaseBusy: stopped in the middle; run it again.
    """
    using = registry.database()
    serverkeys.require(using=using)  # content that is yet to be written is spared, if its task is known for ours
    day = today or clock.today()
    waiting = due(today=day)
    done = Expired(held=sum(bucket.bags for bucket in waiting if bucket.held is not None))
    free = [bucket for bucket in waiting if bucket.held is None]
    total = sum(bucket.bags + bucket.principals for bucket in free)
    buckets = [bucket.expires_on for bucket in free if bucket.expires_on is not None]
    for bucket in buckets:
        erasing, after = _Bucket(bucket, day, using), 0
        while found := transactions.run(partial(erasing.bags, after), using=using):
            count, after = found
            done.bags += count
            _say(progress, done, total)
    # Entries last: without them, nothing of their people opens.
    for bucket in buckets:
        while count := transactions.run(_Bucket(bucket, day, using).entries, using=using):
            done.principals += count
            _say(progress, done, total)
    done.kept = max(0, sum(bucket.principals for bucket in waiting) - done.principals)

    def note() -> None:
        note_run("expire", done.as_dict(), using=using)
        if done.bags or done.principals:
            audit.note("expire", operator=operator, bags=done.bags, principals=done.principals)

    transactions.run(note, using=using)
    return done


@dataclass
class _Bucket:
    """One bucket that is being erased; each call is a transaction."""

    bucket: datetime.date
    today: datetime.date
    using: str

    def bags(self, after: int) -> tuple[int, int] | None:
        """How many, and the last key; those that are added meanwhile before that are for the next run."""
        # Asked in each transaction: whoever places a hold waits for this one, and stops the next.
        if not retention.lock_bucket(self.bucket, using=self.using):
            return None
        count, last = retention.delete_some_bags(
            self.bucket,
            after=after,
            but=file_tasks.waited_for(using=self.using),
            most=_ROWS_AT_ONCE,
            most_bytes=_BYTES_AT_ONCE,
            using=self.using,
        )
        return None if last == after else (count, last)

    def entries(self) -> int:
        # Whose held bags are, nobody can tell.
        if retention.any_held(self.today, using=self.using) or not retention.lock_bucket(self.bucket, using=self.using):
            return 0
        return retention.delete_some_entries(self.bucket, most=_ROWS_AT_ONCE, using=self.using)


def _say(progress: Progress | None, done: Expired, total: int) -> None:
    if progress is not None:
        progress(min(done.bags + done.principals, total), total)
