"""Applies the terms of a return to opened records, before anything of them is restored.

Invariant: what the specification does not let come back comes back by no way; an override of the caller does not reach its columns.
What is held after that is sealed again as altered. Reads and writes no tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna.db import rows as raw
from edna.db.rows import Row, Table
from edna.engine.bags.opened_bag import Opened
from edna.engine.forwarding.driver_values import raw_value
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.outcome import Outcome
from edna.engine.planning.terms import Term, Terms
from edna.errors import SpecError
from edna.placeholders import Placeholder
from edna.records.diff import Removed, RowBatch

Overrides = Mapping[str, Any]
#: By label and key, the columns in which a row comes back otherwise than it was sealed: the specification says so.
Altered = dict[tuple[str, Row], list[str]]


def binding(overrides: Overrides, terms: Terms) -> Overrides:
    """The caller's values without those for columns of which the specification decides."""
    fixed = {f"{label}.{name}".lower() for label, term in terms.items() for name in term.columns}
    return {name: value for name, value in overrides.items() if name.lower() not in fixed} if fixed else overrides


def drop(bags: Sequence[Opened], terms: Terms, outcome: Outcome) -> None:
    """Take out the records of rows that do not come back; they are erased with the rest of what is revealed."""
    for opened, batch, term in _meant(bags, terms):
        if not term.comes_back:
            outcome.drop(batch.model, len(batch.rows))
            opened.exchange(batch, replace(batch, rows=[]))


def alter(bags: Sequence[Opened], terms: Terms, *, using: str) -> Altered:
    """Put the specification's values into records, and return which columns of which rows differ from what was sealed.

    Raises:
        SpecError: a value is none of its column's.
    """
    altered: Altered = {}
    for opened, batch, term in _meant(bags, terms):
        table = table_by_label(batch.model)
        names = [name for name in term.columns if name in batch.columns]
        if table is not None and names:
            keys = batch.primary_keys()
            for name in names:
                position = batch.columns.index(name)
                sealed = [row[position] for row in batch.rows]
                values = _values(table, name, term.columns[name], sealed, using=using)
                for key, row, new in zip(keys, batch.rows, values, strict=True):
                    if new != row[position]:
                        opened.put(row, position, new)
                        altered.setdefault((batch.model, key), []).append(name)
    return altered


def _meant(bags: Sequence[Opened], terms: Terms) -> Iterator[tuple[Opened, RowBatch, Term]]:
    for opened in bags if terms else ():
        for batch in opened.diffs:
            term = terms.get(batch.model) if isinstance(batch, Removed) else None
            if term is not None:
                yield opened, batch, term


def _values(table: Table, name: str, placeholder: Placeholder, sealed: Sequence[Any], *, using: str) -> list[Any]:
    """What comes back in the place of each of these."""
    column = table.field(name)
    try:
        if placeholder.is_same_for_all:
            return [raw_value(column, placeholder.make(column, None), using=using)] * len(sealed) if sealed else []
        reads = placeholder.reads_original
        originals = raw.python_values(column, sealed, using=using) if reads else [None] * len(sealed)
        return [raw_value(column, placeholder.make(column, original), using=using) for original in originals]
    except Exception:  # a function of the application's may raise anything, and quote the value
        pass
    # Outside of the handler: what it caught may quote what was sealed.
    raise SpecError(
        f"returning={{{name!r}: ...}} for {table.label} makes no value that the column takes. Nothing was changed; correct it."
    )
