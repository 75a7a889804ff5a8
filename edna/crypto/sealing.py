"""Sealed containers: padded bytes that only the holder of a recipient's secret key can read.

Keeps: container version 1, suite 1 of docs/format.md (stanzas of X25519 or of the hybrid kind around one random file key, an
XChaCha20-Poly1305 body, Padmé padding). Keeps: a container says nothing about its recipients, and about its content
only the padded length. Does not know: what is inside, who made it (anybody can seal to a public key;
`edna.records.bag` adds the server's MAC), where it is stored.

Every error is raised where no variable of a traceback's frames holds a key or a plaintext, and outside `except`
blocks, so that PyNaCl's frames (whose variables do) are not attached to it. That is why helpers here return None
instead of raising.

Long, for what seals and what opens are the same layout, read side by side.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
    crypto_box,
    crypto_box_seal,
    crypto_box_seal_open,
    crypto_scalarmult_base,
    crypto_secretbox_open,
)
from nacl.exceptions import CryptoError

from edna.crypto import hybrid
from edna.crypto.keys import (
    KEY_BYTES,
    ContentKey,
    HybridPublicKey,
    HybridSecretKey,
    PublicKey,
    Secret,
    SecretKey,
    derive,
)
from edna.errors import (
    BagCorrupt,
    BagError,
    BagSuiteUnknown,
    BagTooLarge,
    BagTrailingBytes,
    BagTruncated,
    BagVersionUnknown,
    WrongKey,
)

VERSION = 1
SUITE = 1
STANZA_X25519 = 1
STANZA_SUCCESSION = 2
STANZA_HYBRID = 3
MAX_STANZAS = 16
MAX_SEALED_BYTES = 64 * 1024 * 1024
MIN_PADDED_BYTES = 1024

_ASSOCIATED = bytes((VERSION, SUITE))
_HEADER = struct.Struct(">BBBI")
_STANZA_HEAD = struct.Struct(">BH")
_LENGTH = struct.Struct(">I")
#: Of the kinds that hold the file key.
_STANZA_BYTES = {STANZA_X25519: 80, STANZA_HYBRID: KEY_BYTES + hybrid.OVERHEAD_BYTES}
_STANZA_PURPOSE = b"edna file key 1"
_SUCCESSION_PURPOSE = b"edna succession 1"
_NONCE_BYTES = 24
_TAG_BYTES = 16
_BOX_OVERHEAD_BYTES = 48
_MOST_STANZA_BYTES = 0xFFFF
_BAD_PADDING = "The padding of the bag is wrong. Nothing was changed; restore the bag from a backup."
#: Enough of a container for `check_container`, with as many recipients as there may be.
BEGINNING_BYTES = _HEADER.size + MAX_STANZAS * (_STANZA_HEAD.size + max(_STANZA_BYTES.values()))


def padded_length(length: int) -> int:
    """Return the length to which `length` bytes are padded: Padmé, and never less than `MIN_PADDED_BYTES`.

    Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and Communication with PURBs", PETS 2019)
    keeps only the top bits of the length: it leaks O(log log length) bits and costs at most 12 %. The floor makes all
    small bags alike.
    """
    if length <= MIN_PADDED_BYTES:
        return MIN_PADDED_BYTES
    exponent = length.bit_length() - 1
    mask = (1 << (exponent - exponent.bit_length())) - 1
    return (length + mask) & ~mask


def sealed_length(length: int, *, recipients: int = 1, hybrid: bool = False) -> int:
    """Return how many bytes `seal` makes of `length` bytes: for cost estimates. ``hybrid`` if they all are of that kind."""
    stanzas = recipients * (_STANZA_HEAD.size + _STANZA_BYTES[STANZA_HYBRID if hybrid else STANZA_X25519])
    return _HEADER.size + stanzas + _NONCE_BYTES + padded_length(_LENGTH.size + length) + _TAG_BYTES


def seal(plaintext: bytes, *, recipients: Sequence[PublicKey], content_key: ContentKey | None = None) -> bytes:
    """Return a container of `plaintext` that each of the 1 to 16 `recipients` can open. Fresh randomness for every
    call; `content_key` is a new one of the caller's, for who is to open what was just made.

    Raises: BagTooLarge if the container would exceed `MAX_SEALED_BYTES`; ValueError for a wrong number of recipients.
    """
    if not 1 <= len(recipients) <= MAX_STANZAS:
        raise ValueError(f"a container has 1 to {MAX_STANZAS} recipients, not {len(recipients)}")
    among = any(isinstance(recipient, HybridPublicKey) for recipient in recipients)
    if sealed_length(len(plaintext), recipients=len(recipients), hybrid=among) > MAX_SEALED_BYTES:
        size = len(plaintext)
        del plaintext
        raise BagTooLarge(
            f"{size} bytes do not fit into a container of {MAX_SEALED_BYTES} bytes: disguise in smaller chunks"
        )
    padded = _padded(plaintext)
    file_key = (content_key or ContentKey.new()).expose()
    nonce = nacl.utils.random(_NONCE_BYTES)
    body = crypto_aead_xchacha20poly1305_ietf_encrypt(padded, _ASSOCIATED, nonce, file_key)
    parts = [_HEADER.pack(VERSION, SUITE, len(recipients), _NONCE_BYTES + len(body))]
    for recipient in recipients:
        kind, stanza = _stanza(file_key, recipient)
        parts += (_STANZA_HEAD.pack(kind, len(stanza)), stanza)
    parts += (nonce, body)
    return b"".join(parts)


def _stanza(file_key: bytes, recipient: PublicKey) -> tuple[int, bytes]:
    if isinstance(recipient, HybridPublicKey):
        return STANZA_HYBRID, hybrid.seal(file_key, key=recipient.sealer(), purpose=_STANZA_PURPOSE)
    return STANZA_X25519, crypto_box_seal(file_key, bytes(recipient))


def wrapped_bytes(recipient: PublicKey) -> int:
    """Return how long what `wrap` makes for this recipient is."""
    return _STANZA_BYTES[STANZA_HYBRID if isinstance(recipient, HybridPublicKey) else STANZA_X25519]


def wrap(content_key: ContentKey, *, recipient: PublicKey) -> bytes:
    """Return what `rewrap` takes for this recipient: the file key, sealed to them."""
    return _stanza(content_key.expose(), recipient)[1]


def rewrap(
    sealed: bytes, *, box: bytes, recipient: PublicKey, succession: Sequence[bytes], nonce: bytes | None = None
) -> bytes | None:
    """Return a container of the same body for another recipient alone; None if it has another ``nonce`` than
    is given, so that it is another body.

    ``box`` is the file key, which somebody else has sealed to them; ``succession`` is sealed to them here, padded, each piece in a stanza.

    Raises: as `open_sealed`, what it finds wrong before it uses the key; ValueError for pieces that do not fit; BagTooLarge.
    """
    _, _, start = _layout(sealed, len(sealed))
    body = bytes(sealed[start:])
    if nonce is not None and body[:_NONCE_BYTES] != nonce:
        return None
    stanzas = [(STANZA_HYBRID if isinstance(recipient, HybridPublicKey) else STANZA_X25519, box)]
    stanzas += [(STANZA_SUCCESSION, _sealed_piece(_padded(piece), recipient)) for piece in succession]
    if len(stanzas) > MAX_STANZAS or any(len(stanza) > _MOST_STANZA_BYTES for _, stanza in stanzas):
        raise ValueError("what came after whom does not fit beside one bag")
    parts = [_HEADER.pack(VERSION, SUITE, len(stanzas), len(body))]
    for kind, stanza in stanzas:
        parts += (_STANZA_HEAD.pack(kind, len(stanza)), stanza)
    made = b"".join((*parts, body))
    if len(made) > MAX_SEALED_BYTES:
        raise BagTooLarge("A bag does not fit into a container with what came after whom. Nothing was changed.")
    return made


def _sealed_piece(padded: bytes, recipient: PublicKey) -> bytes:
    if isinstance(recipient, HybridPublicKey):
        return hybrid.seal(padded, key=recipient.sealer(), purpose=_SUCCESSION_PURPOSE)
    return crypto_box_seal(padded, bytes(recipient))


def _opened_piece(stanza: bytes, secret_key: SecretKey) -> bytes | None:
    if isinstance(secret_key, HybridSecretKey):
        return hybrid.unseal(stanza, key=secret_key.opener(), purpose=_SUCCESSION_PURPOSE)
    return _unwrap(stanza, secret_key)


def open_succession(sealed: bytes, *, secret_key: SecretKey) -> list[bytes] | BagError:
    """Return what was sealed to this key beside the body, or the error that the caller shall raise. Others' is passed over.

    Raises: as `open_sealed`, what it finds wrong before it uses the key.
    """
    _, stanzas, _ = _layout(sealed, len(sealed))
    opened = [padded for stanza in stanzas if (padded := _opened_piece(stanza, secret_key)) is not None]
    pieces = [_unpadded(padded) for padded in opened]
    if any(piece is None for piece in pieces):
        return BagCorrupt(_BAD_PADDING)
    return [piece for piece in pieces if piece is not None]


def open_small_with(shared_key: bytes, sealed: bytes, *, recipient: PublicKey) -> bytes | None:
    """Return what `seal_small` sealed to ``recipient``, by the key of this one box, handed over by its owner; None if it is another."""
    ephemeral, box = sealed[:KEY_BYTES], sealed[KEY_BYTES:]
    nonce = hashlib.blake2b(ephemeral + bytes(recipient), digest_size=_NONCE_BYTES).digest()
    try:
        return crypto_secretbox_open(box, nonce, shared_key)
    except CryptoError:
        return None


def open_sealed(sealed: bytes, *, secret_key: SecretKey) -> bytes:
    """Return the plaintext of a container that is sealed to `secret_key`; bytes that were changed are refused as a
    whole.

    Raises: BagTooLarge, BagVersionUnknown, BagSuiteUnknown, BagTruncated, BagTrailingBytes, WrongKey, BagCorrupt; in
    the order of docs/format.md, all before the content is looked at.
    """
    stanzas, body = _parse(sealed)
    return _content(_decrypt(body, _file_key(stanzas, secret_key)))


def open_with_content_key(sealed: bytes, *, content_key: ContentKey) -> bytes:
    """Return the plaintext of a container, opened by the key of its body: somebody who has the secret key handed that one over.

    Raises: as `open_sealed`. WrongKey is that it is the key of another container, or that this one was changed: nobody can tell which.
    """
    _, body = _parse(sealed)
    opened = _decrypt(body, content_key)
    if isinstance(opened, BagCorrupt):
        opened = WrongKey(
            "This is not the content key of the bag, or the bag was sealed anew or changed since; open it again."
        )
    return _content(opened)


def content_key_of(sealed: bytes, *, secret_key: SecretKey) -> ContentKey:
    """Return what opens this one container: for whoever has the secret key, and keeps it.

    Raises: as `open_sealed`, but for the body, which is not looked at.
    """
    stanzas, _ = _parse(sealed)
    file_key = _file_key(stanzas, secret_key)
    if file_key is None:
        raise _wrong_key()
    return file_key


def _content(opened: bytes | BagError) -> bytes:
    """The plaintext without its padding."""
    if isinstance(opened, BagError):
        raise opened
    content = _unpadded(opened)
    if content is None:
        del opened
        raise BagCorrupt(_BAD_PADDING)
    return content


def _padded(plaintext: bytes) -> bytes:
    used = _LENGTH.size + len(plaintext)
    return b"".join((_LENGTH.pack(len(plaintext)), plaintext, bytes(padded_length(used) - used)))


def _unpadded(padded: bytes) -> bytes | None:
    if len(padded) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack_from(padded)
    end = _LENGTH.size + length
    # The padding is inside the authenticated body, so only a sealer could have put something there. Refusing it keeps
    # the format canonical: no room for a covert channel, one content has one padded form.
    if end > len(padded) or len(padded) != padded_length(end) or padded.count(0, end) != len(padded) - end:
        return None
    return padded[_LENGTH.size : end]


def seal_small(plaintext: bytes, *, recipient: PublicKey) -> bytes:
    """Return a bare libsodium sealed box: 48 bytes more than `plaintext`. For items of one fixed size only."""
    return crypto_box_seal(plaintext, bytes(recipient))


def seal_secret(secret: Secret, *, recipient: PublicKey, purpose: bytes) -> bytes:
    """Return a sealed box like that of `seal_small`, whose ephemeral key follows from the secret and the recipient.

    So whoever has the secret can make the box again, and see whether another one holds the same. Nobody else can, as nobody guesses the
    secret: it must be 32 random bytes.
    """
    to = bytes(recipient)
    ephemeral = SecretKey(derive(secret.expose(), purpose=purpose, data=to))
    beginning = crypto_scalarmult_base(ephemeral.expose())
    nonce = hashlib.blake2b(beginning + to, digest_size=_NONCE_BYTES).digest()
    return beginning + crypto_box(secret.expose(), nonce, to, ephemeral.expose())


def open_small(sealed: bytes, *, secret_key: SecretKey) -> bytes:
    """Return what `seal_small` sealed.

    Raises: WrongKey if it is not sealed to `secret_key` or was changed (a sealed box cannot tell which).
    """
    plaintext = _unwrap(bytes(sealed), secret_key)
    if plaintext is None:
        raise WrongKey(
            "This item is not sealed to this key, or it was changed; unlock with the key of the person it belongs to."
        )
    return plaintext


def check_container(beginning: bytes, *, length: int) -> None:
    """Whether bytes that begin like this, and are ``length`` in all, may be a container: all that can be said without a key.

    ``beginning`` are `BEGINNING_BYTES` of it, or all if there are less.

    Raises: as `open_sealed`, what it finds wrong before it uses the key; BagCorrupt too for a body that is not padded as bodies are.
    """
    _, _, body = _layout(beginning, length)
    padded = length - body - _NONCE_BYTES - _TAG_BYTES
    if padded_length(padded) != padded:
        raise BagCorrupt("The body of the bag has a length that none has. Restore the bag from a backup.")


def _parse(sealed: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """Split a container into its stanzas for recipients, each with its kind, and its body."""
    stanzas, _, body = _layout(sealed, len(sealed))
    return stanzas, bytes(sealed[body:])


def _layout(sealed: bytes, size: int) -> tuple[list[tuple[int, bytes]], list[bytes], int]:
    """A container's stanzas for recipients, those of a succession, and where its body begins, trusting no length in it."""
    count, body_length = _header(sealed, size)
    stanzas, succession, offset = _stanzas(bytes(sealed), size, count)
    expected = offset + body_length
    if size < expected:
        raise BagTruncated(
            f"The bag has {size} bytes, its header announces {expected}. "
            "Nothing was changed; restore the bag from a backup."
        )
    if size > expected:
        raise BagTrailingBytes(
            f"The bag has {size} bytes, its header announces {expected}. "
            "Nothing was changed; restore the bag from a backup."
        )
    if not stanzas:
        raise BagSuiteUnknown(
            "The bag has no recipient of a kind that this release knows. "
            "Update edna, or restore the bag from a backup; nothing was changed."
        )
    return stanzas, succession, offset


