"""The connections of one process: how many there are, and how long each may take.

Keeps: no request takes longer than its deadline, however it is dripped in or its answer read; no more than `MOST` connections are held, and
when another comes, the one gives way that has waited longest for its client. Does not know: what is asked.
"""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

#: Each has a thread.
MOST: Final = 128
REQUEST_SECONDS: Final = 10.0
#: How long a connection may rest between two requests.
REST_SECONDS: Final = 30.0
_LOOK_SECONDS: Final = 0.25
_READING, _WORKING, _WRITING, _RESTING = "reading", "working", "writing", "resting"


@dataclass(slots=True)
class _Held:
    """`deadline`: when its client has to be done with what is expected of it; None while the process works."""

    phase: str
    since: float
    deadline: float | None


class Connections:
    """Held connections, and a thread that ends those that take too long, until `close`."""

    def __init__(
        self, *, most: int = MOST, request_seconds: float = REQUEST_SECONDS, rest_seconds: float = REST_SECONDS
    ) -> None:
        self._most, self._request_seconds, self._rest_seconds = most, request_seconds, rest_seconds
        self._held: dict[socket.socket, _Held] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def take(self, connection: socket.socket) -> bool:
        """Hold another. False if all that are held are at work."""
        with self._lock:
            if len(self._held) >= self._most:
                idle = [each for each, held in self._held.items() if held.phase in (_READING, _RESTING)]
                if not idle:
                    return False
                oldest = min(idle, key=lambda each: self._held[each].since)
                del self._held[oldest]
                _end(oldest)
            # A handshake may come first; it is part of the first request.
            self._held[connection] = self._until(_READING, self._request_seconds)
        return True

    def read(self, connection: socket.socket) -> None:
        """A request has begun. The first begins with the connection."""
        with self._lock:
            held = self._held.get(connection)
            if held is not None and held.phase == _RESTING:
                self._held[connection] = self._until(_READING, self._request_seconds)

    def work(self, connection: socket.socket) -> None:
        """The request is there; the process's own time does not count."""
        self._put(connection, _Held(_WORKING, time.monotonic(), None))

    def write(self, connection: socket.socket) -> None:
        """The answer is on its way."""
        self._put(connection, self._until(_WRITING, self._request_seconds))

    def rest(self, connection: socket.socket) -> None:
        """The next request may come."""
        self._put(connection, self._until(_RESTING, self._rest_seconds))

    def leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._held.pop(connection, None)

    def close(self, *, within_seconds: float = REQUEST_SECONDS) -> None:
        """Wait for those that are answered, and watch no more."""
        end = time.monotonic() + within_seconds
        while self._is_answering() and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS / 10)
        self._over.set()

    def _is_answering(self) -> bool:
        with self._lock:
            return any(held.phase in (_WORKING, _WRITING) for held in self._held.values())

    def __len__(self) -> int:
        return len(self._held)

    @staticmethod
    def _until(phase: str, seconds: float) -> _Held:
        now = time.monotonic()
        return _Held(phase, now, now + seconds)

    def _put(self, connection: socket.socket, held: _Held) -> None:
        with self._lock:
            # One that had to give way has ended.
            if connection in self._held:
                self._held[connection] = held

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_SECONDS):
            now = time.monotonic()
            with self._lock:
                late = [each for each, held in self._held.items() if held.deadline is not None and held.deadline < now]
                for each in late:
                    del self._held[each]
                    _end(each)


def _end(connection: socket.socket) -> None:
    """Whoever reads or writes is told so. TLS says goodbye in its own words, for which there is no time."""
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
