"""What a site may delete while somebody is away, and a reveal would hold: for ``accepts``, which a draft suggests in a comment.

Reads model definitions. A guess: which of these rows anybody deletes, only the site knows.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.contenttypes.models import ContentType
from django.db.models import ForeignKey, Model

from edna import coverage
from edna.coverage import Relation, tables_of_object
from edna.remedies import is_of_principals
from edna.scaffold.draft import Draft
from edna.scaffold.kinds import goes_along
from edna.spec import NOTHING, Decorrelate, Modify, Remove


def acceptable(draft: Draft) -> dict[str, list[str]]:
    """By the label of a model, what it may be held for: its row is gone, or what it refers to, with which it would have gone."""
    removed = {table for step in draft.steps if isinstance(step, Remove) for table in tables_of_object(step.model)}
    found: dict[str, list[str]] = {}
    for step in draft.steps:
        own = is_of_principals(step.model, draft.principals)
        if isinstance(step, Decorrelate | Modify) and not own:
            _add(found, step.model, "row_missing")
        comes_back = isinstance(step, Remove) and not own and step.returning is not NOTHING
        for table in _with_parents(step.model) if comes_back else ():
            if any(each.target not in removed for each in _needed(draft, table)):
                # Of a parent's reference, too: by the child's label, as the parent may have children that stay.
                _add(found, step.model, "reference_missing")
    for relation in draft.emptied:
        # Also where the person's own rows go: those of others stay.
        if not is_of_principals(relation.model, draft.principals):
            _add(found, relation.model, "row_missing")
    return dict(sorted(found.items()))


def _with_parents(model: type[Model]) -> Iterator[type[Model]]:
    yield model
    for link in coverage.parent_links(model):
        yield from _with_parents(link.target)


def _needed(draft: Draft, model: type[Model]) -> list[Relation]:
    """What goes with it, and is no person."""
    relations = [
        Relation(model, column, column.related_model)
        for column in model._meta.local_fields
        if isinstance(column, ForeignKey) and isinstance(column.related_model, type)
    ]
    return [
        each
        for each in relations
        if goes_along(each) and each.target is not ContentType and not is_of_principals(each.target, draft.principals)
    ]


def _add(found: dict[str, list[str]], model: type[Model], reason: str) -> None:
    reasons = found.setdefault(model._meta.label, [])
    if reason not in reasons:
        reasons.append(reason)
