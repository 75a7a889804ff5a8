"""Divides the rows that a step has found among the targets of a plan: each row with its owner, its group, or with whom it is shared.

Invariant: a row is in a step once, for one target. Decides on values; the owners of shared rows are looked up (`shares`). Writes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from edna.db.rows import Row, Table
from edna.engine.graph.references import reference_of
from edna.engine.planning.scope import Scope
from edna.engine.planning.shares import Share, decide
from edna.engine.planning.statements import CompiledStep
from edna.engine.planning.steps import PlannedStep
from edna.records.diff import Decorrelated
from edna.spec import ALL, Decorrelate, Modify, Remove


def divide(compiled: CompiledStep, rows: Sequence[Row], scope: Scope) -> list[PlannedStep]:
    """The step with its rows; of rows that others own too, also the steps that re-point the owners who leave."""
    step = PlannedStep(compiled.operation, compiled.table, compiled.columns, compiled.transformation)
    several_owners = len(compiled.transformation.owners) > 1 and not scope.everyone
    if several_owners and isinstance(compiled.transformation, Remove):
        return [step, *_shared(step, rows, compiled.inherited, scope)]
    if several_owners and isinstance(compiled.transformation, Modify) and compiled.transformation.waits_for_all:
        _fill_where_all_left(step, rows, scope)
    else:
        _fill(step, rows, scope)
    return [step]


def _once(step: PlannedStep, rows: Sequence[Row]) -> list[Row]:
    """A join, or several owners, may find a row twice: once is enough."""
    if not rows:
        return []
    key_of_row = operator.itemgetter(*[step.columns.index(name) for name in step.table.key_names])
    return list({key_of_row(row): row for row in reversed(rows)}.values())[::-1]


def _fill(step: PlannedStep, selected: Sequence[Row], scope: Scope) -> None:
    """Split each row into its columns, its owner and its group."""
    width = len(step.columns)
    rows = _once(step, selected)
    paths = step.transformation.owner_paths if step.transformation else ()
    several = len(set(scope.owners.values())) > 1
    if not several and not (scope.first_owner_only and len(paths) > 1):
        step.targets = [0] * len(rows)
    elif len(paths) == 1:
        step.targets = [scope.owners[reference_of(scope.model, row[width])] for row in rows]
    else:
        end = width + len(paths)
        owned = [(row, _first_owner(row[width:end], scope)) for row in rows]
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


def _first_owner(holders: Row, scope: Scope) -> int | None:
    """The target of the first owner that is meant; None if the row waits for the part of everybody that its first owner is in."""
    references = [reference_of(scope.model, holder) for holder in holders if holder is not None]
    considered = references[:1] if scope.first_owner_only else references
    return next((scope.owners[reference] for reference in considered if reference in scope.owners), None)


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
        [row[width:end] for row in rows], owners=scope.owners, model=scope.model, lock=scope.lock, using=scope.using
    )
    going = [(row[:width], share) for row, share in zip(rows, shares, strict=True) if not share.stays]
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
