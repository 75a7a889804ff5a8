"""Key slots: ways to get a secret key back, each a wrapped copy of the key that one secret unlocks (as in a LUKS
header).

Keeps: the slot layout of docs/format.md ("Key slot"). Every slot has the same size whatever its kind, and is found by
an id derived from the slot secret, so the table says neither whose a slot is nor what opens it. Id and wrapping key
depend on a server key (the pepper) that is not in the database: a stolen database alone allows no guessing of
passwords. A browser makes and opens the same slots: it tells the server the lookup alone, which opens nothing, and gets the
server's share for it. Slots of version 1, which only the server opens, are read, and made no more. Does not know: where slots
are stored, how a slot secret is made (one module per kind), who its owner is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import nacl.utils
from nacl.bindings import crypto_aead_xchacha20poly1305_ietf_decrypt, crypto_aead_xchacha20poly1305_ietf_encrypt
from nacl.exceptions import CryptoError

from edna.crypto.keys import KEY_BYTES, HybridSecretKey, PublicKey, Secret, SecretKey, derive, fingerprint
from edna.errors import ConfigurationError, WrongCredentials

VERSION = 2
WRAPPED_BYTES = 1 + 24 + KEY_BYTES + 16
MIN_PEPPER_BYTES = 16
#: All kinds that a key may have a slot of.
KINDS = ("password", "recovery", "passkey", "guardians")
#: What is authenticated behind version and id, for each kind of key: so slots look alike, whichever key they hold.
_HELD: tuple[tuple[type[SecretKey], bytes], ...] = ((SecretKey, b""), (HybridSecretKey, b"\2"))

_NONCE_BYTES = 24
_SHORT = f"A server key needs at least {MIN_PEPPER_BYTES} bytes: short ones can be guessed."
OPENS_NOTHING = "These credentials open nothing here; check both parts and try again."


class SlotSecret(Secret):
    """32 bytes that open one key slot: what a password or a recovery code is turned into. Redacts itself like a key."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Slot:
    """What is stored: `slot_id` finds it, by `tag` it is replaced (32 bytes each), `wrapped` holds the key."""

    slot_id: bytes = field(repr=False)
    tag: bytes = field(repr=False)
    wrapped: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Part:
    """The server's part in a slot: under which id it is stored, and the share that its wrapping key takes (32 bytes each)."""

    slot_id: bytes = field(repr=False)
    share: bytes = field(repr=False)


def lookup(slot_secret: SlotSecret) -> bytes:
    """Return the only thing of a slot secret that a server is told whose slots are opened elsewhere."""
    return derive(slot_secret.expose(), purpose=b"edna.slot.find.2", data=b"")


def part(looked_up: bytes, *, pepper: bytes) -> Part:
    """Return the server's part in the slot of that lookup."""
    key = pepper_key(pepper)
    return Part(
        derive(key, purpose=b"edna.slot.id.2", data=looked_up), derive(key, purpose=b"edna.slot.part.2", data=looked_up)
    )


def stored_tag(public_key: PublicKey, *, kind: str, pepper: bytes) -> bytes:
    """Return the 32-byte tag of that key's slot of that kind. Only the server makes it, for whoever has shown that the key is theirs."""
    return derive(pepper_key(pepper), purpose=b"edna.slot.mark.2", data=bytes(public_key) + kind.encode())


def former_tag(secret_key: SecretKey, *, kind: str) -> bytes:
    """Return the tag of that key's slot of version 1 of that kind. Nobody else's word for it counts: the table shows it."""
    return derive(secret_key.expose(), purpose=b"edna.slot.tag.1", data=kind.encode())


def slot_tags(secret_key: SecretKey, *, kind: str, peppers: Sequence[bytes]) -> list[bytes]:
    """Return the tags that the slots of that kind for that key may have: one per pepper, and that of version 1, last."""
    public_key = secret_key.public_key
    return [
        *(stored_tag(public_key, kind=kind, pepper=pepper) for pepper in peppers),
        former_tag(secret_key, kind=kind),
    ]


