"""Runs the compiled statements of one plan: finds the rows that steps mean, and locks those that a statement with joins has found.

Rows that several steps about one table mean are read once. Knows compiled steps; writes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from edna import rows as raw
from edna.engine.compiling import CompiledStep
from edna.engine.references import reference_of
from edna.rows import Row


@dataclass
class Finding:
    """Rows of principals of ``model``, by their ``references`` and raw ``keys``; of everybody if ``keys`` is None."""

    model: type[Model]
    references: Collection[str]
    keys: Sequence[Any] | None
    params: Mapping[str, Any]
    using: str
    #: What selections have found that serve several steps, by their identity: they are the cached disguise's, which stays.
    _shared: dict[int, list[Row]] = field(default_factory=dict)

    def find(self, step: CompiledStep) -> list[Row]:
        """The rows that the step means, each with what its selection reads."""
        if step.selection is None:
            return []
        if step.picks is None:
            return step.selection.run(owners=self.keys, params=self.params, using=self.using)
        if id(step.selection) not in self._shared:
            found = step.selection.run(owners=self.keys, params=self.params, using=self.using)
            self._shared[id(step.selection)] = found
        rows = list(map(operator.itemgetter(*step.picks), self._shared[id(step.selection)]))
        return [row for row in rows if self._owned(row, step)] if step.narrower else rows

    def _owned(self, row: Row, step: CompiledStep) -> bool:
        """Whether one of the step's own owners is meant: the selection asked for those of other steps, too."""
        start = len(step.columns)
        owners = row[start : start + len(step.transformation.owner_paths)]
        return any(owner is not None and reference_of(self.model, owner) in self.references for owner in owners)

    def lock(self, step: CompiledStep, found: list[Row]) -> list[Row]:
        """Lock by primary key what a joining statement found; rows that changed hands meanwhile are left out."""
        if not step.keys_only:
            return found
        width = len(step.table.key)
        extras = {row[:width]: row[width:] for row in reversed(found)}
        names = (*step.table.key_names, *step.columns, *(name for name, _ in step.watched))
        first = width + len(step.columns)
        locked = []
        for row in raw.read(step.table, names, list(extras), lock=True, using=self.using):
            extra = extras[row[:width]]
            if row[first:] != tuple(extra[position] for _, position in step.watched):
                continue
            locked.append((*row[width:first], *extra[: step.extras]))
        return locked
