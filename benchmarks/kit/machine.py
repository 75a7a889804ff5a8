"""This machine and its processes: what they have taken of the processors. Read from /proc, so on Linux only."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


def processor() -> str:
    """How many there are, and of which kind as far as that is known."""
    try:
        lines = (_PROC / "cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{os.cpu_count()} x {names[0] if names else platform.machine()}"


def children(pid: int) -> list[int]:
    """The processes that this one has started and that are there; none, if it has ended itself."""
    found: list[int] = []
    with suppress(OSError):  # it has just ended, or one of its threads has
        for thread in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def descendants(roots: Iterable[int]) -> list[int]:
    """These processes, as far as they are there, with all that they have started."""
    found, waiting = [], list(roots)
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children(pid)
    return found


def cpu_seconds(roots: Iterable[int]) -> float:
    """What these processes and their descendants have taken so far, those included that have ended and were waited for."""
    ticks = 0
    for pid in descendants(roots):
        try:
            # The second field, the name, may hold anything; behind its parenthesis come the state and numbers.
            fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / _TICKS


def machine_seconds() -> float:
    """What all processors have been busy so far: everything but idling and waiting for disks."""
    fields = [int(field) for field in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / _TICKS
