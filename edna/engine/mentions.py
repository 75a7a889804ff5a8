"""What happens to a pseudoprincipal that somebody else's record mentions: a note follows where it goes.

A row that carl removes, or changes, may name a pseudoprincipal of bea, in a column that makes nobody its owner. When bea comes back,
that pseudoprincipal goes, and carl's bag, which her key does not open, would name nobody. So a *mention* is sealed for both when the
row is disguised: a shared bag that says "this one is now that one" and nothing else. Bea's reveal rewrites it, carl's reads it.
Invariant: as long as a sealed record names somebody by a mention, its bag points at it, whichever bag it has moved to. A pseudoprincipal
is known by model and key together: one of another model may have the same key.
Knows records and steps of a plan; reads no application tables, in at most one statement for each principal model.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import Model

from edna import registry
from edna.engine import sharing
from edna.engine.journal import Journal, Opened, pointers
from edna.engine.ordering import relations_to
from edna.engine.planned import PlannedStep
from edna.engine.references import reference_of
from edna.records.diff import DiffBatch, Operation
from edna.records.locator import Locator
from edna.rows import Row, table_of
from edna.store import Entry

#: A principal as records name it: the label of its model, and the raw primary key.
Name = tuple[str, Any]


def mentioned_by(
    steps: Sequence[PlannedStep], owners: Mapping[str, int], *, model: type[Model], lock: bool, using: str
) -> dict[Name, Entry]:
    """Pseudoprincipals that rows to remove or modify name, and that are not their owners. No statement where none is named.

    ``owners`` are the references that the disguise is for, with their targets.
    """
    found: dict[Name, Entry] = {}
    for principals in map(table_of, registry.principal_models()):
        own = owners if principals.model is table_of(model).model else {}
        strangers = _strangers(steps, own, principals.model)
        if strangers:
            entries = sharing.pseudoprincipals_among(strangers, model=principals.model, lock=lock, using=using)
            found |= {(principals.label, key): entry for key, entry in entries.items()}
    return found


def _strangers(steps: Sequence[PlannedStep], owners: Mapping[str, int], model: type[Model]) -> set[Any]:
    """Values of rows that name principals of this model, each in a row of another target than theirs."""
    columns = _columns_of(model)
    whose: dict[Any, int | None] = {None: None}
    found: set[Any] = set()
    for step in steps:
        names = columns.get(step.table.label, ()) if step.operation is not Operation.DECORRELATE else ()
        for position in (step.columns.index(name) for name in names if name in step.columns):
            for row, target in zip(step.rows, step.targets, strict=True):
                value = row[position]
                if value not in whose:
                    whose[value] = owners.get(reference_of(model, value))
                if value is not None and whose[value] != target:
                    found.add(value)
    return found


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
    if step.operation is Operation.DECORRELATE:
        return []
    principals = principal_columns().get(step.table.label, {})
    return [(position, principals[name]) for position, name in enumerate(step.columns) if name in principals]


def note(
    rows: Iterable[Row], places: Places, mentioned: Mapping[Name, Entry], *, own: Collection[int]
) -> Iterator[tuple[Locator, DiffBatch, Entry]]:
    """A mention for each of the pseudoprincipals in ``rows``: where it lies, what it says, and for whom it is listed. None for those
    whose entries' ids are in ``own``: the owners of the rows."""
    found = {(label, row[position]) for row in rows for position, label in places}
    for name in sorted((name for name in found if name in mentioned and mentioned[name].id not in own), key=str):
        label, key = name
        yield (
            Locator.new(),
            DiffBatch(Operation.MENTION, label, "", ("mentioned",), ("now",), [(key, key)]),
            mentioned[name],
        )


def pointer(locators: Sequence[Locator], *, label: str) -> DiffBatch:
    """What the bag that holds the rows says about its mentions: no rows are in them."""
    return DiffBatch(
        Operation.SHARE, label, "", ("locator",), ("rows",), [(locator.expose(), 0) for locator in locators]
    )


