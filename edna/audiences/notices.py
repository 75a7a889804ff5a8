"""What a person is told: that something of theirs was read, sealed so that whoever has the locator of what was read finds it and opens it.

Keeps: a notice says nothing to who reads the tables but its length; one that was damaged is as one that was deleted. Does not know
requests, keys of people.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import nacl.utils
from nacl.bindings import (
    crypto_aead_xchacha20poly1305_ietf_decrypt,
    crypto_aead_xchacha20poly1305_ietf_encrypt,
)
from nacl.exceptions import CryptoError

from edna.audiences import store
from edna.crypto.keys import derive
from edna.records import values
from edna.records.locator import Locator

_NONCE_BYTES: Final = 24
_NOTICE_BYTES: Final = 512
#: Notices of one bag that are looked for at once.
_AT_ONCE: Final = 8


@dataclass(frozen=True)
class Use:
    """That something of a person's was read: by how many of which audience together, in which month, and why."""

    audience: str
    together: int
    month: str
    reason: str


def tell(locator: Locator, said: Use, *, using: str) -> None:
    """In the caller's transaction."""
    number = _next_notice(locator, using=using)
    encoded = values.encode([said.audience, said.together, said.month, said.reason])
    padded = len(encoded).to_bytes(4, "big") + encoded
    padded += bytes(-len(padded) % _NOTICE_BYTES)
    nonce = nacl.utils.random(_NONCE_BYTES)
    sealed = nonce + crypto_aead_xchacha20poly1305_ietf_encrypt(padded, None, nonce, _notice_key(locator))
    store.add_notice(_notice_place(locator, number), sealed, using=using)


def _next_notice(locator: Locator, *, using: str) -> int:
    number = 0
    while found := len(_notices(locator, number, using=using)):
        number += found
    return number


def _notices(locator: Locator, start: int, *, using: str) -> list[bytes]:
    places = [_notice_place(locator, number) for number in range(start, start + _AT_ONCE)]
    found = store.notices(places, using=using)
    return [found[place] for place in places if place in found]


def _notice_place(locator: Locator, number: int) -> bytes:
    return derive(locator.expose(), purpose=b"edna.held.use.1", data=number.to_bytes(4, "big"))


def _notice_key(locator: Locator) -> bytes:
    return derive(locator.expose(), purpose=b"edna.held.say.1", data=b"")


def uses_under(locators: Collection[Locator], *, using: str) -> list[Use]:
    """The same, of what lies under these."""
    found: list[Use] = []
    for start in count(0, _AT_ONCE):
        places = {
            _notice_place(locator, number): locator for locator in locators for number in range(start, start + _AT_ONCE)
        }
        sealed = store.notices(list(places), using=using)
        told = (_use(sealed[place], locator) for place, locator in places.items() if place in sealed)
        found += [use for use in told if use is not None]
        if not sealed:
            break
    return found


def _use(sealed: bytes, locator: Locator) -> Use | None:
    """None if somebody has damaged it. They could have deleted it as well; it keeps nobody from what is theirs."""
    nonce, body = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
    try:
        padded = crypto_aead_xchacha20poly1305_ietf_decrypt(body, None, nonce, _notice_key(locator))
    except CryptoError:
        return None
    length = int.from_bytes(padded[:4], "big")
    said: Any = values.decode(padded[4 : 4 + length])
    return Use(*said)
