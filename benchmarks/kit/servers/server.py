"""One server in a directory of its own, and the watchdog that ends it whatever happens. Knows no kind of server."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.kit.machine import children

#: Only for one that never answers: on a machine that has much else to do, several that start at once take their time.
START_SECONDS = 300
STOP_SECONDS = 20
MEMORY = Path("/dev/shm")
NEEDED_BYTES = 4 * 1024**3

_WATCHDOG = """
import os, shutil, signal, sys
groups = set()
for line in sys.stdin:                      # "+PGID" and "-PGID" keep account of what runs; the parent's death ends the input
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""


class ServerError(Exception):
    """A private server cannot be had; the message is one sentence that says what to do."""


class Server:
    """One server with its own data directory. `kill()` is a crash, `start()` brings it back on the same data."""

    def __init__(
        self, name: str, directory: Path, user: str | None, command: list[str], url: str, ready: Callable[[], bool]
    ):
        self.name, self.directory, self.url = name, directory, url
        self._user, self._command, self._ready = user, command, ready
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog = subprocess.Popen(
            [sys.executable, "-c", _WATCHDOG, str(directory)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C in the terminal is for us, not for the one that clears up after us
            cwd="/",
            text=True,
        )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def run(self, command: list[str]) -> None:
        """Run one step of the preparation as the server's user, its output kept for the error message."""
        with self._log.open("ab") as log:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, **self._as_user()
            )
        if done.returncode:
            raise ServerError(f"{self.name} could not be prepared ({Path(command[0]).name}): {self._last_words()}")

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as_user(),
            )
        self._tell_watchdog(f"+{self.pid}")
        deadline = time.monotonic() + START_SECONDS
        while not self._ready():
            if self._process.poll() is not None:
                raise ServerError(f"{self.name} stopped while starting: {self._last_words()}")
            if time.monotonic() > deadline:
                raise ServerError(f"{self.name} did not answer within {START_SECONDS} seconds: {self._last_words()}")
            time.sleep(0.05)

    def stop(self) -> None:
        self._end(
            signal.SIGTERM if self.name in ("MariaDB", "MySQL") else signal.SIGINT
        )  # PostgreSQL's SIGTERM waits for its clients

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # PostgreSQL's children are in sessions of their own; one that outlived its server would keep the next from starting.
        others = children(process.pid) if how == signal.SIGKILL else []
        process.send_signal(how)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        for pid in others:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # the leader, or children that outlived it
        process.wait()
        self._tell_watchdog(f"-{process.pid}")

    def close(self) -> None:
        self.stop()
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.close()
        self._watchdog.wait()

    def _tell_watchdog(self, line: str) -> None:
        assert self._watchdog.stdin is not None
        self._watchdog.stdin.write(line + "\n")
        self._watchdog.stdin.flush()

    @property
    def _log(self) -> Path:
        return self.directory / "log"

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").split("\n") if self._log.exists() else []
        return " / ".join([line.strip() for line in lines if line.strip()][-3:]) or "it said nothing"

    def _as_user(self) -> dict[str, object]:
        settings: dict[str, object] = {"cwd": self.directory}
        if self._user:
            entry = pwd.getpwnam(self._user)
            settings |= {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        return settings


@contextlib.contextmanager
def private_directory(account: str, parent: Path | None) -> Iterator[tuple[Path, str | None]]:
    """A directory for the server, and the account to run it under: both refuse to run as root."""
    user = None
    directory = Path(tempfile.mkdtemp(prefix="edna-", dir=parent or in_memory())).resolve()
    try:
        if os.geteuid() == 0:
            user = next((name for name in (account, "nobody") if _known(name)), None)
            if user is None:
                raise ServerError(f"root needs an account named {account} or nobody to run the database server under.")
            os.chown(directory, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
        yield directory, user
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def in_memory() -> Path | None:
    """A directory of which no write waits for a disk, if there is one with room: None for the usual place of temporary files."""
    if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > NEEDED_BYTES:
        return MEMORY
    return None


def _known(account: str) -> bool:
    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def program(*names: str, package: str) -> str:
    # Debian keeps the servers out of the PATH: in sbin, and in one directory for each version.
    postgres = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    places = os.pathsep.join([*map(str, postgres), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"])
    for name in names:
        if found := shutil.which(name, path=places):
            return found
    raise ServerError(f"{names[0]} is not installed: install {package}, or run .ci/system-packages as root.")
