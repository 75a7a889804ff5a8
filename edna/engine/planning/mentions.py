"""Which pseudoprincipals of others the rows of a disguise name, and the notes that are sealed for them.

A row that carl removes, or changes, may name a pseudoprincipal of bea, in a column that makes nobody its owner. When bea comes back,
that pseudoprincipal goes, and carl's bag, which her key does not open, would name nobody. So a *mention* is sealed for both when the
row is disguised: a shared bag that says "this one is now that one" and nothing else. Bea's reveal rewrites it, carl's reads it
(`engine.layers.mentions`). A pseudoprincipal is known by model and key together: one of another model may have the same key. So is its
companion, which a row may name as well: what stands beside bea takes its place.
Asks in at most one statement for each principal model, and two for each table of companions; where a key says by itself whether edna has
drawn it, only if one of these is named. Opens nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.db.models import ForeignKey, Model

from edna import registry
from edna.companions import links_to
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.rows import Row, table_of
from edna.engine.graph.references import recognisable, reference_of
from edna.engine.planning import shares
from edna.engine.planning.steps import PlannedStep
from edna.records.diff import Decorrelated, Mentions, Removed, Shares
from edna.records.locator import Locator
from edna.spec import Pseudoprincipal
from edna.store import Entry

#: A principal, or what stands beside one, as records name it: the label of its model, and the raw primary key.
Name = tuple[str, Any]


def mentioned_by(
    steps: Sequence[PlannedStep], owners: Mapping[str, int], *, model: type[Model], lock: bool, using: str
) -> dict[Name, Entry]:
    """Pseudoprincipals that rows to remove or modify name, or whose companions, and that are not their owners. No statement where none is
    named.

    ``owners`` are the references that the disguise is for, with their targets.
    """
    mentioned: dict[Name, Entry] = {}
    models, own_table = registry.principal_models(), table_of(model)
    for principals in map(table_of, models):
        own = owners if principals is own_table else {}
        strangers = _strangers(steps, own, principals.model)
        if strangers:
            entries = shares.pseudoprincipals_among(strangers, model=principals.model, lock=lock, using=using)
            mentioned |= {(principals.label, key): entry for key, entry in entries.items()}
    for link, columns in _companions(tuple(registry.generators()), tuple(models)):
        if strangers := _strangers_beside(steps, link, columns):
            mentioned |= _beside(link, strangers, lock=lock, using=using)
    return mentioned


def _beside(link: ForeignKey[Any, Any], strangers: set[Any], *, lock: bool, using: str) -> dict[Name, Entry]:
    """Those of these raw primary keys that are companions of pseudoprincipals, with whom each is beside."""
    table, whose = table_of(link.model), {key: key for key in strangers}
    if not link.primary_key:
        names = (*table.key_names, link.name)
        whose = dict(raw.read_where(table, names, names[0], list(strangers), lock=False, using=using))
    principals = link.target_field.model
    entries = shares.pseudoprincipals_among({*whose.values()}, model=principals, lock=lock, using=using)
    return {(table.label, key): entries[owner] for key, owner in whose.items() if owner in entries}


def _strangers_beside(
    steps: Sequence[PlannedStep], link: ForeignKey[Any, Any], columns: Mapping[str, Collection[str]]
) -> set[Any]:
    """Values of rows that name what stands beside somebody, but for what goes as well, and what by its key is no companion."""
    table = table_of(link.model)
    strangers = {
        row[position]
        for step in steps
        if step.operation is not Decorrelated and step.table.label in columns
        for position in (step.columns.index(name) for name in columns[step.table.label] if name in step.columns)
        for row in step.rows
        if row[position] is not None
    }
    if recognisable(link.model):
        strangers = {key for key in strangers if key < 0}
    for step in steps if strangers else ():
        if step.operation is Removed and step.table is table:
            strangers.difference_update(key for (key,) in step.primary_keys())
    return strangers


@functools.lru_cache(maxsize=64)
def _companions(
    generators: tuple[type[Pseudoprincipal], ...], models: tuple[type[Model], ...]
) -> list[tuple[ForeignKey[Any, Any], dict[str, set[str]]]]:
    """The links of companions that name principals by their primary keys, with the columns of other tables that hold theirs. As the
    ``generators`` say, all of them."""
    links = {link for model in models for link in links_to(model) if link.target_field.primary_key}
    return [(link, _columns_of(link.model)) for link in sorted(links, key=str) if len(table_of(link.model).key) == 1]


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


def named_columns() -> dict[str, dict[str, str]]:
    """The same, and the columns that hold primary keys of what stands beside principals, and of which model that is."""
    return _named_columns(tuple(registry.generators()), tuple(registry.principal_models()))


@functools.lru_cache(maxsize=64)
def _named_columns(
    generators: tuple[type[Pseudoprincipal], ...], models: tuple[type[Model], ...]
) -> dict[str, dict[str, str]]:
    columns = {label: dict(names) for label, names in _columns_of_all(models).items()}
    for link, own in _companions(generators, models):
        for label, names in own.items():
            columns.setdefault(label, {}).update(dict.fromkeys(names, table_of(link.model).label))
    return columns


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


#: Positions of a row at which it names principals, or what stands beside them, each with the label of their model.
Places = list[tuple[int, str]]


def places_in(step: PlannedStep) -> Places:
    """Where the rows of a step name principals who may be others'."""
    if step.operation is Decorrelated:
        return []
    named = named_columns().get(step.table.label, {})
    return [(position, named[name]) for position, name in enumerate(step.columns) if name in named]


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