def is_mention(opened: Opened) -> bool:
    return opened.shared and all(batch.operation is Operation.MENTION for batch in opened.diffs)


def _places(batch: DiffBatch) -> Places:
    """Where old values of a record name principals."""
    if batch.operation not in (Operation.REMOVE, Operation.MODIFY):
        return []
    principals = principal_columns().get(batch.model, {})
    start = len(batch.key) if batch.operation is Operation.MODIFY else 0
    return [(start + position, principals[name]) for position, name in enumerate(batch.columns) if name in principals]


def _named(batches: Iterable[DiffBatch]) -> set[Name]:
    return {(label, row[position]) for batch in batches for position, label in _places(batch) for row in batch.rows}


def resolve(journal: Journal, coming: Sequence[Opened]) -> list[Opened]:
    """Let the records that are revealed name what became of those they mention; return the mentions that this used."""
    wanted = {locator for opened in (journal.current, *coming) for locator in pointers(opened)}
    used = [opened for opened in journal.others if is_mention(opened) and opened.locator in wanted]
    now = {(batch.model, row[0]): row[1] for opened in used for batch in opened.diffs for row in batch.rows}
    for opened in (journal.current, *coming) if now else ():
        for batch in opened.diffs:
            for position, label in _places(batch):
                for row in batch.rows:
                    row[position] = now.get((label, row[position]), row[position])  # type: ignore[index]  # opened rows are lists
    return used


def names(opened: Opened) -> set[Name]:
    """Whom a mention names now."""
    return {(batch.model, row[1]) for batch in opened.diffs for row in batch.rows}


def follow(opened: Opened, owners: Mapping[Any, Any], *, label: str) -> None:
    """A mention of a pseudoprincipal of this model that goes names its owner from now on."""
    for number, batch in enumerate(opened.diffs):
        if batch.model == label and any(now in owners for _, now in batch.rows):
            opened.diffs[number] = replace(batch, rows=[(key, owners.get(now, now)) for key, now in batch.rows])
            opened.changed = True


def finish(journal: Journal, used: Sequence[Opened], coming: Sequence[Opened], kept: Sequence[DiffBatch]) -> None:
    """Forget the mentions whose records are revealed. Those that a held record needs stay, under the name that it has by now; what
    has moved into another bag takes the way to them along, and the revealed bag forgets it."""
    if not used:
        return
    own = _named(kept)
    needed = _named([*kept, *(batch for opened in coming for batch in opened.diffs)])
    # What is stuck was not brought up to date, and its columns cannot be told.
    stuck = {
        value
        for opened in (journal.current, *coming)
        for each in opened.stuck
        for row in each.batch.rows
        for value in row
        if not isinstance(value, list | dict)
    }
    elsewhere = [
        (opened, _named(opened.diffs), set(pointers(opened)))
        for opened in journal.others
        if opened.changed and not opened.shared
    ]
    for mention in used:
        rows = []
        label = mention.diffs[0].model
        for key, now in (row for batch in mention.diffs for row in batch.rows):
            waiting = [(opened, known) for opened, names, known in elsewhere if (label, now) in names]
            for opened, known in waiting:
                if mention.locator not in known:
                    known.add(mention.locator)
                    naming = next(batch.model for batch in opened.diffs if (label, now) in _named([batch]))
                    opened.diffs.append(pointer([mention.locator], label=naming))
            rows += [(key, now)] if key in stuck else []
            rows += [(now, now)] if waiting or (label, now) in needed else []
        if not any((label, now) in own or key in stuck for key, now in rows):
            _forget_pointer(journal.current, mention.locator)
        mention.diffs = [replace(mention.diffs[0], rows=list(dict.fromkeys(rows)))]
        mention.changed = True


def _forget_pointer(opened: Opened, locator: Locator) -> None:
    for number, batch in enumerate(opened.diffs):
        if batch.operation is Operation.SHARE:
            opened.diffs[number] = batch.without({(locator.expose(),)})
