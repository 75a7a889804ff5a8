"""The files of policies: keys that sign, manifests, certificates, the monitor's list of clauses, and its parameters of attributes.

Keeps: what is secret is written for its owner alone (mode 600), and into a new file. Does not know: what is in it for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import nacl.signing

from edna.custody.policies.attributes.parameters import Parameters
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.signing import from_base64, to_base64
from edna.errors import ConfigurationError
from edna.management.base import new_private_file


def write_key(path: Path, key: nacl.signing.SigningKey) -> None:
    with new_private_file(str(path)) as file:
        file.write(to_base64(bytes(key)) + "\n")


def write_signed(path: Path, text: str, *, is_private: bool = False) -> None:
    """In one step: others read it meanwhile. What is private, its owner and group read."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640 if is_private else 0o644), "w") as file:
        file.write(text)
    draft.replace(path)


def read_key(path: Path) -> nacl.signing.SigningKey:
    """
    Raises: ConfigurationError if it is no key.
    """
    raw = from_base64(read(path).strip(), size=32)
    if raw is None:
        raise ConfigurationError(f"The file {path} is no key; edna_monitor key makes one.")
    return nacl.signing.SigningKey(raw)


def public_key_of(text: str, *, given_as: str) -> bytes:
    """``given_as`` is where the text stands: an option, a setting.

    Raises: ConfigurationError if it is none.
    """
    raw = from_base64(text.strip(), size=32)
    if raw is None:
        raise ConfigurationError(
            f"{given_as} is no public key: that is 32 bytes in base 64, as edna_monitor key and init print it."
        )
    return raw


def monitor_of(said: Mapping[str, object]) -> bytes:
    """The public key of the monitor that ``EDNA["MONITOR"]`` names.

    Raises: ConfigurationError if it is none.
    """
    return public_key_of(str(said["PUBLIC_KEY"]), given_as='EDNA["MONITOR"]["PUBLIC_KEY"]')


def read(path: Path) -> str:
    """
    Raises: ConfigurationError if it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"The file {path} cannot be read: {type(error).__name__}.") from error


def read_clauses(path: Path, *, monitor: bytes) -> ClauseList:
    """Read once for each time that the file was written.

    Raises: ConfigurationError if it cannot be read; ClauseListForged, ClauseKeyForged if the monitor has not signed it.
    """
    return _clauses(path, monitor, *_written(path, by="clauses"))


def read_parameters(path: Path, *, monitor: bytes) -> Parameters:
    """Likewise those of policies by attributes.

    Raises: ConfigurationError if they cannot be read; AttributeParametersForged if the monitor has not signed them.
    """
    return _parameters(path, monitor, *_written(path, by="attributes"))


def _written(path: Path, *, by: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise ConfigurationError(
            f"The file {path} cannot be read: {type(error).__name__}. edna_monitor {by} writes it."
        ) from error
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4)
def _parameters(path: Path, monitor: bytes, written: int, size: int) -> Parameters:
    return Parameters.parse(read(path), monitor=monitor)


@lru_cache(maxsize=4)
def _clauses(path: Path, monitor: bytes, written: int, size: int) -> ClauseList:
    return ClauseList.parse(read(path), monitor=monitor)
