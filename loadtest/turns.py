"""When a disguiser may begin: never in the baseline, at once while a variant loops, once an interval while it is paced.

Knows neither HTTP nor what is done in a turn. Made of gevent's parts, for Locust's users are greenlets: who waits for a turn sleeps,
and takes no time from anybody.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import gevent
from gevent.queue import Empty, Queue

from loadtest.people import Account

_LOOK_SECONDS = 0.05
#: Instead of the number of an opening.
_OVER = -1


class Over(Exception):
    """There are no more turns."""


class Turns:
    """Hands out accounts to disguise, each to one disguiser at a time.

    ``open()`` lets up to ``disguisers`` turns go on at once; with ``interval_seconds`` one begins each such interval, drawn by lot,
    whether or not the ones before are done (they queue when all disguisers are busy: ``late`` counts those); with ``once`` there is one,
    and no other. ``done`` counts the turns that did not fail.
    """

    def __init__(self, *, seed: int = 1) -> None:
        self._source = random.Random(seed)
        #: Each is the number of an opening: one from before is worth nothing.
        self._tickets: Queue[int] = Queue()
        self._opening = 0
        self._free: list[Account] = []
        self._looping = False
        self._most = 0
        self._clock: gevent.Greenlet | None = None
        self.busy = 0
        self.late = 0
        self.done = 0

    def open(
        self,
        accounts: Sequence[Account],
        *,
        disguisers: int,
        interval_seconds: float | None = None,
        once: bool = False,
    ) -> None:
        if not accounts:
            raise ValueError("nobody is there whose turn it could be")
        self.close()
        self._free, self._most = list(accounts), min(disguisers, len(accounts))
        self._looping = interval_seconds is None and not once
        if interval_seconds is None:
            for _ in range(1 if once else self._most):
                self._tickets.put(self._opening)
        else:
            self._clock = gevent.spawn(self._tick, interval_seconds)

    def close(self) -> None:
        """Nobody begins a turn any more; those that go on are not disturbed. Wait until ``busy`` is 0."""
        if self._clock is not None:
            self._clock.kill()
            self._clock = None
        self._opening += 1
        self._looping, self._most = False, 0
        try:
            while True:
                self._tickets.get_nowait()
        except Empty:
            pass

    def end(self) -> None:
        """For good: whoever waits for a turn gets `Over`."""
        self.close()
        self._tickets.put(_OVER)

    def wait_until_idle(self, timeout_seconds: float) -> bool:
        """Whether everybody who was in a turn has ended it, and whoever may begin one has."""
        until = time.monotonic() + timeout_seconds
        while (self.busy or self._tickets.qsize()) and time.monotonic() < until:
            gevent.sleep(_LOOK_SECONDS)
        return not self.busy

    @contextmanager
    def turn(self) -> Iterator[Account]:
        """Waits for a turn, and is somebody in it. Nobody else becomes whoever fails in theirs: nobody knows in which state they are.

        Raises: `Over`.
        """
        opening = self._wait()
        free = self._free
        account = free.pop(self._source.randrange(len(free)))
        self.busy += 1
        try:
            yield account
            free.append(account)
            self.done += 1
        finally:
            self.busy -= 1
            if opening == self._opening and self._looping:
                self._tickets.put(opening)

    def _wait(self) -> int:
        while True:
            opening: int = self._tickets.get()
            if opening == _OVER:
                # For whoever else waits.
                self._tickets.put(_OVER)
                raise Over
            if opening != self._opening:
                continue
            if self._free and self.busy < self._most:
                return opening
            # Paced, and everybody is busy: later, but not never.
            self._tickets.put(opening)
            gevent.sleep(_LOOK_SECONDS)

    def _tick(self, interval_seconds: float) -> None:
        following = time.monotonic()
        while True:
            if self.busy >= self._most:
                self.late += 1
            self._tickets.put(self._opening)
            following += interval_seconds
            gevent.sleep(max(0.0, following - time.monotonic()))
