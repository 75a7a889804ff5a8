"""Private database servers: made for one run in a temporary directory, reached through a socket there, gone afterwards.

    python -m tests.servers run [--databases sqlite,mariadb,postgres] -- COMMAND ...

runs the command once for each database with `EDNA_DATABASE_URL` set, and exits non-zero if any run did. A server that already
runs on the machine is used only if EDNA_TEST_MARIADB_URL or EDNA_TEST_POSTGRES_URL names it. In Python:

    with private_mariadb() as server:
        ... server.url, server.kill(), server.start() ...

They stop even if this process is killed: a watchdog process holds one end of a pipe, and clears up when the other end closes.
The servers skip the flushes that protect against a power cut; those made with `to_be_killed` skip nothing that protects what was
committed against the server being killed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

START_SECONDS = 60
STOP_SECONDS = 20
DATABASES = ("sqlite", "mariadb", "postgres")
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
            signal.SIGTERM if self.name == "MariaDB" else signal.SIGINT
        )  # PostgreSQL's SIGTERM waits for its clients

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        # PostgreSQL's children are in sessions of their own; one that outlived its server would keep the next from starting.
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        others = (
            [int(pid) for pid in children.read_text().split()] if how == signal.SIGKILL and children.exists() else []
        )
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
def private_mariadb(*, parent: Path | None = None, to_be_killed: bool = False) -> Iterator[Server]:
    """A MariaDB with an empty database `edna`, below `parent` (default: the system's temporary directory)."""
    daemon = _program("mariadbd", "mysqld", package="mariadb-server")
    install = _program("mariadb-install-db", "mysql_install_db", package="mariadb-server")
    client = _program("mariadb", "mysql", package="mariadb-client")
    with _directory("mysql", parent) as (directory, user):
        socket = directory / "socket"
        as_root = [client, "--no-defaults", f"--socket={socket}", "--user=root"]

        def ready() -> bool:
            return subprocess.run([*as_root, "--execute=SELECT 1"], capture_output=True, check=False).returncode == 0

        command = [
            *(daemon, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}", f"--socket={socket}"),
            *(f"--pid-file={directory}/pid", "--skip-networking", "--skip-log-bin", "--skip-name-resolve"),
            *("--character-set-server=utf8mb4", "--collation-server=utf8mb4_unicode_ci", "--max-allowed-packet=64M"),
            *("--innodb-buffer-pool-size=256M", "--innodb-log-file-size=64M", "--innodb-flush-log-at-trx-commit=2"),
            *("--innodb-fast-shutdown=2", "--skip-performance-schema", "--max-connections=200"),
        ]
        if not to_be_killed:
            command.append("--innodb-doublewrite=0")  # a page half written could not be put together again
        url = f"mysql://root@/edna?socket={quote(str(socket))}"
        with contextlib.closing(Server("MariaDB", directory, user, command, url, ready)) as server:
            server.run(
                [
                    *(install, "--no-defaults", f"--datadir={directory}/data", f"--tmpdir={directory}"),
                    *("--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"),
                ]
            )
            server.start()
            subprocess.run([*as_root, "--execute=CREATE DATABASE edna"], check=True)
            yield server


@contextlib.contextmanager
def private_postgres(*, parent: Path | None = None, to_be_killed: bool = False) -> Iterator[Server]:
    """A PostgreSQL with an empty database `edna`, below `parent` (default: the system's temporary directory)."""
    initdb, daemon, client = (_program(name, package="postgresql") for name in ("initdb", "postgres", "psql"))
    with _directory("postgres", parent) as (directory, user):
        psql = [client, "--no-psqlrc", "--quiet", f"--host={directory}", "--username=edna", "--dbname=postgres"]

        def ready() -> bool:
            return subprocess.run([*psql, "--command=SELECT 1"], capture_output=True, check=False).returncode == 0

        command = [daemon, "-D", f"{directory}/data", "-k", str(directory), "-c", "listen_addresses="]
        settings = ["fsync=off", "shared_buffers=256MB"]
        if not to_be_killed:
            settings += ["full_page_writes=off", "synchronous_commit=off"]
        for setting in settings:
            command += ["-c", setting]
        url = f"postgres://edna@/edna?socket={quote(str(directory))}"
        with contextlib.closing(Server("PostgreSQL", directory, user, command, url, ready)) as server:
            server.run(
                [
                    *(initdb, f"--pgdata={directory}/data", "--username=edna", "--auth=trust", "--no-sync"),
                    *("--encoding=UTF8", "--locale=C.UTF-8"),
                ]
            )
            server.start()
            subprocess.run([*psql, "--command=CREATE DATABASE edna"], check=True)
            yield server


@contextlib.contextmanager
def database(name: str) -> Iterator[str | None]:
    """The URL of the database to test with, its private server running; None is the settings' own SQLite file."""
    configured = os.environ.get(f"EDNA_TEST_{name.upper()}_URL")
    if configured or name == "sqlite":
        yield configured
    else:
        with (private_mariadb if name == "mariadb" else private_postgres)() as server:
            yield server.url


@contextlib.contextmanager
def _directory(account: str, parent: Path | None) -> Iterator[tuple[Path, str | None]]:
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


def _program(*names: str, package: str) -> str:
    # Debian keeps the servers out of the PATH: in sbin, and in one directory for each version.
    postgres = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name), reverse=True)
    places = os.pathsep.join([*map(str, postgres), os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/sbin"])
    for name in names:
        if found := shutil.which(name, path=places):
            return found
    raise ServerError(f"{names[0]} is not installed: install {package}, or run .ci/system-packages as root.")


def _run(databases: Sequence[str], command: Sequence[str]) -> int:
    """Run the command for each database; every one gets its turn even if an earlier one failed."""
    results: dict[str, int] = {}
    for name in databases:
        began = time.monotonic()
        with database(name) as url:
            print(f"\n##### {name} " + "#" * (100 - len(name)), flush=True)
            path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
            environment = os.environ | {"PATH": path}
            if url:
                environment["EDNA_DATABASE_URL"] = url
            elif name == "sqlite":
                environment.pop("EDNA_DATABASE_URL", None)
            results[name] = _call(command, environment)
        print(f"##### {name}: exit {results[name]} after {time.monotonic() - began:.0f} s", flush=True)
    failed = [name for name, code in results.items() if code]
    if failed:
        print(f"failed on {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _call(command: Sequence[str], environment: dict[str, str]) -> int:
    try:
        process = subprocess.Popen(command, env=environment)
    except FileNotFoundError:
        raise ServerError(f"there is no command {command[0]}.") from None
    try:
        return process.wait()
    except BaseException:  # interrupted: the child must not outlive the servers
        for how, patience in ((None, 3), (signal.SIGINT, STOP_SECONDS), (signal.SIGKILL, None)):
            if how:  # Ctrl-C in a terminal has reached the child already: a second one would disturb its clearing up
                process.send_signal(how)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(patience)
                break
        raise


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=(__doc__ or "").split("\n")[0])
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="run a command once for each database")
    run.add_argument("--databases", default=",".join(DATABASES), help="comma-separated, of: %(default)s")
    run.add_argument("command", nargs="+", metavar="COMMAND", help="after --")
    arguments = parser.parse_args()
    databases = arguments.databases.split(",")
    if unknown := set(databases) - set(DATABASES):
        parser.error(f"unknown database: {', '.join(sorted(unknown))}")

    def interrupted(number: int, frame: object) -> None:
        for other in signals:
            signal.signal(other, signal.SIG_IGN)  # once is enough, and clearing up takes bounded time
        raise SystemExit(128 + number)  # so that every `with` above stops what it started

    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        signal.signal(number, interrupted)
    try:
        return _run(databases, arguments.command)
    except ServerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
