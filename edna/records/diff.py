"""Diff records: what one primitive did to the rows of one model, old values and new, as columns and rows.

Keeps: the batch layout of docs/format.md ("Diff batch"); every row of a batch has exactly the batch's width. A batch
holds many records, so that a bag of a thousand rows names its columns once. Does not know: the ORM, the database,
whether the columns still exist; only `edna.engine` joins records with models.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from edna.errors import BagCorrupt
from edna.records.values import Value


class Operation(enum.IntEnum):
    """The three primitives. The numbers are part of the format."""

    REMOVE = 1
    MODIFY = 2
    DECORRELATE = 3


@dataclass(frozen=True, slots=True, repr=False)
class DiffBatch:
    """Diff records of one operation on one model.

    `model` is the lower-case label ("websubmit.answer"); `stamp` the name of the newest migration of its
    application in the running code, "" if there is none; `key` the field names of the primary key; `columns` field names.
    A row of REMOVE holds the values of `columns` (of which `key` is a part). A row of MODIFY or DECORRELATE holds the
    key values, then the old values of `columns`, then their new values. `repr` shows no values: they are personal data.
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
        return self.columns if self.operation is Operation.REMOVE else self.key + self.columns + self.columns

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


def _read(payload: Value) -> DiffBatch | None:
    match payload:
        case [int(number), str(model), str(stamp), list(key), list(columns), list(rows)] if number in _OPERATIONS:
            # Sets of types instead of a test per value: rows are many, and their values are of any type.
            if set(map(type, key + columns)) <= {str} and set(map(type, rows)) <= {list}:
                batch = DiffBatch(Operation(number), model, stamp, tuple(key), tuple(columns), rows)
                return batch if batch.is_well_formed() else None
    return None
