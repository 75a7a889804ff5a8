"""What the floor seals, and to whom: one sealed box for each bag, with a MAC inside, padded. The least that is sealed at all."""

from __future__ import annotations

import pickle
import secrets
from hmac import compare_digest
from typing import Any, Final

from nacl import bindings

_MAC_KEY: Final = secrets.token_bytes(32)
_MAC: Final = 32
_BLOCK: Final = 512

#: A secret key and its public one.
KeyPair = tuple[bytes, bytes]


def key_pair() -> KeyPair:
    public, secret = bindings.crypto_box_keypair()
    return secret, public


def public_of(secret: bytes) -> bytes:
    public: bytes = bindings.crypto_scalarmult_base(secret)
    return public


def index_of(locator: bytes) -> bytes:
    """Under which index a bag lies: it does not lead back to the locator."""
    return _hash(locator, b"")


def seal(content: Any, public: bytes) -> bytes:
    # A benchmark's own objects, which nobody else can have made: the quickest form there is.
    plain = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
    sealed: bytes = bindings.crypto_box_seal(bindings.sodium_pad(_hash(plain, _MAC_KEY) + plain, _BLOCK), public)
    return sealed


def opened(sealed: bytes, pair: KeyPair) -> Any:
    secret, public = pair
    plain = bindings.sodium_unpad(bindings.crypto_box_seal_open(bytes(sealed), public, secret), _BLOCK)
    if not compare_digest(plain[:_MAC], _hash(plain[_MAC:], _MAC_KEY)):
        raise AssertionError("somebody else has made this bag")
    return pickle.loads(plain[_MAC:])


def seal_locator(locator: bytes, public: bytes) -> bytes:
    sealed: bytes = bindings.crypto_box_seal(locator, public)
    return sealed


def open_locators(sealed: bytes, pair: KeyPair) -> list[bytes]:
    secret, public = pair
    size = 32 + bindings.crypto_box_SEALBYTES
    parts = [bytes(sealed[start : start + size]) for start in range(0, len(sealed), size)]
    return [bindings.crypto_box_seal_open(part, public, secret) for part in parts]


def _hash(data: bytes, key: bytes) -> bytes:
    return bindings.crypto_generichash_blake2b_salt_personal(data, digest_size=_MAC, key=key)  # type: ignore[no-any-return]  # PyNaCl has no types here
