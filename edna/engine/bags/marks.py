"""Marks in lists of locators: the items before one were sealed by a browser when it made a new key, those behind it by the server.

Invariant: nobody but the server can make a mark, and it does where it takes items that a browser has sealed. An item of the server's
proves that what it leads to is in its owner's list rightly; into one of a browser's, any locator may have been put.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import Final

import nacl.utils

from edna import conf
from edna.crypto.keys import PublicKey, derive, fingerprint
from edna.records.locator import SEALED_LOCATOR_BYTES

_MAC_BYTES: Final = 64


def new_mark(public_key: PublicKey, *, mac_key: bytes) -> bytes:
    """For the list of whoever has that key: as long as an item."""
    return _mac(bytes(public_key), mac_key) + nacl.utils.random(SEALED_LOCATOR_BYTES - _MAC_BYTES)


def is_mark(item: bytes, *, public_key: bytes) -> bool:
    """Whether it is one, in that one's list, and no item."""
    macs = [_mac(public_key, key) for key in conf.mac_keys()]
    return any(hmac.compare_digest(item[:_MAC_BYTES], mac) for mac in macs)


def sealed_by_browsers(items: Sequence[bytes], *, public_key: bytes) -> set[bytes]:
    """Those up to the last mark, which is among them."""
    last = max((number for number, item in enumerate(items) if is_mark(item, public_key=public_key)), default=-1)
    return set(items[: last + 1])


def _mac(public_key: bytes, server_key: bytes) -> bytes:
    key = fingerprint(server_key, purpose=b"edna.list.key.01")
    return derive(key, purpose=b"edna.list.mark.1", data=public_key, size=_MAC_BYTES)