def lock_slot(secret_key: SecretKey, *, slot_secret: SlotSecret, kind: str, pepper: bytes) -> Slot:
    """Return a slot from which `slot_secret` brings `secret_key` back. `pepper` is the server's current key.

    Raises: ConfigurationError if the pepper has fewer than 16 bytes.
    """
    if _any_is_short((pepper,)):
        del pepper
        raise ConfigurationError(_SHORT)
    found = part(lookup(slot_secret), pepper=pepper)
    nonce = nacl.utils.random(_NONCE_BYTES)
    version = bytes((VERSION,))
    associated = version + found.slot_id + dict(_HELD)[type(secret_key)]
    box = crypto_aead_xchacha20poly1305_ietf_encrypt(
        secret_key.expose(), associated, nonce, _wrapping_key(slot_secret, found.share)
    )
    tag = stored_tag(secret_key.public_key, kind=kind, pepper=pepper)
    return Slot(found.slot_id, tag, version + nonce + box)


def candidate_ids(slot_secret: SlotSecret, *, peppers: Sequence[bytes]) -> list[bytes]:
    """Return the ids under which a slot of that secret may be stored: one per pepper, the current one first; then those of
    version 1.

    Raises: ConfigurationError if a pepper has fewer than 16 bytes.
    """
    if _any_is_short(peppers):
        del peppers
        raise ConfigurationError(_SHORT)
    looked_up = lookup(slot_secret)
    former = [derive(pepper_key(pepper), purpose=b"edna.slot.id.1", data=slot_secret.expose()) for pepper in peppers]
    return [*(part(looked_up, pepper=pepper).slot_id for pepper in peppers), *former]


def _any_is_short(peppers: Sequence[bytes]) -> bool:
    return any(len(pepper) < MIN_PEPPER_BYTES for pepper in peppers)


def unlock_slot(slot: Slot, *, slot_secret: SlotSecret, peppers: Sequence[bytes]) -> SecretKey:
    """Return the secret key inside the slot.

    Raises: WrongCredentials if the secret does not open it, or it was changed; never says which.
    """
    secret_key = _unlocked(slot, slot_secret, peppers)
    del peppers
    if secret_key is None:
        raise WrongCredentials(OPENS_NOTHING)
    return secret_key


def _unlocked(slot: Slot, slot_secret: SlotSecret, peppers: Sequence[bytes]) -> SecretKey | None:
    """Return the key or None; never raises, because its variables are keys."""
    wrapped = bytes(slot.wrapped)
    if len(wrapped) != WRAPPED_BYTES or wrapped[0] not in (1, VERSION):
        return None
    associated = wrapped[:1] + bytes(slot.slot_id)
    looked_up = lookup(slot_secret)
    for pepper in peppers:
        key = (
            _former_wrapping_key(slot_secret, pepper)
            if wrapped[0] == 1
            else _wrapping_key(slot_secret, part(looked_up, pepper=pepper).share)
        )
        for kind, held in _HELD:
            try:
                return kind(
                    crypto_aead_xchacha20poly1305_ietf_decrypt(
                        wrapped[1 + _NONCE_BYTES :], associated + held, wrapped[1 : 1 + _NONCE_BYTES], key
                    )
                )
            except CryptoError:
                continue
    return None


def _wrapping_key(slot_secret: SlotSecret, share: bytes) -> bytes:
    return derive(slot_secret.expose(), purpose=b"edna.slot.wrap.2", data=share)


def _former_wrapping_key(slot_secret: SlotSecret, pepper: bytes) -> bytes:
    return derive(pepper_key(pepper), purpose=b"edna.slot.wrap.1", data=slot_secret.expose())


def pepper_key(pepper: bytes) -> bytes:
    """Return what ids, wrapping keys and salts of slots are derived with under that server key."""
    # A server key may have any length; BLAKE2b takes at most 64 bytes of key.
    return fingerprint(pepper, purpose=b"edna.pepper.1")
