"""Cuts a disguise into parts, each of at most so many rows: what a chunk is about.

Holds the primary keys of all rows in memory. Reads; locks and changes nothing, so that a part may have lost rows when its turn comes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from edna import conf, registry
from edna.db.rows import Row, table_of
from edna.engine.chunks.units import units_of
from edna.engine.graph.references import key_of
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import CompiledStep, compiled_disguise, owner_keys
from edna.engine.planning.steps import Target
from edna.spec import Decorrelate, Disguise

#: Of some tables, the rows that a chunk is about, by their keys.
Part = dict[type[Model], Collection[Row]]

#: Databases take a bounded number of parameters in one statement.
_MOST_KEYS = 10_000


def split(cls: type[Disguise], target: Target, *, params: Mapping[str, Any], using: str) -> list[Part]:
    """What each chunk but the last is about, in their order. The last one is about the principal's own row, and all that is left."""
    model = registry.principal_model_for(cls)
    owners = [key_of(model, str(entry.reference), using=using) for entry in target.owners if entry.attached]
    most = min(conf.chunk_rows(), _MOST_KEYS)
    parts: list[Part] = [{}]
    rows = 0
    for unit in units_of(compiled_disguise(cls, using=using).steps):
        if table_of(model).model in unit.tables:
            break
        scan = _Scan(cls, params, owners, using)
        for step in unit.steps:
            scan.look(step)
        pieces = scan.pieces(most) if unit.divisible else [scan.rows]
        for piece in pieces:
            size = sum(map(len, piece.values()))
            if rows and rows + size > most:
                parts.append({})
                rows = 0
            for table in unit.tables:
                parts[-1][table] = [*parts[-1].get(table, ()), *piece.get(table, ())]
            rows += size
    return parts


@dataclass
class _Scan:
    """The primary keys of a unit's rows, and which of them get one pseudoprincipal together."""

    cls: type[Disguise]
    params: Mapping[str, Any]
    owners: Sequence[Any]
    using: str
    #: By table, keys with the group that gets one pseudoprincipal, or None.
    rows: dict[type[Model], dict[Row, Any]] = field(default_factory=dict)

    def look(self, step: CompiledStep) -> None:
        transformation = step.transformation
        paths = owner_keys(transformation, registry.principal_model_for(self.cls))
        grouped = isinstance(transformation, Decorrelate) and transformation.group_by
        groups = (*paths, *transformation.group_paths) if isinstance(transformation, Decorrelate) and grouped else ()
        names = table_of(step.node).key_names
        selection = Selection.compile(
            transformation.model, [*names, *groups], owners=paths, where=transformation.where, using=self.using
        )
        known = self.rows.setdefault(step.node, {})
        for row in selection.run(owners=self.owners, params=self.params, using=self.using) if selection else ():
            key, group = row[: len(names)], row[len(names) :]
            if group or key not in known:
                known[key] = group or None

    def pieces(self, most: int) -> Iterator[dict[type[Model], list[Row]]]:
        """Of a divisible unit, pieces of at most so many rows, but for groups that are larger; an empty one if there are none."""
        ((table, rows),) = self.rows.items()
        if not any(rows.values()):
            keys = list(rows)
            yield from ({table: keys[start : start + most]} for start in range(0, len(keys) or 1, most))
            return
        groups: dict[Any, list[Row]] = {}
        for key, group in rows.items():
            groups.setdefault((key, None) if group is None else (None, group), []).append(key)
        piece: list[Row] = []
        for keys in groups.values():
            if piece and len(piece) + len(keys) > most:
                yield {table: piece}
                piece = []
            piece += keys
        yield {table: piece}
