"""The password slot: identifier and password, made expensive to guess.

Keeps: the derivation of docs/format.md ("Password slot"). Id and wrapping key of the slot both come from it, so a
deleted user's slot is found again without keeping their e-mail address anywhere. The salt depends on a server key (the
pepper), so that nobody without it can do the slow part ahead of time for an address that they know. Does not know: how
costly it should be (the parameters arrive as arguments; changing them makes existing slots unfindable under the new
ones), where slots are stored.
"""

from __future__ import annotations

import unicodedata

from edna.crypto.keys import KEY_BYTES, fingerprint
from edna.crypto.keys import derive as keyed
from edna.custody.base import SlotSecret, pepper_key
from edna.custody.stretching import stretch
from edna.errors import ConfigurationError

KIND = "password"
#: Which salt the slots have that are made now; changing it makes them unfindable.
SALT = "edna.slot.salt.2"

_SALT_BYTES = 16


def derive(password: str, *, identifier: str, opslimit: int, memlimit_bytes: int, pepper: bytes | None) -> SlotSecret:
    """Return the slot secret of that identifier and password: Argon2id (RFC 9106), deliberately slow.

    `pepper` is the server key that the salt depends on; with None it is the salt of earlier releases, which depends on
    the identifier alone: to open their slots, never to make one.

    Waits for its turn: of a site's processes on one machine, one derives at a time (`edna.custody.stretching`).

    The identifier is compared without regard to case, surrounding white space and Unicode form; the password only
    without regard to Unicode form, because keyboards differ in it.

    Raises: ConfigurationError if Argon2id does not take the parameters, or there is not that much memory.
    """
    slot_secret = _derived(password, identifier, opslimit, memlimit_bytes, pepper)
    del password, identifier, pepper
    if slot_secret is None:
        raise ConfigurationError(f"Argon2id refused opslimit={opslimit}, memlimit_bytes={memlimit_bytes}.")
    return slot_secret


def salt(identifier: str, *, pepper: bytes | None) -> bytes:
    """Return the 16 bytes that Argon2id takes beside the password of that identifier."""
    name = normalised_identifier(identifier).encode("utf-8", "surrogatepass")
    if pepper is None:
        return fingerprint(name, purpose=b"edna.slot.salt", size=_SALT_BYTES)
    return keyed(pepper_key(pepper), purpose=SALT.encode(), data=name, size=_SALT_BYTES)


def normalised_identifier(identifier: str) -> str:
    """Return the one spelling of an identifier: NFKC, case folded, NFKC again (folding can undo it), stripped."""
    folded = unicodedata.normalize("NFKC", identifier).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def _derived(
    password: str, identifier: str, opslimit: int, memlimit_bytes: int, pepper: bytes | None
) -> SlotSecret | None:
    """Return the secret or None; never raises, because these frames hold the password."""
    # surrogatepass: otherwise the UnicodeEncodeError of a lone surrogate carries the whole password.
    secret = unicodedata.normalize("NFKC", password).encode("utf-8", "surrogatepass")
    raw = stretch(KEY_BYTES, secret, salt(identifier, pepper=pepper), opslimit=opslimit, memlimit_bytes=memlimit_bytes)
    return None if raw is None else SlotSecret(raw)
