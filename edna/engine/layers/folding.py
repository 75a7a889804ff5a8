"""Puts what one disguise recorded into later ones that lie on top of it, so that receipts are revealed in any order.

If p→q1→q2 and p→q1 is revealed first, the later record becomes p→q2, and the earlier one is gone: it has nothing to restore
in the table, and everything that it knew is in the other bag. What waits only for a row that another bag holds moves
into that bag. Works on opened records; knows no tables' contents, and writes nothing but records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any

from edna import json_keys
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened, pointing_at
from edna.engine.layers.moved_rows import Moves
from edna.engine.layers.stack import Layer, Stack
from edna.records.diff import Changed, Decorrelated, Modified, RowBatch
from edna.records.locator import Locator


class Folding:
    """The records of ``others`` as seen from the bags that are being revealed, which are all of one moment."""

    def __init__(self, current: Sequence[Opened], others: Sequence[Opened]) -> None:
        self._applied_at = current[0].head.applied_at
        self._others = others
        self._parked: list[tuple[Opened, Changed]] = []
        self._waiting: Mapping[Locator, Opened] | None = None
        self._stack = Stack(current, others)
        self.moves = Moves(self._stack)

    def __bool__(self) -> bool:
        return bool(self._others)

    def take(
        self, batch: Changed, *, at_any_time: bool = False, found: Mapping[str, Any] | None = None
    ) -> list[Changed]:
        """Fold what later records cover, and return the rest, each part with the columns that are left of its rows.

        ``at_any_time`` also folds into records that a clock says are older: their values say that they cannot lie beneath, and what was
        ``found`` in the table (None: no such row) that they are on top.
        """
        if not self._stack.lies_over(batch.model):
            return [batch]
        width, count = len(batch.key), len(batch.columns)
        left: dict[tuple[str, ...], list[Sequence[Any]]] = {}
        for row in batch.rows:
            covered = self._cover(batch, row, at_any_time=at_any_time, found=found)
            columns = tuple(name for name in batch.columns if name not in covered)
            if not covered:
                left.setdefault(columns, []).append(row)
            elif columns:
                kept = [position for position, name in enumerate(batch.columns) if name in columns]
                values = [row[width + position] for position in kept] + [
                    row[width + count + position] for position in kept
                ]
                left.setdefault(columns, []).append([*row[:width], *values])
        for own, part in self._parked:
            own.add_below(part)
        if self._parked or batch.key_columns():
            self._stack.forget(batch.model)
        self._parked.clear()
        return [replace(batch, columns=columns, rows=rows) for columns, rows in left.items()]

    def _cover(
        self, batch: Changed, row: Sequence[Any], *, at_any_time: bool, found: Mapping[str, Any] | None
    ) -> set[str]:
        width, count = len(batch.key), len(batch.columns)
        covered: set[str] = set()
        #: Columns whose place has been found, whether it fits or not.
        over: set[str] = set()
        keys = self._stack.way(batch.model, tuple(row[:width]))
        layers = [(n, layer) for n, key in enumerate(keys) for layer in _in_order(self._stack.layers(batch.model, key))]
        for number, layer in layers:
            later = layer.opened.head.applied_at >= self._applied_at
            if not later and not at_any_time:
                continue
            if layer.keys and isinstance(batch, Modified) and not at_any_time:
                waiting = self._wait_for_keys(batch, row, layer, over)
                covered |= waiting
                over |= waiting
            for position, name in enumerate(batch.columns):
                held = name if name in layer.old else json_keys.holder(name, layer.old)
                if name in over or held is None:
                    continue
                old = layer.old[held]
                whole = layer.row[old]
                under = whole if held == name else json_keys.read(whole, name, of=held)
                left_there, handed_over = row[width + count + position], layer.opened.handed_over
                fits = _same(under, left_there) or json_keys.same_value(name, under, left_there)
                # One that is older, or of the same disguise of everybody and another value, may lie beneath.
                unclear = fits if not later else not fits and layer.opened.head.applied_at == self._applied_at
                if unclear and self._leads_to([each for _, each in layers], layer, name, row[width + position]):
                    continue  # it does; where it fits on top as well, as constants do, time decides
                if not later and fits and _left_as_it_was(layer, name):
                    continue  # it says nothing of where it lies
                if not later and fits and self._lies_beneath([each for _, each in layers], layer, name, found):
                    continue
                if isinstance(batch, Modified) and later and not (fits and handed_over):
                    # The next one that changed this column, and no later one: between them, the value was another one. What somebody
                    # else has handed over is for others to bring back: where it fits, what lies over it does as well.
                    over.add(name)
                if fits and not handed_over:
                    if layer.opened.shared and isinstance(batch, Decorrelated):
                        # Another owner may bring the row back, and must not learn from it whose it was: the name goes into the
                        # bag of the principal's own that waits for the same row.
                        if self._park(batch, row, layer.opened):
                            covered.add(name)
                            over.add(name)
                        continue
                    before = row[width + position]
                    if held != name:
                        before = json_keys.written(whole, name, before, of=held)
                    layer.opened.put(layer.row, old, before)
                    covered.add(name)
                    over.add(name)
                    if name in batch.key:
                        self._stack.rewrite(batch, row, keys[: number + 1])
        return covered

    def _leads_to(self, layers: Sequence[Layer], lower: Layer, name: str, value: Any) -> bool:
        """Whether the value that ``lower`` left in the column is this one, or became it by records that are as old."""
        older = [each for each in layers if name in each.new and each.opened.head.applied_at <= self._applied_at]
        left = (each.row[each.new[name]] for each in self._reached(older, lower, name) if name in each.new)
        return any(_same(now, value) or json_keys.same_value(name, now, value) for now in left)

    @staticmethod
    def _reached(layers: Sequence[Layer], lowest: Layer, name: str) -> list[Layer]:
        """A layer, and those that found in the column what it, or one of them, had left there."""
        reached = [lowest]
        for layer in (each for each in reached if name in each.new):
            now = layer.row[layer.new[name]]
            there = {id(each) for each in reached}
            over = (each for each in layers if name in each.old and id(each) not in there)
            reached += [each for each in over if _same(each.row[each.old[name]], now)]
        return reached

    def _lies_beneath(self, layers: Sequence[Layer], layer: Layer, name: str, found: Mapping[str, Any] | None) -> bool:
        """Whether an older layer found what another record had left, and what was found in the table does not come from that layer: then
        somebody else has written in between."""
        if name not in layer.old:
            return False
        under, before = layer.row[layer.old[name]], layer.opened.head.applied_at
        others = (each for each in layers if each is not layer and name in each.new)
        if not any(_same(each.row[each.new[name]], under) and each.opened.head.applied_at <= before for each in others):
            return False
        over = self._reached(layers, layer, name)
        if found is None:
            return all(name in each.new for each in over)  # none has removed it
        left = (each.row[each.new[name]] for each in over if name in each.new)
        return not any(_same(now, found[name]) for now in left)

    def _wait_for_keys(self, batch: Modified, row: Sequence[Any], layer: Layer, over: Set[str]) -> set[str]:
        """Columns in which the layer has changed single keys: what stood there cannot come back beneath it, and goes into its bag."""
        width, count = len(batch.key), len(batch.columns)
        around = {json_keys.holder(key, batch.columns) for key in layer.keys} - layer.old.keys() - over
        waiting = {name for name in around if name is not None and not layer.opened.shared}
        for name in waiting:
            place = width + batch.columns.index(name)
            part = replace(batch, columns=(name,), rows=[[*row[:width], row[place], row[place + count]]])
            self._parked.append((layer.opened, part))
        return waiting

    def overlaid(self, batch: Changed) -> dict[Row, str]:
        """By key, rows of which a later record covers a column over another value than this one left there, and which column.

        Whatever stands in the table is that record's then, even if it looks like this one's: a constant, for example.
        """
        overlaid: dict[Row, str] = {}
        for key in batch.primary_keys() if self._stack.lies_over(batch.model) else ():
            for layer in self._over(batch.model, key):
                name = next((name for name in batch.columns if json_keys.holder(name, layer.old)), None)
                if name is not None and layer.opened.head.applied_at > self._applied_at:
                    overlaid.setdefault(key, name)
        return overlaid

    def removed_rows(self, batch: Changed) -> set[Row]:
        """By key, rows that a later record of the same principal has removed."""
        keys = batch.primary_keys() if self._stack.lies_over(batch.model) else ()
        return {key for key in keys if any(not layer.new for layer in self._over(batch.model, key))}

    def _over(self, model: str, key: Row) -> Iterator[Layer]:
        """Layers over a row of the same moment or later."""
        for each in self._stack.way(model, key):
            for layer in self._stack.layers(model, each):
                if layer.opened.head.applied_at >= self._applied_at:
                    yield layer

    def _park(self, batch: Changed, row: Sequence[Any], shared: Opened) -> bool:
        if self._waiting is None:
            self._waiting = pointing_at(self._others)
        own = self._waiting.get(shared.locator)
        if own is not None:
            self._parked.append((own, replace(batch, rows=[list(row)])))
        return own is not None

    def move(
        self, batch: RowBatch, rows: Iterable[Sequence[Any]], *, model: str, name: str, position: int
    ) -> list[Sequence[Any]]:
        """Move rows whose value at ``position`` refers to a row of ``model`` that another bag holds; return the others."""
        waiting = self._stack.removed(model, name)
        moved: dict[int, tuple[Opened, list[Sequence[Any]]]] = {}
        staying = []
        for row in rows:
            opened = waiting.get(row[position])
            if opened is None:
                staying.append(row)
            else:
                moved.setdefault(id(opened), (opened, []))[1].append(list(row))
        for opened, found in moved.values():
            opened.add_below(replace(batch, rows=found))
        if moved:
            self._stack.forget(batch.model)
        return staying

    def removed(self, model: str, name: str) -> Set[Any]:
        """Values of a column in the rows of ``model`` that other bags hold."""
        return self._stack.removed(model, name).keys()


def _in_order(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Oldest first; those of one bag as they stand in it. Of one moment, as a disguise of everybody makes them: what found what another one
    had left lies over that; where values do not tell, what others have handed over lies below, for what lies over it fits as well."""
    if len(layers) < 2:
        return layers
    moments = [layer.opened.head.applied_at for layer in layers]
    if len({*moments}) == len({layer.opened.locator for layer in layers}):
        return layers
    ordered: list[Layer] = []
    for moment in sorted({*moments}):
        rest = [layer for layer, when in zip(layers, moments, strict=True) if when == moment]
        rest.sort(key=lambda each: not (each.opened.handed_over and each.new))
        while rest:
            lowest = (each for place, each in enumerate(rest) if not _lies_on_any(each, rest, place))
            ordered.append(next(lowest, rest[0]))
            rest.remove(ordered[-1])
    return ordered


def _lies_on_any(layer: Layer, others: Sequence[Layer], place: int) -> bool:
    """Whether it lies on any of the others, among which it has this place."""
    return any(
        number < place if other.opened is layer.opened else _lies_on(layer, other)
        for number, other in enumerate(others)
        if number != place
    )


def _lies_on(upper: Layer, lower: Layer) -> bool:
    """Whether one has found in a column what the other one had left, and not the other way round."""
    return any(
        _same(lower.row[lower.new[name]], upper.row[place])
        and not (name in upper.new and _same(upper.row[upper.new[name]], lower.row[lower.old[name]]))
        for name, place in upper.old.items()
        if name in lower.new
    )


def _left_as_it_was(layer: Layer, name: str) -> bool:
    return name in layer.new and name in layer.old and _same(layer.row[layer.old[name]], layer.row[layer.new[name]])


def _same(one: Any, other: Any) -> bool:
    # 1, 1.0 and True are equal to Python and are not the same value of a column.
    return type(one) is type(other) and bool(one == other)
