"""What was measured of groups of devices, beside what it may take and what the published implementation takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.kit.goals import judge
from benchmarks.timing import Result

#: By how many devices: the most milliseconds to make and to read, the most bytes; and of an add.
GOALS: Final = {8: (2.0, 1.0, 2_000, 1_000), 128: (30.0, 1.0, 25_000, 1_000)}
#: For 10,000 bags.
WRAPPING_SECONDS: Final = 10.0
#: Milliseconds and bytes of the published Java implementation at 128 members, run on a machine of this kind.
PUBLISHED: Final = {
    "create": (23.1, 22.9, 44_454),
    "update": (23.2, 22.8, 40_553),
    "remove": (24.7, 23.2, 40_269),
    "add": (27.7, 26.8, 77_306),
}
_HEAD: Final = (
    f"{'devices':>7}  {'operation':<10}{'make ms':>9}{'goal':>7}{'':>5}{'read ms':>9}{'goal':>7}{'':>5}{'bytes':>9}{'goal':>9}{'':>5}"
    "   published: make, read, bytes"
)


def devices(results: Sequence[Result]) -> str:
    """A table; nothing if none was measured."""
    found, wrapped = {}, []
    for each in results:
        if each.app == "devices" and each.operation.endswith(": wrap"):
            wrapped.append(_wrapped(each))
        elif each.app == "devices":
            name, count, _, part = each.operation.replace(",", "").split()
            found[int(count), name, part] = each
    lines = [_line(found, count, name) for count, name, part in found if part == "make"]
    if not lines and not wrapped:
        return ""
    title = "Groups of devices (medians; an add hands over one secret). No acknowledgements, so less than what was published"
    return "\n".join((title, _HEAD, "-" * len(_HEAD), *lines, *wrapped))


def _wrapped(result: Result) -> str:
    seconds = result.p50_ms / 1000
    return (
        f"update of a device, {result.rows:,} bags get other recipients: {seconds:.1f} s, goal {WRAPPING_SECONDS:g} s for 10,000: "
        f"{judge(seconds, WRAPPING_SECONDS).met}; {result.statements} statements{_used(' of the processor', result)}"
    )


def _used(name: str, *results: Result) -> str:
    """The processor's time, where it was measured."""
    used = [each.extra["processor_ms"] for each in results if "processor_ms" in each.extra]
    return f";{name}: {', '.join(f'{each:.2f}' for each in used)} ms" if used else ""


def _line(found: dict[tuple[int, str, str], Result], count: int, name: str) -> str:
    make, read = found[count, name, "make"], found[count, name, "read"]
    line = f"{count:>7}  {name:<10}"
    most_make, most_read, most_bytes, most_add = GOALS.get(count, (float("inf"),) * 4)
    size = make.extra["bytes"]
    for value, most, width in (
        (make.p50_ms, most_make, 9),
        (read.p50_ms, most_read, 9),
        (size, most_add if name == "add" else most_bytes, 11),
    ):
        shown = f"{value:>{width},}" if isinstance(value, int) else f"{value:>{width}.2f}"
        line += f"{shown}{most:>{7 if width == 9 else 9}g}{judge(value, most).met:>5}"
    published = PUBLISHED[name] if count == 128 else None
    line += _used(" of the processor", make, read)
    return line + (f"   {published[0]} ms, {published[1]} ms, {published[2]:,}" if published else "")
