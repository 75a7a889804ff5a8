"""Rows of jobs that are not there any more."""

from __future__ import annotations

from typing import Any, Final

from django.db.models import Exists, OuterRef, QuerySet

from edna.operations.models import Job, JobItem, JobRunner

_OF_JOBS: Final = (JobItem, JobRunner)


def without_job(*, using: str) -> int:
    """How many there are."""
    return sum(_left(model, using=using).count() for model in _OF_JOBS)


def delete_without_job(*, most: int, using: str) -> int:
    """Delete some of them: lists and runners."""
    deleted = 0
    for model in _OF_JOBS:
        left = _left(model, using=using)
        ids = list(left.order_by("id").values_list("id", flat=True)[:most])
        if ids:
            # Nothing refers to them: no collecting, no signals.
            deleted += left.filter(id__in=ids)._raw_delete(using)
    return deleted


def _left(model: type[JobItem | JobRunner], *, using: str) -> QuerySet[Any]:
    return model._base_manager.using(using).filter(~Exists(Job.objects.filter(pk=OuterRef("job"))))
