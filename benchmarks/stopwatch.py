"""Where the time of a piece of work goes: a stack of named parts, of which only the topmost one counts at any moment.

So what one part calls of another is counted once, and the parts add up to the whole. Knows no Django and no edna: what belongs to
which part is for others to say (`benchmarks.parts`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from time import perf_counter_ns
from typing import Any, Final, TypeVar

Outcome = TypeVar("Outcome")
#: What is left when all that is named was taken away: our own Python, Django's, and waiting for the processor.
REST: Final = "python"


@dataclass(frozen=True)
class Spent:
    """What one piece of work took: nanoseconds and calls by part."""

    ns: Mapping[str, int]
    calls: Mapping[str, int]

    @property
    def whole_ns(self) -> int:
        return sum(self.ns.values())

    def shared(self, among: int) -> Spent:
        """What one of so many took, who were done at once."""
        return Spent(
            {part: ns // among for part, ns in self.ns.items()},
            {part: round(calls / among) for part, calls in self.calls.items()},
        )


class Stopwatch:
    """Counts nanoseconds and calls by part, for the thread that made it."""

    def __init__(self) -> None:
        self._ns: dict[str, int] = {}
        self._calls: dict[str, int] = {}
        self._stack: list[str] = []
        self._since = 0
        self._thread = threading.get_ident()

    def run(self, work: Callable[[], Outcome]) -> tuple[Outcome, Spent]:
        """Do the work; what happens outside of every part is Python."""
        self._ns, self._calls = {}, {}
        outcome = self.during(REST, work)
        return outcome, Spent(self._ns, self._calls)

    def during(self, part: str, work: Callable[..., Outcome], *args: Any, **kwargs: Any) -> Outcome:
        """Do work that belongs to this part, but for what in it belongs to another."""
        # Other threads (the key pool's refill) are not what somebody waits for; and outside of `run` nobody does.
        if threading.get_ident() != self._thread or (not self._stack and part != REST):
            return work(*args, **kwargs)
        self._calls[part] = self._calls.get(part, 0) + 1
        self._switch()
        self._stack.append(part)
        try:
            return work(*args, **kwargs)
        finally:
            self._switch()
            self._stack.pop()

    def _switch(self) -> None:
        """Give what has passed to the part that is on top."""
        now = perf_counter_ns()
        if self._stack:
            top = self._stack[-1]
            self._ns[top] = self._ns.get(top, 0) + now - self._since
        self._since = now

    def wrapped(self, part: str, function: Callable[..., Outcome]) -> Callable[..., Outcome]:
        """The function, with its time counted."""

        @wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Outcome:
            return self.during(part, function, *args, **kwargs)

        return timed


def cost_of_one_call_ns(rounds: int = 20_000) -> float:
    """What it costs to have a call counted: part of what is measured, and to be told beside it."""

    def nothing() -> None:
        pass

    watch = Stopwatch()
    counted = watch.wrapped("nothing", nothing)

    def many(call: Callable[[], None]) -> int:
        began = perf_counter_ns()
        for _ in range(rounds):
            call()
        return perf_counter_ns() - began

    bare = many(nothing)
    return max(0, watch.run(lambda: many(counted))[0] - bare) / rounds


def middle(samples: Sequence[Spent]) -> list[Spent]:
    """Without the quickest and the slowest quarter: a mean of these is not of the machine's moods, and its parts still add up."""
    ordered = sorted(samples, key=lambda sample: sample.whole_ns)
    cut = len(ordered) // 4
    return ordered[cut : len(ordered) - cut]


def mean_ms(samples: Sequence[Spent]) -> Mapping[str, float]:
    """Milliseconds by part, in the order of their names."""
    names = sorted({name for sample in samples for name in sample.ns})
    return {name: sum(sample.ns.get(name, 0) for sample in samples) / len(samples) / 1e6 for name in names}
