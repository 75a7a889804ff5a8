"""Legal holds: buckets of bags that are not erased, although their day has come.

Guarantees: from the moment in which `place` returns nothing of the bucket is erased, until the hold is lifted; what a reveal moves
from a bucket that is held into another one takes the hold along to that. Each change is in the audit trail.
Does not stop people from revealing, or giving up, what is theirs; and knows nobody: a hold is on a bucket as a whole.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from edna import clock, registry
from edna.db import transactions
from edna.errors import HoldRefused
from edna.operations import audit
from edna.operations.store import retention

_LONGEST_REASON = 200


@dataclass(frozen=True)
class Hold:
    expires_on: datetime.date
    reason: str
    placed_on: datetime.date


def listing() -> list[Hold]:
    """By bucket, oldest first."""
    return [Hold(each.expires_on, each.reason, each.placed_on) for each in retention.holds(using=registry.database())]


def place(bucket: datetime.date, *, reason: str, operator: str) -> Hold:
    """Keep everything that expires on that day until `lift`. ``reason`` is a case number, not a name: everybody who can read the
    table can read it.

    Raises:
        HoldRefused: this is no bucket, there is no reason, or it is held already.
    """
    if bucket.day != 1:
        raise HoldRefused(f"{bucket} is no bucket: bags expire on the first of a month. Nothing was changed.")
    if not reason.strip() or len(reason) > _LONGEST_REASON:
        raise HoldRefused(f"A legal hold needs a reason of at most {_LONGEST_REASON} characters. Nothing was changed.")
    hold = retention.Hold(bucket, reason.strip(), clock.today())

    def work() -> bool:
        placed = retention.place_hold(hold, using=using)
        if placed:
            audit.note("place hold", operator=operator, bucket=str(bucket), reason=hold.reason)
        return placed

    using = registry.database()
    if not transactions.run(work, using=using):
        raise HoldRefused(
            f"{bucket} is held already. Nothing was changed; lift that hold first to give another reason."
        )
    return Hold(hold.expires_on, hold.reason, hold.placed_on)


def lift(bucket: datetime.date, *, operator: str) -> None:
    """Let the bucket expire: if its day has come, the next run erases it.

    Raises:
        HoldRefused: nobody holds it.
    """

    def work() -> bool:
        lifted = retention.lift_hold(bucket, using=using)
        if lifted:
            audit.note("lift hold", operator=operator, bucket=str(bucket))
        return lifted

    using = registry.database()
    if not transactions.run(work, using=using):
        raise HoldRefused(
            f"There is no legal hold on {bucket}. Nothing was changed; manage.py edna_hold list shows all."
        )
