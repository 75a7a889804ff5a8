"""Looks on from outside, every few seconds: memory, descriptors and threads of each process, connections, and what tables take.

Read from /proc, so on Linux only, and over a connection of its own.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from benchmarks.kit.driver import Driver
from benchmarks.kit.machine import children, cpu_seconds, descendants, machine_seconds

_PROC: Final = Path("/proc")
#: Which part of a command tells whose it is.
_DATABASES: Final = ("mariadbd", "mysqld", "postgres")
DATABASE, SERVED = "database", "gunicorn"


def look(driver: Driver, pid: int) -> dict[str, Any]:
    """What there is now; ``pid`` is the process that has started all others."""
    processes: dict[str, dict[str, int]] = {}
    groups = {child: label for child in children(pid) if (label := _label(_command(child)))}
    for child, label in groups.items():
        for each in descendants([child]):
            with suppress(OSError):  # it has just ended
                total = processes.setdefault(label, {})
                for name, number in _numbers(each).items():
                    total[name] = total.get(name, 0) + number
    dialect = driver.dialect
    sizes = dict(dialect.sizes(driver.cursor))
    rows = {
        name: driver.number(f"SELECT COUNT(*) FROM {driver.quoted(name)}") for name in sizes if name.startswith("edna_")
    }
    connections = dialect.connections(driver.cursor)
    driver.commit()
    return {
        "at": time.time(),
        "processes": processes,
        "connections": connections,
        "bytes": sizes,
        "rows": rows,
        "cpu": {label: cpu_seconds([child]) for child, label in groups.items()},
        "machine": machine_seconds(),
    }


def _command(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def _label(command: list[str]) -> str:
    """What a process is called in the report; "" are watchdogs, which do nothing."""
    if "benchmarks.soak.worker" in command:
        return command[command.index("benchmarks.soak.worker") + 1]
    if "gunicorn" in command:
        return SERVED
    return DATABASE if command and Path(command[0]).name in _DATABASES else ""


def _numbers(pid: int) -> Mapping[str, int]:
    """
    Raises: OSError
    """
    lines = (line.partition(":") for line in (_PROC / str(pid) / "status").read_text().splitlines())
    found = {name: value.split() for name, _, value in lines}
    return {
        "memory": int(found["VmRSS"][0]) * 1024,
        "threads": int(found["Threads"][0]),
        "descriptors": len(list((_PROC / str(pid) / "fd").iterdir())),
    }
