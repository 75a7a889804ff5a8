"""What is in a storage under a name: read in pieces, measured, compared.

Whatever a storage says in an error quotes the file's name, so none of it goes on. Writes nothing; knows storages only.
"""

from __future__ import annotations

import enum
import hashlib
import os
from collections.abc import Hashable, Iterator
from typing import Any, Final

from django.core.exceptions import SuspiciousOperation
from django.core.files.storage import FileSystemStorage, Storage
from django.utils.functional import LazyObject

from edna.errors import StorageFailed

#: Of one bag. Sealing takes about six times as much memory for a moment, and as many pieces are stored at once as fit a packet.
PIECE_BYTES: Final = 1024 * 1024

#: What opening a file that is not there ends in, or one that no storage would give out.
_ABSENT: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, SuspiciousOperation)


class Missing(Exception):
    """The storage has no such file."""


class Presence(enum.Enum):
    """What a storage has under a name: nothing, the content in question, or something else."""

    MISSING = enum.auto()
    SAME = enum.auto()
    OTHER = enum.auto()


def new_digest() -> Any:
    return hashlib.blake2b(digest_size=32, person=b"edna.file.1")


def storage_key(storage: Storage) -> Hashable:
    """The same for two storages that keep the same files, as far as that can be told."""
    if isinstance(storage, LazyObject):
        storage.exists  # noqa: B018 - sets up what it stands for
        storage = vars(storage)["_wrapped"]
    if isinstance(storage, FileSystemStorage):
        return os.path.realpath(storage.location)
    arguments = getattr(storage, "_constructor_args", None)
    return type(storage), id(storage) if arguments is None else repr(arguments)


def stored_pieces(storage: Storage, name: str, *, what: str) -> Iterator[bytes]:
    """The file's content in pieces of `PIECE_BYTES`. ``what`` says in an error whose file it is.

    Raises:
        Missing: there is no such file.
        StorageFailed: it cannot be read.
    """
    begun, failure = False, ""
    try:
        with storage.open(name, "rb") as file:
            while piece := _filled(file):
                begun = True
                yield piece
        return
    except Exception as error:  # each storage has errors of its own: a cloud's client, a decoder, an OSError
        if begun or not (isinstance(error, _ABSENT) or not may_exist(storage, name)):
            failure = type(error).__name__
    # Outside of the handler: the storage's words quote the file's name, and end up in logs.
    if failure:
        raise StorageFailed(
            f"The file of {what} cannot be read ({failure}). Nothing was changed; see to the storage and try again."
        )
    raise Missing


def _filled(file: Any) -> bytes:
    piece = bytearray()
    while len(piece) < PIECE_BYTES:
        part = file.read(PIECE_BYTES - len(piece))
        if not part:
            break
        piece += part
    return bytes(piece)


def may_exist(storage: Storage, name: str) -> bool:
    """Whether something has this name, as far as the storage says."""
    try:
        return storage.exists(name)
    except Exception:  # a storage that does not answer, in whatever words, does not say that the file is missing
        return True


def measure(storage: Storage, name: str, *, what: str) -> tuple[int, bytes] | None:
    """Size and digest of a stored file; None if it is missing."""
    size, digest = 0, new_digest()
    try:
        for piece in stored_pieces(storage, name, what=what):
            size += len(piece)
            digest.update(piece)
    except Missing:
        return None
    return size, digest.digest()


def presence(storage: Storage, name: str, size: int, digest: bytes, *, what: str) -> Presence:
    measured = measure(storage, name, what=what)
    if measured is None:
        return Presence.MISSING
    return Presence.SAME if measured == (size, digest) else Presence.OTHER
