"""Celery's processes as an operator would run them, with logs that are kept, and ways to kill them. And who listens to their Redis.

They end with the test, even if that is killed: each is a `Server`, which has a watchdog.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.kit import machine
from benchmarks.kit.servers import Server

ROOT = Path(__file__).resolve().parents[2]


def environment(*, database: str, broker: str, batch: int) -> dict[str, str]:
    """Of each process of the site, be it a worker or one that answers requests."""
    return {
        "PYTHONPATH": str(ROOT),
        "DJANGO_SETTINGS_MODULE": "tests.workers.settings",
        "EDNA_DATABASE_URL": database,
        "EDNA_BROKER_URL": broker,
        "EDNA_TEST_JOB_BATCH": str(batch),
    }


class Process(Server):
    """One command of Celery's: `start`, `stop`, `kill` and `close` are those of a server."""

    def __init__(
        self,
        name: str,
        directory: Path,
        *arguments: str,
        database: str,
        broker: str,
        ready: str,
        batch: int,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        directory.mkdir()
        site = environment(database=database, broker=broker, batch=batch) | dict(settings or {})
        command = ["env", *(f"{key}={value}" for key, value in site.items())]
        command += [sys.executable, "-m", "celery", "-A", "config", *arguments, "--loglevel", "DEBUG"]
        self._read_from = 0
        super().__init__(name, directory, None, command, "", lambda: ready in self.log()[self._read_from :])

    def start(self) -> None:
        self._read_from = len(self.log())
        super().start()

    def log(self) -> str:
        return self._log.read_text(errors="replace") if self._log.exists() else ""

    def children(self) -> list[int]:
        return machine.children(self.pid)

    def kill_a_child(self) -> None:
        """As the kernel does it when memory runs out: one of its processes, and the worker itself goes on."""
        for pid in self.children()[-1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Crew:
    """Workers of two processes each, and a beat."""

    def __init__(self, directory: Path, *, database: str, broker: str) -> None:
        self._directory, self._site = directory, {"database": database, "broker": broker}
        #: How many principals are done in one transaction: few, so that there is a moment in between.
        self.batch = 5
        self.workers: list[Process] = []
        self.beat: Process | None = None
        self._starting: dict[str, threading.Thread] = {}

    def hire(self, workers: int, *, beat: bool = True) -> None:
        new = []
        for _ in range(workers):
            name = f"worker{len(self.workers)}"
            arguments = ("worker", "--pool", "prefork", "--concurrency", "2", "--hostname", f"{name}@%h")
            new.append(
                Process(name, self._directory / name, *arguments, ready=" ready.", batch=self.batch, **self._site)
            )
            self.workers.append(new[-1])
        if beat and self.beat is None:
            arguments = ("beat", "--schedule", str(self._directory / "beat" / "schedule"))
            self.beat = Process(
                "beat", self._directory / "beat", *arguments, ready="beat: Starting", batch=self.batch, **self._site
            )
            new.append(self.beat)
        at_once([each.start for each in new])

    def replace(self, worker: Process) -> None:
        """Kill it, at once; it is there again as soon as it has started."""
        worker.kill()
        self._starting[worker.name] = threading.Thread(target=worker.start)
        self._starting[worker.name].start()

    def elsewhere(self, program: str) -> str:
        """What a process of the site, which is none of Celery's, prints when it has done this."""
        code = f"import django; django.setup(); {program}"
        site = os.environ | environment(batch=self.batch, **self._site)
        done = subprocess.run([sys.executable, "-c", code], env=site, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def strike(self, victim: str, redis: Server) -> None:
        """Kill something, in the middle of whatever it does: "a worker" with all its processes, "a process" of one, or "Redis"."""
        if victim == "Redis":
            redis.kill()
            redis.start()
        elif victim == "a worker":
            self.replace(self._one_that_works())
        else:
            self._one_that_works().kill_a_child()

    def _one_that_works(self) -> Process:
        starting = {name for name, thread in self._starting.items() if thread.is_alive()}
        found = random.choice([each for each in self.workers if each.name not in starting] or self.workers)
        if thread := self._starting.get(found.name):
            thread.join()
        return found

    def _all(self) -> list[Process]:
        return [*self.workers, *([self.beat] if self.beat else [])]

    def logs(self) -> str:
        return "\n".join(each.log() for each in self._all())

    def ticks(self) -> int:
        """How often jobs have been looked for."""
        return len(re.findall(r"Task edna\.resume_jobs\[[^]]*\] succeeded", self.logs()))

    def go(self) -> None:
        for thread in self._starting.values():
            thread.join()
        at_once([each.close for each in self._all()])


def at_once(works: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


class Listener:
    """Hears every command that anybody sends to a Redis, transient messages and those of a Redis that is killed later included."""

    def __init__(self, path: Path) -> None:
        self._path, self._parts = path, []  # type: tuple[Path, list[bytes]]
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(0.2)
                connection.connect(str(self._path))
                connection.sendall(b"MONITOR\r\n")
                while not self._ended.is_set():
                    with contextlib.suppress(TimeoutError):
                        part = connection.recv(1 << 20)
                        if not part:
                            break
                        self._parts.append(part)
            self._ended.wait(0.05)

    def heard(self) -> bytes:
        """As it was sent: without Redis's way of quoting bytes, and once more with what Celery has in base 64."""
        raw = b"".join(self._parts)
        plain = re.sub(rb"\\(x([0-9a-f]{2})|.)", _unquoted, raw)
        return b"\n".join([raw, plain, *bodies(plain)])

    def close(self) -> None:
        self._ended.set()
        self._thread.join()


def _unquoted(found: re.Match[bytes]) -> bytes:
    return bytes.fromhex(found[2].decode()) if found[2] else found[1]


def bodies(messages: bytes) -> list[bytes]:
    """The bodies of Celery's messages, each once, decoded."""
    found = dict.fromkeys(re.findall(rb'"body": ?"([A-Za-z0-9+/=]+)"', messages))
    return [base64.b64decode(body) for body in found]


def arguments_in(messages: bytes) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Arguments of all tasks among the messages."""
    for body in bodies(messages):
        with contextlib.suppress(ValueError):
            arguments, keywords, *_ = json.loads(body)
            if isinstance(arguments, list):
                yield arguments, keywords
