"""A batch of records whose columns are being renamed, added and dropped, without touching its rows until they are needed.

Pure: knows columns, positions and values; the fields that it is told of only to convert what a rule has set.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Field

from edna import json_keys
from edna.engine.forwarding.driver_values import Maker, raw_value
from edna.records.diff import OPERATIONS, Changed, Operation, Removed
from edna.records.sealedrecord import SealedRecord
from edna.records.values import Value


@dataclass
class Column:
    """``position`` among the columns that the stored rows were made with; None for one that ``maker`` fills.

    ``python`` and ``python_new`` say that a rule has set the values, the disguised ones of a changed row by itself.
    """

    name: str
    position: int | None
    maker: Maker | None = None
    instead_of_null: Maker | None = None
    python: bool = False
    python_new: bool = False
    field: Field[Any, Any] | None = None
    using: str = ""

    @property
    def plain(self) -> bool:
        return self.position is not None and not (self.instead_of_null or self.python or self.python_new)

    def value(self, stored: Sequence[Value], offset: int, *, new: bool = False) -> Value:
        if self.position is None:
            assert self.maker is not None
            return self.maker()
        value = stored[offset + self.position]
        if self.field is not None and (self.python_new if new else self.python):
            value = raw_value(self.field, value, using=self.using)
        return self.instead_of_null() if value is None and self.instead_of_null is not None else value


@dataclass
class Moving:
    """Records of one operation on one model, in some shape between then and now. ``sources`` are the rows they come from."""

    operation: Operation
    model: str
    key: tuple[str, ...]
    columns: list[Column]
    stored: list[Sequence[Value]]
    sources: Any
    #: How wide a side of a stored row is, however many of its columns are left.
    width: int
    #: Columns that came with a migration on the way, and whether code ran that may have done anything.
    added: list[str] = field(default_factory=list)
    unknown: bool = False
    #: How many logged updates of the application it has followed.
    followed: int = 0
    #: How far it has come in applications where it was before, so that it never walks the same way twice.
    passed: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, batch: Removed | Changed) -> Moving:
        columns = [Column(name, position) for position, name in enumerate(batch.columns)]
        rows = range(len(batch.rows))
        return cls(OPERATIONS[batch.word], batch.model, batch.key, columns, list(batch.rows), rows, len(columns))

    @property
    def removed(self) -> bool:
        return self.operation is Removed

    @property
    def app_label(self) -> str:
        return self.model.partition(".")[0]

    def column(self, name: str) -> Column | None:
        return next((column for column in self.columns if column.name == name), None)

    def has(self, name: str) -> bool:
        """Whether there is anything of this column, be it a single key of it."""
        return any(json_keys.holder(column.name, (name,)) for column in self.columns)

    def add(self, name: str, maker: Maker) -> None:
        self.columns.append(Column(name, None, maker))

    def drop(self, name: str) -> None:
        self.columns = [column for column in self.columns if not json_keys.holder(column.name, (name,))]

    def rename(self, name: str, to: str) -> None:
        """Unless a rule has filled the new column already, out of the old one."""
        if self.column(to) is not None:
            self.drop(name)
        else:
            for column in self.columns:
                if json_keys.holder(column.name, (name,)):
                    column.name = to + column.name.removeprefix(name)
            self.key = tuple(to if each == name else each for each in self.key)
            self.added = [to if each == name else each for each in self.added]

    def rename_model(self, name: str, *, to: str) -> None:
        """What a model of this application is called from now on."""
        app_label, _, own = self.model.partition(".")
        if own == name:
            self.model = f"{app_label}.{to}"
        elif self._hidden:
            # A hidden many-to-many table is called after its model, and its columns after both.
            if own.startswith(f"{name}_"):
                self.model = f"{app_label}.{to}{own.removeprefix(name)}"
            for prefix in ("", "from_", "to_"):
                self.rename(prefix + name, prefix + to)

    def rename_field(self, model: str, name: str, to: str) -> None:
        """What a field of a model of this application is called from now on."""
        app_label, _, own = self.model.partition(".")
        if own == model:
            self.rename(name, to)
        elif self._hidden and own == f"{model}_{name.lower()}":
            self.model = f"{app_label}.{model}_{to.lower()}"

    @property
    def _hidden(self) -> bool:
        return "_" in self.model.partition(".")[2] and self.key == ("id",) and len(self.columns) <= 3

    def reorder(self, names: Sequence[str]) -> None:
        by_name = {column.name: column for column in self.columns}
        self.columns = [by_name[name] for name in names]

    def prepare(self, fields: Mapping[str, Field[Any, Any]], *, using: str) -> None:
        """What a rule has set becomes what the driver would read."""
        for column in self.columns:
            column.field, column.using = fields[column.name], using

    def rows(self) -> list[Sequence[Value]]:
        """The rows in the present shape, as a `RowBatch` has them."""
        if not self.removed:
            width = len(self.key)
            positions = list(range(width))
            for offset in (width, width + self.width):
                positions += [offset + (column.position or 0) for column in self.columns]
            if all(column.plain for column in self.columns):
                return _picked(self.stored, positions)
            return [(*row[:width], *self.side(row, width), *self.side(row, width + self.width)) for row in self.stored]
        if all(column.plain for column in self.columns):
            return _picked(self.stored, [column.position or 0 for column in self.columns])
        return [self.side(row, 0) for row in self.stored]

    def settle(self, rows: Sequence[Sequence[Value]]) -> None:
        """Take ``rows``, which are in the present shape, for the stored ones."""
        self.stored = list(rows)
        self.width = len(self.columns)
        self.columns = [
            Column(column.name, position, python=column.python, python_new=column.python_new)
            for position, column in enumerate(self.columns)
        ]

    def side(self, row: Sequence[Value], offset: int) -> tuple[Value, ...]:
        new = offset > len(self.key)
        return tuple([column.value(row, offset, new=new and not self.removed) for column in self.columns])

    # As records

    def records(self) -> Iterator[tuple[int, SealedRecord]]:
        """Each row for a rule, with its source."""
        names = [column.name for column in self.columns]
        python = {column.name for column in self.columns if column.python}
        python_new = {column.name for column in self.columns if column.python_new}
        width = len(self.key)
        for source, row in zip(self.sources, self.rows(), strict=True):
            key, old, new = row[:width], row[width : width + len(names)], row[width + len(names) :]
            if self.removed:
                values = dict(zip(names, row, strict=True))
                key, old, new = [values[name] for name in self.key if name in values], row, ()
            record = SealedRecord(
                self.operation.word,
                self.model,
                dict(zip(self.key, key, strict=False)),
                dict(zip(names, old, strict=True)),
                dict(zip(names, new, strict=False)),
                set(python),
                set(python_new),
            )
            yield source, record

    @classmethod
    def place(cls, record: SealedRecord, of: Moving) -> tuple[Any, Moving, tuple[Value, ...]]:
        """Where a record goes that a rule has returned: what it has in common with others, an empty batch of it, and its row.

        Raises: ValueError for a record that cannot be undone: no key, or other columns in ``new`` than in ``old``.
        """
        operation = OPERATIONS[record.operation.lower()]
        removed = operation is Removed
        if not removed and (set(record.old) != set(record.new) or not record.key):
            raise ValueError("a changed row needs its key, and the same columns in old and new")
        names = tuple(record.old)
        key = tuple(name for name in record.key if not removed or name in record.old)
        python, python_new = record.python_old & set(names), record.python_new & set(names)
        model = record.model.lower()
        columns = [
            Column(name, position, python=name in python, python_new=name in python_new)
            for position, name in enumerate(names)
        ]
        empty = cls(operation, model, key, columns, [], [], len(names))
        if model == of.model:
            empty.added, empty.unknown = [name for name in of.added if name not in names], of.unknown
        empty.passed = dict(of.passed)
        if empty.app_label == of.app_label:
            empty.followed = of.followed
        row = tuple(record.old.values())
        if not removed:
            row = (*record.key.values(), *row, *[record.new[name] for name in names])
        return (operation, model, key, names, frozenset(python), frozenset(python_new)), empty, row


def _picked(rows: Sequence[Sequence[Value]], positions: Sequence[int]) -> list[Sequence[Value]]:
    if rows and positions == list(range(len(rows[0]))):
        return list(rows)
    if len(positions) < 2:
        return [tuple(row[position] for position in positions) for row in rows]
    return list(map(operator.itemgetter(*positions), rows))
