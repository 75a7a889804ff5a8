"""The outer seal: a sealed container, sealed once more to the keys of a policy's clauses.

Keeps: docs/format.md, "Policy seals". What is around the body is bound to it, and so is the index under which the bag lies. It does not
tell which policy it is, only the next powers of two of how many clauses that has and of how long it is. One key pair is made for each
seal; who opens computes once for each key that they hold, however many clauses there are. Does not know: whose the bag is, where keys
come from.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from collections.abc import Iterable, Sequence
from typing import Final

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_box_afternm,
    crypto_box_beforenm,
    crypto_box_keypair,
    crypto_box_open_afternm,
)
from nacl.exceptions import CryptoError

from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.language import Policy
from edna.errors import BagTooLarge, PolicyMalformed, PolicySealForged

#: No container begins so: the first byte of those is their version.
VERSION: Final = 0x81
_SUITE: Final = 1
_HEAD: Final = struct.Struct(">BBIBI")
_LENGTH: Final = struct.Struct(">H")
_BOX_BYTES: Final = KEY_BYTES + 16
_NONCE_BYTES, _TAG_BYTES = 24, 16
_FEWEST_STANZAS: Final = 4
_LEAST_SPELLING_BYTES: Final = 256
_STANZAS: Final = frozenset({4, 8, 16, 32, 64})
MOST_BODY_BYTES: Final = 64 * 1024 * 1024 + 8192
INDEX_BYTES: Final = 32
FORGED: Final = (
    "The policy seal of this bag was changed, or it lies in another place than it was made for. Nothing was changed."
)


def is_policy_sealed(stored: bytes) -> bool:
    """Whether bytes that are stored as a bag have an outer seal."""
    return stored[:1] == bytes((VERSION,))


def seal(sealed: bytes, *, policy: Policy, clauses: ClauseList, index: bytes) -> bytes:
    """Return the container with the outer seal, for this place. Asks nobody.

    Raises:
        ClauseKeyMissing: the list does not have this policy's clauses.
        BagTooLarge: it is too long.
    """
    recipients = clauses.of_policy(policy)
    name = padded(str(policy))
    body_bytes = _NONCE_BYTES + _LENGTH.size + len(name) + len(sealed) + _TAG_BYTES
    if body_bytes > MOST_BODY_BYTES:
        raise BagTooLarge("A bag does not fit into a policy seal. Disguise in smaller chunks.")
    count = _stanzas_of(len(recipients))
    public, ephemeral = crypto_box_keypair()
    key = nacl.utils.random(KEY_BYTES)
    boxes = [_box(key, recipient, public, ephemeral) for recipient in recipients]
    boxes += [nacl.utils.random(_BOX_BYTES) for _ in range(count - len(boxes))]
    secrets.SystemRandom().shuffle(boxes)
    head = _HEAD.pack(VERSION, _SUITE, clauses.epoch, count, body_bytes) + public + b"".join(boxes)
    nonce = nacl.utils.random(_NONCE_BYTES)
    plain = _LENGTH.pack(len(name)) + name + sealed
    return head + nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(plain, head + index, nonce, key)


def padded(spelling: str) -> bytes:
    """Filled up with zero bytes: the length of a bag would tell which policy it is."""
    raw = spelling.encode()
    return raw.ljust(min(max(_LEAST_SPELLING_BYTES, 1 << (len(raw) - 1).bit_length()), 0xFFFF), b"\0")


def spelling_of(raw: bytes) -> str:
    """What was filled up by `padded`; or not, by a former release.

    Raises: UnicodeDecodeError
    """
    return raw.rstrip(b"\0").decode()


def _stanzas_of(clauses: int) -> int:
    return max(_FEWEST_STANZAS, 1 << (clauses - 1).bit_length())


def _box(key: bytes, recipient: PublicKey, public: bytes, ephemeral: bytes) -> bytes:
    return crypto_box_afternm(key, _nonce(public, recipient), crypto_box_beforenm(bytes(recipient), ephemeral))


def _nonce(public: bytes, recipient: PublicKey) -> bytes:
    return hashlib.blake2b(public + bytes(recipient), digest_size=_NONCE_BYTES).digest()


def check(stored: bytes, length: int) -> int:
    """What can be seen without a key, of a stored bag of ``length`` bytes of which the beginning is given. Return the epoch.

    Raises: PolicySealForged if it is no outer seal.
    """
    return _layout(stored, length)[0]


def _layout(stored: bytes, length: int) -> tuple[int, int, int]:
    """Epoch, number of stanzas, where the body begins."""
    if len(stored) < _HEAD.size + KEY_BYTES:
        raise PolicySealForged(FORGED)
    version, suite, epoch, count, body_bytes = _HEAD.unpack_from(stored)
    if version != VERSION or suite != _SUITE:
        raise PolicySealForged("This release does not read policy seals of this kind. Nothing was changed.")
    start = _HEAD.size + KEY_BYTES + count * _BOX_BYTES
    if count not in _STANZAS or body_bytes < _NONCE_BYTES + _LENGTH.size + _TAG_BYTES or length != start + body_bytes:
        raise PolicySealForged(FORGED)
    return epoch, count, start


def open_seal(stored: bytes, *, keys: Iterable[SecretKey], index: bytes) -> tuple[Policy, bytes] | None:
    """Return the policy and the container; None if none of the keys is that of one of its clauses. A stanza that was changed cannot be
    told from one of another clause.

    Raises: PolicySealForged if something was changed, or lies under another index.
    """
    _, count, start = _layout(stored, len(stored))
    key = _file_key(stored, keys, count)
    if key is None:
        return None
    plain = _decrypted(stored, start, index, key)
    if plain is None or len(plain) < _LENGTH.size:
        raise PolicySealForged(FORGED)
    (size,) = _LENGTH.unpack_from(plain)
    end = _LENGTH.size + size
    try:
        return Policy.of_spelling(spelling_of(plain[_LENGTH.size : end])), plain[end:]
    except (UnicodeDecodeError, PolicyMalformed):
        raise PolicySealForged(FORGED) from None


def _file_key(stored: bytes, keys: Iterable[SecretKey], count: int) -> bytes | None:
    public = stored[_HEAD.size : _HEAD.size + KEY_BYTES]
    first = _HEAD.size + KEY_BYTES
    boxes = [stored[first + number * _BOX_BYTES : first + (number + 1) * _BOX_BYTES] for number in range(count)]
    for secret in keys:
        opened = _opened_by(secret, public, boxes)
        if opened is not None:
            return opened
    return None


def _opened_by(secret: SecretKey, public: bytes, boxes: Sequence[bytes]) -> bytes | None:
    nonce = _nonce(public, secret.public_key)
    try:
        shared = crypto_box_beforenm(public, secret.expose())
    except CryptoError:
        return None  # a point of small order: nobody's key
    for box in boxes:
        try:
            return crypto_box_open_afternm(box, nonce, shared)
        except CryptoError:
            continue
    return None


def _decrypted(stored: bytes, start: int, index: bytes, key: bytes) -> bytes | None:
    nonce, box = stored[start : start + _NONCE_BYTES], stored[start + _NONCE_BYTES :]
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(box, stored[:start] + index, nonce, key)
    except CryptoError:
        return None
