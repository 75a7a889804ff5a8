"""Diff records: what one primitive did to the rows of one model, old values and new, as columns and rows.

Keeps: the batch layout of docs/format.md ("Diff batch"); every row of a batch has exactly the batch's width. A batch
holds many records, so that a bag of a thousand rows names its columns once. Its type says of what kind they are. Does not know:
the ORM, the database, whether the columns still exist; only `edna.engine` joins records with models.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

from edna.errors import BagCorrupt
from edna.records.values import Value


def values_at(positions: Sequence[int], rows: Sequence[Sequence[Value]]) -> list[tuple[Value, ...]]:
    """What each of the rows has at these positions, of which there is one at least."""
    return list(zip(*[[row[position] for row in rows] for position in positions], strict=True))


@dataclass(frozen=True, slots=True, repr=False)
class RowBatch:
    """Records of one kind about one model: see the kinds below.

    `model` is the lower-case label ("websubmit.answer"); `stamp` the name of the newest migration of its
    application in the running code, "" if there is none; `key` the field names of the primary key; `columns` field names.
    `number` and `word` are the kind's in the format. `repr` shows no values: they are personal data.
    """

    number: ClassVar[int]
    word: ClassVar[str]

    model: str
    stamp: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Value]]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.model} rows={len(self.rows)}>"

    @property
    def layout(self) -> tuple[str, ...]:
        """The field name behind each position of a row."""
        return self.key + self.columns

    @property
    def records(self) -> int:
        """How many rows of the application the batch is about, or how many blobs begin in it."""
        return 0

    def primary_keys(self) -> list[tuple[Value, ...]]:
        """The key of each row: under which it was removed, or is found after a change."""
        return [tuple(row[: len(self.key)]) for row in self.rows]

    def only(self, keys: Set[tuple[Value, ...]]) -> Self:
        """The batch with those rows that have one of the keys."""
        rows = [row for key, row in zip(self.primary_keys(), self.rows, strict=True) if key in keys]
        return replace(self, rows=rows)

    def without(self, keys: Set[tuple[Value, ...]]) -> Self:
        """The batch with those rows that have none of the keys."""
        rows = [row for key, row in zip(self.primary_keys(), self.rows, strict=True) if key not in keys]
        return replace(self, rows=rows)

    def is_well_formed(self) -> bool:
        """Whether every row fits the columns, and a removed row includes its primary key."""
        return bool(self.key) and set(map(len, self.rows)) <= {len(self.layout)}

    def to_payload(self) -> list[Value]:
        """Return the batch as plain lists for `values.encode`.

        Raises: ValueError if the batch is not well formed: it could never be revealed.
        """
        if not self.is_well_formed():
            raise ValueError(f"{self!r}: rows must have the values {self.layout}, a removed row its primary key too")
        return [self.number, self.model, self.stamp, self.key, self.columns, self.rows]

    @staticmethod
    def from_payload(payload: Value) -> RowBatch:
        """Read what `to_payload` made, after a decode. Raises: BagCorrupt if the shape is any other."""
        batch = _read(payload)
        del payload
        if batch is None:
            raise BagCorrupt(
                "A diff batch of the bag is malformed. Nothing was changed; restore the bag from a backup."
            )
        return batch


class Removed(RowBatch):
    """Removed rows: the values of `columns`, of which `key` is a part."""

    __slots__ = ()
    number, word = 1, "remove"

    #: Where in a row the old values of `columns` begin.
    old_from: ClassVar[int] = 0

    @property
    def layout(self) -> tuple[str, ...]:
        return self.columns

    @property
    def records(self) -> int:
        return len(self.rows)

    def primary_keys(self) -> list[tuple[Value, ...]]:
        return values_at([self.columns.index(name) for name in self.key], self.rows)

    def is_well_formed(self) -> bool:
        return super().is_well_formed() and set(self.key) <= set(self.columns)


class Changed(RowBatch):
    """Changed rows, of one of the two kinds below: the key values, then the old values of `columns`, then their new values."""

    __slots__ = ()

    @property
    def layout(self) -> tuple[str, ...]:
        return self.key + self.columns + self.columns

    @property
    def records(self) -> int:
        return len(self.rows)

    @property
    def old_from(self) -> int:
        """Where in a row the old values of `columns` begin."""
        return len(self.key)

    def key_columns(self) -> dict[int, int]:
        """Where in the key, and where among the columns, each column stands that is part of both."""
        return {self.key.index(name): position for position, name in enumerate(self.columns) if name in self.key}

    def old(self, row: Sequence[Any]) -> Sequence[Any]:
        return row[len(self.key) : len(self.key) + len(self.columns)]

    def new(self, row: Sequence[Any]) -> Sequence[Any]:
        return row[len(self.key) + len(self.columns) :]


class Modified(Changed):
    """Rows of which columns got placeholders."""

    __slots__ = ()
    number, word = 2, "modify"


class Decorrelated(Changed):
    """Rows that were re-pointed to a pseudoprincipal."""

    __slots__ = ()
    number, word = 3, "decorrelate"


class Shares(RowBatch):
    """Pointers at shared bags: the locator, and how many rows of `model` are in it."""

    __slots__ = ()
    number, word = 4, "share"

    @classmethod
    def of(cls, model: str, rows: Sequence[tuple[bytes, int]]) -> Self:
        return cls(model, "", ("locator",), ("rows",), rows)

    @property
    def records(self) -> int:
        return sum(row[1] for row in self.rows if isinstance(row[1], int))

    def locators(self) -> list[bytes]:
        return [bytes(row[0]) for row in self.rows]


class Files(RowBatch):
    """Pointers at the sealed content of files that rows name: its locator, the field, the name, the size and a digest."""

    __slots__ = ()
    number, word = 5, "file"

    @classmethod
    def of(cls, model: str, rows: Sequence[Sequence[Value]]) -> Self:
        return cls(model, "", ("locator",), ("field", "name", "size", "digest"), rows)

    @classmethod
    def pieces(cls, rows: Sequence[tuple[int, bytes]]) -> Self:
        """What lies under such a locator: the content, from that offset on."""
        return cls("", "", ("offset",), ("content",), rows)


class Blobs(RowBatch):
    """Parts of what the application has sealed by itself: the blob's position, the part's number, and its bytes. `model` is the name of
    the disguise."""

    __slots__ = ()
    number, word = 6, "blob"

    @classmethod
    def of(cls, disguise: str, rows: Sequence[tuple[int, int, bytes]]) -> Self:
        return cls(disguise, "", ("position", "part"), ("blob",), rows)

    @property
    def records(self) -> int:
        return sum(row[1] == 0 for row in self.rows)


class Mentions(RowBatch):
    """Of pseudoprincipals of `model`: who each was, and who stands for it now."""

    __slots__ = ()
    number, word = 7, "mention"

    #: The position of a row that says who it is now.
    NOW: ClassVar[int] = 1

    @classmethod
    def of(cls, model: str, key: Value) -> Self:
        return cls(model, "", ("mentioned",), ("now",), [(key, key)])

    def names(self) -> dict[Any, Any]:
        return dict(self.rows)  # type: ignore[arg-type]  # pairs: they fit their columns


class Owners(RowBatch):
    """Of rows of `model` that somebody else owns beside whom the bag is for: by which path whom each had for a natural owner, with the
    reference and the public key of that one, and which columns are theirs, too; "" for the row as a whole."""

    __slots__ = ()
    number, word = 8, "owner"

    @classmethod
    def of(cls, model: str, stamp: str, key: tuple[str, ...], rows: Sequence[Sequence[Value]]) -> Self:
        return cls(model, stamp, key, ("path", "reference", "public_key", "columns"), rows)


class Listed(RowBatch):
    """In whose lists the locator of the shared bag is that holds this, and by which item: whoever erases the bag takes them out again.

    In a bag of one owner, with a row of nothing: a reveal has tried its records, and these are held (`TRIED`).
    """

    __slots__ = ()
    number, word = 9, "listing"

    @classmethod
    def of(cls, rows: Sequence[tuple[bytes, bytes]]) -> Self:
        return cls("", "", ("public_key",), ("item",), rows)

    def items(self) -> list[tuple[bytes, bytes]]:
        return [(bytes(public_key), bytes(item)) for public_key, item in self.rows]


#: Beside records that a reveal has tried and that are held.
TRIED = Listed.of([(b"", b"")])

#: The kinds by their numbers in the format.
KINDS: dict[int, type[RowBatch]] = {
    kind.number: kind for kind in (Removed, Modified, Decorrelated, Shares, Files, Blobs, Mentions, Owners, Listed)
}
#: What a disguise does to rows of a table: the type of the records that it makes.
Operation: TypeAlias = type[Removed] | type[Modified] | type[Decorrelated]
OPERATIONS: dict[str, Operation] = {kind.word: kind for kind in (Removed, Modified, Decorrelated)}


def _read(payload: Value) -> RowBatch | None:
    match payload:
        case [int(number), str(model), str(stamp), list(key), list(columns), list(rows)] if (
            type(number) is int and number in KINDS
        ):
            # Sets of types instead of a test per value: rows are many, and their values are of any type.
            if set(map(type, key + columns)) <= {str} and set(map(type, rows)) <= {list}:
                batch = KINDS[number](model, stamp, tuple(key), tuple(columns), rows)
                return batch if batch.is_well_formed() else None
    return None
