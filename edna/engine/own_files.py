"""The contents of somebody's files: those that their rows name now, and those that lie sealed, to be taken along.

Reads only. Keeps: content is read when it is asked for, and a piece at a time. Which rows are theirs, `own_data` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from django.db.models import FileField

from edna.engine import own_data
from edna.engine.bags.capability import Unlocked, require_unlocked
from edna.engine.files.fields import field_of
from edna.engine.files.pointers import pointers_in
from edna.engine.files.sealed_content import SealedFile
from edna.engine.files.stored_files import Missing, stored_pieces
from edna.errors import StorageFailed
from edna.records.bag import BagKind
from edna.records.diff import RowBatch


@dataclass(frozen=True)
class OwnFile:
    """One file. ``state`` is "present" of one in a storage, "sealed" of one in bags."""

    model: str
    column: str
    name: str = field(repr=False)
    state: str
    _read: Callable[[], Iterator[bytes]] = field(repr=False)

    def pieces(self) -> Iterator[bytes]:
        """Its content.

        Raises:
            StorageFailed: the storage has no such file, or cannot be read. BagError: what is sealed is not whole.
        """
        return self._read()


def of(unlocked: Unlocked) -> list[OwnFile]:
    require_unlocked(unlocked, "An export")
    found = [*_present(unlocked), *_sealed(unlocked)]
    # Several rows may name one file.
    return list({(each.model, each.column, each.name, each.state): each for each in found}.values())


def _present(unlocked: Unlocked) -> Iterator[OwnFile]:
    for row in own_data.of(unlocked)["rows"]:
        for column, value in row["columns"].items() if row["state"] == "present" else ():
            if isinstance(value, str) and value and (column_of_files := field_of(f"{row['model']}.{column}")):
                yield OwnFile(row["model"], column, value, "present", partial(_stored, column_of_files, value))


def _stored(column: FileField, name: str) -> Iterator[bytes]:
    what = f"{column.model._meta.label}.{column.name}"
    try:
        yield from stored_pieces(column.storage, name, what=what)
    except Missing:
        raise StorageFailed(f"The file of {what} is not in its storage. Nothing was changed.") from None


def _sealed(unlocked: Unlocked) -> Iterator[OwnFile]:
    for _, segments in unlocked.key_graph().follow(tuple(BagKind), start=unlocked.locators):
        batches = [batch for segment in segments for batch in segment.bag.batches if isinstance(batch, RowBatch)]
        for pointer in pointers_in(batches):
            sealed = SealedFile(pointer.content, using=unlocked.using)
            yield OwnFile(*pointer.label, pointer.name, "sealed", partial(_whole, sealed))


def _whole(sealed: SealedFile) -> Iterator[bytes]:
    sealed.verify()
    yield from sealed.pieces()
