"""Whoever is removed must not stay on the list of a paused job, or among those who failed in one: it would say that they were here.

`engine.books.departure` asks first whether there is anything. An item that a runner has locked is left to that runner, which finds nobody.
"""

from __future__ import annotations

from collections.abc import Sequence

from edna import registry
from edna.errors import SpecError
from edna.operations.store import jobs
from edna.store import Entry


def forget(entries: Sequence[Entry], *, using: str) -> None:
    """Take these people, of one model, whose accounts go, from all lists; they count as skipped."""
    found = jobs.items_of([str(entry.reference) for entry in entries], using=using)
    here = [item for item in found if entries[0].model in labels_of(item.disguise)]
    if here:
        jobs.skip([(item.id, item.job) for item in here], using=using)


def labels_of(disguise: str) -> set[str]:
    """Of the principals that a disguise is for. If its code is gone, of all: nobody knows, and nothing can be done to them by it."""
    try:
        models = [registry.principal_model_for(registry.get(disguise))]
    except SpecError:
        models = registry.principal_models()
    return {model._meta.label_lower for model in models}
