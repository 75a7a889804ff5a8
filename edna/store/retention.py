"""In which bucket the last bag expires, and whether any does. Reads only; a statement or two each."""

from __future__ import annotations

import datetime

from django.db.models import Max

from edna.models import Bag


def latest_bucket(at_least: datetime.date, *, using: str) -> datetime.date | None:
    """The bucket in which the last bag of all expires; None if one is kept for ever."""
    bags = Bag.objects.using(using)
    if bags.filter(expires_on=None).exists():
        return None
    return max(at_least, bags.aggregate(newest=Max("expires_on"))["newest"] or at_least)


def anything_expires(*, using: str) -> bool:
    """Whether any bag will be erased some day."""
    return Bag.objects.using(using).filter(expires_on__isnull=False).exists()
