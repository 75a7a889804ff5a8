"""What a database says of one table. Knows no database and no models."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Column:
    #: The database computes it.
    generated: bool = False
    #: What the driver reads is not all that is stored.
    inexact: bool = False


@dataclass
class Description:
    columns: dict[str, Column] = field(default_factory=dict)
    #: Triggers, rules, policies and the like, by what they are and are called.
    acts: list[str] = field(default_factory=list)
    #: Tables and columns by which the database deletes or empties what refers to a row that goes.
    changes_along: list[tuple[str, str]] = field(default_factory=list)
    #: Tables whose rows are rows of this one, too.
    inheriting: list[str] = field(default_factory=list)
