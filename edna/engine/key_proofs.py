"""That somebody has the secret key of a public key, though it never comes here: a challenge that only the key opens, and a token for it.

Invariant: nothing is stored. A challenge and a token carry their end, whose they are, and a MAC under a server key; each counts for one
public key and one browser (``bound_to``: what the caller knows it by) alone. Knows no entries: a key that nobody has registered is proved
like any other, and whether there is one is not told. See docs/format.md, "Proof of a key".
"""

from __future__ import annotations

import hmac
import time
from typing import Final

import nacl.utils

from edna import conf
from edna.crypto.keys import KEY_BYTES, PublicKey, derive, fingerprint
from edna.crypto.sealing import seal_small
from edna.errors import KeyNotProved
from edna.store import serverkeys

#: What a browser looks for before it gives away what it has opened: a server could have it open a bag's box instead.
PREFIX: Final = b"edna key proof 1"
CHALLENGE_SECONDS: Final = 120
SESSION_SECONDS: Final = 900

_TIME_BYTES: Final = 8
_NONCE_BYTES: Final = 16
_MAC_BYTES: Final = 32
_CHALLENGE: Final = b"edna.key.proof.1"
_TOKEN: Final = b"edna.key.sess.1"

_now = time.time


def challenge(public_key: PublicKey, *, bound_to: bytes, using: str) -> bytes:
    """What whoever has the secret key opens, and sends back.

    Raises:
        ServerKeyUnknown: the database does not know the key of the server.
    """
    said = _end(CHALLENGE_SECONDS) + nacl.utils.random(_NONCE_BYTES)
    mac = _mac(serverkeys.signing_key(using=using), _CHALLENGE, said, public_key, bound_to)
    return seal_small(PREFIX + said + mac, recipient=public_key)


def prove(public_key: PublicKey, opened: bytes, *, bound_to: bytes, using: str) -> bytes:
    """A token that says for some minutes who has opened a challenge.

    Raises:
        KeyNotProved: this is no challenge of this key and this browser, or its time is over.
        ServerKeyUnknown: the database does not know the key of the server.
    """
    said = opened[len(PREFIX) : -_MAC_BYTES]
    if not (
        len(opened) == len(PREFIX) + _TIME_BYTES + _NONCE_BYTES + _MAC_BYTES
        and opened.startswith(PREFIX)
        and _is_right(opened[-_MAC_BYTES:], _CHALLENGE, said, public_key, bound_to)
        and _is_before(said[:_TIME_BYTES])
    ):
        raise KeyNotProved("This is not what the challenge holds, or it came too late; ask for a new challenge.")
    end = _end(SESSION_SECONDS)
    mac = _mac(serverkeys.signing_key(using=using), _TOKEN, end, public_key, bound_to)
    return end + bytes(public_key) + mac


def proved(token: bytes, *, bound_to: bytes) -> PublicKey:
    """Whose secret key the holder of the token has.

    Raises:
        KeyNotProved: it is no token of this browser, or its time is over.
    """
    end, raw, mac = token[:_TIME_BYTES], token[_TIME_BYTES:-_MAC_BYTES], token[-_MAC_BYTES:]
    if len(token) == _TIME_BYTES + KEY_BYTES + _MAC_BYTES and _is_right(mac, _TOKEN, end, raw, bound_to):
        if _is_before(end):
            return PublicKey(raw)
        raise KeyNotProved("The key was proved too long ago; prove it again.")
    raise KeyNotProved("No key is proved in this request; prove it again.")


def _end(seconds: int) -> bytes:
    return int(_now() + seconds).to_bytes(_TIME_BYTES, "big")


def _is_before(end: bytes) -> bool:
    return _now() <= int.from_bytes(end, "big")


def _mac(server_key: bytes, purpose: bytes, said: bytes, public_key: PublicKey | bytes, bound_to: bytes) -> bytes:
    # All parts but the last have a fixed size for each purpose.
    key = fingerprint(server_key, purpose=b"edna.proof.key.1")
    return derive(key, purpose=purpose, data=said + bytes(public_key) + bound_to)


def _is_right(mac: bytes, purpose: bytes, said: bytes, public_key: PublicKey | bytes, bound_to: bytes) -> bool:
    right = [hmac.compare_digest(mac, _mac(key, purpose, said, public_key, bound_to)) for key in conf.mac_keys()]
    return any(right)
