"""In which order tables lose and get back their rows, and which references have to wait where tables refer to each other.

Reads model definitions only.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Model

from edna import coverage


def deletion_order(models: Sequence[type[Model]]) -> list[type[Model]]:
    """Referring tables before the tables they refer to; among equals, the order given.

    A circle is opened at a table whose references can be emptied first. Where there is none, the database checks at the end of
    the transaction, or would never have taken the rows.
    """
    return list(_deletion_order(tuple(models)))


@functools.lru_cache(maxsize=1024)
def _deletion_order(models: Sequence[type[Model]]) -> list[type[Model]]:
    remaining = list(models)
    ordered: list[type[Model]] = []
    while remaining:
        free = [model for model in remaining if not any(_between(remaining, model))]
        loose = [model for model in remaining if all(relation.field.null for relation in _between(remaining, model))]
        # What can refer to any row goes first among these, and so comes back last.
        free.sort(key=lambda model: not _has_generic_keys(model))
        ordered += free or loose[:1] or remaining[:1]
        remaining = [model for model in remaining if model not in ordered]
    return ordered


@functools.cache
def _has_generic_keys(model: type[Model]) -> bool:
    return bool(coverage.generic_keys(model))


def _between(models: Sequence[type[Model]], target: type[Model]) -> Iterator[coverage.Relation]:
    """The relations by which others of ``models`` refer to ``target``."""
    return (each for each in coverage.relations_to(target) if each.model in models and each.model is not target)


def against_order(models: Sequence[type[Model]]) -> Mapping[type[Model], tuple[coverage.Relation, ...]]:
    """Of tables in `deletion_order`: the relations by which one refers to an earlier one, so that its rows would be in the way.

    Relations within one table are not among them (`Table.links_within`).
    """
    return _against_order(tuple(models))


@functools.lru_cache(maxsize=1024)
def _against_order(models: Sequence[type[Model]]) -> Mapping[type[Model], tuple[coverage.Relation, ...]]:
    against: dict[type[Model], tuple[coverage.Relation, ...]] = {}
    for position, target in enumerate(models):
        for relation in coverage.relations_to(target):
            if relation.is_enforced and relation.model in models[position + 1 :]:
                against[relation.model] = (*against.get(relation.model, ()), relation)
    return against
