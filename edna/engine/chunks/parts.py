"""Cuts a disguise into parts, each of at most so many rows: what a chunk is about.

Holds the primary keys of rows in memory, but for tables whose rows are one person's alone and vanish from among theirs one by one: of
these it says how many at a time. Reads; locks and changes nothing, so that a part may have lost rows when its turn comes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Model

from edna import conf, registry
from edna.db.rows import Row, table_of
from edna.engine.chunks.units import Unit, leading_units, links_within, units_before_account
from edna.engine.graph.references import key_of
from edna.engine.planning.scope import Scope
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import CompiledStep, compiled_disguise, owner_keys
from edna.engine.planning.steps import First, Part, Target
from edna.spec import Decorrelate, Disguise

#: Of some tables, primary keys.
_Keys = Mapping[type[Model], Collection[Row]]

#: Databases take a bounded number of parameters in one statement.
_MOST_KEYS = 10_000


def first_of(scope: Scope) -> Part:
    """What the first chunk is about, if it is about the rows of which there turned out to be too many for one plan."""
    steps = compiled_disguise(scope.disguise, using=scope.using).steps
    for unit in leading_units(steps, scope.model):
        if unit.tables[0] in scope.too_many and _vanishes(unit, len(scope.owners)):
            return {unit.tables[0]: First(_most_rows())}
    return {}


def split(
    cls: type[Disguise], target: Target, *, params: Mapping[str, Any], using: str, begun: Part | None = None
) -> list[Part]:
    """What each chunk but the last is about, in their order; where it is the first rows, all those that follow each other until a table has
    no more. The last one is about the principal's own row, and all that is left. What is ``begun`` goes on."""
    model = registry.principal_model_for(cls)
    owners = [key_of(model, str(entry.reference), using=using) for entry in target.owners if entry.attached]
    most = _most_rows()
    parts: list[Part] = [begun] if begun else []
    chunk: dict[type[Model], list[Row]] = {}
    rows = 0
    for unit in units_before_account(compiled_disguise(cls, using=using).steps, model):
        if begun and unit.tables[0] in begun:
            continue
        scan = _Scan(cls, params, owners, using, ordered=unit.ordered)
        bound = most if _vanishes(unit, len(owners)) else None
        if any(scan.look(step, most=bound) for step in unit.steps):
            parts += [chunk, {unit.tables[0]: First(most)}]
            chunk, rows = {}, 0
            continue
        pieces = scan.pieces(most) if unit.divisible else [scan.rows]
        for piece in pieces:
            size = sum(map(len, piece.values()))
            if rows and rows + size > most:
                parts.append(chunk)
                chunk, rows = {}, 0
            for table in unit.tables:
                chunk.setdefault(table, []).extend(piece.get(table, ()))
            rows += size
    return [part for part in (*parts, chunk) if any(part.values())]


def _most_rows() -> int:
    return min(conf.chunk_rows(), _MOST_KEYS)


def _vanishes(unit: Unit, owners: int) -> bool:
    """Whether chunks take the first rows that are left, whichever these are."""
    return owners == 1 and unit.vanishes


