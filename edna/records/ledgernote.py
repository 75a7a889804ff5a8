"""What the erasure ledger keeps of one disguise of one person: where it stands, and what it says.

Keeps: both follow from the server's keys (docs/format.md, "Erasure ledger"). Whoever has the table alone can tell neither
whose a note is nor which disguise it is about, and notes are of one size. Does not know: where notes are stored, settings, the clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
)
from nacl.exceptions import CryptoError

from edna.crypto.keys import derive, fingerprint
from edna.errors import BagCorrupt, BagForged
from edna.records import values
from edna.records.values import Value

_VERSION = 1
_NONCE_BYTES = 24
_LENGTH_BYTES = 4
#: Padded to this, or to the next power of two: what has long parameters is told from what has not, and nothing else is.
PADDED_BYTES = 256


@dataclass(frozen=True, slots=True)
class LedgerNote:
    """``month`` is when, such as "2026-11"; ``position`` how many disguises the person was under before; ``for_good`` that nothing brings
    it back; ``database`` where the person was, on a site that has several. `repr` shows none of them, nor parameters."""

    disguise: str
    params: dict[str, Value] = field(repr=False)
    month: str = field(repr=False)
    position: int = field(repr=False)
    for_good: bool = field(default=False, repr=False)
    database: str = field(default="", repr=False)


def what(disguise: str, params: Mapping[str, Value], *, for_good: bool = False) -> bytes:
    """A disguise with its parameters as 32 bytes, the same in whichever order they are given.

    Done ``for_good`` it is another: whoever was under it before can reveal that one, and not this.
    """
    said = [disguise, sorted(params.items())]
    return fingerprint(values.encode([*said, True] if for_good else said), purpose=b"edna.ledger.what")


def ledger_index(server_key: bytes, *, model: str, reference: str, what: bytes) -> bytes:
    """Where the note of this principal and disguise stands: only a holder of ``server_key`` can compute it."""
    key = fingerprint(server_key, purpose=b"edna.ledger.key")
    return derive(key, purpose=b"edna.ledger.idx", data=values.encode([model, reference, what]))


def seal_note(note: LedgerNote, *, index: bytes, server_key: bytes) -> bytes:
    """The note, padded and sealed for this place alone."""
    said: list[Value] = [_VERSION, note.disguise, note.params, note.month, note.position]
    if note.database:
        said += [note.for_good, note.database]
    elif note.for_good:
        said.append(True)
    content = values.encode(said)
    size = PADDED_BYTES
    while size < _LENGTH_BYTES + len(content):
        size *= 2
    padded = (len(content).to_bytes(_LENGTH_BYTES, "big") + content).ljust(size, b"\0")
    nonce = nacl.utils.random(_NONCE_BYTES)
    return nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(padded, index, nonce, _sealing_key(server_key))


def open_note(sealed: bytes, *, index: bytes, server_keys: Sequence[bytes]) -> LedgerNote:
    """
    Raises:
        BagForged: none of the keys opens it at this place.
        BagCorrupt: it opens, and is none.
    """
    padded = _opened(sealed, index, server_keys)
    del server_keys
    if padded is None:
        raise BagForged(
            "A row of the erasure ledger was not made by this server, or was edited or moved: no key of MAC_KEYS opens it. "
            "Put a missing key back into the list."
        )
    length = int.from_bytes(padded[:_LENGTH_BYTES], "big")
    match values.decode(padded[_LENGTH_BYTES : _LENGTH_BYTES + length]):
        case [1, str(disguise), dict(params), str(month), int(position)]:
            return LedgerNote(disguise, params, month, position)
        case [1, str(disguise), dict(params), str(month), int(position), True]:
            return LedgerNote(disguise, params, month, position, for_good=True)
        case [1, str(disguise), dict(params), str(month), int(position), bool(for_good), str(database)]:
            return LedgerNote(disguise, params, month, position, for_good=for_good, database=database)
    raise BagCorrupt("A row of the erasure ledger has another shape than this release writes; upgrade edna.")


def _opened(sealed: bytes, index: bytes, server_keys: Sequence[bytes]) -> bytes | None:
    """Never raises, because its variables are keys."""
    for server_key in server_keys:
        try:
            return crypto_aead_xchacha20poly1305_ietf_decrypt(
                sealed[_NONCE_BYTES:], index, sealed[:_NONCE_BYTES], _sealing_key(server_key)
            )
        except (CryptoError, ValueError):
            continue
    return None


def _sealing_key(server_key: bytes) -> bytes:
    return fingerprint(server_key, purpose=b"edna.ledger.seal")
