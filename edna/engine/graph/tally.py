"""Counts rows, and each of them once: a plan, a history and an outcome say of one disguise what is counted here.

A row counts once for a disguise, however many of its steps change it, and however many records speak of it. The row of a
pseudoprincipal is edna's own, as its companions are, and counts nowhere. Works on keys and records; reads no tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.apps import apps

from edna.db.rows import Row
from edna.engine.graph.placeholder_rows import PlaceholderRows
from edna.engine.graph.references import reference_of
from edna.records.diff import Blobs, Changed, Decorrelated, Modified, Removed, RowBatch, Shares


class Tally:
    """Rows by the label of their model, each by its key."""

    def __init__(self) -> None:
        self._rows: dict[str, set[Any]] = {}

    def __bool__(self) -> bool:
        return any(self._rows.values())

    def add(self, model: str, keys: Iterable[Any]) -> None:
        self._rows.setdefault(model, set()).update(keys)

    def include(self, other: Tally) -> None:
        for model, keys in other._rows.items():
            self.add(model, keys)

    def without(self, *others: Tally) -> Tally:
        """The rows that are in none of the others."""
        left = Tally()
        for model, keys in self._rows.items():
            left._rows[model] = keys.difference(*(other._rows.get(model, ()) for other in others))
        return left

    def items(self) -> Iterable[tuple[str, Collection[Any]]]:
        return self._rows.items()

    def of(self, model: str) -> Collection[Any]:
        return self._rows.get(model, ())

    def counts(self) -> dict[str, int]:
        """How many rows of each model, without models of which there are none."""
        return {model: len(keys) for model, keys in self._rows.items() if keys}


class Recorded:
    """The rows of one disguise of ``principal``, as its records tell: those of one bag after the other, in their order.

    Or of several disguises, each `include`d.
    """

    def __init__(
        self, principal_model: str = "", principal: Any = "", placeholders: PlaceholderRows | None = None
    ) -> None:
        self._principal_model, self._principal = principal_model, str(principal)
        self._placeholders = placeholders or PlaceholderRows({})
        self.rows = Tally()
        #: Rows that count nowhere, by their keys.
        self.left_out = Tally()
        #: For rows of which a change has changed the key: the key that they had before the disguise, by the later one.
        self.before: dict[str, dict[Row, Row]] = {}
        self._changed = Tally()
        self._modified = Tally()
        self._shared: dict[str, int] = {}

    def add(self, batches: Iterable[RowBatch]) -> None:
        for batch in batches:
            if isinstance(batch, Shares):
                self._shared[batch.model] = self._shared.get(batch.model, 0) + batch.records
            elif isinstance(batch, Blobs):
                self.rows.add(batch.model, {(row[0],) for row in batch.rows})
            elif isinstance(batch, Removed | Changed):
                keys = self._keys(batch)
                self.rows.add(batch.model, keys)
                if isinstance(batch, Changed):
                    (self._changed if isinstance(batch, Decorrelated) else self._modified).add(batch.model, keys)

    def disowned(self) -> dict[str, list[Any]]:
        """The keys of rows that were given to a placeholder, by model; of rows with one column for a key."""
        found = {
            model: sorted({key[0] for key in keys if len(key) == 1}, key=str) for model, keys in self._changed.items()
        }
        return {model: keys for model, keys in found.items() if keys}

    @property
    def needs_shared(self) -> bool:
        """Whether a number alone does not tell which rows of shared bags the own records name, too: owners by value have no column that
        was re-pointed."""
        return any(
            shared and not set(self._modified.of(model)) <= set(self._changed.of(model))
            for model, shared in self._shared.items()
        )

    def name_shared(self, batches: Iterable[RowBatch]) -> None:
        """The rows of a shared bag at which a record points."""
        for batch in batches:
            if isinstance(batch, Removed | Modified) and batch.model in self._shared:
                self.rows.add(batch.model, former(self.before, batch.model, batch.primary_keys()))
                self._shared[batch.model] -= len(batch.rows)

    def include(self, later: Recorded) -> None:
        """Add another disguise of the same person, or of one of their pseudoprincipals, that came after all of these."""
        for model, keys in later.rows.items():
            self.rows.add(model, former(self.before, model, list(keys)))
        for model, keys in later._changed.items():
            self._changed.add(model, former(self.before, model, list(keys)))
        for model, keys in later._modified.items():
            self._modified.add(model, former(self.before, model, list(keys)))
        for model, known in later.before.items():
            mine = self.before.setdefault(model, {})
            mine.update({now: mine.get(then, then) for now, then in known.items()})
        for model, shared in later._shared.items():
            self._shared[model] = self._shared.get(model, 0) + shared

    def counts(self) -> dict[str, int]:
        """Of rows in shared bags, the own records name those of which an owner's column was re-pointed before they were removed."""
        counts = self.rows.counts()
        for model, shared in self._shared.items():
            if more := shared - len(self._changed.of(model)):
                counts[model] = counts.get(model, 0) + max(0, more)
        return counts

    def _keys(self, batch: Removed | Changed) -> list[Row]:
        keys: list[Row] = batch.primary_keys()
        if placeholders := self._placeholders.in_batch(batch, keys):
            self.left_out.add(batch.model, placeholders)
            keys = [key for key in keys if key not in placeholders]
        if isinstance(batch, Removed) and batch.model == self._principal_model:
            model = apps.get_model(batch.model)
            return [key for key in keys if len(key) > 1 or reference_of(model, key[0]) == self._principal]
        if isinstance(batch, Changed) and not set(batch.key).isdisjoint(batch.columns):
            self._note_former_keys(batch)
        return former(self.before, batch.model, keys)

    def _note_former_keys(self, batch: Changed) -> None:
        width = len(batch.key)
        old = {place: width + position for place, position in batch.key_columns().items()}
        known = self.before.setdefault(batch.model, {})
        for row in batch.rows:
            key = tuple(row[old.get(place, place)] for place in range(width))
            known[tuple(row[:width])] = known.get(key, key)


def former(before: Mapping[str, Mapping[Row, Row]], model: str, keys: list[Row]) -> list[Row]:
    """The keys that the rows had before the disguise."""
    known = before.get(model)
    return [known.get(key, key) for key in keys] if known else keys
