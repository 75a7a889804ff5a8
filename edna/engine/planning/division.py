"""Divides the rows that a step has found among the targets of a plan: each row with its owner, its group, or with whom it is shared.

Of what names several people in one list, each element is changed for itself, under its position (``watchers__2``): so it is put back in any
order, each by their own, as other keys of a document are.

Invariant: a row, or an element, is in a step once, for one target. Decides on values; the owners of shared rows are
looked up (`shares`), and what names people in lists. Writes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna import json_keys
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table
from edna.engine.graph.element_joins import elements
from edna.engine.graph.references import reference_of, spelled_otherwise
from edna.engine.planning.scope import Scope
from edna.engine.planning.selection import Selection
from edna.engine.planning.shares import Share, decide
from edna.engine.planning.statements import CompiledStep
from edna.engine.planning.steps import PlannedStep
from edna.names_left import changes_once
from edna.records.diff import Decorrelated
from edna.spec import ALL, Decorrelate, Modify, Remove
from edna.value_owners import ByElement, element_of, their_column


def divide(compiled: CompiledStep, rows: Sequence[Row], scope: Scope) -> list[PlannedStep]:
    """The step with its rows; of rows that others own too, also the steps that re-point the owners who leave."""
    owners = compiled.transformation.owners
    if element_of(owners) is not None and not scope.everyone:
        return _own_elements(compiled, rows, scope)
    step = PlannedStep(compiled.operation, compiled.table, compiled.columns, compiled.transformation)
    if not rows:
        return [step]
    if (
        isinstance(compiled.transformation, Modify)
        and _is_done_in_turns(compiled.transformation, scope)
        and not scope.everyone
    ):
        return _for_each(step, rows, scope)
    several_owners = len(owners) > 1 and not scope.everyone
    if several_owners and isinstance(compiled.transformation, Remove):
        return [step, *_shared(step, rows, compiled.inherited, scope)]
    if several_owners and isinstance(compiled.transformation, Modify) and compiled.transformation.waits_for_all:
        _fill_where_all_left(step, rows, scope)
    else:
        _fill(step, rows, scope)
    return [step]


def _once(step: PlannedStep, rows: Sequence[Row]) -> list[Row]:
    """A join, or several owners, may find a row twice: once is enough."""
    key_of_row = operator.itemgetter(*[step.columns.index(name) for name in step.table.key_names])
    return list({key_of_row(row): row for row in reversed(rows)}.values())[::-1]


def _is_done_in_turns(step: Modify, scope: Scope) -> bool:
    """Whether each of a row's owners has the row changed for themselves."""
    several = len(set(scope.owners.values())) > 1 or scope.ask_turns is not None
    return several and not changes_once(scope.disguise, step)  # type: ignore[arg-type]  # classes are hashable


def _for_each(step: PlannedStep, selected: Sequence[Row], scope: Scope) -> list[PlannedStep]:
    """The step once for the first of each row's owners who are meant, once more for the second, and so on."""
    width = len(step.columns)
    end = width + len(step.transformation.owner_paths if step.transformation else ())
    targets: dict[Row, dict[int, None]] = {}
    for row in selected:
        holders = [reference_of(scope.model, each) for each in row[width:end] if each is not None]
        targets.setdefault(row[:width], {}).update(
            (scope.owners[each], None) for each in holders if each in scope.owners
        )
    # Each with owners of its own: who of them is its target differs.
    turns = [replace(step, rows=[], targets=[], owned={}) for _ in range(max(map(len, targets.values())))]
    for row, whose in targets.items():
        for turn, target in zip(turns, whose, strict=False):
            turn.rows.append(row)
            turn.targets.append(target)
    return turns


