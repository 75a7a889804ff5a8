"""Diff records: what one primitive did to the rows of one model, old values and new, as columns and rows.

Keeps: the batch layout of docs/format.md ("Diff batch"); every row of a batch has exactly the batch's width. A batch
holds many records, so that a bag of a thousand rows names its columns once. Does not know: the ORM, the database,
whether the columns still exist; only `edna.engine` joins records with models.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from edna.errors import BagCorrupt
from edna.records.values import Value


class Operation(enum.IntEnum):
    """The three primitives, and what goes with them. The numbers are part of the format."""

    REMOVE = 1
    MODIFY = 2
    DECORRELATE = 3
    SHARE = 4
    FILE = 5
    BLOB = 6
    MENTION = 7


@dataclass(frozen=True, slots=True, repr=False)
class DiffBatch:
    """Diff records of one operation on one model.

    `model` is the lower-case label ("websubmit.answer"); `stamp` the name of the newest migration of its
    application in the running code, "" if there is none; `key` the field names of the primary key; `columns` field names.
    A row of REMOVE holds the values of `columns` (of which `key` is a part). A row of MODIFY or DECORRELATE holds the
    key values, then the old values of `columns`, then their new values. A row of SHARE points at a shared bag: its locator
    (the key) and how many rows of `model` are in it. A row of FILE points at the sealed content of a file that a row
    names: its locator (the key), the field, the name, the size and a digest. A row of BLOB is a part of one: the blob's
    position, the part's number (together the key), and its bytes; `model` is the name of the disguise. A row of MENTION says
    of a pseudoprincipal of `model` (the key) who stands for it now. `repr` shows no values: they are personal data.
    """

    operation: Operation
    model: str
    stamp: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]

    def __repr__(self) -> str:
        return f"<DiffBatch {self.operation.name} {self.model} rows={len(self.rows)}>"

    @property
    def layout(self) -> tuple[str, ...]:
        """The field name behind each position of a row."""
        if self.operation is Operation.REMOVE:
            return self.columns
        if self.operation in CHANGES:
            return self.key + self.columns + self.columns
        return self.key + self.columns

    @property
    def records(self) -> int:
        """How many rows of the application the batch is about, or how many blobs begin in it."""
        if self.operation is Operation.BLOB:
            return sum(row[1] == 0 for row in self.rows)
        if self.operation is Operation.SHARE:
            return sum(row[1] for row in self.rows if isinstance(row[1], int))
        return len(self.rows) if self.operation in _ROWS else 0

    def primary_keys(self) -> list[tuple[Value, ...]]:
        """The key of each row: under which it was removed, or is found after a change."""
        if self.operation is not Operation.REMOVE:
            return [tuple(row[: len(self.key)]) for row in self.rows]
        positions = [self.columns.index(name) for name in self.key]
        return [tuple(row[position] for position in positions) for row in self.rows]

    def only(self, keys: Set[tuple[Value, ...]]) -> DiffBatch:
        """The batch with those rows that have one of the keys."""
        rows = [row for key, row in zip(self.primary_keys(), self.rows, strict=True) if key in keys]
        return replace(self, rows=rows)

    def without(self, keys: Set[tuple[Value, ...]]) -> DiffBatch:
        """The batch with those rows that have none of the keys."""
        rows = [row for key, row in zip(self.primary_keys(), self.rows, strict=True) if key not in keys]
        return replace(self, rows=rows)

    def is_well_formed(self) -> bool:
        """Whether every row fits the columns, and a removed row includes its primary key."""
        return (
            bool(self.key)
            and set(map(len, self.rows)) <= {len(self.layout)}
            and (self.operation is not Operation.REMOVE or set(self.key) <= set(self.columns))
        )

    def to_payload(self) -> list[Value]:
        """Return the batch as plain lists for `values.encode`.

        Raises: ValueError if the batch is not well formed: it could never be revealed.
        """
        if not self.is_well_formed():
            raise ValueError(f"{self!r}: rows must have the values {self.layout}, a removed row its primary key too")
        return [int(self.operation), self.model, self.stamp, self.key, self.columns, self.rows]

    @classmethod
    def from_payload(cls, payload: Value) -> DiffBatch:
        """Read what `to_payload` made, after a decode. Raises: BagCorrupt if the shape is any other."""
        batch = _read(payload)
        del payload
        if batch is None:
            raise BagCorrupt(
                "A diff batch of the bag is malformed. Nothing was changed; restore the bag from a backup."
            )
        return batch


_OPERATIONS = frozenset(Operation)
CHANGES = frozenset({Operation.MODIFY, Operation.DECORRELATE})
_ROWS = CHANGES | {Operation.REMOVE}


def _read(payload: Value) -> DiffBatch | None:
    match payload:
        case [int(number), str(model), str(stamp), list(key), list(columns), list(rows)] if number in _OPERATIONS:
            # Sets of types instead of a test per value: rows are many, and their values are of any type.
            if set(map(type, key + columns)) <= {str} and set(map(type, rows)) <= {list}:
                batch = DiffBatch(Operation(number), model, stamp, tuple(key), tuple(columns), rows)
                return batch if batch.is_well_formed() else None
    return None
