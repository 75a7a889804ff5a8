"""What time it is for edna: Django's, so that whoever turns that clock turns this one, and in UTC with and without ``USE_TZ``.

Invariant: no moment that is sealed depends on the time zone of a site, or of a visitor.
"""

from __future__ import annotations

import datetime

from django.utils import timezone


def now() -> datetime.datetime:
    moment = timezone.now()
    if timezone.is_naive(moment):
        moment = timezone.make_aware(moment, timezone.get_default_timezone())
    return moment.astimezone(datetime.UTC)


def today() -> datetime.date:
    """The same for everybody: a day of each user's own time zone would begin and end with every change of zones."""
    return now().date()
