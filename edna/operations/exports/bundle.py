"""A file that says at its end that it is whole, and that this site wrote it: what `edna_export` and `edna_ledger` write.

Keeps: nothing of a file is decoded before its checksum and its MAC verify (docs/format.md, "Export file"), and nobody but its owner may
read it. The MAC is under a key of ``EDNA["MAC_KEYS"]``: the first signs, all verify. Reads and writes piece by piece, so that memory
does not grow with the file. Does not know: tables, or what the pieces mean.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO, Final

from edna import conf
from edna.crypto.keys import derive, fingerprint
from edna.errors import BagError, FileRefused
from edna.records import values
from edna.store import serverkeys

FORMAT: Final = 1

_MAGIC: Final = b"edna export %d\n"
_LENGTH_BYTES: Final = 4
_CHECKSUM_BYTES: Final = 64
_MAC_BYTES: Final = 32
_TRAILER_BYTES: Final = _LENGTH_BYTES + _CHECKSUM_BYTES + _MAC_BYTES
#: The largest bag there is, and what stands around it.
_MOST_BYTES: Final = 80 * 1024 * 1024
_READ_BYTES: Final = 1024 * 1024


class Writer:
    """Writes pieces, one after the other. Only `new_file` ends the file so that it can be read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._checksum = _new_checksum()
        self._write(_MAGIC % FORMAT)

    def add(self, piece: Any) -> None:
        encoded = values.encode(piece)
        self._write(len(encoded).to_bytes(_LENGTH_BYTES, "big") + encoded)

    def _write(self, data: bytes) -> None:
        self._checksum.update(data)
        self._file.write(data)

    def end(self, *, using: str) -> None:
        """
        Raises:
            ServerKeyUnknown: the file would be signed with a key that this database does not know.
        """
        self._write(bytes(_LENGTH_BYTES))
        checksum = self._checksum.digest()
        self._file.write(checksum + _mac(checksum, serverkeys.signing_key(using=using)))


@contextmanager
def new_file(path: str, *, using: str) -> Iterator[Writer]:
    """A new file of mode 0600, on the disk when the block has ended, and gone if it fails.

    Raises:
        FileRefused: there is something at ``path`` already, or it cannot be written.
        ServerKeyUnknown: as `Writer.end`.
    """
    try:
        # Never through a link, and never over anything: it may be the only copy.
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise FileRefused(f"{path} exists already; name a new file.") from None
    except OSError as error:
        raise FileRefused(f"{path} cannot be written: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            writer = Writer(file)
            yield writer
            writer.end(using=using)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise


class Reader:
    """The pieces of a file that was found to be whole. `verify_again` says whether it still was while they were read."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self._file, self._path = file, path
        self._checksum = _new_checksum()
        self._checksum.update(file.readline())

    def pieces(self) -> Iterator[Any]:
        while size := int.from_bytes(self._take(_LENGTH_BYTES), "big"):
            if size > _MOST_BYTES:
                raise _damaged(self._path)
            try:
                yield values.decode(self._take(size))
            except BagError:
                break
        else:
            _verify(self._checksum.digest(), self._file.read(_TRAILER_BYTES), self._path)
            return
        raise _damaged(self._path)  # outside of the handler, whose frames hold what was read

    def _take(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise _damaged(self._path)
        self._checksum.update(data)
        return data


@contextmanager
def whole_file(path: str) -> Iterator[Reader]:
    """Read a file, all of which is verified before its first piece is handed out, and once more when the last one was.

    Raises:
        FileRefused: it cannot be read, is no file of edna's, of another version, cut off, edited, or signed by another site.
    """
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}.") from None
    with file:
        first = file.readline(100)
        if first != _MAGIC % FORMAT:
            raise _unknown(first, path)
        _verify_whole(file, first, path)
        file.seek(0)
        yield Reader(file, path)


def _verify_whole(file: BinaryIO, first: bytes, path: str) -> None:
    checksum = _new_checksum()
    checksum.update(first)
    left = os.fstat(file.fileno()).st_size - len(first) - _CHECKSUM_BYTES - _MAC_BYTES
    if left < _LENGTH_BYTES:
        raise _damaged(path)
    while left:
        data = file.read(min(left, _READ_BYTES))
        if not data:
            raise _damaged(path)
        checksum.update(data)
        left -= len(data)
    _verify(checksum.digest(), file.read(), path)


def _verify(checksum: bytes, trailer: bytes, path: str) -> None:
    if trailer[:_CHECKSUM_BYTES] != checksum or len(trailer) != _CHECKSUM_BYTES + _MAC_BYTES:
        raise _damaged(path)
    if not any(hmac.compare_digest(trailer[_CHECKSUM_BYTES:], mac) for mac in _macs(checksum)):
        raise FileRefused(
            f"{path} is whole, but no key of MAC_KEYS signed it: it is another site's, or was edited. Nothing was changed; "
            'put the MAC_KEYS of the site that wrote it into EDNA["MAC_KEYS"] (its bags need them, too).'
        )


def _unknown(first: bytes, path: str) -> FileRefused:
    prefix, _, version = first.rstrip(b"\n").rpartition(b" ")
    if prefix == _MAGIC.partition(b" %d")[0] and version.isdigit():
        return FileRefused(
            f"{path} is of format {int(version)}, and this release reads format {FORMAT}: use the release of edna that wrote it. "
            "Nothing was changed."
        )
    return FileRefused(f"{path} is no file that edna_export or edna_ledger wrote. Nothing was changed.")


def _damaged(path: str) -> FileRefused:
    return FileRefused(
        f"{path} was cut off or edited: its checksum is not that of its content. Nothing was changed; copy or write it again."
    )


def _new_checksum() -> Any:
    return hashlib.blake2b(digest_size=_CHECKSUM_BYTES, person=b"edna.export.sum1")


def _macs(checksum: bytes) -> list[bytes]:
    """Under each key of the server, the current one first."""
    return [_mac(checksum, key) for key in conf.mac_keys()]


def _mac(checksum: bytes, server_key: bytes) -> bytes:
    return derive(fingerprint(server_key, purpose=b"edna.export.key"), purpose=b"edna.export.mac", data=checksum)