def _fill(step: PlannedStep, selected: Sequence[Row], scope: Scope) -> None:
    """Split each row into its columns, its owner and its group."""
    width = len(step.columns)
    rows = _once(step, selected)
    paths = step.transformation.owner_paths if step.transformation else ()
    several = len(set(scope.owners.values())) > 1
    if not several and (scope.ask_turns is None or len(paths) == 1):
        step.targets = [0] * len(rows)
    elif len(paths) == 1:
        holders = {row[width] for row in rows}  # many rows, few people
        owners = {holder: scope.owners[reference_of(scope.model, holder)] for holder in holders}
        step.targets = [owners[row[width]] for row in rows]
    else:
        end = width + len(paths)
        owned = _first_owners(rows, [row[width:end] for row in rows], step, scope)
        rows = [row for row, target in owned if target is not None]
        step.targets = [target for _, target in owned if target is not None]
    step.rows = [row[:width] for row in rows]
    if isinstance(step.transformation, Decorrelate):
        everything = step.transformation.group_by is ALL
        keys = step.primary_keys()
        step.groups = [
            (row[width], None if everything else tuple(row[width + 1 :]) or key)
            for row, key in zip(rows, keys, strict=True)
        ]


def _first_owners(
    rows: Sequence[Row], holders: Sequence[Row], step: PlannedStep, scope: Scope
) -> list[tuple[Row, int | None]]:
    """Each row with the target of the first of its owners who are in this plan; with None if it was another one's turn before."""
    named = [[reference_of(scope.model, each) for each in row if each is not None] for row in holders]
    done = _done_before(rows, named, step, scope) if scope.ask_turns is not None else ()
    first = [next((scope.owners[each] for each in row if each in scope.owners), None) for row in named]
    return [
        (row, None if place in done else target) for place, (row, target) in enumerate(zip(rows, first, strict=True))
    ]


def _done_before(rows: Sequence[Row], named: Sequence[Sequence[str]], step: PlannedStep, scope: Scope) -> set[int]:
    """The places of rows that were modified for an owner whose turn was before.

    Nobody is waited for, who may fail, or leave by themselves; where nobody can tell, a row is modified once more. What a step puts into
    every row tells by itself: where something else stands, it was not put.
    """
    put = _put_in_every_row(step, using=scope.using)
    width, end = len(step.table.key), len(step.columns)
    asked = [place for place, row in enumerate(rows) if put is None or row[width:end] == put]
    turns = scope.turns_of({reference for place in asked for reference in named[place]})
    over = turns.was if put is None else turns.was | turns.may_have_been
    return {place for place in asked if not over.isdisjoint(named[place])}


def _put_in_every_row(step: PlannedStep, *, using: str) -> Row | None:
    """What stands in the step's columns afterwards; None if that is not the same in all rows."""
    assert isinstance(step.transformation, Modify)
    placeholders = step.transformation.placeholders
    names = step.columns[len(step.table.key) :]
    if json_keys.any_of(names) or not all(placeholders[name].fixed for name in names):
        return None
    connection = connection_of(using)
    columns = {name: step.table.field(name) for name in names}
    made = {name: [placeholders[name].make(column, None)] for name, column in columns.items()}
    return tuple(raw.prepared(column, made[name], connection)[0] for name, column in columns.items())


# Rows with several owners


def _shared(
    step: PlannedStep, selected: Sequence[Row], inherited: Sequence[tuple[str, Table]], scope: Scope
) -> list[PlannedStep]:
    """Divide rows with several owners: fill the removal ``step``, and return the steps that re-point owners who leave."""
    paths = step.transformation.owners if step.transformation else ()
    width, end = len(step.columns), len(step.columns) + len(paths)
    rows, shares = _fill_where_all_left(step, selected, scope)
    steps: list[PlannedStep] = []
    for position, path in enumerate(paths):
        place = _place(path, step, inherited, end)
        if place is not None:
            steps += _leaving(path, place, [(row, row[width + position]) for row in rows], shares, position)
    return steps


def _fill_where_all_left(step: PlannedStep, selected: Sequence[Row], scope: Scope) -> tuple[list[Row], list[Share]]:
    """Fill the step with those rows of which no other natural owner is there. Returns all rows, and what becomes of each."""
    width, end = len(step.columns), len(step.columns) + len(step.transformation.owners if step.transformation else ())
    rows = _once(step, selected)
    shares = decide(
        [row[width:end] for row in rows],
        owners=scope.owners,
        known=scope.known,
        model=scope.model,
        lock=scope.lock,
        using=scope.using,
    )
    going = [(row[:width], share) for row, share in zip(rows, shares, strict=True) if not share.stays]
    if not all(share.targets for share in shares):
        raise spelled_otherwise(scope.model)
    step.rows = [row for row, _ in going]
    step.targets = [share.targets[0] for _, share in going]
    keys = step.primary_keys()
    step.shares = {key: share for key, (_, share) in zip(keys, going, strict=True) if not share.alone}
    return rows, shares


