"""What was measured of guardians, beside what it may take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from benchmarks.guardians.measuring import ALL, AWARE
from benchmarks.guardians.sockets import BARE, NAMES, NEW, REG, REQUEST
from benchmarks.kit.goals import YES, judge
from benchmarks.timing import Result

#: The most milliseconds.
PARTS: Final = {"part with proof": 0.5, "verify and combine 6": 4.0, "verify and combine 12": 8.0}
#: By how many are needed, and of how many: the least evaluations in a second, those of visa/dise's strong mode on a machine of this kind.
RATES: Final = {(2, 8): 265.0, (6, 8): 58.0, (6, 18): 58.0, (12, 18): 30.0}
#: How many times as many as asking all guardians, at least.
RATIOS: Final = {(6, 18): 1.2, (6, 8): 0.95}
#: How many times as long as in clear SECURE may take.
TIMES_OF_REG: Final = 4.0
_HEAD: Final = f"{'what':<44}{'reached':>10}{'goal':>10}{'':>14}{'p5 ms':>9}{'p50':>9}{'p95':>9}"


def guardians(results: Sequence[Result]) -> str:
    """A table; nothing if none was measured."""
    found = {each.operation: each for each in results if each.app == "guardians"}
    if not found:
        return ""
    lines = []
    for name, most in PARTS.items():
        if name in found:
            each = found[name]
            is_met = judge(each.p50_ms, most).met == YES
            lines.append(_line(f"{name}, ms", f"{each.p50_ms:.2f}", f"<= {most:g}", is_met, each))
            if (used := each.extra.get("processor_ms")) is not None:
                lines.append(
                    _line("  of the processor", f"{used:.2f}", f"<= {most:g}", judge(used, most).met == YES, each)
                )
    lines += [line for exchange in (BARE, REQUEST, NEW) for line in _profiles(found, exchange)]
    for (needed, count), least in RATES.items():
        aware, everybody = (found.get(f"evaluation, {needed} of {count}: {kind}") for kind in (AWARE, ALL))
        if aware is None or everybody is None:
            continue
        rate, others = aware.extra["each_second"], everybody.extra["each_second"]
        name = f"evaluations a second, {needed} of {count}"
        lines.append(_line(name, f"{rate:.0f}", f">= {least:g}", rate >= least, aware))
        if (needed, count) in RATIOS:
            most = RATIOS[needed, count]
            ratio = rate / others
            lines.append(_line(f"{name}: {AWARE} : {ALL}", f"{ratio:.2f}", f">= {most:g}", ratio >= most, everybody))
    title = "Guardians over loopback, one evaluation after the other (medians of five blocks; beside a ratio, those of polling all)"
    return "\n".join((title, _HEAD, "-" * len(_HEAD), *lines))


def _profiles(found: Mapping[str, Result], exchange: str) -> Iterator[str]:
    """How many times as long as in clear each takes; the goal is for SECURE, where the connection is there."""
    timed = {name: found[f"{exchange}, {name}"] for name in NAMES if f"{exchange}, {name}" in found}
    for name, each in timed.items():
        times = each.p50_ms / timed[REG].p50_ms
        goal = TIMES_OF_REG if name == "SECURE" and exchange != NEW else None
        yield _line(f"{exchange}, {name}", f"{times:.2f}x", goal and f"<= {goal:g}x", goal and times <= goal, each)


def _line(name: str, reached: str, goal: str | None, is_met: bool | None, of: Result) -> str:
    verdict = "" if goal is None else "reached" if is_met else "missed"
    return f"{name:<44}{reached:>10}{goal or '':>10}{verdict:>14}{of.p5_ms:>9.3f}{of.p50_ms:>9.3f}{of.p95_ms:>9.3f}"
