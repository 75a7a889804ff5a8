"""When what is sealed expires: in which bucket new bags are, and on what day it is that old ones are due.

Invariant: a bag stays in the bucket that it was written into, whatever ``EDNA["RETENTION_DAYS"]`` says later, unless it has taken in
records that are to be kept longer. Does not erase: `edna.operations.retention.expiry` does.
"""

from __future__ import annotations

import datetime

from edna import conf, registry, shards, store
from edna.errors import ReceiptUnknown
from edna.store import retention


def bucket_of(day: datetime.date) -> datetime.date | None:
    """The bucket of what is sealed on that day; None: it is kept for ever."""
    return store.expiry_bucket(day, retention_days=conf.retention_days())


def entry_bucket(day: datetime.date, *, listed_before: bool, using: str) -> datetime.date | None:
    """How long the entry of somebody who is removed on that day is kept.

    As long as what the removal sealed, if that is all that there is. Of what was ``listed_before`` nobody can tell the bucket, if the
    setting was another one then: it is one of those that are in the table, and the latest of these will do. A statement more, then.
    """
    bucket = bucket_of(day)
    unknown = listed_before or registry.any_unlisted()
    return retention.latest_bucket(bucket, using=using) if bucket and unknown else bucket


def nothing_kept(disguise: str) -> ReceiptUnknown:
    return ReceiptUnknown(
        f"Nothing is kept under this receipt of {disguise}{shards.in_words()}: it was revealed already, has expired, or is another site's."
    )
