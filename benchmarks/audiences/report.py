"""What was measured of audiences, beside what it may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.kit.goals import judge
from benchmarks.timing import Result

#: One leaves, by how many members there are: wraps and bytes in the median, bytes at most, milliseconds.
GOALS: Final = {1024: (20, 2_500, 8_000, 10.0), 16_384: (30, None, None, None)}
#: Of the bytes that telling everybody takes, when 32 leave at once.
SHARE: Final = 0.4
_HEAD: Final = "medians of wraps and bytes, bytes at most, milliseconds and [those of the processor]"


def audiences(results: Sequence[Result]) -> str:
    """A few lines; nothing if none was measured."""
    found = {result.operation: result for result in results if result.app == "audiences"}
    counts = sorted({int(name.split(", ")[1].split()[0]) for name in found})
    lines = [line for count in counts for line in _lines(found, count)]
    return "\n".join((f"Audiences, one member leaves ({_HEAD})", *lines)) if lines else ""


def _lines(found: dict[str, Result], count: int) -> list[str]:
    name = f"{count} members"
    leave, read = found[f"leave, {name}"], found[f"read, {name}"]
    many, flat = found[f"32 leave at once, {name}"], found[f"32 leave and all are told, {name}"]
    values = (leave.extra["wraps"], leave.extra["bytes"], leave.extra["most_bytes"], leave.p50_ms)
    most = GOALS.get(count, (None,) * 4)
    said = (f"{value:,.4g}{_goal(value, goal)}" for value, goal in zip(values, most, strict=True))
    share = many.extra["bytes"] / flat.extra["bytes"]
    return [
        f"{count:>7,} members: {'; '.join(said)} [{_worked(leave)}]; a member reads in {read.p50_ms:.2f} ms [{_worked(read)}]",
        f"{'':>7} 32 leave at once: {many.extra['bytes']:,} bytes, {share:.0%} of telling all{_goal(share, SHARE)}; "
        f"{many.p50_ms:.1f} ms [{_worked(many)}], telling all {flat.p50_ms:.1f} ms [{_worked(flat)}]",
    ]


def _goal(value: float, most: float | None) -> str:
    return f" (goal {most:g}: {judge(value, most).met})" if most is not None else ""


def _worked(result: Result) -> str:
    return f"{result.extra['processor_ms']:.2f}"
