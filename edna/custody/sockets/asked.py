"""Several processes are asked at once, each in a thread of its own.

Keeps: what they say comes in the order in which it is there. Whoever waits no longer leaves the others behind: these hold up nobody, not
even the end of the process. Does not know: whom it asks, nor what.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from edna.errors import CustodyError

T = TypeVar("T")


class Asked(Generic[T]):
    """Asks by numbers. An executor of the standard library would do the same, and took a third of the time of a whole evaluation."""

    def __init__(self, ask: Callable[[int], T]) -> None:
        self._ask = ask
        self._said: queue.SimpleQueue[tuple[int, T | BaseException]] = queue.SimpleQueue()

    def begin(self, number: int) -> None:
        threading.Thread(target=self._run, args=(number,), daemon=True).start()

    def next(self, *, within_seconds: float) -> tuple[int, T | CustodyError]:
        """What one of them says, or why it does not.

        Raises: TimeoutError if none has answered yet; what asking raised, but a CustodyError.
        """
        try:
            number, said = self._said.get(timeout=within_seconds)
        except queue.Empty:
            raise TimeoutError("nobody has answered in time") from None
        if isinstance(said, BaseException) and not isinstance(said, CustodyError):
            raise said
        return number, said

    def _run(self, number: int) -> None:
        try:
            self._said.put((number, self._ask(number)))
        except BaseException as error:  # it belongs to whoever waits for it
            self._said.put((number, error))
