"""Who takes the processors, and what waits for locks in the database, twice a second while a load runs.

Read from /proc, so on Linux only; and from MariaDB's counters, over a connection of its own. Cumulative numbers, each with its time: what
was in a phase is the difference between its ends.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from benchmarks.kit.machine import cpu_seconds, machine_seconds

INTERVAL_SECONDS = 0.5
COUNTERS = (
    "Innodb_row_lock_waits",
    "Innodb_row_lock_time",
    "Innodb_row_lock_current_waits",
    "Innodb_deadlocks",
    "Questions",
    "Com_commit",
    "Threads_running",
)


class Machine:
    """``with Machine(path, groups, database_url):`` writes a line each half second. Groups may be added while it runs."""

    def __init__(self, path: Path, groups: Mapping[str, list[int]], database_url: str) -> None:
        self.groups = dict(groups)
        self._path, self._url = path, database_url
        self._cpu: dict[str, float] = {}
        self.lines = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="machine", daemon=True)
        self._error: Exception | None = None

    def __enter__(self) -> Machine:
        self._database = _connect(self._url)
        self.database_version: str = self._database.get_server_info()
        self._thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._ended.set()
        self._thread.join()
        self._database.close()
        if self._error is not None:
            raise self._error

    def look(self) -> dict[str, Any]:
        for name, roots in list(self.groups.items()):
            # Of whoever has ended nothing is to be seen any more; what they took they have taken.
            self._cpu[name] = max(self._cpu.get(name, 0.0), cpu_seconds(roots))
        return {"at": time.time(), "cpu": dict(self._cpu), "busy": machine_seconds(), "database": self._counters()}

    def _watch(self) -> None:
        try:
            with self._path.open("w") as file:
                following = time.monotonic()
                while not self._ended.is_set():
                    file.write(json.dumps(self.look()) + "\n")
                    self.lines += 1
                    following += INTERVAL_SECONDS
                    self._ended.wait(max(0.0, following - time.monotonic()))
                file.write(json.dumps(self.look()) + "\n")
        except Exception as error:  # told by the thread that measures
            self._error = error

    def _counters(self) -> dict[str, int]:
        cursor = self._database.cursor()
        cursor.execute(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(['%s'] * len(COUNTERS))})", COUNTERS)
        return {name: int(value) for name, value in cursor.fetchall()}


def _connect(url: str) -> Any:
    import MySQLdb

    parts = urlsplit(url)
    return MySQLdb.connect(user=parts.username, unix_socket=parse_qs(parts.query)["socket"][0], autocommit=True)
