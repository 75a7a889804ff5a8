"""The hybrid of X25519 and ML-KEM-768, as bytes: key pairs out of a seed, and what is sealed to one.

The pair is X-Wing's (draft-connolly-cfrg-xwing-kem), the sealing HPKE's (RFC 9180, base mode) with that as its KEM, number 0x647a. Who
opens needs both halves: it stays shut while either X25519 or ML-KEM-768 holds. Keeps: docs/format.md, "Hybrid keys". All of it is in the
package ``cryptography``, which is optional: it is imported at the first use, and by nobody who has no such key. Does not know: keys as
types, what is sealed.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING, Final

from edna.errors import ConfigurationError, KeyMalformed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey, MLKEM768X25519PublicKey, Suite

ENCAPSULATION_KEY_BYTES: Final = 1184
#: How much longer what is sealed is than what it holds: the KEM's ciphertext of 1120 bytes, and a tag.
OVERHEAD_BYTES: Final = 1120 + 16
EXTRA: Final = "django-edna[post-quantum]"

_ML_KEM_SEED_BYTES: Final = 64
_EXPANDED_BYTES: Final = _ML_KEM_SEED_BYTES + 32


def scalar(seed: bytes) -> bytes:
    """Return the X25519 secret key that belongs to a seed."""
    return _expanded(seed)[_ML_KEM_SEED_BYTES:]


def private_key(seed: bytes) -> MLKEM768X25519PrivateKey:
    """Return what opens, of a seed of 32 bytes. It takes a while to make: keep it.

    Raises: ConfigurationError if the package is not there.
    """
    suite()
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey

    return MLKEM768X25519PrivateKey(
        MLKEM768PrivateKey.from_seed_bytes(_expanded(seed)[:_ML_KEM_SEED_BYTES]),
        X25519PrivateKey.from_private_bytes(scalar(seed)),
    )


def encapsulation_key(seed: bytes) -> bytes:
    """Return the public ML-KEM half, 1184 bytes, of a seed.

    Raises: ConfigurationError if the package is not there.
    """
    suite()
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey

    return MLKEM768PrivateKey.from_seed_bytes(_expanded(seed)[:_ML_KEM_SEED_BYTES]).public_key().public_bytes_raw()


def public_key(x25519: bytes, encapsulated: bytes) -> MLKEM768X25519PublicKey:
    """Return what seals, of the two public halves.

    Raises: KeyMalformed if the second is none; ConfigurationError if the package is not there.
    """
    suite()
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PublicKey

    try:
        ml_kem = MLKEM768PublicKey.from_public_bytes(encapsulated)
    except ValueError:
        raise KeyMalformed("The ML-KEM-768 half of this public key is none. Take one that a library made.") from None
    return MLKEM768X25519PublicKey(ml_kem, X25519PublicKey.from_public_bytes(x25519))


def seal(plaintext: bytes, *, key: MLKEM768X25519PublicKey, purpose: bytes) -> bytes:
    """Return `OVERHEAD_BYTES` more than ``plaintext``; fresh randomness for every call."""
    return suite().encrypt(plaintext, key, info=purpose)


def unseal(sealed: bytes, *, key: MLKEM768X25519PrivateKey, purpose: bytes) -> bytes | None:
    """Return what was sealed to this key for this purpose; None if it was not, or was changed."""
    from cryptography.exceptions import InvalidTag

    try:
        return suite().decrypt(sealed, key, info=purpose)
    except (InvalidTag, ValueError):  # the second for a point of small order
        return None


@cache
def suite() -> Suite:
    """Return the suite of the format.

    Raises: ConfigurationError if the package is not there, is too old, or was built with an OpenSSL that has no ML-KEM.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

        try:
            MLKEM768PrivateKey.from_seed_bytes(bytes(_ML_KEM_SEED_BYTES))
            return Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
        except UnsupportedAlgorithm:
            why = "this one was built without it"
    except (ImportError, AttributeError):
        why = "it is not installed, or too old"
    raise ConfigurationError(f"Hybrid keys need ML-KEM-768 of the package cryptography; {why}: pip install '{EXTRA}'.")


def _expanded(seed: bytes) -> bytes:
    return hashlib.shake_256(seed).digest(_EXPANDED_BYTES)
