"""Rows of several tables that are one object: a multi-table child, its parents, and the other children of these.

Found by reading along the links between the tables, in at most two statements for each link, however many rows there are.
Knows tables and links; knows no disguises, and writes nothing.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from django.db.models import Model

from edna import coverage
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of

#: For each table, the rows found in it by primary key: all columns, and whatever belongs to the object.
Found = dict[type[Model], dict[Row, tuple[Row, Any]]]


@dataclass(frozen=True)
class _Link:
    """From a table to another one: the columns that are equal where two rows are one object."""

    column: str
    other: Table
    other_column: str


@functools.cache
def links_of(model: type[Model]) -> tuple[_Link, ...]:
    """To the parents first. Empty for a model without inheritance."""
    up = [
        _Link(link.field.name, table_of(link.target), link.field.target_field.name)
        for link in coverage.parent_links(model)
    ]
    down = [
        _Link(link.field.target_field.name, table_of(link.model), link.field.name)
        for link in coverage.child_links(model)
    ]
    return (*up, *down)


def complete(parts: Found, *, lock: bool, using: str) -> None:
    """Add the rows of other tables that are the same objects, each with what belongs to the row that led to it."""
    waiting = {model: dict(rows) for model, rows in parts.items()}
    while waiting:
        model, rows = waiting.popitem()
        table = table_of(model)
        for link in links_of(model) if rows else ():
            own, theirs = table.names.index(link.column), link.other.names.index(link.other_column)
            known = parts.setdefault(link.other.model, {})
            have = {row[theirs] for row, _ in known.values()}
            wanted = {row[own]: tag for row, tag in rows.values() if row[own] not in have}
            keys = [link.other.names.index(name) for name in link.other.key_names]
            new = {
                tuple(row[position] for position in keys): (row, wanted[row[theirs]])
                for row in raw.read_where(
                    link.other, link.other.names, link.other_column, list(wanted), lock=lock, using=using
                )
            }
            known |= new
            waiting.setdefault(link.other.model, {}).update(new)
