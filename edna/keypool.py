"""Pseudoprincipals' key pairs, made ahead of time, in process memory only.

Key pairs are handed out once and never written anywhere. A drained pool never blocks: what is missing is generated on
the spot while a background thread refills. A forked child starts with an empty pool, so two processes can never hand
out the same key.
"""

from __future__ import annotations

import os
import threading
from collections import deque

from edna import conf
from edna.crypto.keys import SecretKey, generate_key_pairs


class KeyPool:
    def __init__(self) -> None:
        self._start_empty()

    def _start_empty(self) -> None:
        self._keys: deque[SecretKey] = deque()
        self._lock = threading.Lock()
        self._refilling = False

    @property
    def depth(self) -> int:
        return len(self._keys)

    def take(self, count: int) -> list[SecretKey]:
        """``count`` fresh key pairs, each handed out once; never waits for the refill."""
        with self._lock:
            taken = [self._keys.popleft() for _ in range(min(count, len(self._keys)))]
        missing = count - len(taken)
        self._refill_when_low()
        return taken + generate_key_pairs(missing)

    def refill(self) -> None:
        """Fill the pool to ``EDNA["KEY_POOL_SIZE"]``, in the caller's thread."""
        while self.depth < conf.key_pool_size():
            self._keys.append(SecretKey.generate())

    def wipe(self) -> None:
        """Forget all keys. Runs in the child after a fork: a key shared by two processes would be handed out twice."""
        self._start_empty()

    def _refill_when_low(self) -> None:
        with self._lock:
            if self._refilling or self.depth * 2 >= conf.key_pool_size():
                return
            self._refilling = True
        threading.Thread(target=self._refill_in_background, name="edna-key-pool", daemon=True).start()

    def _refill_in_background(self) -> None:
        try:
            self.refill()
        finally:
            self._refilling = False


pool = KeyPool()
os.register_at_fork(after_in_child=pool.wipe)
