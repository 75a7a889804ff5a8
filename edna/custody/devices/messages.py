"""Two-party secure messaging: what one member tells another, each time to another key (after Weidner et al., CCS 2021, section 6.1).

A message carries secrets of the group, a new secret key for whoever reads it, and a new public key of whoever wrote it. The next message
in either direction goes to these. Keeps: a key that was used is used no more; a message opens for one reader at one place of one log.
Because a log has one order, both know which key comes next: there is one for each direction, and none has a number.
Does not know: operations, who is a member.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
)
from nacl.exceptions import CryptoError

from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey, fingerprint
from edna.custody.devices.group_secrets import GroupSecret
from edna.errors import KeyMalformed

#: A message with one secret.
MESSAGE_BYTES: Final = 3 * KEY_BYTES + 16

# A key is for one message alone, so that one nonce is enough.
_NONCE = bytes(24)


@dataclass(frozen=True, slots=True)
class Pair:
    """What two members have between them, as one of them sees it: the key that the other will write to, and the one to write to."""

    own: SecretKey
    theirs: PublicKey


@dataclass(frozen=True, slots=True)
class Received:
    """What a message said: the secrets, the last one the present, and what the two have between them from now on."""

    secrets: Sequence[GroupSecret]
    pair: Pair


def seal_message(
    secrets: Sequence[GroupSecret], *, to: PublicKey, ephemeral: SecretKey, context: bytes
) -> tuple[bytes, Pair]:
    """Return a message, and what its writer keeps of it.

    ``ephemeral`` may be the same for all messages of an operation: their keys differ by reader. ``context`` is the place in the log and who
    reads it.
    """
    for_reader, own = SecretKey.generate(), SecretKey.generate()
    said = b"".join((for_reader.expose(), bytes(own.public_key), *(secret.expose() for secret in secrets)))
    key = _key(ephemeral, to, ephemeral.public_key, to, context)
    return crypto_aead_xchacha20poly1305_ietf_encrypt(said, b"", _NONCE, key), Pair(own, for_reader.public_key)


def open_message(message: bytes, *, own: SecretKey, ephemeral: PublicKey, context: bytes) -> Received | None:
    """Return what a message says; None if it is for somebody else, or was changed. Never raises: its variables are secrets."""
    try:
        key = _key(own, ephemeral, ephemeral, own.public_key, context)
        said = crypto_aead_xchacha20poly1305_ietf_decrypt(message, b"", _NONCE, key)
        parts = list(_pieces(said))
        theirs = PublicKey(parts[1])
    except (CryptoError, KeyMalformed, RuntimeError, IndexError):
        return None
    if len(said) % KEY_BYTES or len(parts) == 2:
        return None
    return Received([GroupSecret(part) for part in parts[2:]], Pair(SecretKey(parts[0]), theirs))


def _pieces(said: bytes) -> Iterator[bytes]:
    return (said[start : start + KEY_BYTES] for start in range(0, len(said), KEY_BYTES))


def _key(secret: SecretKey, public: PublicKey, ephemeral: PublicKey, reader: PublicKey, context: bytes) -> bytes:
    shared = crypto_scalarmult(secret.expose(), bytes(public))
    return fingerprint(shared + bytes(ephemeral) + bytes(reader) + context, purpose=b"edna.group.msg.1")
