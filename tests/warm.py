"""A Python that starts where Django has been imported: for tests that start many processes, and do not test the start.

`python()` is a program that takes what Python takes. It asks one process of the tests for a fork of itself, whose arguments, directory,
environment and open files are its own, and ends as that fork ended. What was imported before is of other people (Django, PyNaCl,
`cryptography`): nothing of edna, of a site or of its settings, all of which each fork imports anew. Where a start needs more than that
(another option, other variables of Python's own) it is Python itself, afresh.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    "cryptography.hazmat.primitives.ciphers.aead",
    "django.contrib.admin",
    "django.contrib.auth.hashers",
    "django.contrib.staticfiles.management.commands.runserver",
    "django.core.management.commands.makemigrations",
    "django.core.management.commands.migrate",
    "django.core.management.commands.shell",
    "django.db.backends.sqlite3.base",
    "django.forms",
    "django.test",
    "django.views.debug",
    "msgpack",
    "nacl.bindings",
)
#: Larger than any environment.
_ORDER_BYTES = 1 << 20

_CLIENT = """
import json, os, signal, socket, sys
argv, own = sys.argv[1:], {key: value for key, value in os.environ.items() if key.startswith("PYTHON") and key != "PYTHONPATH"}
if own != @OWN@ or not argv or (argv[0] not in ("-c", "-m") and not argv[0].endswith(".py")):
    os.execv(@PYTHON@, [@PYTHON@, *argv])
mask = os.umask(0)
os.umask(mask)
asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asked.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, @ORDER_BYTES@)
asked.connect(@SOCKET@)
order = json.dumps({"argv": argv, "where": os.getcwd(), "environment": dict(os.environ), "mask": mask})
socket.send_fds(asked, [order.encode()], [0, 1, 2])
fork = int(asked.recv(99))
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, lambda number, _: os.kill(fork, number))
ended = int(asked.recv(99))
if ended < 0:
    if -ended != signal.SIGKILL:
        signal.signal(-ended, signal.SIG_DFL)
    os.kill(os.getpid(), -ended)
os._exit(ended)
"""


@functools.cache
def python() -> str:
    """Its path, whose last part is "python": a folder for PATH has nothing else of that name."""
    folder = Path(tempfile.mkdtemp(prefix="edna-warm-"))
    place = folder / "socket"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(place))
    listener.listen(16)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.warm", str(listener.fileno())],
        cwd=ROOT,
        env={key: value for key, value in environment.items() if not key.startswith(("DJANGO_", "EDNA_"))},
        stdin=subprocess.PIPE,
        pass_fds=[listener.fileno()],
        start_new_session=True,  # what interrupts the tests is theirs to pass on
    )
    listener.close()

    def end() -> None:
        assert server.stdin is not None
        server.stdin.close()
        server.wait()

    atexit.register(end)
    own = {key: value for key, value in environment.items() if key.startswith("PYTHON")}
    code = _CLIENT
    for name, value in (
        ("OWN", own),
        ("PYTHON", sys.executable),
        ("ORDER_BYTES", _ORDER_BYTES),
        ("SOCKET", str(place)),
    ):
        code = code.replace(f"@{name}@", repr(value))
    client = folder / "client.py"
    client.write_text(code)
    program = folder / "bin" / "python"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{client}' \"$@\"\n")
    program.chmod(0o700)
    return str(program)


class _Forks:
    """Those that run, each with the connection on which its end is told."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.running: dict[int, tuple[int, socket.socket]] = {}  # by pidfd

    def serve(self) -> dict[str, Any]:
        """Returns in each fork, and never here: what it is to do."""
        parent = 0
        while True:
            connections = {connection.fileno(): pidfd for pidfd, (_, connection) in self.running.items()}
            ready, _, _ = select.select([parent, self.listener.fileno(), *self.running, *connections], [], [])
            if parent in ready:
                self._end_all()
            for number in ready:
                if number in connections:  # whoever asked has gone
                    self._kill(connections[number])
                elif number in self.running:
                    self._ended(number)
            if self.listener.fileno() in ready and (order := self._start()):
                return order

    def _start(self) -> dict[str, Any] | None:
        connection, _ = self.listener.accept()
        text, files, _, _ = socket.recv_fds(connection, _ORDER_BYTES, 3)
        if not text:  # whoever connected was killed before they said what for
            connection.close()
            return None
        if pid := os.fork():
            for file in files:
                os.close(file)
            self.running[os.pidfd_open(pid)] = (pid, connection)
            with contextlib.suppress(OSError):  # or before they heard of it: that their connection is over is seen next
                connection.send(str(pid).encode())
            return None
        # What is closed here must not be closed once more when it is forgotten: the numbers will be those of other files.
        for held in (self.listener, connection, *(other for _, other in self.running.values())):
            held.detach()
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.closerange(3, os.sysconf("SC_OPEN_MAX"))
        return dict(json.loads(text))

    def _ended(self, pidfd: int) -> None:
        pid, connection = self.running.pop(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError), connection:
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())

    def _kill(self, pidfd: int) -> None:
        if pidfd in self.running:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            self._ended(pidfd)

    def _end_all(self) -> NoReturn:
        """Whoever started this has ended, be it that they were killed."""
        for pidfd in list(self.running):
            self._kill(pidfd)
        shutil.rmtree(Path(self.listener.getsockname()).parent, ignore_errors=True)
        os._exit(0)


def _run(order: dict[str, Any]) -> None:
    """As Python would."""
    os.chdir(order["where"])
    os.umask(order["mask"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        before = getattr(sys, name)
        file = open(  # noqa: SIM115
            number, mode, 1 if number == 2 else -1, encoding=before.encoding, errors=before.errors, closefd=False
        )
        setattr(sys, name, file)
        setattr(sys, f"__{name}__", file)
    what, *rest = order["argv"]
    paths = [path for path in order["environment"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:1] = ["", *paths]
    importlib.invalidate_caches()
    if what == "-c":
        code, *rest = rest
        sys.argv = ["-c", *rest]
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(code, "<string>", "exec"), main.__dict__)
    elif what == "-m":
        module, *rest = rest
        sys.path[0] = os.getcwd()
        sys.argv = ["-m", *rest]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(what).resolve().parent)
        sys.argv = [what, *rest]
        runpy.run_path(what, run_name="__main__")


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    forks = _Forks(socket.socket(fileno=int(sys.argv[1])))
    order = forks.serve()
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    _run(order)


if __name__ == "__main__":
    main()
