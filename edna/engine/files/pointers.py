"""What leads from a record to the sealed content of a file: rows of `Files` in the bag that holds the record.

Knows records and the fields that name files; reads and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeGuard

from django.db.models import FileField

from edna.engine.files.fields import Name, field_of, file_fields, label_of, mentions, name_of
from edna.engine.files.sealed_content import Content
from edna.records.diff import Files, RowBatch
from edna.records.locator import Locator
from edna.store import PendingFile


@dataclass(frozen=True)
class Pointer:
    """One file's sealed content, and whose it is. ``column`` is None if the project has no such field any more."""

    column: FileField | None
    name: str = field(repr=False)
    content: Content
    #: As in the record.
    label: tuple[str, str]

    @property
    def key(self) -> Name | None:
        return None if self.column is None else name_of(self.column, self.name)

    def task(self, *, free: bool, erase: bool) -> PendingFile:
        assert self.column is not None
        content = self.content
        locator = content.locator.expose()
        return PendingFile(label_of(self.column), self.name, content.size, content.digest, locator, free, erase)


def pointers_in(batches: Iterable[RowBatch]) -> Iterator[Pointer]:
    """The pointers among the records. One whose field was renamed since belongs to a field that names the file now."""
    batches = list(batches)
    files = [batch for batch in batches if leads_to_files(batch)]
    if not files:
        return
    by_name: dict[str, FileField] | None = None
    for batch in files:
        for locator, label, name, size, digest in batch.rows:
            column = field_of(f"{batch.model}.{label}")
            if column is None or column not in file_fields(column.model):
                if by_name is None:
                    by_name = {other: field for each in batches for field, other, _ in mentions(each)}
                column = by_name.get(name)
            yield Pointer(column, name, Content(Locator(locator), size, digest), (batch.model, label))


def batches_of(pointers: Iterable[Pointer]) -> list[RowBatch]:
    """The pointers as records."""
    rows: dict[str, list[list[object]]] = {}
    for each in pointers:
        model, label = each.label
        content = each.content
        rows.setdefault(model, []).append([content.locator.expose(), label, each.name, content.size, content.digest])
    return [Files.of(model, own) for model, own in rows.items()]


def without_pointers(batches: Iterable[RowBatch]) -> list[RowBatch]:
    return [batch for batch in batches if not isinstance(batch, Files)]


def leads_to_files(batch: RowBatch) -> TypeGuard[Files]:
    return isinstance(batch, Files) and bool(batch.rows)
