"""Who takes the processors, and what waits for locks in the database, twice a second while a load runs.

Read from /proc, so on Linux only; and from the database, over a connection of its own. Cumulative numbers, each with its time: what was
in a phase is the difference between its ends. MariaDB counts who waits for a row; PostgreSQL tells who waits now, so that short waits
between two looks are not seen.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from benchmarks.kit.machine import cpu_seconds, machine_seconds

INTERVAL_SECONDS = 0.5
#: What a report has of locks: by MariaDB's name, and by that of `_PostgreSQL`.
WAITS, WAITED_MS, DEADLOCKS = (
    ("Innodb_row_lock_waits", "waits_seen"),
    ("Innodb_row_lock_time", "waited_ms"),
    ("Innodb_deadlocks", "deadlocks"),
)
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
        self._database = KINDS[urlsplit(self._url).scheme](self._url)
        self.database_version: str = self._database.version
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
        return {
            "at": time.time(),
            "cpu": dict(self._cpu),
            "busy": machine_seconds(),
            "database": self._database.counters(),
        }

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


def counted(found: Mapping[str, Any], names: tuple[str, str]) -> Any:
    """The counter of the database that was there; None if it had none."""
    return next((found[name] for name in names if name in found), None)


class _MariaDB:
    def __init__(self, url: str) -> None:
        import MySQLdb

        parts = urlsplit(url)
        socket = parse_qs(parts.query)["socket"][0]
        self._connection = MySQLdb.connect(user=parts.username, unix_socket=socket, autocommit=True)
        self.version: str = self._connection.get_server_info()

    def counters(self) -> dict[str, int]:
        cursor = self._connection.cursor()
        cursor.execute(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(['%s'] * len(COUNTERS))})", COUNTERS)
        return {name: int(value) for name, value in cursor.fetchall()}

    def close(self) -> None:
        self._connection.close()


class _PostgreSQL:
    def __init__(self, url: str) -> None:
        import psycopg

        parts = urlsplit(url)
        host, name = parse_qs(parts.query)["socket"][0], parts.path.lstrip("/")
        self._connection = psycopg.connect(user=parts.username, host=host, dbname=name, autocommit=True)
        self.version: str = self._asked("SHOW server_version")[0][0]
        self._waiting: set[Any] = set()
        self._looked, self._seen, self._waited_ms = time.monotonic(), 0, 0.0

    def counters(self) -> dict[str, int]:
        """A session that waits now is taken to have waited since the last look."""
        waiting = set(
            self._asked(
                "SELECT pid, query_start FROM pg_stat_activity WHERE datname = current_database()"
                " AND wait_event_type = 'Lock' AND state = 'active'"
            )
        )
        now = time.monotonic()
        self._waited_ms += len(waiting) * (now - self._looked) * 1_000
        self._seen += len(waiting - self._waiting)
        self._waiting, self._looked = waiting, now
        [(deadlocks, commits)] = self._asked(
            "SELECT deadlocks, xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )
        return {
            "waits_seen": self._seen,
            "waited_ms": round(self._waited_ms),
            "deadlocks": deadlocks,
            "commits": commits,
        }

    def _asked(self, sql: str) -> list[Any]:
        return self._connection.execute(sql).fetchall()

    def close(self) -> None:
        self._connection.close()


KINDS: Final[Mapping[str, Callable[[str], _MariaDB | _PostgreSQL]]] = {"mysql": _MariaDB, "postgres": _PostgreSQL}
