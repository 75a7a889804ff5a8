"""Columns of rows that stay, which look personal, over all disguises of the site: covered by nothing, in part, or kept on purpose.

Reads specifications and model definitions only. It looks at a site as a whole: a disguise that is for one lecture need not cover the rest.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from django.db.models import Model

from edna import personal_columns
from edna.auditing.treatment import Becomes, Column, Treatment, every_column
from edna.personal_columns import Looks


class Standing(enum.Enum):
    """How a column that looks personal stands."""

    UNCOVERED = "covered by nothing"
    IN_PART = "covered in part"
    ON_PURPOSE = "kept on purpose"


@dataclass(frozen=True)
class Remaining:
    """One such column, and why."""

    model: type[Model]
    column: str
    looks: Looks
    standing: Standing
    why: str

    @property
    def label(self) -> str:
        return f"{self.model._meta.label}.{self.column}"


def grouped(columns: list[Remaining]) -> list[tuple[str, str, list[Remaining]]]:
    """By table and reason, in the order in which they come."""
    groups: dict[tuple[str, str], list[Remaining]] = {}
    for each in columns:
        groups.setdefault((each.model._meta.label, each.why), []).append(each)
    return [(label, why, group) for (label, why), group in groups.items()]


def remaining(treatments: list[Treatment]) -> list[Remaining]:
    """By table and column. What some disguise takes from all rows of a person is not among them."""
    found = []
    for model, name, treated in every_column(treatments):
        columns = [column for _, column in treated]
        looks = personal_columns.looks(model._meta.get_field(name))  # type: ignore[arg-type]  # a name of a concrete column
        assert looks is not None
        if any(column.becomes is not Becomes.KEPT and not column.partly for column in columns):
            continue
        if reasons := [column.why for column in columns if column.on_purpose]:
            found.append(Remaining(model, name, looks, Standing.ON_PURPOSE, reasons[0]))
        elif any(column.becomes is not Becomes.KEPT for column in columns):
            found.append(Remaining(model, name, looks, Standing.IN_PART, _in_part(treated)))
        else:
            found.append(Remaining(model, name, looks, Standing.UNCOVERED, _why(model, treated)))
    return found


def _in_part(treated: list[tuple[Treatment, Column]]) -> str:
    parts: dict[str, list[str]] = {}
    for treatment, column in treated:
        if column.becomes is not Becomes.KEPT:
            where = f"under {', '.join(column.keys)}" if column.keys else "in rows that a condition means"
            parts.setdefault(where, []).append(treatment.disguise.name)
    return "; ".join(f"only {where}, by {', '.join(names)}" for where, names in parts.items())


def _why(model: type[Model], treated: list[tuple[Treatment, Column]]) -> str:
    reasons: dict[str, list[str]] = {}
    for treatment, column in treated:
        if treatment.tables[model].touched:
            reasons.setdefault(column.why, []).append(treatment.disguise.name)
    if reasons:
        return "; ".join(f"{why} ({', '.join(names)})" for why, names in reasons.items())
    way = personal_columns.way_to_a_person(model)
    if way is None and (relations := personal_columns.relations_to_people(model)):
        return f"no disguise says anything of this table; its people are {', '.join(each.name for each in relations)}"
    if way is None and (keys := personal_columns.keys_of_accounts(model)):
        labels = ", ".join(f"{each.model._meta.label}.{each.name}" for each in keys)
        return f"no disguise says anything of this table; {labels} refers to it, one to one"
    if way is None:
        return "no foreign key leads from this table to a person"
    return "no disguise says anything of this table" + (f"; its person is {way}" if way else "")
