"""Times pieces of work, counts their statements, and says what came out: percentiles and records.

Knows no Django and no database: whoever wants statements counted hands over how.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from time import perf_counter_ns, process_time_ns
from typing import Any, NamedTuple, Self, TypeVar

from benchmarks.kit.percentiles import percentile
from benchmarks.stopwatch import Spent, Stopwatch

Outcome = TypeVar("Outcome")
Item = TypeVar("Item")
#: Opens a block, and gives back a function that says, once the block is left, how many statements ran in it.
Counting = Callable[[], AbstractContextManager[Callable[[], int]]]
#: Opens a block in which a stopwatch sees where the time goes; and what of that stands in the results.
Drilling = tuple[Callable[[], AbstractContextManager[Stopwatch]], Callable[[Sequence[Spent]], dict[str, Any]]]

WARM_UP = 5
DRILLED = 8
COUNTED = 2
#: What rounds take beside those that are timed.
BESIDE = WARM_UP + DRILLED + COUNTED


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

    @classmethod
    def from_dict(cls, line: Mapping[str, Any]) -> Self:
        """What `as_dict` made."""
        known = {name: value for name, value in line.items() if name in cls.__dataclass_fields__}
        return cls(**known, extra={name: value for name, value in line.items() if name not in known})


class Clock:
    """Runs pieces of work under keys: some to warm up, most timed, then some drilled into, the last few counted instead of timed."""

    def __init__(self, counting: Counting, drilling: Drilling | None = None, *, processor: bool = False) -> None:
        """With ``processor`` the results have the median of the processor's time, too, which other work on the machine disturbs less."""
        self._counting, self._drilling, self._processor = counting, drilling, processor
        self.processor: dict[Key, list[float]] = {}
        self._mode = "time"
        self._watch: Stopwatch | None = None
        self.drilled: dict[Key, list[Spent]] = {}
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
        if self._watch is not None:
            outcome, spent = self._watch.run(work)
            self.drilled.setdefault(key, []).append(spent)
            return outcome
        used = process_time_ns() if self._processor else 0
        began = perf_counter_ns()
        outcome = work()
        elapsed = perf_counter_ns() - began
        if self._mode == "time":
            if self._processor:
                self.processor.setdefault(key, []).append((process_time_ns() - used) / 1e6)
            self.samples.setdefault(key, []).append(elapsed / 1e6)
            self.rows.setdefault(key, []).append(rows)
        return outcome

    @contextmanager
    def drill(self) -> Iterator[None]:
        """Work that is done meanwhile is no sample: it is seen where its time goes."""
        if self._drilling is None:
            yield
            return
        with self._drilling[0]() as self._watch:
            try:
                yield
            finally:
                self._watch = None

    def rounds(
        self, items: Iterable[Item], *, warm_up: int = WARM_UP, drilled: int = DRILLED, counted: int = COUNTED
    ) -> Iterator[Item]:
        """The items: the first ones to warm up, the last ones to drill into and to count, with the garbage collector off all the time.

        Where there are few items, one for each of these is enough.
        """
        chosen = list(items)
        drilled = drilled if self._drilling else 0
        if len(chosen) <= warm_up + drilled + counted:
            warm_up, drilled, counted = int(len(chosen) > 2), min(drilled, int(len(chosen) > 3)), 1
        timed = max(len(chosen) - drilled - counted, 1)
        with _collector_off():
            try:
                for number, item in enumerate(chosen[:timed]):
                    self._mode = "warm up" if number < warm_up else "time"
                    yield item
                with self.drill():
                    yield from chosen[timed : timed + drilled]
                self._mode = "count"
                yield from chosen[timed + drilled :]
            finally:
                self._mode = "time"

    def results(self, **common: Any) -> list[Result]:
        """One result for each key that was timed."""
        extra = common.pop("extra", {})
        parts = {key: self._drilling[1](seen) for key, seen in self.drilled.items()} if self._drilling else {}
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
                extra={**extra.get(key, {}), **parts.get(key, {}), **self._used(key)},
                **common,
            )
            for key, samples in self.samples.items()
        ]

    def _used(self, key: Key) -> dict[str, float]:
        return {"processor_ms": round(percentile(self.processor[key], 50), 4)} if key in self.processor else {}


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