def _leaving(
    path: str,
    place: tuple[Table, list[int]],
    rows: Sequence[tuple[Row, object]],
    shares: Sequence[Share],
    position: int,
) -> list[PlannedStep]:
    """What re-points the owners at one ``position``: in rows that stay, and on paper in rows that go, too, because others can bring
    such a row back before this owner reveals what took it."""
    table, columns = place
    staying, going = (
        PlannedStep(Decorrelated, table, (*table.key_names, path), Decorrelate(table.model, path), on_paper=on_paper)
        for on_paper in (False, True)
    )
    for (row, holder), share in zip(rows, shares, strict=True):
        target = dict(share.own).get(position)
        if target is not None and not share.alone:
            part = staying if share.stays else going
            part.rows.append(tuple(row[column] for column in columns))
            part.targets.append(target)
            part.groups.append((holder, part.rows[-1][:-1]))
    return [part for part in (staying, going) if part.rows]


def _place(
    path: str, step: PlannedStep, inherited: Sequence[tuple[str, Table]], start: int
) -> tuple[Table, list[int]] | None:
    """The table that has the owner ``path`` as a column, and where its key and the column stand in a row that was found."""
    if path in step.columns:
        return step.table, [step.columns.index(name) for name in (*step.table.key_names, path)]
    for owner, table in inherited:
        width = len(table.key) + 1
        if owner == path:
            return table, list(range(start, start + width))
        start += width
    return None


# Elements of lists and documents


def _own_elements(compiled: CompiledStep, rows: Sequence[Row], scope: Scope) -> list[PlannedStep]:
    """The step with the elements of those who are meant: a step for each position, of the rows that have one there."""
    step = compiled.transformation
    element = element_of(step.owners)
    assert element is not None
    assert isinstance(step, Modify)
    whose = _people(element, scope) if rows else {}
    column = compiled.table.field(element.column)
    width, steps = len(compiled.table.key), dict[tuple[str, ...], PlannedStep]()
    document_at = compiled.columns.index(element.column)
    for row in {row[:width]: row for row in rows}.values():
        document = row[document_at]
        for place, value in elements(document, element, column):
            target = whose.get(element.same(value))
            if target is None:
                continue
            own = json_keys.BETWEEN.join((element.column, *place[: len(element.element) - 1]))
            names = {_within(name, element, own): value for name, value in step.set.items()}
            found = steps.setdefault((own, *names), _planned(compiled, names))
            found.rows.append((*row[:width], *(json_keys.read(document, name) for name in names)))
            found.targets.append(target)
    return [steps[place] for place in sorted(steps)] or [_planned(compiled, step.set)]


def _planned(compiled: CompiledStep, names: Mapping[str, Any]) -> PlannedStep:
    step = compiled.transformation
    assert isinstance(step, Modify)
    columns = (*compiled.table.key_names, *names)
    return PlannedStep(compiled.operation, compiled.table, columns, replace(step, set=names))


def _within(name: str, element: ByElement, own: str) -> str:
    """What a step sets in each element, as it is called in this one."""
    below = name.split(json_keys.BETWEEN)[len(element.element) :]
    return json_keys.BETWEEN.join((own, *below))


def _people(element: ByElement, scope: Scope) -> dict[str, int]:
    """The targets by what names them. What is empty names nobody."""
    theirs = their_column(scope.model, element.theirs)
    names = (theirs.whose.name, theirs.column.name)
    selection = Selection.compile(theirs.whose.model, names, owners=(theirs.whose.name,), where=None, using=scope.using)
    found = selection.run(owners=scope.keys, params={}, using=scope.using) if selection else []
    return {
        element.same(value): scope.owners[reference_of(scope.model, key)]
        for key, value in found
        if value is not None and element.same(value)
    }