def _header(sealed: bytes, size: int) -> tuple[int, int]:
    """How many stanzas the container announces, and how long a body."""
    if size > MAX_SEALED_BYTES:  # first of all: a caller may have read it from a place an attacker can fill
        raise BagTooLarge(
            f"The bag has {size} bytes, more than the {MAX_SEALED_BYTES} that one may have. "
            "Nothing was changed; restore the bag from a backup."
        )
    sealed = bytes(sealed[: _HEADER.size])  # a driver may hand over a memoryview
    if sealed and sealed[0] != VERSION:
        raise BagVersionUnknown(
            f"This release reads bags of version {VERSION}, not {sealed[0]}. "
            "Update edna, or restore the bag from a backup; nothing was changed."
        )
    if len(sealed) > 1 and sealed[1] != SUITE:
        raise BagSuiteUnknown(
            f"This release reads bags of cipher suite {SUITE}, not {sealed[1]}. "
            "Update edna, or restore the bag from a backup; nothing was changed."
        )
    if size < _HEADER.size:
        raise BagTruncated(
            f"The bag ends after {size} bytes, inside its header. Nothing was changed; restore the bag from a backup."
        )
    _, _, count, body_length = _HEADER.unpack_from(sealed)
    if body_length > MAX_SEALED_BYTES:
        raise BagTooLarge(
            f"The bag announces a body of {body_length} bytes, more than a bag may have. "
            "Nothing was changed; restore the bag from a backup."
        )
    if not 1 <= count <= MAX_STANZAS or body_length < _NONCE_BYTES + MIN_PADDED_BYTES + _TAG_BYTES:
        raise BagCorrupt("The header of the bag is malformed. Nothing was changed; restore the bag from a backup.")
    return count, body_length


