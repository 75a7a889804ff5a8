"""The content of files, sealed into bags of its own piece by piece, read back from there, and written to a storage.

Each file's pieces lie under a random locator of its own, sealed to the key that the locator makes; a record that names the file
holds the locator, and moves from bag to bag without the content. Invariants (nothing readable, nothing forged): content is in memory
a few pieces at a time, in the database sealed, and never in a message. Knows storages and bags; knows no rows or records of rows.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.files import File
from django.core.files.storage import Storage

from edna import conf, store
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.engine.files import stored_files
from edna.engine.files.stored_files import Missing, new_digest, stored_pieces
from edna.errors import BagCorrupt, BagMissing
from edna.records.bag import Bag, BagKind, open_bag, seal_bag
from edna.records.diff import Files, RowBatch
from edna.records.locator import Locator
from edna.store import serverkeys


class NameTaken(Exception):
    """The storage has saved the file under another name than the one asked for."""


@dataclass(frozen=True)
class Content:
    """The content of one file, sealed."""

    locator: Locator
    size: int
    digest: bytes = field(repr=False)

    @property
    def indexes(self) -> list[bytes]:
        return [
            self.locator.index(BagKind.SHARED, number) for number in range(-(-self.size // stored_files.PIECE_BYTES))
        ]


# Sealing


class Sink:
    """Seals files and stores the pieces, a packet at a time. `flush` stores the rest."""

    def __init__(self, *, now: datetime.datetime, expires_on: datetime.date | None, using: str) -> None:
        self._now, self._expires_on, self._using = now, expires_on, using
        self._waiting: list[tuple[bytes, bytes]] = []
        self._size = 0

    def put(self, pieces: Iterable[bytes]) -> Content:
        """``pieces`` are of `filestorage.PIECE_BYTES`, the last one perhaps of less. What iterating over them raises, this raises."""
        locator, size, digest = Locator.new(), 0, new_digest()
        for number, piece in enumerate(pieces):
            self._add(locator, number, piece)
            size += len(piece)
            digest.update(piece)
        return Content(locator, size, digest.digest())

    def _add(self, locator: Locator, number: int, piece: bytes) -> None:
        rows = [(number * stored_files.PIECE_BYTES, piece)]
        bag = Bag(
            kind=BagKind.SHARED,
            disguise="",
            applied_at=self._now,
            principal_model="",
            principal=None,
            params={},
            database=connection_of(self._using).vendor,
            listed=False,
            segments=(0, 0),
            batches=(Files.pieces(rows),),
        )
        made = seal_bag(
            bag,
            locator=locator,
            sequence=number,
            public_key=locator.shared_key().public_key,
            mac_key=serverkeys.signing_key(using=self._using),
            compress=conf.compress(),
        )
        if self._waiting and self._size + len(made.sealed) > raw.MAX_STATEMENT_BYTES:
            self.flush()
        self._waiting.append((made.index, made.sealed))
        self._size += len(made.sealed)

    def flush(self) -> None:
        if self._waiting:
            store.add_bags(self._waiting, expires_on=self._expires_on, using=self._using)
        self._waiting, self._size = [], 0


class DroppingSink(Sink):
    """Takes files that are deleted for good: measures them, and seals nothing."""

    def _add(self, locator: Locator, number: int, piece: bytes) -> None:
        pass


def erase(contents: Iterable[Content], *, using: str) -> None:
    """Delete the pieces of these files."""
    indexes = [index for content in contents for index in content.indexes]
    if indexes:
        store.delete_bags(indexes, using=using)


# Opening


class SealedFile(io.RawIOBase):
    """A sealed file, to be read like any other. Holds one opened piece at a time.

    Reading raises:
        BagError: a piece was deleted, changed, moved or forged.
    """

    def __init__(self, content: Content, *, using: str, loaded: Mapping[bytes, bytes] | None = None) -> None:
        super().__init__()
        self.content = content
        self._using = using
        self._loaded = loaded or {}
        self._position = 0
        self._piece: tuple[int, bytes] = (-1, b"")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.content.size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer: Any) -> int:
        if self._position >= self.content.size:
            return 0
        number, start = divmod(self._position, stored_files.PIECE_BYTES)
        part = self.piece(number)[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

    def piece(self, number: int) -> bytes:
        if self._piece[0] != number:
            self._piece = (-1, b"")
            self._piece = (number, self._open(number))
        return self._piece[1]

    def pieces(self) -> Iterator[bytes]:
        yield from map(self.piece, range(len(self.content.indexes)))

    def verify(self) -> None:
        """
        Raises:
            BagError: as for reading, of any piece.
        """
        digest = new_digest()
        for piece in self.pieces():
            digest.update(piece)
        if digest.digest() != self.content.digest:
            raise BagCorrupt(
                "The sealed content of a file is not what was sealed. Nothing was changed; restore its bags from a backup."
            )

    def _open(self, number: int) -> bytes:
        locator = self.content.locator
        index = locator.index(BagKind.SHARED, number)
        sealed = self._loaded.get(index) or store.bags_by_index([index], using=self._using).get(index)
        if sealed is None:
            raise BagMissing(
                "A bag with the content of a file is not in the table any more. Nothing was changed; restore it from a backup."
            )
        bag = open_bag(
            sealed,
            locator=locator,
            kind=BagKind.SHARED,
            sequence=number,
            secret_key=locator.shared_key(),
            mac_keys=conf.mac_keys(),
        )
        rows = [row for batch in bag.batches if isinstance(batch, RowBatch) for row in batch.rows]
        length = min(stored_files.PIECE_BYTES, self.content.size - number * stored_files.PIECE_BYTES)
        match rows:
            case [[int(offset), bytes(piece)]] if offset == number * stored_files.PIECE_BYTES and len(piece) == length:
                return piece
        raise BagCorrupt(
            "A bag with the content of a file holds something else. Nothing was changed; restore it from a backup."
        )


def opened(contents: Sequence[Content], *, using: str) -> Iterator[SealedFile]:
    """Each of them, in order; as many small ones are fetched with one statement as fit a packet."""
    batch: list[Content] = []
    size = 0
    for content in contents:
        if batch and size + content.size > raw.MAX_STATEMENT_BYTES:
            yield from _fetched(batch, using=using)
            batch, size = [], 0
        batch.append(content)
        size += content.size
    yield from _fetched(batch, using=using)


def _fetched(contents: Sequence[Content], *, using: str) -> Iterator[SealedFile]:
    small = [index for content in contents if content.size <= raw.MAX_STATEMENT_BYTES for index in content.indexes]
    loaded = store.bags_by_index(small, using=using) if small else {}
    for content in contents:
        yield SealedFile(content, using=using, loaded=loaded)


# Writing to a storage


def holds_beginning(storage: Storage, name: str, sealed: SealedFile, *, what: str) -> bool:
    """Whether what is stored is the beginning of ``sealed``, and not all of it: a write that was interrupted."""
    size = 0
    try:
        for number, piece in enumerate(stored_pieces(storage, name, what=what)):
            if size >= sealed.content.size or not sealed.piece(number).startswith(piece):
                return False
            size += len(piece)
    except Missing:
        return False
    return size < sealed.content.size


def save(storage: Storage, name: str, sealed: SealedFile) -> None:
    """Write the file under exactly this name.

    Raises:
        NameTaken: somebody else was faster. And whatever the storage raises.
    """
    sealed.seek(0)
    file = File(io.BufferedReader(sealed), name)
    file.size = sealed.content.size
    saved = storage.save(name, file)
    if saved != name and posixpath.normpath(name) != saved:
        storage.delete(saved)
        raise NameTaken
    _to_disk(storage, saved)


def _to_disk(storage: Storage, name: str) -> None:
    """The bags are erased next: a power cut must not find the file only in the memory of the machine."""
    try:
        path = storage.path(name)
    except NotImplementedError:
        return
    for each in (path, os.path.dirname(path)):
        with contextlib.suppress(OSError):  # not every system lets a directory be opened
            descriptor = os.open(each, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