@dataclass
class _Scan:
    """The primary keys of a unit's rows, which of them belong into one chunk, and which go before which."""

    cls: type[Disguise]
    params: Mapping[str, Any]
    owners: Sequence[Any]
    using: str
    ordered: bool
    rows: dict[type[Model], dict[Row, None]] = field(default_factory=dict)
    #: By what they have in common, a step and what it groups by, the rows that get one pseudoprincipal.
    groups: dict[Any, list[Row]] = field(default_factory=dict)
    #: Of rows that refer to others of their table: what is referred to, and what each refers to, under the link's name.
    referred: dict[Any, Row] = field(default_factory=dict)
    refers: list[tuple[Row, Any]] = field(default_factory=list)

    def look(self, step: CompiledStep, *, most: int | None) -> bool:
        """Whether there are more rows than ``most``; then it knows some of them."""
        transformation = step.transformation
        paths = owner_keys(transformation, registry.principal_model_for(self.cls))
        grouped = isinstance(transformation, Decorrelate) and transformation.group_by
        groups = (*paths, *transformation.group_paths) if isinstance(transformation, Decorrelate) and grouped else ()
        names = table_of(step.node).key_names
        links = list(links_within(step.node)) if self.ordered else []
        ends = [name for link in links for name in (link.field.name, link.field.target_field.name)]
        selection = Selection.compile(
            transformation.model, [*names, *groups, *ends], owners=paths, where=transformation.where, using=self.using
        )
        shared = transformation.together if isinstance(transformation, Decorrelate) else None
        known = self.rows.setdefault(step.node, {})
        if selection is not None and most is not None:
            selection = selection.first(most + 1, using=self.using)
        found = (
            selection.run(owners=self.owners, params=self.params, using=self.using, of_one=True) if selection else []
        )
        if not groups and not links:
            known.update(dict.fromkeys(found))
            return most is not None and len(found) > most
        width, behind = len(names), len(names) + len(groups)
        for row in found:
            key = row[:width]
            known[key] = None
            if groups:
                self.groups.setdefault((shared or id(step), row[width:behind]), []).append(key)
            for link, start in zip(links, range(behind, len(row), 2), strict=True):
                self.refers.append((key, (link.label, row[start])))
                self.referred[link.label, row[start + 1]] = key
        return False

    def pieces(self, most: int) -> Iterator[_Keys]:
        """Of a divisible unit, pieces of at most so many rows, but for what belongs together and is more; at least one."""
        if len(self.rows) == 1 and not self.groups and not self.refers:
            ((table, rows),) = self.rows.items()
            every = list(rows)
            for start in range(0, len(every) or 1, most):
                yield {table: every[start : start + most]}
            return
        piece: list[Row] = []
        for keys in self._in_order(self._together()):
            if piece and len(piece) + len(keys) > most:
                yield self._part(piece)
                piece = []
            piece += keys
        yield self._part(piece)

    def _part(self, keys: Sequence[Row]) -> _Keys:
        if len(self.rows) == 1:
            return dict.fromkeys(self.rows, keys)
        return {table: [key for key in keys if key in known] for table, known in self.rows.items()}

    def _together(self) -> list[list[Row]]:
        """Rows that belong into one chunk, in the order in which the first of them was found. Parts of one object have one key."""
        keys = list(dict.fromkeys(key for known in self.rows.values() for key in known))
        leaders = {key: key for key in keys} if self.groups else {}

        def leader(key: Row) -> Row:
            while leaders[key] != key:
                leaders[key] = key = leaders[leaders[key]]
            return key

        for first, *others in self.groups.values():
            for other in others:
                leaders[leader(other)] = leader(first)
        together: dict[Row, list[Row]] = {}
        for key in keys:
            together.setdefault(leader(key) if leaders else key, []).append(key)
        return list(together.values())

    def _in_order(self, together: list[list[Row]]) -> list[list[Row]]:
        """What refers to a row comes before it. What refers to each other in a circle, and what that refers to, is one."""
        at = {key: number for number, keys in enumerate(together) for key in keys} if self.refers else {}
        above = [
            (at[key], at[self.referred[end]])
            for key, end in dict.fromkeys(self.refers)
            if end in self.referred and at[key] != at[self.referred[end]]
        ]
        if not above:
            return together
        waiting, below = defaultdict[int, list[int]](list), Counter(parent for _, parent in above)
        for child, parent in above:
            waiting[child].append(parent)
        order = [number for number in range(len(together)) if not below[number]]
        for number in order:  # which grows meanwhile
            for parent in waiting[number]:
                below[parent] -= 1
                if not below[parent]:
                    order.append(parent)
        circles = [key for number in range(len(together)) if below[number] for key in together[number]]
        return [*(together[number] for number in order), *([circles] if circles else [])]
