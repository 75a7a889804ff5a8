"""What one disguise makes of every column of every table: removed, changed, decorrelated, emptied or kept, and why.

Reads specifications and model definitions only, so that it says the same on every machine, and in the same order.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Field, Model, Q

from edna import conditions, coverage, json_keys, personal_columns, registry, value_owners
from edna.errors import SpecError
from edna.personal_columns import Looks
from edna.placeholders import Placeholder
from edna.spec import ALL, NOTHING, Decorrelate, Disguise, Modify, Remove, Transformation


class Becomes(enum.Enum):
    """What becomes of a value."""

    REMOVED = "removed"
    CHANGED = "changed"
    DECORRELATED = "decorrelated"
    EMPTIED = "emptied"
    KEPT = "kept"


@dataclass(frozen=True)
class Act:
    """One step on a table, in words: ``whose`` rows, ``where``, and ``how``."""

    becomes: Becomes
    whose: str
    how: str
    where: str = ""


@dataclass
class Column:
    """One column of a table. ``partly``: only in the rows that a step's condition means, or only under its ``keys``. ``why`` it is kept,
    if it is."""

    field: Field[Any, Any]
    looks: Looks | None
    becomes: Becomes = Becomes.KEPT
    partly: bool = False
    how: str = ""
    why: str = ""
    on_purpose: bool = False
    keys: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.field.name)

    def take(self, becomes: Becomes, how: str, *, partly: bool) -> None:
        """What a step does with it, unless an earlier one does so with all rows."""
        if self.becomes is Becomes.KEPT or (self.partly and not partly):
            self.becomes, self.how, self.partly, self.keys = becomes, how, partly, ()

    def take_key(self, key: str, how: str) -> None:
        """What a step does with a single key of a document, unless one does so with more of it."""
        if self.becomes is Becomes.KEPT or (self.keys and key not in self.keys):
            self.how = "; ".join(filter(None, (self.how, f"{key} {how}")))
            self.becomes, self.partly, self.keys = Becomes.CHANGED, True, (*self.keys, key)


@dataclass
class Table:
    """What a disguise does with one table."""

    model: type[Model]
    acts: list[Act] = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return str(self.model._meta.label)

    @property
    def touched(self) -> bool:
        return bool(self.acts)


@dataclass(frozen=True)
class Treatment:
    """What one disguise does, table by table; those that it leaves alone are there, too."""

    disguise: type[Disguise]
    tables: dict[type[Model], Table]

    @property
    def removes_account(self) -> bool:
        return any(isinstance(step, Remove) and not step.owners for step in self.disguise.steps())

    @property
    def touched(self) -> list[Table]:
        return [table for table in self.tables.values() if table.touched]

    @property
    def left_alone(self) -> list[Table]:
        """Tables with columns that look personal, of which the disguise says nothing."""
        return [
            table
            for table in self.tables.values()
            if not table.touched and any(column.looks for column in table.columns.values())
        ]


def treatments() -> list[Treatment]:
    """Of all registered disguises, by name."""
    return [of(disguise) for _, disguise in sorted(registry.disguises().items())]


def of(disguise: type[Disguise]) -> Treatment:
    tables = {
        model: Table(
            model,
            columns={
                column.name: Column(column, personal_columns.looks(column))
                for column in model._meta.local_concrete_fields
            },
        )
        for model in sorted(personal_columns.tables(), key=lambda model: model._meta.label)
    }
    for step in disguise.steps():
        for model in coverage.tables_of_object(step.model._meta.concrete_model or step.model):
            if model in tables:
                _apply(step, tables[model])
    for relation in coverage.set_null_relations(disguise):
        table = tables[relation.model]
        table.acts.append(Act(Becomes.EMPTIED, f"rows whose {relation.field.name} is removed", "as the model says"))
        table.columns[relation.field.name].take(Becomes.EMPTIED, "as the model says (on_delete)", partly=False)
    for table in tables.values():
        _give_reasons(disguise, table)
    return Treatment(disguise, tables)


def _apply(step: Transformation, table: Table) -> None:
    where, partly = _where(step.where), step.where is not None
    if isinstance(step, Remove):
        table.acts.append(Act(Becomes.REMOVED, _whose(step), _returning(step), where))
        for column in table.columns.values():
            column.take(Becomes.REMOVED, "with its row", partly=partly)
    elif isinstance(step, Modify):
        changes = {name: draw for name, draw in step.placeholders.items() if _stands_in(step.model, name, table)}
        for name, placeholder in changes.items():
            column = table.columns[json_keys.column(name)]
            how = in_words(placeholder, column.field)
            if json_keys.is_key(name):
                column.take_key(_dotted(name.partition(json_keys.BETWEEN)[2]), how)
            else:
                column.take(Becomes.CHANGED, how, partly=partly)
        if changes:
            names = ", ".join(sorted(map(_dotted, changes)))
            last = ", when the last of them leaves" if step.waits_for_all else ""
            table.acts.append(Act(Becomes.CHANGED, _whose(step), f"columns {names}{last}", where))
    elif step.column in table.columns:
        table.acts.append(Act(Becomes.DECORRELATED, _whose(step), _groups(step), where))
        table.columns[step.column].take(Becomes.DECORRELATED, _groups(step), partly=partly)


def _give_reasons(disguise: type[Disguise], table: Table) -> None:
    kept = {step.field: step.why for step in disguise.kept() if coverage.same_table(step.model, table.model)}
    for column in table.columns.values():
        if column.name in kept:
            column.on_purpose = True
            column.why = kept[column.name] or "it may stay, says the specification"
        elif column.becomes is Becomes.KEPT and table.touched:
            column.why = _why_kept(table)


def _why_kept(table: Table) -> str:
    done = {act.becomes for act in table.acts}
    if Becomes.DECORRELATED in done:
        return "the row stays, under a pseudoprincipal's name"
    if Becomes.CHANGED in done:
        return "the row stays; other columns of it are changed"
    return "the row stays; what it refers to is gone"


def _stands_in(model: type[Model], name: str, table: Table) -> bool:
    """Whether the column of that name is one of this table: with multi-table inheritance, parents' tables have some."""
    column = json_keys.column(name)
    return any(field.name == column and field.model is table.model for field in model._meta.concrete_fields)


