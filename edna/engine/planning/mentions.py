"""Which pseudoprincipals of others the rows of a disguise name, and the notes that are sealed for them.

A row that carl removes, or changes, may name a pseudoprincipal of bea, in a column that makes nobody its owner. When bea comes back,
that pseudoprincipal goes, and carl's bag, which her key does not open, would name nobody. So a *mention* is sealed for both when the
row is disguised: a shared bag that says "this one is now that one" and nothing else. Bea's reveal rewrites it, carl's reads it
(`engine.layers.mentions`). A pseudoprincipal is known by model and key together: one of another model may have the same key.
Reads no application tables; asks in at most one statement for each principal model. Opens nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import Model

from edna import registry
from edna.coverage import relations_to
from edna.db.rows import Row, table_of
from edna.engine.graph.references import reference_of
from edna.engine.planning import shares
from edna.engine.planning.steps import PlannedStep
from edna.records.diff import Decorrelated, Mentions, Shares
from edna.records.locator import Locator
from edna.store import Entry

#: A principal as records name it: the label of its model, and the raw primary key.
Name = tuple[str, Any]


def mentioned_by(
    steps: Sequence[PlannedStep], owners: Mapping[str, int], *, model: type[Model], lock: bool, using: str
) -> dict[Name, Entry]:
    """Pseudoprincipals that rows to remove or modify name, and that are not their owners. No statement where none is named.

    ``owners`` are the references that the disguise is for, with their targets.
    """
    mentioned: dict[Name, Entry] = {}
    for principals in map(table_of, registry.principal_models()):
        own = owners if principals.model is table_of(model).model else {}
        strangers = _strangers(steps, own, principals.model)
        if strangers:
            entries = shares.pseudoprincipals_among(strangers, model=principals.model, lock=lock, using=using)
            mentioned |= {(principals.label, key): entry for key, entry in entries.items()}
    return mentioned


def _strangers(steps: Sequence[PlannedStep], owners: Mapping[str, int], model: type[Model]) -> set[Any]:
    """Values of rows that name principals of this model, each in a row of another target than theirs."""
    columns = _columns_of(model)
    whose: dict[Any, int | None] = {None: None}
    strangers: set[Any] = set()
    for step in steps:
        names = columns.get(step.table.label, ()) if step.operation is not Decorrelated else ()
        for position in (step.columns.index(name) for name in names if name in step.columns):
            for row, target in zip(step.rows, step.targets, strict=True):
                value = row[position]
                if value not in whose:
                    whose[value] = owners.get(reference_of(model, value))
                if value is not None and whose[value] != target:
                    strangers.add(value)
    return strangers


def principal_columns() -> dict[str, dict[str, str]]:
    """By table, the columns that hold primary keys of principals, and of which model these are."""
    return _columns_of_all(tuple(registry.principal_models()))


@functools.cache
def _columns_of_all(models: tuple[type[Model], ...]) -> dict[str, dict[str, str]]:
    columns: dict[str, dict[str, str]] = {}
    for principals in map(table_of, models):
        for label, names in _columns_of(principals.model).items():
            columns.setdefault(label, {}).update(dict.fromkeys(names, principals.label))
    return columns


@functools.cache
def _columns_of(model: type[Model]) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for relation in relations_to(model):
        if relation.field.target_field.primary_key:
            columns.setdefault(table_of(relation.model).label, set()).add(relation.field.name)
    return columns


#: Positions of a row at which it names principals, each with the label of their model.
Places = list[tuple[int, str]]


def places_in(step: PlannedStep) -> Places:
    """Where the rows of a step name principals who may be others'."""
    if step.operation is Decorrelated:
        return []
    principals = principal_columns().get(step.table.label, {})
    return [(position, principals[name]) for position, name in enumerate(step.columns) if name in principals]


def note(
    rows: Iterable[Row], places: Places, mentioned: Mapping[Name, Entry], *, own: Collection[int]
) -> Iterator[tuple[Locator, Mentions, Entry]]:
    """A mention for each of the pseudoprincipals in ``rows``: where it lies, what it says, and for whom it is listed. None for those
    whose entries' ids are in ``own``: the owners of the rows."""
    named = {(label, row[position]) for row in rows for position, label in places}
    for name in sorted((name for name in named if name in mentioned and mentioned[name].id not in own), key=str):
        label, key = name
        yield (
            Locator.new(),
            Mentions.of(label, key),
            mentioned[name],
        )


def pointer(locators: Sequence[Locator], *, label: str) -> Shares:
    """What the bag that holds the rows says about its mentions: no rows are in them."""
    return Shares.of(label, [(locator.expose(), 0) for locator in locators])
