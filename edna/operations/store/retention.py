"""What expires when: bags by bucket, entries of removed principals, and the legal holds on buckets.

Erases rows in bulk, by random keys: which bag belongs to which is not known here either. Writers expect to run inside the caller's
transaction; each takes as many statements for many rows as for one.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, Sum
from django.db.models.functions import Length

from edna.db import rows
from edna.db.rows import table_of
from edna.models import Bag, PrincipalEntry
from edna.operations.models import LegalHold

_ENTRIES: Final = table_of(PrincipalEntry)


@dataclass(frozen=True, slots=True)
class Stored:
    """How much there is in one bucket. ``entries`` are of removed principals."""

    expires_on: datetime.date | None
    bags: int
    bytes: int
    entries: int


@dataclass(frozen=True, slots=True)
class Hold:
    expires_on: datetime.date
    reason: str
    placed_on: datetime.date


def stored_by_bucket(*, using: str) -> list[Stored]:
    """Oldest first, what is kept for ever last."""
    bags = Bag.objects.using(using).values("expires_on").annotate(count=Count("id"), size=Sum(Length("sealed")))
    removed = PrincipalEntry.objects.using(using).filter(reference=None)
    sizes = {row["expires_on"]: (row["count"], row["size"] or 0) for row in bags.order_by()}
    entries = dict(removed.values_list("expires_on").annotate(count=Count("id")).order_by())
    buckets = sorted(sizes.keys() | entries.keys(), key=lambda day: day or datetime.date.max)
    return [Stored(day, *sizes.get(day, (0, 0)), entries.get(day, 0)) for day in buckets]


def holds(*, using: str) -> list[Hold]:
    found = LegalHold.objects.using(using).order_by("expires_on")
    return [Hold(hold.expires_on, hold.reason, hold.placed_on) for hold in found]


def place_hold(hold: Hold, *, using: str) -> bool:
    """Whether it is new: a bucket that is held already stays as it is."""
    _, made = LegalHold.objects.using(using).get_or_create(
        expires_on=hold.expires_on, defaults={"reason": hold.reason, "placed_on": hold.placed_on}
    )
    return made


def lift_hold(expires_on: datetime.date, *, using: str) -> bool:
    """Whether there was one."""
    deleted, _ = LegalHold.objects.using(using).filter(expires_on=expires_on).delete()
    return bool(deleted)


def spread_hold(source: datetime.date | None, others: Collection[datetime.date | None], *, using: str) -> None:
    """Hold the ``others`` too, if ``source`` is held: what was in it may be in these now. No statement where there is but one bucket."""
    reached = sorted(day for day in others if day is not None and day != source)
    if source is None or not reached:
        return
    hold = LegalHold.objects.using(using).filter(expires_on=source).first()
    if hold is not None:
        spread = [LegalHold(expires_on=day, reason=hold.reason, placed_on=hold.placed_on) for day in reached]
        LegalHold.objects.using(using).bulk_create(spread, ignore_conflicts=True)


def held_among(buckets: Collection[datetime.date], *, using: str) -> set[datetime.date]:
    found = LegalHold.objects.using(using).filter(expires_on__in=buckets)
    return set(found.values_list("expires_on", flat=True))


def lock_bucket(expires_on: datetime.date, *, using: str) -> bool:
    """Whether nobody holds the bucket, and nobody can begin to before the caller's transaction ends.

    The row that a hold would be is made and taken away again: whoever places one waits for it.
    """
    claim = LegalHold(expires_on=expires_on, reason="", placed_on=expires_on)
    LegalHold.objects.using(using).bulk_create([claim], ignore_conflicts=True)
    deleted, _ = LegalHold.objects.using(using).filter(id=claim.id).delete()
    return bool(deleted)


def delete_some_bags(
    expires_on: datetime.date, *, after: int, but: Collection[bytes], most: int, most_bytes: int, using: str
) -> tuple[int, int]:
    """Delete some of the bucket's bags, ``but`` those under these indexes, in the order of their keys, which are random, from the key
    ``after`` on; return how many, and the last key that was looked at: ``after`` itself at the end."""
    bags = Bag.objects.using(using).filter(expires_on=expires_on)
    ids: list[int] = []
    size, last = 0, after
    found = bags.filter(id__gt=after).order_by("id").values_list("id", "index", Length("sealed"))
    for pk, index, length in found[:most]:
        if ids and size + length > most_bytes:
            break
        last = pk
        if bytes(index) not in but:
            ids.append(pk)
            size += length
    # Of this bucket still: somebody may have put one of them into a later bucket meanwhile.
    bags.filter(id__in=ids)._raw_delete(using)
    return len(ids), last


def delete_some_entries(expires_on: datetime.date, *, most: int, using: str) -> int:
    """Delete some of the bucket's entries of removed principals; return how many."""
    found = PrincipalEntry.objects.using(using).filter(reference=None, expires_on=expires_on)
    # Locked: somebody may be coming back at this moment, and has their entry again then.
    ids = list(found.select_for_update().order_by("id").values_list("id", flat=True)[:most])
    rows.delete(_ENTRIES, [(pk,) for pk in ids], using=using)
    return len(ids)


def any_held(today: datetime.date, *, using: str) -> bool:
    """Whether there are bags that stay only because they are held."""
    held = LegalHold.objects.using(using).filter(expires_on__lte=today)
    return Bag.objects.using(using).filter(expires_on__in=held.values("expires_on")).exists()


def misplaced_holds(*, using: str) -> list[int]:
    """Holds on days on which nothing expires."""
    return list(LegalHold.objects.using(using).exclude(expires_on__day=1).order_by("id").values_list("id", flat=True))
