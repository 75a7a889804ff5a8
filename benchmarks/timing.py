"""Times pieces of work, counts their statements, and says what came out: percentiles, records, tables.

Knows no Django and no database: whoever wants statements counted hands over how.
"""

from __future__ import annotations

import gc
import math
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
    """One line of build/bench.json. ``n`` samples; ``statements`` and ``rows`` of one execution, None where not counted."""

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
        self.rows: dict[Key, int] = {}

    def __call__(self, key: Key, work: Callable[[], Outcome], *, rows: int) -> Outcome:
        """Do the work. Only what happens inside counts: prepare before, and clear up after."""
        if self._mode == "count":
            with self._counting() as statements:
                outcome = work()
            self.statements.setdefault(key, set()).add(statements())
            self.rows[key] = rows
            return outcome
        began = perf_counter_ns()
        outcome = work()
        elapsed = perf_counter_ns() - began
        if self._mode == "time":
            self.samples.setdefault(key, []).append(elapsed / 1e6)
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
                rows=self.rows.get(key),
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


def table(results: Sequence[Result]) -> str:
    """Every operation with its baseline beside it, for one database and level after the other."""
    lines = []
    for database, level in dict.fromkeys((result.database, result.level) for result in results):
        here = [result for result in results if (result.database, result.level) == (database, level)]
        lines += ["", f"{here[0].app} on {database}, {level}, {here[0].scale} (ms)", _HEAD, "-" * len(_HEAD)]
        manual = {result.operation: result for result in here if result.variant == "manual"}
        for result in here:
            if result.variant == "edna":
                lines.append(_line(result, manual.pop(result.operation, None)))
    return "\n".join(lines)


_HEAD = (
    f"{'operation':<32}{'password':>9}{'n':>6} |{'p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7}{'rows':>9} |"
    f"{'manual p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7} |{'ratio':>7}"
)


def _line(edna: Result, manual: Result | None) -> str:
    def times(result: Result) -> str:
        return "".join(f"{value:>10.2f}" for value in (result.p5_ms, result.p50_ms, result.p95_ms))

    def number(value: int | None) -> str:
        return "-" if value is None else f"{value:,}"

    line = f"{edna.operation:<32}{'derived' if edna.derivation else '':>9}{edna.n:>6} |"
    line += f"{times(edna)}{number(edna.statements):>7}{number(edna.rows):>9} |"
    if manual is None:
        return f"{line}{'-':>10}{'-':>10}{'-':>10}{'-':>7} |{'-':>7}"
    return f"{line}{times(manual)}{number(manual.statements):>7} |{edna.p50_ms / manual.p50_ms:>7.1f}"


def ratios(results: Sequence[Result]) -> str:
    """The two ratios that the project watches, from the same run: of medians, and of the undisturbed 5th percentiles."""
    lines = []
    for database, level in dict.fromkeys((result.database, result.level) for result in results):
        here = {
            (result.operation, result.variant): result
            for result in results
            if (result.database, result.level) == (database, level) and not result.derivation
        }
        delete, restore = here.get(("delete account", "edna")), here.get(("restore account", "edna"))
        manual = here.get(("delete account", "manual"))
        if delete and restore and manual:
            lines.append(
                f"{database}, {level}: delete is {_ratio(delete, manual)} times the manual delete, "
                f"restore {_ratio(restore, delete)} times the delete"
            )
    return "\n".join(lines)


def _ratio(upper: Result, lower: Result) -> str:
    return f"{upper.p50_ms / lower.p50_ms:.1f} (p5: {upper.p5_ms / lower.p5_ms:.1f})"
