"""Which registered people have not been seen, and what they have been told about it.

Pages of them, never all at once: as many statements for a page as for one. Decides nothing, and knows no schedule but by its name.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.db.models import Q, QuerySet

from edna.db import rows
from edna.db.rows import table_of
from edna.models import PrincipalEntry, random_primary_key
from edna.operations.models import DormancyNotice

_NOTICES: Final = table_of(DormancyNotice)
#: Where notices name principals.
TOLD: Final = (_NOTICES, "reference")


@dataclass(frozen=True, slots=True)
class Seen:
    """A natural principal whose row is there, and when a request of theirs was last noted."""

    entry_id: int
    reference: str
    last_seen_on: datetime.date | None


@dataclass(frozen=True, slots=True)
class Told:
    """What somebody was last told: that so many days are left, on that day."""

    reference: str
    days: int
    sent_on: datetime.date
    id: int = field(default_factory=random_primary_key)


def unseen(model: str, *, since: datetime.date, after: int | None, most: int, using: str) -> list[Seen]:
    """The next page of those who were not seen after that day, in the order of entries."""
    query = _unseen(model, since, using)
    if after is not None:
        query = query.filter(id__gt=after)
    page = query.order_by("id").values_list("id", "reference", "last_seen_on")[:most]
    return [Seen(pk, str(reference), last_seen_on) for pk, reference, last_seen_on in page]


def count_unseen(model: str, *, since: datetime.date, using: str) -> int:
    return _unseen(model, since, using).count()


def _unseen(model: str, since: datetime.date, using: str) -> QuerySet[PrincipalEntry]:
    people = PrincipalEntry.objects.using(using).filter(model=model, natural=True).exclude(reference=None)
    return people.filter(Q(last_seen_on=None) | Q(last_seen_on__lte=since))


def told(schedule: str, model: str, references: Iterable[str], *, using: str, lock: bool = False) -> dict[str, Told]:
    wanted = set(references)
    query = DormancyNotice.objects.using(using).filter(schedule=schedule, model=model, reference__in=wanted)
    found = _told(query.select_for_update() if lock else query)
    # Compared here too: to some collations two references are one.
    return {each.reference: each for each in found if each.reference in wanted}


def all_told(schedule: str, model: str, *, after: int | None, most: int, using: str) -> list[Told]:
    """The next page of everybody whom a schedule has told something."""
    query = DormancyNotice.objects.using(using).filter(schedule=schedule, model=model)
    if after is not None:
        query = query.filter(id__gt=after)
    return _told(query.order_by("id")[:most])


def _told(query: QuerySet[DormancyNotice]) -> list[Told]:
    return [
        Told(reference, days, sent_on, pk)
        for pk, reference, days, sent_on in query.values_list("id", "reference", "stage", "sent_on")
    ]


def tell(schedule: str, model: str, people: Sequence[Told], *, using: str) -> None:
    """Keep what people have been told now, instead of what they were told before.

    Inside a transaction that holds their entries: otherwise somebody who has just been removed would be named here for good.
    """
    known = told(schedule, model, [each.reference for each in people], using=using, lock=True)
    again = [(known[each.reference].id, each.days, each.sent_on) for each in people if each.reference in known]
    new = [
        (each.id, schedule, model, each.reference, each.days, each.sent_on)
        for each in people
        if each.reference not in known
    ]
    if again:
        rows.update(_NOTICES, ("stage", "sent_on"), again, using=using)
    if new:
        rows.insert(_NOTICES, ("id", "schedule", "model", "reference", "stage", "sent_on"), sorted(new), using=using)


def untell(ids: Iterable[int], *, using: str) -> None:
    rows.delete(_NOTICES, [(pk,) for pk in ids], using=using)


def forget(model: str, references: Iterable[str], *, using: str) -> None:
    """Whatever any schedule has told these people: their accounts go."""
    DormancyNotice.objects.using(using).filter(model=model, reference__in=list(references)).delete()


def forget_other_schedules(names: Iterable[str], *, using: str) -> None:
    """Of schedules that the project no longer has."""
    DormancyNotice.objects.using(using).exclude(schedule__in=list(names)).delete()
