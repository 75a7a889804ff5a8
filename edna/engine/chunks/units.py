"""In which order a disguise's tables can lose rows one chunk after the other, and which of them only all at once.

Invariant: what refers to a row comes before it, and what leads a step to its rows comes after the step. How chunks are cut decides
how they are undone: what is beside somebody, or theirs alone as everybody has one, is back before anybody goes to whose companion something
is attached that follows, or who has such a row.
Knows compiled steps and models; reads no tables.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Protocol

from django.db.models import ForeignKey, Model
from django.db.models.constants import LOOKUP_SEP

from edna import coverage, registry, value_owners
from edna.companions import links_to
from edna.coverage import relations_to
from edna.db.rows import table_of
from edna.engine.graph import families
from edna.engine.planning.statements import CompiledStep
from edna.spec import Decorrelate, Modify, Remove, Transformation


class Ordered(Protocol):
    """What tells of a step when its rows go: it is about rows of ``node``, and reads these tables."""

    @property
    def transformation(self) -> Transformation: ...

    @property
    def node(self) -> type[Model]: ...

    @property
    def tables_read(self) -> Sequence[str]: ...


@dataclass(frozen=True)
class Unit:
    """Tables of which one chunk must be about all rows, unless it is ``divisible``: then one table, or parts of the same objects.

    ``ordered``: which rows go first is not the same, since some lose others of their own table, or are found by way of them.
    """

    tables: tuple[type[Model], ...]
    steps: tuple[CompiledStep, ...]
    divisible: bool
    ordered: bool

    @property
    def vanishes(self) -> bool:
        """Whether each row, as it is disguised, is no more among those that the only step means, whoever else there is; and any of them may
        go first."""
        if not self.divisible or len(self.steps) != 1 or len(self.tables) != 1 or families.links_of(self.tables[0]):
            return False
        (step,) = self.steps
        transformation = step.transformation
        if step.names is None or len(transformation.owners) != 1 or any(links_within(step.node)):
            return False
        if isinstance(transformation, Decorrelate):
            return transformation.column == transformation.owners[0] and not transformation.group_by
        return isinstance(transformation, Remove)


def tables_before_account(steps: Sequence[Ordered], model: type[Model]) -> Iterator[tuple[type[Model], ...]]:
    """Those that chunks are made of, which are done together or not; the last chunk takes the account, and what comes after it."""
    account = table_of(model).model
    order = _order(steps, beside=_beside(model)).static_order()
    return itertools.takewhile(lambda tables: account not in tables, order)


def units_before_account(steps: Sequence[CompiledStep], model: type[Model]) -> Iterator[Unit]:
    """The same, with the steps about them."""
    return (_unit(tables, steps) for tables in tables_before_account(steps, model))


def leading_units(steps: Sequence[CompiledStep], model: type[Model]) -> list[Unit]:
    """Those of them before which nothing has to go."""
    order = _order(steps, beside=_beside(model))
    order.prepare()
    leading = order.get_ready()
    return [unit for unit in units_before_account(steps, model) if unit.tables in leading]


def units_of(steps: Sequence[CompiledStep], *, beside: Collection[type[Model]]) -> Iterator[Unit]:
    """All tables of the disguise, in their order. ``beside``: those of companions, and others of which everybody has one row."""
    return (_unit(tables, steps) for tables in _order(steps, beside=beside).static_order())


def _unit(tables: tuple[type[Model], ...], steps: Sequence[CompiledStep]) -> Unit:
    own = [step for table in tables for step in steps if step.node is table]
    removes = any(isinstance(step.transformation, Remove) for step in own)
    return Unit(tables, tuple(own), _is_divisible(tables, own), ordered=removes or _read_themselves(tables, own))


def _beside(model: type[Model]) -> list[type[Model]]:
    # Of what everybody has one, nobody is given a second one: the person's own comes back first.
    ones = [each.model for each in relations_to(model) if coverage.one_each(each.field) and not each.is_parent_link]
    return [table_of(each).model for each in (*(link.model for link in links_to(model)), *ones)]


def _order(steps: Sequence[Ordered], *, beside: Collection[type[Model]]) -> TopologicalSorter[tuple[type[Model], ...]]:
    by_table: dict[type[Model], list[Ordered]] = {}
    for step in steps:
        by_table.setdefault(step.node, []).append(step)
    before = _earlier(by_table)
    reached = _reached(before)
    for table in by_table.keys() & beside:
        gives_away = {other for other in by_table if any(_gives_away(step) for step in by_table[other])}
        before[table] |= {other for other in gives_away if other is not table and table not in reached[other]}
    together = _circles(before)
    return TopologicalSorter(
        {unit: {together[other] for table in unit for other in before[table]} - {unit} for unit in together.values()}
    )


def _earlier(by_table: Mapping[type[Model], Sequence[Ordered]]) -> dict[type[Model], set[type[Model]]]:
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
        for name in (name for step in steps for name in (*step.tables_read, *_tables_asked(step.transformation))):
            if names.get(name, table) is not table:
                before[names[name]].add(table)
    return before


def _tables_asked(step: Transformation) -> Iterator[str]:
    """Of rows beside the person, of which placeholders ask for a column."""
    if isinstance(step, Modify):
        person = registry.owner_target(step.model, step.owners[0] if step.owners else None)
        for name in (name for placeholder in step.placeholders.values() for name in placeholder.person):
            if LOOKUP_SEP in name:
                yield value_owners.their_column(person, name).column.model._meta.db_table


def _words(steps: Sequence[Ordered]) -> set[str]:
    decorrelations = [step.transformation for step in steps if isinstance(step.transformation, Decorrelate)]
    return {step.together for step in decorrelations if step.together is not None}


def _read_themselves(tables: Sequence[type[Model]], steps: Sequence[CompiledStep]) -> bool:
    """Whether a row is found by way of another one of its table."""
    names = [table._meta.db_table for table in tables]
    return any(step.tables_read.count(name) > 1 for step in steps for name in names)


def _referring(table: type[Model]) -> set[type[Model]]:
    return {table_of(relation.model).model for relation in relations_to(table)}


def _gives_away(step: Ordered) -> bool:
    return isinstance(step.transformation, Decorrelate)


def _circles(before: Mapping[type[Model], set[type[Model]]]) -> dict[type[Model], tuple[type[Model], ...]]:
    """For each table, it and those that must come both before and after it."""
    reached = _reached(before)
    return {
        table: tuple(
            other for other in before if other is table or (other in reached[table] and table in reached[other])
        )
        for table in before
    }


def _reached(before: Mapping[type[Model], set[type[Model]]]) -> dict[type[Model], set[type[Model]]]:
    """For each table, those that come before it, if only because of others."""
    reached = {table: set(others) for table, others in before.items()}
    for middle in before:
        for table in before:
            if middle in reached[table]:
                reached[table] |= reached[middle]
    return reached


def _is_divisible(tables: Sequence[type[Model]], steps: Sequence[CompiledStep]) -> bool:
    """Whether some of their rows can be disguised without the others: of one table, or of tables whose rows are one object."""
    parts = coverage.tables_of_object(tables[0])
    if not all(table in parts for table in tables) or not all(map(_shares_key, parts)):
        return False
    if _read_themselves(tables, steps):
        # If it is found by way of those above it, they go after it.
        return len(parts) == 1 and all(map(_goes_up, steps))
    return len(parts) == 1 or not any(_refers_to_itself(part) for part in parts)


def _shares_key(table: type[Model]) -> bool:
    """Whether what other tables have of its rows has the same key there."""
    key = table_of(table).key_names
    return all(
        key == (link.column,) and link.other.key_names == (link.other_column,) for link in families.links_of(table)
    )


def _refers_to_itself(table: type[Model]) -> bool:
    return any(True for _ in links_within(table))


def links_within(table: type[Model]) -> Iterator[coverage.Relation]:
    """By what its rows refer to each other."""
    return (relation for relation in relations_to(table) if table_of(relation.model).model is table)


def _goes_up(step: CompiledStep) -> bool:
    """Whether each row says itself, or what it refers to, that the step means it."""
    transformation = step.transformation
    return transformation.where is None and all(_is_up(transformation.model, owner) for owner in transformation.owners)


def _is_up(model: type[Model], path: str) -> bool:
    for name in path.split(LOOKUP_SEP):
        field = {field.name: field for field in model._meta.concrete_fields}.get(name)
        if not isinstance(field, ForeignKey) or not isinstance(field.related_model, type):
            return False
        model = field.related_model
    return True
