"""What a soak says: whether times at its end are those of its beginning, and whether anything has grown. From the raw notes alone.

The rules, on quarters of what is left once a part to warm up is cut off:

- *Times.* Each quarter is cut into five blocks. An operation's percentile is the same if the median of its five values in the last
  quarter is not above the greatest of the five in the first, by more than a tenth. That is the noise that the first quarter has itself.
  Where blocks have too few values and whole quarters have enough (`benchmarks.kit.percentiles.enough`), it is the same unless the interval
  in which it surely is in the last quarter (95 %, by ranks) begins more than a tenth above the first quarter's. Of others nothing is said.
- *Memory.* The median of each process's resident memory in the last quarter is at most 2 % above that of the second. Not the database's,
  which fills its cache.
- *Descriptors, threads, connections.* The median of the last quarter is at most the most of the second.
- *Tables.* The same, and 2 %: of edna's tables together, of their rows, and of the application's tables. Journals, of which every run of
  a command adds a line on purpose, are shown and not judged.
- Nothing went wrong, in no act; afterwards everybody is back, every row is as it was, and `edna_verify` finds the store sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final

from benchmarks.kit.goals import NOT_MEASURED, judge
from benchmarks.kit.percentiles import enough, percentile, surely_between
from benchmarks.soak.watch import DATABASE

BLOCKS: Final = 5
PERCENTS: Final = (50, 95, 99)
_NOISE, _GROWTH = 1.10, 1.02
#: They grow by a row for each act of an operator, and for what has been erased: that is what they are for.
JOURNALS: Final = frozenset({"edna_auditentry", "edna_auditcount", "edna_job", "edna_ledgerentry"})

Look = Mapping[str, Any]
Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Times:
    """From when to when is looked at: what is before is to warm up."""

    began: float
    ended: float

    def quarter(self, number: int) -> Times:
        """From 0 on."""
        return self._part(number, 4)

    def blocks(self) -> list[Times]:
        return [self._part(number, BLOCKS) for number in range(BLOCKS)]

    def _part(self, number: int, of: int) -> Times:
        length = (self.ended - self.began) / of
        return Times(self.began + number * length, self.began + (number + 1) * length)

    def of(self, lines: Iterable[Mapping[str, Any]]) -> list[Any]:
        return [line for line in lines if self.began <= line["at"] < self.ended]


@dataclass(frozen=True)
class Verdict:
    """One sentence: what was ``before``, what is there ``at_the_end``, and the most that it may be."""

    about: str
    before: float | None
    at_the_end: float | None
    most: float | None
    met: str

    @classmethod
    def of(cls, about: str, before: float, at_the_end: float, most: float) -> Verdict:
        return cls(about, before, at_the_end, most, judge(at_the_end, most).met)


def latencies(samples: Sequence[Sample], percent: float) -> float | None:
    """A percentile of milliseconds; None if there are too few to speak of it."""
    taken = _taken(samples)
    return percentile(taken, percent) if enough(len(taken), percent) else None


def _taken(samples: Sequence[Sample]) -> list[float]:
    return [each["ms"] for each in samples if not each["wrong"] and not each["remark"]]


def operations(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for each in samples:
        found.setdefault(each["act"], []).append(each)
    return found


def times(samples: Sequence[Sample], span: Times) -> list[Verdict]:
    """Of each operation, each percentile of which there are enough values."""
    found = []
    for name, own in operations(samples).items():
        for percent in PERCENTS:
            about = f"{name}, p{percent}, ms"
            first, last = ([latencies(block.of(own), percent) for block in span.quarter(q).blocks()] for q in (0, 3))
            before, after = ([each for each in some if each is not None] for some in (first, last))
            if len(before) == len(after) == BLOCKS:
                found.append(Verdict.of(about, median(before), median(after), max(before) * _NOISE))
            elif (verdict := _of_quarters(about, *(span.quarter(q).of(own) for q in (0, 3)), percent)) is not None:
                found.append(verdict)
            elif percent == PERCENTS[0]:
                found.append(Verdict(about, None, None, None, NOT_MEASURED))
    return found


def _of_quarters(about: str, first: Sequence[Sample], last: Sequence[Sample], percent: float) -> Verdict | None:
    before, after = (latencies(some, percent) for some in (first, last))
    if before is None or after is None:
        return None
    (_, highest), (lowest, _) = (surely_between(_taken(some), percent) for some in (first, last))
    return Verdict.of(about, before, after, highest * _NOISE + after - lowest)


def growth(looks: Sequence[Look], span: Times) -> list[Verdict]:
    """Memory, descriptors, threads, connections, tables."""
    second, last = (span.quarter(number).of(looks) for number in (1, 3))
    if not second or not last:
        return []
    verdicts = []
    for label in sorted(set(last[-1]["processes"]) - {DATABASE}):
        before, after = (median(look["processes"][label]["memory"] / 1e6 for look in some) for some in (second, last))
        verdicts.append(Verdict.of(f"{label}: memory, MB", before, after, before * _GROWTH))
        for name in ("descriptors", "threads"):
            verdicts.append(_flat(f"{label}: {name}", partial(_of_process, label, name), second, last))
    verdicts.append(_flat("connections to the database", lambda look: look["connections"], second, last))
    for about, total in (
        ("edna's tables, MB", lambda look: edna_bytes(look) / 1e6),
        ("rows in edna's tables", edna_rows),
        ("the application's tables, MB", lambda look: application_bytes(look) / 1e6),
    ):
        verdicts.append(_flat(about, total, second, last, allowed=_GROWTH))
    return verdicts


def _of_process(label: str, name: str, look: Look) -> int:
    number: int = look["processes"][label][name]
    return number


def _flat(
    about: str, value: Callable[[Look], float], second: Sequence[Look], last: Sequence[Look], *, allowed: float = 1.0
) -> Verdict:
    before, after = [value(look) for look in second], median(value(look) for look in last)
    return Verdict.of(about, median(before), after, max(before) * allowed)


def edna_bytes(look: Look) -> int:
    return sum(size for name, size in look["bytes"].items() if _is_kept(name))


def edna_rows(look: Look) -> int:
    return sum(number for name, number in look["rows"].items() if _is_kept(name))


def application_bytes(look: Look) -> int:
    return sum(size for name, size in look["bytes"].items() if not name.startswith("edna_"))


def journal_rows(look: Look) -> dict[str, int]:
    return {name: look["rows"][name] for name in sorted(JOURNALS & look["rows"].keys())}


def _is_kept(name: str) -> bool:
    return name.startswith("edna_") and name not in JOURNALS


def slope(points: Sequence[tuple[float, float]]) -> float:
    """By least squares: what a value grows by in a second."""
    if len(points) < 2:
        return 0.0
    at, mean = (sum(column) / len(points) for column in zip(*points, strict=True))
    spread = sum((time - at) ** 2 for time, _ in points)
    return sum((time - at) * (value - mean) for time, value in points) / spread if spread else 0.0


def busy(looks: Sequence[Look], processors: int) -> tuple[float, float]:
    """What part of the processors the soak took, and the whole machine."""
    if len(looks) < 2:
        return 0.0, 0.0
    first, last = looks[0], looks[-1]
    length = (last["at"] - first["at"]) * processors
    own = sum(last["cpu"].values()) - sum(first["cpu"].values())
    return own / length, (last["machine"] - first["machine"]) / length
