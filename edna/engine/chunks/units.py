"""In which order a disguise's tables can lose rows one chunk after the other, and which of them only all at once.

Invariant: what refers to a row comes before it, and what leads a step to its rows comes after the step. How chunks are cut decides
how they are undone. Knows compiled steps and models; reads no tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from django.db.models import Model

from edna import coverage
from edna.coverage import relations_to
from edna.db.rows import table_of
from edna.engine.graph import families
from edna.engine.planning.statements import CompiledStep
from edna.spec import ALL, Decorrelate, Remove


@dataclass(frozen=True)
class Unit:
    """Tables of which one chunk must be about all rows, unless it is ``divisible``: then a single table."""

    tables: tuple[type[Model], ...]
    steps: tuple[CompiledStep, ...]
    divisible: bool


def units_of(steps: Sequence[CompiledStep]) -> Iterator[Unit]:
    """The disguise's tables, in their order."""
    by_table: dict[type[Model], list[CompiledStep]] = {}
    for step in steps:
        by_table.setdefault(step.node, []).append(step)
    before = _earlier(by_table)
    together = _circles(before)
    order = TopologicalSorter(
        {unit: {together[other] for table in unit for other in before[table]} - {unit} for unit in together.values()}
    )
    for unit in order.static_order():
        own = [step for table in unit for step in by_table[table]]
        yield Unit(unit, tuple(own), len(unit) == 1 and _is_divisible(unit[0], own))


def _earlier(by_table: Mapping[type[Model], Sequence[CompiledStep]]) -> dict[type[Model], set[type[Model]]]:
    """For each table, those that must lose their rows earlier."""
    before: dict[type[Model], set[type[Model]]] = {}
    for table in by_table:
        before[table] = {other for part in coverage.tables_of_object(table) for other in _referring(part)}
        before[table] |= {other for other in by_table if coverage.generic_keys(other)}
        before[table] |= {link.other.model for link in families.links_of(table)}
        before[table] &= by_table.keys() - {table}
    # What shares pseudoprincipals is done at once: each of two comes before the other.
    for table, steps in by_table.items():
        words = _words(steps)
        before[table] |= {other for other in by_table if other is not table and words & _words(by_table[other])}
    names = {table._meta.db_table: table for table in by_table}
    for table, steps in by_table.items():
        for name in (name for step in steps if step.selection for name in step.selection.tables):
            if names.get(name, table) is not table:
                before[names[name]].add(table)
    return before


def _words(steps: Sequence[CompiledStep]) -> set[str]:
    decorrelations = [step.transformation for step in steps if isinstance(step.transformation, Decorrelate)]
    return {step.together for step in decorrelations if step.together is not None}


def _reads_itself(table: type[Model], step: CompiledStep) -> bool:
    return step.selection is not None and step.selection.tables.count(table._meta.db_table) > 1


def _referring(table: type[Model]) -> set[type[Model]]:
    return {table_of(relation.model).model for relation in relations_to(table)}


def _circles(before: Mapping[type[Model], set[type[Model]]]) -> dict[type[Model], tuple[type[Model], ...]]:
    """For each table, it and those that must come both before and after it."""
    reached = {table: set(others) for table, others in before.items()}
    for middle in before:
        for table in before:
            if middle in reached[table]:
                reached[table] |= reached[middle]
    return {
        table: tuple(
            other for other in before if other is table or (other in reached[table] and table in reached[other])
        )
        for table in before
    }


def _is_divisible(table: type[Model], steps: Sequence[CompiledStep]) -> bool:
    """Whether some of its rows can be disguised without the others."""
    groupings = [
        step.transformation.group_by
        for step in steps
        if isinstance(step.transformation, Decorrelate) and step.transformation.group_by
    ]
    removed = any(isinstance(step.transformation, Remove) for step in steps)
    tree = table in _referring(table)
    return (
        not any(_reads_itself(table, step) for step in steps)
        and len(table_of(table).key) == 1
        and not families.links_of(table)
        and not (removed and tree)
        and len(groupings) <= 1
        and ALL not in groupings
    )
