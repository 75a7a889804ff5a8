"""Puts what one disguise recorded into later ones that lie on top of it, so that receipts are revealed in any order.

If p→q1→q2 and p→q1 is revealed first, the later record becomes p→q2, and the earlier one is gone: it has nothing to restore
in the table, and everything that it knew is in the other bag. What waits only for a row that another bag holds moves
into that bag. Works on opened records; knows no tables' contents, and writes nothing but records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

from edna.db.rows import Row
from edna.engine.bags.opened import Opened, pointing_at
from edna.engine.layers.moved_rows import Moves
from edna.records.diff import Changed, Decorrelated, Modified, Removed, RowBatch
from edna.records.locator import Locator


@dataclass(frozen=True)
class _Place:
    """A row of a record in another bag, and where in it the earlier value of each column stands."""

    opened: Opened
    row: Sequence[Any]
    old: Mapping[str, int]


class Folding:
    """The records of ``others`` as seen from the bag that is being revealed."""

    def __init__(self, current: Opened, others: Sequence[Opened]) -> None:
        self._current = current
        self._others = others
        self._parked: list[tuple[Opened, Changed]] = []
        self._waiting: Mapping[Locator, Opened] | None = None
        self._places: dict[tuple[str, Row], list[_Place]] | None = None
        self._removed: dict[tuple[str, str], dict[Any, Opened]] = {}
        self.moves = Moves(others)

    def __bool__(self) -> bool:
        return bool(self._others)

    def take(self, batch: Changed, *, at_any_time: bool = False) -> list[Changed]:
        """Fold what later records cover, and return the rest, each part with the columns that are left of its rows.

        ``at_any_time`` also folds into records that a clock says are older: the table has shown that these are on top.
        """
        places = self._index()
        if not places:
            return [batch]
        width, count = len(batch.key), len(batch.columns)
        left: dict[tuple[str, ...], list[Sequence[Any]]] = {}
        for row in batch.rows:
            covered = self._cover(batch, row, places, at_any_time=at_any_time)
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
            self._forget()
        self._parked.clear()
        return [replace(batch, columns=columns, rows=rows) for columns, rows in left.items()]

    def _cover(
        self, batch: Changed, row: Sequence[Any], places: Mapping[tuple[str, Row], list[_Place]], *, at_any_time: bool
    ) -> set[str]:
        width, count = len(batch.key), len(batch.columns)
        covered: set[str] = set()
        #: Columns whose place has been found, whether it fits or not.
        over: set[str] = set()
        keys = self.moves.way(batch.model, tuple(row[:width]))
        for number, place in ((n, place) for n, key in enumerate(keys) for place in places.get((batch.model, key), ())):
            if not at_any_time and place.opened.head.applied_at < self._current.head.applied_at:
                continue
            for position, name in enumerate(batch.columns):
                old = place.old.get(name)
                if name in over or old is None:
                    continue
                if isinstance(batch, Modified) and not at_any_time:
                    # The next one that changed this column, and no later one: between them, the value was another one.
                    over.add(name)
                if _same(place.row[old], row[width + count + position]):
                    if place.opened.shared and isinstance(batch, Decorrelated):
                        # Another owner may bring the row back, and must not learn from it whose it was: the name goes into the
                        # bag of the principal's own that waits for the same row.
                        if self._park(batch, row, place.opened):
                            covered.add(name)
                            over.add(name)
                        continue
                    place.opened.put(place.row, old, row[width + position])
                    covered.add(name)
                    over.add(name)
                    if name in batch.key:
                        self.moves.rewrite(batch, row, keys[: number + 1])
        return covered

    def overlaid(self, batch: Changed) -> dict[Row, str]:
        """By key, rows of which a later record covers a column over another value than this one left there, and which column.

        Whatever stands in the table is that record's then, even if it looks like this one's: a constant, for example.
        """
        places = self._index()
        found: dict[Row, str] = {}
        for key in batch.primary_keys() if places else ():
            for place in (
                place for each in self.moves.way(batch.model, key) for place in places.get((batch.model, each), ())
            ):
                later = place.opened.head.applied_at > self._current.head.applied_at
                name = next((name for name in batch.columns if name in place.old), None)
                if later and name is not None:
                    found.setdefault(key, name)
        return found

    def _park(self, batch: Changed, row: Sequence[Any], shared: Opened) -> bool:
        if self._waiting is None:
            self._waiting = pointing_at(self._others)
        own = self._waiting.get(shared.locator)
        if own is not None:
            self._parked.append((own, replace(batch, rows=[list(row)])))
        return own is not None

    def _forget(self) -> None:
        """Records were rewritten, or have moved."""
        self.moves.forget()
        self._removed.clear()
        self._places = None

    def move(
        self, batch: RowBatch, rows: Iterable[Sequence[Any]], *, model: str, name: str, position: int
    ) -> list[Sequence[Any]]:
        """Move rows whose value at ``position`` refers to a row of ``model`` that another bag holds; return the others."""
        waiting = self._removed_rows(model, name)
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
            self._forget()
        return staying

    def removed(self, model: str, name: str) -> Set[Any]:
        """Values of a column in the rows of ``model`` that other bags hold."""
        return self._removed_rows(model, name).keys()

    def _removed_rows(self, model: str, name: str) -> dict[Any, Opened]:
        if (model, name) not in self._removed:
            found: dict[Any, Opened] = {}
            for opened in self._others:
                for batch in opened.diffs if not opened.shared else ():
                    if isinstance(batch, Removed) and batch.model == model and name in batch.columns:
                        position = batch.columns.index(name)
                        found |= {row[position]: opened for row in batch.rows}
            self._removed[model, name] = found
        return self._removed[model, name]

    def _index(self) -> dict[tuple[str, Row], list[_Place]]:
        """Where rows that the revealed bag changed are recorded in other bags, oldest first, by their key before that."""
        if self._places is None:
            wanted: dict[str, set[Row]] = {}
            for batch in self._current.diffs if self._others else ():
                if isinstance(batch, Changed):
                    keys = {tuple(row[: len(batch.key)]) for row in batch.rows}
                    if self.moves.concern(batch.model):
                        keys = {later for key in keys for later in self.moves.way(batch.model, key)}
                    wanted.setdefault(batch.model, set()).update(keys)
            self._places = {}
            for opened in self._others:
                for batch in opened.diffs:
                    for key, place in _places(opened, batch, wanted.get(batch.model, set())):
                        self._places.setdefault((batch.model, key), []).append(place)
        return self._places


def _places(opened: Opened, batch: RowBatch, wanted: Set[Row]) -> Iterator[tuple[Row, _Place]]:
    if not wanted or not isinstance(batch, Removed | Changed):
        return
    width = len(batch.key)
    if isinstance(batch, Removed):
        old = {name: position for position, name in enumerate(batch.columns)}
        keys = [old[name] for name in batch.key]
    else:
        old = {name: width + position for position, name in enumerate(batch.columns)}
        # The owner may be a part of the key: what counts is the key that the row had before.
        keys = [old.get(name, position) for position, name in enumerate(batch.key)]
    for row in batch.rows:
        key = tuple(row[position] for position in keys)
        if key in wanted:
            yield key, _Place(opened, row, old)


def _same(one: Any, other: Any) -> bool:
    # 1, 1.0 and True are equal to Python and are not the same value of a column.
    return type(one) is type(other) and bool(one == other)
