"""Bags that were opened, in the memory of one capability: who looks and then reveals opens each of them once.

Invariant (nothing forged): a bag counts as opened for the very bytes, person's key and server's keys with which it was; whatever differs is
opened again. So rows are read, and locked, each time, and a transaction that was rolled back leaves nothing wrong here. What is handed out
is not to be changed (`Opened` takes copies). It is bounded, and emptied when the capability is closed. Reads no tables.
"""

from __future__ import annotations

import hashlib
from typing import Final

from edna import conf, policy_seals
from edna.db import rows as raw
from edna.engine.bags.openers import Opener
from edna.records.bag import Bag, BagKind, open_bag
from edna.records.locator import Locator

#: A reveal has everything in memory while it lasts. In between, a request keeps no more than the largest segment and as much again; as
#: objects that is several times more. Nearly everybody's bags are smaller; of others, some are opened again.
MOST_BYTES: Final = 2 * raw.MAX_STATEMENT_BYTES


class Memory:
    """By index and public key: a digest of the sealed bytes, the bag, and about how many bytes it takes."""

    def __init__(self) -> None:
        self._bags: dict[tuple[bytes, bytes], tuple[bytes, Bag, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._bags)

    def open(self, sealed: bytes, *, locator: Locator, kind: BagKind, sequence: int, opener: Opener) -> Bag:
        """What lies in one segment; a shared one is opened by its locator.

        Raises:
            BagError: it does not open.
        """
        shared = kind is BagKind.SHARED
        place = (locator.index(kind, sequence), b"" if shared else bytes(opener.public_key))
        digest = _digest(sealed)
        known = self._bags.pop(place, None)
        if known is not None:
            self._bytes -= known[2]
        if known is None or known[0] != digest:
            _, sealed = policy_seals.take_off(sealed, index=place[0])
            bag = (
                _shared(sealed, locator=locator, sequence=sequence)
                if shared
                else opener.open(sealed, locator=locator, kind=kind, sequence=sequence)
            )
            known = digest, bag, max(len(sealed), sum(raw.total_bytes(batch.rows) for batch in bag.batches))
        if known[2] <= MOST_BYTES:
            # At the end: what was not used for longest goes first.
            self._bags[place] = known
            self._bytes += known[2]
            while self._bytes > MOST_BYTES:
                self._bytes -= self._bags.pop(next(iter(self._bags)))[2]
        return known[1]

    def clear(self) -> None:
        self._bags.clear()
        self._bytes = 0


def _shared(sealed: bytes, *, locator: Locator, sequence: int) -> Bag:
    # The server's keys get no name here: error pages print variables.
    return open_bag(
        sealed,
        locator=locator,
        kind=BagKind.SHARED,
        sequence=sequence,
        secret_key=locator.shared_key(),
        mac_keys=conf.mac_keys(),
    )


def _digest(sealed: bytes) -> bytes:
    # Stored nowhere: it is no part of the format.
    server = hashlib.blake2b(b"".join(conf.mac_keys()), digest_size=32).digest()
    return hashlib.blake2b(sealed, digest_size=32, key=server).digest()
