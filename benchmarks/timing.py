"""Times pieces of work, counts their statements, and says what came out: percentiles and records.

Knows no Django and no database: whoever wants statements counted hands over how.
"""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter_ns
from typing import Any, NamedTuple, TypeVar

Outcome = TypeVar("Outcome")
Item = TypeVar("Item")
#: Opens a block, and gives back a function that says, once the block is left, how many statements ran in it.
Counting = Callable[[], AbstractContextManager[Callable[[], int]]]

WARM_UP = 5
COUNTED = 2


class Key(NamedTuple):
    """What is measured. ``derivation``: whether a password was derived on the way, by purpose the slowest thing there is."""

    operation: str
    variant: str
    derivation: bool = False


@dataclass(frozen=True)
class Result:
    """One line of build/bench.json. ``n`` samples; ``statements`` and ``rows`` of one execution, None where not counted.

    Where executions differ, the most statements, and the median of the rows.
    """

    app: str
    operation: str
    variant: str
    level: str
    database: str
    scale: str
    n: int
    p5_ms: float
    p50_ms: float
    p95_ms: float
    statements: int | None
    rows: int | None
    derivation: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Flat, as it stands in the file."""
        plain = asdict(self)
        return plain | plain.pop("extra")


def percentile(samples: Sequence[float], percent: float) -> float:
    """The value that ``percent`` of the samples do not exceed, between two samples by linear interpolation."""
    ordered = sorted(samples)
    position = (len(ordered) - 1) * percent / 100
    low, high = math.floor(position), math.ceil(position)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


class Clock:
    """Runs pieces of work under keys: some to warm up, most timed, the last few counted instead of timed."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._mode = "time"
        self.samples: dict[Key, list[float]] = {}
        self.statements: dict[Key, set[int]] = {}
        self.rows: dict[Key, list[int]] = {}

    def __call__(self, key: Key, work: Callable[[], Outcome], *, rows: int) -> Outcome:
        """Do the work. Only what happens inside counts: prepare before, and clear up after."""
        if self._mode == "count":
            with self._counting() as statements:
                outcome = work()
            self.statements.setdefault(key, set()).add(statements())
            if key not in self.rows:
                self.rows[key] = [rows]
            return outcome
        began = perf_counter_ns()
        outcome = work()
        elapsed = perf_counter_ns() - began
        if self._mode == "time":
            self.samples.setdefault(key, []).append(elapsed / 1e6)
            self.rows.setdefault(key, []).append(rows)
        return outcome

    def rounds(self, items: Iterable[Item], *, warm_up: int = WARM_UP, counted: int = COUNTED) -> Iterator[Item]:
        """The items: the first ones to warm up, the last ones to count, with the garbage collector off in between."""
        chosen = list(items)
        if len(chosen) <= warm_up + counted:
            warm_up, counted = int(len(chosen) > 2), 1
        last = max(len(chosen) - counted, 1)
        with _collector_off():
            try:
                for number, item in enumerate(chosen):
                    self._mode = "warm up" if number < warm_up else "time" if number < last else "count"
                    yield item
            finally:
                self._mode = "time"

    def results(self, **common: Any) -> list[Result]:
        """One result for each key that was timed."""
        extra = common.pop("extra", {})
        return [
            Result(
                operation=key.operation,
                variant=key.variant,
                derivation=key.derivation,
                n=len(samples),
                p5_ms=round(percentile(samples, 5), 4),
                p50_ms=round(percentile(samples, 50), 4),
                p95_ms=round(percentile(samples, 95), 4),
                statements=max(self.statements[key]) if key in self.statements else None,
                rows=round(percentile(self.rows[key], 50)) if key in self.rows else None,
                extra=extra.get(key, {}),
                **common,
            )
            for key, samples in self.samples.items()
        ]


def interleave(number: int, *works: Callable[[], object]) -> None:
    """Do all works, beginning with another one each time: what one leaves warm for the next then favours none of them."""
    start = number % len(works)
    for work in works[start:] + works[:start]:
        work()


@contextmanager
def _collector_off() -> Iterator[None]:
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_began = time.monotonic()


def say(what: str) -> None:
    """Tell whoever waits what is going on."""
    print(f"[{time.monotonic() - _began:5.0f} s] {what}", file=sys.stderr, flush=True)