def _stanzas(sealed: bytes, size: int, count: int) -> tuple[list[tuple[int, bytes]], list[bytes], int]:
    """Those of ``count`` stanzas that hold the file key, each with its kind, those of a succession, and where the last one ends."""
    stanzas: list[tuple[int, bytes]] = []
    succession: list[bytes] = []
    offset = _HEADER.size
    for _ in range(count):
        if offset + _STANZA_HEAD.size > size:
            raise BagTruncated(
                f"The bag ends after {size} bytes, inside its stanzas. "
                "Nothing was changed; restore the bag from a backup."
            )
        if offset + _STANZA_HEAD.size > len(sealed):
            break  # of a later release, with stanzas that are longer than a beginning
        kind, length = _STANZA_HEAD.unpack_from(sealed, offset)
        offset += _STANZA_HEAD.size
        if kind in _STANZA_BYTES:
            if length != _STANZA_BYTES[kind]:
                raise BagCorrupt(
                    "A stanza of the bag is malformed. Nothing was changed; restore the bag from a backup."
                )
            stanzas.append((kind, sealed[offset : offset + length]))
        elif kind == STANZA_SUCCESSION:
            succession.append(sealed[offset : offset + length])
        offset += length  # a stanza of a later release's kind is for somebody else: skip it
    return stanzas, succession, offset