# In words


def _whose(step: Transformation) -> str:
    if not step.owners:
        return "the account itself"
    # An element is in a row, and not the row's.
    of = "in which" if value_owners.element_of(step.owners) else "whose"
    return f"rows {of} {' or '.join(map(value_owners.in_words, step.owners))} is the person"


def _where(where: Q | None) -> str:
    if where is None:
        return ""
    try:
        return conditions.written(where)
    except (TypeError, ValueError, AttributeError):
        return "a condition in code"


def _returning(step: Remove) -> str:
    shared = (
        "once the last of its owners has left, and until then under pseudoprincipals; " if len(step.owners) > 1 else ""
    )
    if step.returning is NOTHING:
        return f"{shared}does not come back"
    anew = ", ".join(sorted(step.values_on_return))
    return f"{shared}comes back" + (f", with {anew} set anew" if anew else "")


def _groups(step: Decorrelate) -> str:
    if step.group_by is ALL:
        return "to one pseudoprincipal for all rows"
    by = " and ".join(map(_dotted, step.group_paths))
    return f"to a pseudoprincipal for each {by or 'row'}"


def _dotted(path: str) -> str:
    return path.replace("__", ".")


def in_words(placeholder: Placeholder, column: Field[Any, Any]) -> str:
    """What stands in the column instead. A fixed value is a part of the specification, and nobody's."""
    if placeholder.fixed:
        value = placeholder.make(column, None)
        return "to NULL" if value is None else f"to {value!r}"
    if placeholder.reads_original:
        return f"by {placeholder.name}, which may leave a part of what was there"
    return f"by {placeholder.name}"


def principals() -> list[type[Model]]:
    try:
        return registry.principal_models()
    except LookupError as error:
        raise SpecError(f"A principal model is not installed: {error}. Nothing can be audited; correct it.") from None


def names_by_hand() -> Mapping[str, str]:
    """Disguises that are code, with their descriptions: what they do, no specification tells."""
    return {name: cls.described() for name, cls in sorted(registry.all_by_hand().items())}


def every_column(all_treatments: list[Treatment]) -> Iterator[tuple[type[Model], str, list[tuple[Treatment, Column]]]]:
    """Each column of each table that looks personal, with what every disguise does with it."""
    for model in sorted(personal_columns.tables(), key=lambda model: model._meta.label):
        for each in model._meta.local_concrete_fields:
            if personal_columns.looks(each):
                yield model, each.name, [(one, one.tables[model].columns[each.name]) for one in all_treatments]
