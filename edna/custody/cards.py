"""The bytes of a card, by which others know somebody who holds a key: the key that they sign with, then the one that is sealed to.

Keeps: 64 bytes, and the second half is a public key. Does not know whose cards there are, nor what a signature is for.
"""

from __future__ import annotations

from typing import Final

from edna.crypto.keys import KEY_BYTES, PublicKey
from edna.errors import CustodyError, KeyMalformed

CARD_BYTES: Final = 2 * KEY_BYTES


def halves(raw: bytes, *, of: str, refused: type[CustodyError]) -> tuple[bytes, PublicKey]:
    """The key that verifies and the public key on the card ``of`` somebody.

    Raises: ``refused`` if it is no card.
    """
    if len(raw) != CARD_BYTES:
        raise refused(f"The card of a {of} has {CARD_BYTES} bytes, this one {len(raw)}.")
    try:
        return bytes(raw[:KEY_BYTES]), PublicKey(bytes(raw[KEY_BYTES:]))
    except KeyMalformed as error:
        raise refused(f"The card of a {of} holds what is no public key.") from error