def _file_key(stanzas: Sequence[tuple[int, bytes]], secret_key: SecretKey) -> ContentKey | None:
    for kind, stanza in stanzas:
        if kind == STANZA_HYBRID:
            file_key = _unwrap_hybrid(stanza, secret_key)
        elif isinstance(secret_key, HybridSecretKey):
            continue  # a thief with a quantum computer could have made it, or opened it
        else:
            file_key = _unwrap(stanza, secret_key)
        if file_key is not None:
            return ContentKey(file_key)
    return None


def _decrypt(body: bytes, file_key: ContentKey | None) -> bytes | BagError:
    """Return the padded plaintext, or the error that the caller shall raise (this frame knows the file key)."""
    if file_key is None:
        return _wrong_key()
    try:
        return crypto_aead_xchacha20poly1305_ietf_decrypt(
            body[_NONCE_BYTES:], _ASSOCIATED, body[:_NONCE_BYTES], file_key.expose()
        )
    except CryptoError:
        return BagCorrupt(
            "The body of the bag does not authenticate: it was changed. Nothing was revealed; restore the bag from a backup."
        )


def _wrong_key() -> WrongKey:
    return WrongKey(
        "The bag is not sealed to this key, or its recipient stanza was changed; unlock with the key of the person it belongs to."
    )


def _unwrap(box: bytes, secret_key: SecretKey) -> bytes | None:
    if len(box) < _BOX_OVERHEAD_BYTES:
        return None
    try:
        return crypto_box_seal_open(box, bytes(secret_key.public_key), secret_key.scalar())
    except CryptoError:
        return None


def _unwrap_hybrid(stanza: bytes, secret_key: SecretKey) -> bytes | None:
    if not isinstance(secret_key, HybridSecretKey):
        return None
    return hybrid.unseal(stanza, key=secret_key.opener(), purpose=_STANZA_PURPOSE)
