"""The report: what disguises do with what looks personal, what nothing covers, and the record of processing; or what a search has found.

Without a search it is made of the specifications, the models and the settings alone: the same code gives the same report, so that a
copy in the repository can be compared with it. With one it has what was found, and what nothing covers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from edna.auditing import record, treatment
from edna.auditing.remaining_columns import Remaining, Standing, remaining
from edna.auditing.search import Findings
from edna.auditing.treatment import Becomes, Column, Table, Treatment

#: Of the JSON document.
VERSION: Final = 1
WHO_APPLIES: Final = {"self": "each for themselves", "staff": "staff"}


@dataclass(frozen=True)
class Report:
    """``treatments`` and ``record`` are empty where something was searched for."""

    treatments: list[Treatment]
    by_hand: Mapping[str, str]
    remaining: list[Remaining]
    record: list[record.Field]
    searches: Sequence[Findings] = ()

    @property
    def uncovered(self) -> list[Remaining]:
        return self.standing(Standing.UNCOVERED)

    @property
    def anything_found(self) -> bool:
        """Whether somebody has to look at it: a person's value that is to be read, or a column that nothing covers."""
        return bool(self.uncovered) or any(findings.certain for findings in self.searches)

    def standing(self, standing: Standing) -> list[Remaining]:
        return [each for each in self.remaining if each.standing is standing]

    def as_dict(self) -> dict[str, Any]:
        document: dict[str, Any] = {"version": VERSION, "remaining": [_remaining(each) for each in self.remaining]}
        if self.searches:
            return document | {"searches": [findings.as_dict() for findings in self.searches]}
        return document | {
            "disguises": [_treatment(each) for each in self.treatments],
            "by_hand": dict(self.by_hand),
            "record": [{"title": each.title, "text": each.text, "open": each.open} for each in self.record],
        }


def made(*, searches: Sequence[Findings] = (), facts: Mapping[str, str] | None = None) -> Report:
    """The report of this site."""
    treatments = treatment.treatments()
    if searches:
        return Report([], {}, remaining(treatments), [], searches)
    return Report(
        treatments,
        treatment.names_by_hand(),
        remaining(treatments),
        record.record(treatments, facts or {}),
    )


def personal_or_changed(table: Table) -> list[Column]:
    """The columns of a table that a reader wants to see one by one."""
    return [column for column in table.columns.values() if column.looks or column.becomes in _BY_ITSELF]


_BY_ITSELF: Final = (Becomes.CHANGED, Becomes.DECORRELATED, Becomes.EMPTIED)


def _remaining(each: Remaining) -> dict[str, Any]:
    return {
        "column": each.label,
        "looks_like": each.looks.value,
        "standing": each.standing.value,
        "why": each.why,
    }


def _treatment(each: Treatment) -> dict[str, Any]:
    return {
        "name": each.disguise.name,
        "description": each.disguise.described(),
        "applied_by": WHO_APPLIES.get(each.disguise.applies_to, each.disguise.applies_to),
        "parameters": {name: kind.__name__ for name, kind in each.disguise.params.items()},
        "removes_account": each.removes_account,
        "tables": [_table(table) for table in each.touched],
        "left_alone": [table.label for table in each.left_alone],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "table": table.label,
        "steps": [
            {"becomes": act.becomes.value, "whose": act.whose, "where": act.where, "how": act.how} for act in table.acts
        ],
        "columns": [
            {
                "column": column.name,
                "looks_like": column.looks.value if column.looks else None,
                "becomes": column.becomes.value,
                "partly": column.partly,
                "how": column.how,
                "why": column.why,
            }
            for column in table.columns.values()
        ],
    }
