"""Pseudoprincipals' key pairs, made ahead of time, in process memory only.

Invariants: a key pair is handed out once and never written anywhere. Whoever takes never waits: what is missing is generated on the
spot, while a background thread refills. A forked child starts with an empty pool, so two processes can never hand out the same key:
Python says when it forks, and where it was not asked (uWSGI, or whoever calls the system's `fork`), the process id does, at every use.
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

#: Made in one go by the background thread: a third of a millisecond's work, so that a request on the same core waits no longer. One of
#: the hybrid kind takes nearly as long.
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


class _Stock:
    """The keys of one process, and what became of them."""

    def __init__(self, *, hybrid: bool = False) -> None:
        self.process = os.getpid()
        self.hybrid = hybrid
        self.keys: deque[SecretKey] = deque()
        self.lock = threading.Lock()
        self.refilling = False
        self.taken = self.drained = self.refilled = 0
        self.refill_seconds = 0.0
        #: What a forked child has instead, by its process id.
        self.successors: dict[int, _Stock] = {}


class KeyPool:
    def __init__(self) -> None:
        self._stock = _Stock()

    def _own(self) -> _Stock:
        """This process's stock, of keys of the kind that is configured; asked first by whatever uses it.

        What was inherited is left as it is, and its lock is not asked for: whoever held it does not exist here. Several threads of a new
        process that come at once agree without a lock, because `setdefault` of a dict is one step.
        """
        stock = self._stock
        process, hybrid = os.getpid(), conf.is_hybrid()
        if stock.process != process:
            stock = self._stock = stock.successors.setdefault(process, _Stock(hybrid=hybrid))
        if stock.hybrid is not hybrid:
            stock = self._stock = _Stock(hybrid=hybrid)
        return stock

    @property
    def depth(self) -> int:
        return len(self._own().keys)

    def statistics(self) -> PoolStatistics:
        size, low_water = conf.key_pool_size(), conf.key_pool_low_water()
        stock = self._own()
        with stock.lock:
            return PoolStatistics(
                depth=len(stock.keys),
                size=size,
                low_water=low_water,
                taken=stock.taken,
                drained=stock.drained,
                refilled=stock.refilled,
                refill_seconds=stock.refill_seconds,
            )

    def take(self, count: int) -> list[SecretKey]:
        """``count`` fresh key pairs, each handed out once; never waits for the refill."""
        low_water = conf.key_pool_low_water()
        stock = self._own()
        with stock.lock:
            taken = [stock.keys.popleft() for _ in range(min(count, len(stock.keys)))]
            missing = count - len(taken)
            stock.taken += count
            stock.drained += missing
            low = len(stock.keys) <= low_water
        if low:
            self.start()
        return taken + generate_key_pairs(missing, hybrid=stock.hybrid)

    def start(self) -> None:
        """Begin to fill the pool in the background, unless that is going on: at the first `take`, or when a worker process starts."""
        stock = self._own()
        with stock.lock:
            if stock.refilling or len(stock.keys) >= conf.key_pool_size():
                return
            stock.refilling = True
        try:
            threading.Thread(target=self._refill_in_background, args=(stock,), name=THREAD, daemon=True).start()
        except RuntimeError:
            # No more threads, or the interpreter is about to end: whoever takes goes on without.
            stock.refilling = False

    def refill(self) -> None:
        """Fill the pool to ``EDNA["KEY_POOL_SIZE"]``, in the caller's thread."""
        while self._add_some(self._own()):
            pass

    def wipe(self) -> None:
        """Forget all keys. Runs in the child after a fork that Python sees: a key shared by two processes would be handed out twice.

        A refill that was going on does so in the parent alone; its thread, and whoever held the lock, do not exist here.
        """
        self._stock = _Stock()

    def _add_some(self, stock: _Stock) -> float:
        """Add a few keys; the seconds that took, 0 if the pool is full."""
        size = conf.key_pool_size()
        missing = size - len(stock.keys)
        if missing <= 0:
            return 0.0
        began = time.perf_counter()
        new = generate_key_pairs(1 if stock.hybrid else min(missing, _AT_ONCE), hybrid=stock.hybrid)
        seconds = time.perf_counter() - began
        with stock.lock:
            # Somebody else may have filled it meanwhile.
            new = new[: max(0, size - len(stock.keys))]
            stock.keys.extend(new)
            stock.refilled += len(new)
            stock.refill_seconds += seconds
        return seconds or _LEAST_PAUSE_SECONDS

    def _refill_in_background(self, stock: _Stock) -> None:
        """Begins a little later, and rests as long as it works: at most half of a core, in small pieces."""
        try:
            time.sleep(_FIRST_PAUSE_SECONDS)
            while seconds := self._add_some(stock):
                time.sleep(max(seconds, _LEAST_PAUSE_SECONDS))
        finally:
            stock.refilling = False


pool = KeyPool()
os.register_at_fork(after_in_child=pool.wipe)
