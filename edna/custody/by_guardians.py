"""The guardians' slot: what guardians help to is not the key, but what opens one of its slots. So an envelope alone, with all guardians
together, opens nothing without the site's tables and its server key.

Keeps: the derivations of docs/format.md ("Slot of guardians"). The envelope is stored sealed with the server's key, under a place that
follows from it and the identifier: a stolen database tells neither whose it is nor which enrolment at the guardians it belongs to.
Does not know: guardians, sockets, tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import nacl.utils
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey, derive, fingerprint
from edna.custody.base import SlotSecret, pepper_key
from edna.custody.password import normalised_identifier
from edna.custody.recovery import RecoveryCode

KIND: Final = "guardians"
SALT_BYTES: Final = 16
ENROLMENT_BYTES: Final = 16
SECRET_BYTES: Final = KEY_BYTES
TAG_BYTES: Final = 32

_VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 24


def new_salt() -> bytes:
    return nacl.utils.random(SALT_BYTES)


def enrolment_for(public_key: PublicKey, *, salt: bytes) -> bytes:
    """Under which id a browser enrolls this key. So nobody orders anything about an enrolment of somebody else, whose id each envelope
    tells; and who does not know the salt cannot tell whose it is."""
    return derive(salt, purpose=b"edna.guard.enr.1", data=bytes(public_key), size=ENROLMENT_BYTES)


def secret_for(secret_key: SecretKey, *, salt: bytes) -> SlotSecret:
    """What guardians help to: whoever has the key can make it again, to veto, and it does not tell the key."""
    return SlotSecret(derive(secret_key.expose(), purpose=b"edna.guard.slot1", data=salt))


def places(identifier: str, *, peppers: Sequence[bytes]) -> list[bytes]:
    """Where the envelopes of whoever uses this identifier lie: one for each server key, the current one first."""
    name = normalised_identifier(identifier).encode("utf-8", "surrogatepass")
    return [derive(pepper_key(pepper), purpose=b"edna.guard.plc.1", data=name) for pepper in peppers]


def tags(public_key: PublicKey, *, peppers: Sequence[bytes]) -> list[bytes]:
    """By what a key's envelope is replaced: one for each server key."""
    return [derive(pepper_key(pepper), purpose=b"edna.guard.tag.1", data=bytes(public_key)) for pepper in peppers]


def note_places(what: str, *, peppers: Sequence[bytes]) -> list[bytes]:
    """Where envelopes lie that no name leads to: of enrolments that are ``begun``, or that guardians are to ``forget``."""
    return [derive(pepper_key(pepper), purpose=b"edna.guard.not.1", data=what.encode()) for pepper in peppers]


def seal(salt: bytes, envelope: bytes, *, place: bytes, pepper: bytes) -> bytes:
    """Return what is stored at a place."""
    nonce = nacl.utils.random(_NONCE_BYTES)
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(salt + envelope, _VERSION + place, nonce, _key(place, pepper))
    return _VERSION + nonce + box


def open_sealed(sealed: bytes, *, place: bytes, peppers: Sequence[bytes]) -> tuple[bytes, bytes] | None:
    """Return salt and envelope; None if it was not stored at this place under one of these keys, or somebody has changed it."""
    if sealed[:1] != _VERSION:
        return None
    start = 1 + _NONCE_BYTES
    for pepper in peppers:
        try:
            content = crypto_aead_xchacha20poly1305_ietf_decrypt(
                sealed[start:], _VERSION + place, sealed[1:start], _key(place, pepper)
            )
        except CryptoError:
            continue
        return content[:SALT_BYTES], content[SALT_BYTES:]
    return None


def request_secret(code: RecoveryCode, *, envelope: bytes) -> bytes:
    """What makes the tickets of a request about one envelope, by the code that its maker keeps."""
    return derive(fingerprint(code.expose(), purpose=b"edna.guard.req.1"), purpose=b"edna.guard.req.2", data=envelope)


def _key(place: bytes, pepper: bytes) -> bytes:
    return derive(pepper_key(pepper), purpose=b"edna.guard.row.1", data=place)
