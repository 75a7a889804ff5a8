"""What happens to a pseudoprincipal that somebody else's record mentions: a note follows where it goes.

A row that carl removes, or changes, may name a pseudoprincipal of bea, in a column that makes nobody its owner. When bea comes back,
that pseudoprincipal goes, and carl's bag, which her key does not open, would name nobody. So a *mention* is sealed for both when the
row is disguised: a shared bag that says "this one is now that one" and nothing else. Bea's reveal rewrites it, carl's reads it.
Invariant: as long as a sealed record names somebody by a mention, its bag points at it, whichever bag it has moved to.
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


def mentioned_by(
    steps: Sequence[PlannedStep], owners: Mapping[str, int], *, model: type[Model], lock: bool, using: str
) -> dict[Any, Entry]:
    """Pseudoprincipals that rows to remove or modify name, and that are not their owners. No statement where none is named.

    ``owners`` are the references that the disguise is for, with their targets.
    """
    found: dict[Any, Entry] = {}
    for principals in registry.principal_models():
        principals = table_of(principals).model
        own = owners if principals is table_of(model).model else {}
        strangers = _strangers(steps, own, principals)
        if strangers:
            found |= sharing.pseudoprincipals_among(strangers, model=principals, lock=lock, using=using)
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


def principal_columns() -> dict[str, set[str]]:
    """By table, the columns that hold primary keys of principals of any model."""
    return _columns_of_all(tuple(registry.principal_models()))


@functools.cache
def _columns_of_all(models: tuple[type[Model], ...]) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for model in models:
        for label, names in _columns_of(table_of(model).model).items():
            columns.setdefault(label, set()).update(names)
    return columns


@functools.cache
def _columns_of(model: type[Model]) -> dict[str, set[str]]:
    columns: dict[str, set[str]] = {}
    for relation in relations_to(model):
        if relation.field.target_field.primary_key:
            columns.setdefault(table_of(relation.model).label, set()).add(relation.field.name)
    return columns


def positions(step: PlannedStep) -> list[int]:
    """Where the rows of a step name principals who may be others'."""
    if step.operation is Operation.DECORRELATE:
        return []
    names = principal_columns().get(step.table.label, set())
    return [position for position, name in enumerate(step.columns) if name in names]


def note(
    rows: Iterable[Row], places: Sequence[int], mentioned: Mapping[Any, Entry], *, own: Collection[int], label: str
) -> Iterator[tuple[Locator, DiffBatch, Entry]]:
    """A mention for each of the pseudoprincipals in ``rows``: where it lies, what it says, and for whom it is listed. None for those
    whose entries' ids are in ``own``: the owners of the rows."""
    found = {row[place] for row in rows for place in places}
    for key in sorted((key for key in found if key in mentioned and mentioned[key].id not in own), key=str):
        yield (
            Locator.new(),
            DiffBatch(Operation.MENTION, label, "", ("mentioned",), ("now",), [(key, key)]),
            mentioned[key],
        )


def pointer(locators: Sequence[Locator], *, label: str) -> DiffBatch:
    """What the bag that holds the rows says about its mentions: no rows are in them."""
    return DiffBatch(
        Operation.SHARE, label, "", ("locator",), ("rows",), [(locator.expose(), 0) for locator in locators]
    )


def is_mention(opened: Opened) -> bool:
    return opened.shared and all(batch.operation is Operation.MENTION for batch in opened.diffs)


def _places(batch: DiffBatch) -> list[int]:
    """Where old values of a record name principals."""
    if batch.operation not in (Operation.REMOVE, Operation.MODIFY):
        return []
    names = principal_columns().get(batch.model, set())
    start = len(batch.key) if batch.operation is Operation.MODIFY else 0
    return [start + position for position, name in enumerate(batch.columns) if name in names]


def _named(batches: Iterable[DiffBatch]) -> set[Any]:
    return {row[position] for batch in batches for position in _places(batch) for row in batch.rows}


def resolve(journal: Journal, coming: Sequence[Opened]) -> list[Opened]:
    """Let the records that are revealed name what became of those they mention; return the mentions that this used."""
    wanted = {locator for opened in (journal.current, *coming) for locator in pointers(opened)}
    used = [opened for opened in journal.others if is_mention(opened) and opened.locator in wanted]
    now = {row[0]: row[1] for opened in used for batch in opened.diffs for row in batch.rows}
    for opened in (journal.current, *coming) if now else ():
        for batch in opened.diffs:
            for position in _places(batch):
                for row in batch.rows:
                    row[position] = now.get(row[position], row[position])  # type: ignore[index]  # opened rows are lists
    return used


def names(opened: Opened) -> set[Any]:
    """Whom a mention names now."""
    return {row[1] for batch in opened.diffs for row in batch.rows}


def follow(opened: Opened, owners: Mapping[Any, Any]) -> None:
    """A mention of a pseudoprincipal that goes names its owner from now on."""
    for number, batch in enumerate(opened.diffs):
        if any(now in owners for _, now in batch.rows):
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
        for key, now in (row for batch in mention.diffs for row in batch.rows):
            waiting = [(opened, known) for opened, names, known in elsewhere if now in names]
            for opened, known in waiting:
                if mention.locator not in known:
                    known.add(mention.locator)
                    opened.diffs.append(pointer([mention.locator], label=mention.diffs[0].model))
            rows += [(key, now)] if key in stuck else []
            rows += [(now, now)] if waiting or now in needed else []
        if not any(now in own or key in stuck for key, now in rows):
            _forget_pointer(journal.current, mention.locator)
        mention.diffs = [replace(mention.diffs[0], rows=list(dict.fromkeys(rows)))]
        mention.changed = True


def _forget_pointer(opened: Opened, locator: Locator) -> None:
    for number, batch in enumerate(opened.diffs):
        if batch.operation is Operation.SHARE:
            opened.diffs[number] = batch.without({(locator.expose(),)})
