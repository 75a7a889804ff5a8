"""Runs the compiled statements of one plan: finds the rows that steps mean, and locks those that a statement with joins has found.

Rows that several steps about one table mean are read once. Knows compiled steps; writes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import Model

from edna import json_keys
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row
from edna.engine.graph.references import reference_of, require_same_spelling
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import CompiledStep, Probe

#: Of fewer tables it is not asked first whether they have any rows.
_LEAST_PROBED: Final = 8


@dataclass
class Finding:
    """Rows of principals of ``model``, by their ``references`` and raw ``keys``; of everybody if ``keys`` is None. ``of_one`` person, with
    the pseudoprincipals that are theirs."""

    model: type[Model]
    references: Collection[str]
    keys: Sequence[Any] | None
    params: Mapping[str, Any]
    using: str
    of_one: bool
    #: Of tables of which a step has found more rows than it was asked for: as many, in no order.
    too_many: dict[type[Model], list[Row]] = field(default_factory=dict)
    #: What selections have found, of which some serve several steps, by their identity, with those whose it is.
    _selected: dict[int, tuple[Selection, list[Row]]] = field(default_factory=dict)

    def find(self, step: CompiledStep) -> list[Row]:
        """The rows that the step means, each with what its selection reads."""
        rows = self.find_within(step, most=None)
        assert rows is not None
        return rows

    def find_within(self, step: CompiledStep, *, most: int | None) -> list[Row] | None:
        """As `find`; None if they, or those of all steps that share the selection, are more than ``most``: so many are in `too_many`."""
        if step.selection is None or (self.keys is not None and not self.keys):
            return []
        if id(step.selection) not in self._selected:
            selection = step.selection if most is None else step.selection.within(most, using=self.using)
            selected = selection.run(
                owners=self.keys, params=self.params, using=self.using, keys=step.keys, of_one=self.of_one
            )
            if most is not None and len(selected) > most:
                self.too_many[step.node] = selected[:most]
                return None
            self._selected[id(step.selection)] = step.selection, selected
        _, rows = self._selected[id(step.selection)]
        if step.picks is not None:
            rows = list(map(operator.itemgetter(*step.picks), rows))
        if step.narrower:
            rows = self._owned(rows, step)
        return json_keys.taken(rows, step.columns) if step.takes_keys else rows

    def know(self, step: CompiledStep, rows: list[Row]) -> None:
        """What the step's selection would find."""
        assert step.selection is not None
        self._selected[id(step.selection)] = step.selection, rows

    def leave_out_empty(self, probe: Probe) -> None:
        """Ask once which selections would find nothing, and let those find nothing.

        A row that comes after this would have come after its selection, too, as far as each statement sees what is committed by then;
        one that is being written is waited for, here or before, by the lock on its owners.
        """
        connection = connection_of(self.using)
        # MariaDB's and MySQL's only, where a statement costs more than to look into all tables.
        fresh = connection.vendor == "mysql" and getattr(connection, "isolation_level", None) == "read committed"
        fresh = fresh and connection.features.supports_foreign_keys
        # Not for somebody with pseudoprincipals, who have something in most.
        if not fresh or len(probe.selections) < _LEAST_PROBED or self.keys is None or len(self.keys) != 1:
            return
        (answers,) = probe.asking.run(owners=self.keys, params=self.params, using=self.using)
        for selection, has_any in zip(probe.selections, answers, strict=True):
            if not has_any:
                self._selected[id(selection)] = selection, []

    def _owned(self, rows: Sequence[Row], step: CompiledStep) -> list[Row]:
        """The rows of which one of the step's own owners is meant: the selection asked for those of other steps, or of anybody, too."""
        start = len(step.columns)
        end = start + len(step.transformation.owner_paths)
        owners = {owner for row in rows for owner in row[start:end]} - {None}
        meant = {owner for owner in owners if reference_of(self.model, owner) in self.references}
        if len(meant) < len(owners):
            require_same_spelling(self.model, owners - meant, self.references, using=self.using)
        return [row for row in rows if not meant.isdisjoint(row[start:end])]

    def lock(self, step: CompiledStep, rows: list[Row]) -> list[Row]:
        """Lock by primary key what a statement with joins found, keys alone; rows that changed hands meanwhile are left out."""
        width = len(step.table.key)
        extras: dict[Row, dict[Row, None]] = {}  # of whoever several lead to, each
        for row in rows:
            extras.setdefault(row[:width], {})[row[width:]] = None
        names = (*step.table.key_names, *step.columns, *(name for name, _ in step.watched))
        first = width + len(step.columns)
        locked = []
        for row in raw.read(step.table, names, list(extras), lock=True, using=self.using):
            for extra in extras[row[:width]]:
                if row[first:] == tuple([extra[position] for _, position in step.watched]):
                    locked.append((*row[width:first], *extra[: step.extras]))
        return locked
