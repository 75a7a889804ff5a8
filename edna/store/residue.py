"""What may be left over in edna's tables, in pages: a page costs as many statements, however much is in it.

Decides nothing: whether something is residue depends on the application's rows, which this module does not know.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.db import connections
from django.db.models import Exists, Model, OuterRef, QuerySet
from django.db.models.functions import Length

from edna.models import Job, JobItem, JobRunner, PrincipalEntry, SessionLink
from edna.store import Entry


def unlisted_pseudoprincipals(model: str, *, after: int, most: int, using: str) -> list[tuple[int, str]]:
    """(id, reference) of pseudoprincipals in whose list nothing is, in the order of their keys."""
    found = PrincipalEntry.objects.using(using).filter(
        model=model, natural=False, reference__isnull=False, id__gt=after
    )
    found = found.alias(size=Length("locators")).filter(size=0)
    return [(pk, str(reference)) for pk, reference in found.order_by("id").values_list("id", "reference")[:most]]


def attached(model: str, *, after: int, most: int, using: str) -> list[tuple[int, str]]:
    """(id, reference) of whoever has a row, or should have, in the order of their keys."""
    found = PrincipalEntry.objects.using(using).filter(model=model, reference__isnull=False, id__gt=after)
    return [(pk, str(reference)) for pk, reference in found.order_by("id").values_list("id", "reference")[:most]]


def locked_entries(ids: Collection[int], *, using: str) -> list[Entry]:
    """In the order of their keys; locked, so that nobody who is disguised or revealed meanwhile is lost."""
    if connections[using].vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        PrincipalEntry.objects.using(using).filter(id=0).update(natural=False)
    found = PrincipalEntry.objects.using(using).filter(id__in=list(ids)).select_for_update().order_by("id")
    return [
        Entry(
            e.id, bytes(e.public_key), e.model, e.reference, e.natural, bytes(e.locators), e.last_seen_on, e.expires_on
        )
        for e in found
    ]


def session_links(*, after: int, most: int, using: str) -> list[tuple[int, str]]:
    """(id, session key), in the order of their keys."""
    found = SessionLink.objects.using(using).filter(id__gt=after)
    return list(found.order_by("id").values_list("id", "session_key")[:most])


def delete_session_links(ids: Iterable[int], *, using: str) -> None:
    _delete(SessionLink.objects.using(using).filter(id__in=list(ids)))


def delete_without_job(*, most: int, using: str) -> int:
    """Delete some of the rows of jobs that are not there any more: their lists and their runners."""
    deleted = 0
    models: tuple[type[Model], ...] = (JobItem, JobRunner)
    for model in models:
        left: QuerySet[Any] = model._base_manager.using(using).filter(~Exists(Job.objects.filter(pk=OuterRef("job"))))
        ids = list(left.order_by("id").values_list("id", flat=True)[:most])
        if ids:
            deleted += _delete(left.filter(id__in=ids))
    return deleted


def _delete(query: QuerySet[Any]) -> int:
    return query._raw_delete(query.db)  # nothing refers to them: no collecting, no signals
