"""Pseudoprincipals' key pairs, made ahead of time, in process memory only.

Invariants: a key pair is handed out once and never written anywhere. Whoever takes never waits: what is missing is generated on the
spot, while a background thread refills. A forked child starts with an empty pool, so two processes can never hand out the same key.
Knows no disguises and no database.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import Final

from edna import conf
from edna.crypto.keys import SecretKey, generate_key_pairs

THREAD: Final = "edna-key-pool"

#: Made in one go by the background thread: a third of a millisecond's work, so that a request on the same core waits no longer.
_AT_ONCE: Final = 8
_LEAST_PAUSE_SECONDS: Final = 0.001
#: Before it begins: whoever has just taken is in the middle of a disguise, and should not have to share the interpreter with it.
_FIRST_PAUSE_SECONDS: Final = 0.05


@dataclass(frozen=True)
class PoolStatistics:
    """One process's pool since it began. ``drained`` of the ``taken`` keys had to be generated while somebody waited; ``refilled`` were
    made ahead, in ``refill_seconds`` of work."""

    depth: int
    size: int
    low_water: int
    taken: int
    drained: int
    refilled: int
    refill_seconds: float


class KeyPool:
    def __init__(self) -> None:
        self._start_empty()

    def _start_empty(self) -> None:
        self._keys: deque[SecretKey] = deque()
        self._lock = threading.Lock()
        self._refilling = False
        self._taken = self._drained = self._refilled = 0
        self._refill_seconds = 0.0

    @property
    def depth(self) -> int:
        return len(self._keys)

    def statistics(self) -> PoolStatistics:
        size, low_water = conf.key_pool_size(), conf.key_pool_low_water()
        with self._lock:
            return PoolStatistics(
                depth=len(self._keys),
                size=size,
                low_water=low_water,
                taken=self._taken,
                drained=self._drained,
                refilled=self._refilled,
                refill_seconds=self._refill_seconds,
            )

    def take(self, count: int) -> list[SecretKey]:
        """``count`` fresh key pairs, each handed out once; never waits for the refill."""
        low_water = conf.key_pool_low_water()
        with self._lock:
            taken = [self._keys.popleft() for _ in range(min(count, len(self._keys)))]
            missing = count - len(taken)
            self._taken += count
            self._drained += missing
            low = len(self._keys) <= low_water
        if low:
            self.start()
        return taken + generate_key_pairs(missing)

    def start(self) -> None:
        """Begin to fill the pool in the background, unless that is going on: at the first `take`, or when a worker process starts."""
        with self._lock:
            if self._refilling or len(self._keys) >= conf.key_pool_size():
                return
            self._refilling = True
        try:
            threading.Thread(target=self._refill_in_background, name=THREAD, daemon=True).start()
        except RuntimeError:
            # No more threads, or the interpreter is about to end: whoever takes goes on without.
            self._refilling = False

    def refill(self) -> None:
        """Fill the pool to ``EDNA["KEY_POOL_SIZE"]``, in the caller's thread."""
        while self._add_some():
            pass

    def wipe(self) -> None:
        """Forget all keys. Runs in the child after a fork: a key shared by two processes would be handed out twice.

        A refill that was going on does so in the parent alone; its thread, and whoever held the lock, do not exist here.
        """
        self._start_empty()

    def _add_some(self) -> float:
        """Add a few keys; the seconds that took, 0 if the pool is full."""
        size = conf.key_pool_size()
        missing = size - len(self._keys)
        if missing <= 0:
            return 0.0
        began = time.perf_counter()
        new = generate_key_pairs(min(missing, _AT_ONCE))
        seconds = time.perf_counter() - began
        with self._lock:
            # Somebody else may have filled it meanwhile.
            new = new[: max(0, size - len(self._keys))]
            self._keys.extend(new)
            self._refilled += len(new)
            self._refill_seconds += seconds
        return seconds or _LEAST_PAUSE_SECONDS

    def _refill_in_background(self) -> None:
        """Begins a little later, and rests as long as it works: at most half of a core, in small pieces."""
        try:
            time.sleep(_FIRST_PAUSE_SECONDS)
            while seconds := self._add_some():
                time.sleep(max(seconds, _LEAST_PAUSE_SECONDS))
        finally:
            self._refilling = False


pool = KeyPool()
os.register_at_fork(after_in_child=pool.wipe)
