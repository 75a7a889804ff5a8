"""The outer seal of the other carrier: a sealed container, sealed once more to a formula that nobody need know beforehand.

Keeps: docs/format.md, "Policy seals". What is around the body is bound to it, and so is the index under which the bag lies. What circl
writes names the policy; it lies under the veil, so that bytes of the database do not tell it, only the next powers of two of how long
both are. Does not know: whose the bag is, where keys come from.
"""

from __future__ import annotations

import struct
from typing import Final

import nacl.utils
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from edna.crypto.keys import KEY_BYTES, Secret
from edna.custody.policies.attributes import library
from edna.custody.policies.attributes.parameters import AttributeKey, Parameters, Veil
from edna.custody.policies.language import Formula
from edna.custody.policies.seal import FORGED, MOST_BODY_BYTES, VERSION, padded, spelling_of
from edna.errors import BagTooLarge, PolicyMalformed, PolicySealForged

SUITE: Final = 2
_HEAD: Final = struct.Struct(">BBIII")
_LENGTH: Final = struct.Struct(">H")
_LONG: Final = struct.Struct(">I")
_NONCE_BYTES, _TAG_BYTES = 24, 16
_LEAST_HIDDEN: Final = 4096
_AROUND: Final = _NONCE_BYTES + _TAG_BYTES
#: Of what lies under the veil: powers of two, up to what the longest formula takes.
_HIDDEN: Final = frozenset(_AROUND + (_LEAST_HIDDEN << power) for power in range(5))


def seal(sealed: bytes, *, formula: Formula, parameters: Parameters, index: bytes) -> bytes:
    """Return the container with the outer seal, for this place. Asks nobody.

    Raises:
        ConfigurationError: the library is missing.
        AttributeParametersForged: the parameters are none.
        BagTooLarge: it is too long.
    """
    name = padded(str(formula))
    body_bytes = _AROUND + _LENGTH.size + len(name) + len(sealed)
    if body_bytes > MOST_BODY_BYTES:
        raise BagTooLarge("A bag does not fit into a policy seal. Disguise in smaller chunks.")
    key = library.LongSecret(nacl.utils.random(KEY_BYTES))
    ciphertext = library.encrypt(key, parameters=parameters.public, epoch=parameters.epoch, formula=formula)
    hidden = _padded(ciphertext)
    head = _HEAD.pack(VERSION, SUITE, parameters.epoch, _AROUND + len(hidden), body_bytes)
    head += _boxed(hidden, head, parameters.veil)
    return head + _boxed(_LENGTH.pack(len(name)) + name + sealed, head + index, key)


def _padded(ciphertext: bytes) -> bytes:
    length = _LONG.size + len(ciphertext)
    return (_LONG.pack(len(ciphertext)) + ciphertext).ljust(max(_LEAST_HIDDEN, 1 << (length - 1).bit_length()), b"\0")


def _boxed(plain: bytes, associated: bytes, key: Secret) -> bytes:
    nonce = nacl.utils.random(_NONCE_BYTES)
    return nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(plain, associated, nonce, key.expose())


def check(stored: bytes, length: int) -> int:
    """What can be seen without a key, of a stored bag of ``length`` bytes of which the beginning is given. Return the epoch.

    Raises: PolicySealForged if it is no outer seal of this carrier.
    """
    return _layout(stored, length)[0]


def _layout(stored: bytes, length: int) -> tuple[int, int]:
    """Epoch, and where the body begins."""
    if len(stored) < _HEAD.size:
        raise PolicySealForged(FORGED)
    version, suite, epoch, hidden_bytes, body_bytes = _HEAD.unpack_from(stored)
    start = _HEAD.size + hidden_bytes
    if (
        (version, suite) != (VERSION, SUITE)
        or hidden_bytes not in _HIDDEN
        or body_bytes < _AROUND + _LENGTH.size
        or length != start + body_bytes
    ):
        raise PolicySealForged(FORGED)
    return epoch, start


def open_seal(stored: bytes, *, key: AttributeKey, index: bytes) -> tuple[Formula, bytes] | None:
    """Return the formula and the container; None if the key does not satisfy the policy.

    Raises: PolicySealForged if something was changed, or lies under another index; ConfigurationError if the library is missing.
    """
    _, start = _layout(stored, len(stored))
    ciphertext = _unveiled(stored, start, key.veil())
    if ciphertext is None:
        raise PolicySealForged(FORGED)
    file_key = library.decrypt(ciphertext, key=key.key())
    if file_key is None:
        return None
    plain = _opened(stored[start:], stored[:start] + index, file_key)
    if plain is None or len(plain) < _LENGTH.size:
        raise PolicySealForged(FORGED)
    (size,) = _LENGTH.unpack_from(plain)
    end = _LENGTH.size + size
    try:
        return Formula.of_spelling(spelling_of(plain[_LENGTH.size : end])), plain[end:]
    except (UnicodeDecodeError, PolicyMalformed):
        raise PolicySealForged(FORGED) from None


def _unveiled(stored: bytes, start: int, veil: Veil) -> bytes | None:
    hidden = _opened(stored[_HEAD.size : start], stored[: _HEAD.size], veil)
    if hidden is None:
        return None
    (size,) = _LONG.unpack_from(hidden)
    ciphertext = hidden[_LONG.size : _LONG.size + size]
    return ciphertext if _padded(ciphertext) == hidden else None


def _opened(boxed: bytes, associated: bytes, key: Secret) -> bytes | None:
    """Never raises: its variables are what it opens."""
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(
            boxed[_NONCE_BYTES:], associated, boxed[:_NONCE_BYTES], key.expose()
        )
    except (CryptoError, ValueError, TypeError):
        return None
