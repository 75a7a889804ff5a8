"""The hello-world view as a visitor gets it: through gunicorn, with and without edna's middleware.

Both are in one process, chosen by the path, so that a process's luck with memory and processors is the same for both.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from time import perf_counter_ns
from typing import Any

from benchmarks.hello import EDNA, NEW_PROJECT, Samples, both, set_up

_GUNICORN = (
    "--workers",
    "1",
    "--threads",
    "1",
    "--worker-class",
    "gthread",
    "--keep-alive",
    "600",
    "--log-level",
    "warning",
)


def application() -> Callable[[dict[str, Any], Any], Any]:
    """What gunicorn serves."""
    set_up()
    from django.conf import settings
    from django.core.handlers.wsgi import WSGIHandler

    handlers = {}
    for path, middleware in (("/without", NEW_PROJECT), ("/with", [*NEW_PROJECT, EDNA])):
        settings.MIDDLEWARE = middleware
        handlers[path] = WSGIHandler()

    def serve(environ: dict[str, Any], start_response: Any) -> Any:
        handler = handlers[environ["PATH_INFO"]]
        return handler({**environ, "PATH_INFO": "/"}, start_response)

    return serve


def measure(rounds: int) -> Samples:
    """One request of each in turn, over a connection that stays open."""
    with _site() as port, closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return both(_requests(connection, "/without"), _requests(connection, "/with"), rounds)


def _requests(connection: socket.socket, path: str) -> Callable[[], int]:
    asked = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()

    def request() -> int:
        start, answer = perf_counter_ns(), b""
        connection.sendall(asked)
        while not answer.endswith(b"Hello, world"):
            received = connection.recv(65536)
            if not received:
                raise ConnectionError(f"the server hung up after {answer[:300]!r}")
            answer += received
        taken = perf_counter_ns() - start
        assert answer.startswith(b"HTTP/1.1 200"), answer[:300]
        return taken

    return request


@contextmanager
def _site() -> Iterator[int]:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        descriptor, port = listener.fileno(), listener.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "gunicorn",
            *_GUNICORN,
            "--bind",
            f"fd://{descriptor}",
            "benchmarks.served:application()",
        ]
        process = subprocess.Popen(command, env=dict(os.environ), pass_fds=[descriptor])
    try:
        _wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError("gunicorn did not start; what it said is above")
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                _requests(connection, "/without")()
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the site did not answer within half a minute")
