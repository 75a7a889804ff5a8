"""Redis as a private server, for Celery to send its messages through."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kit.servers.server import Server, private_directory, program


@contextlib.contextmanager
def private_redis(*, parent: Path | None = None) -> Iterator[Server]:
    """A Redis that writes nothing to a disk, below `parent`: one that is killed, or stopped, has lost everything when it starts again.

    The URL is Celery's way of naming a socket; in `redis.Redis(unix_socket_path=...)` it is `server.directory / "socket"`.
    """
    daemon = program("redis-server", "valkey-server", package="redis-server")
    client = program("redis-cli", "valkey-cli", package="redis-server")
    with private_directory("redis", parent) as (directory, user):
        socket = directory / "socket"

        def ready() -> bool:
            asked = subprocess.run([client, "-s", str(socket), "PING"], capture_output=True, check=False)
            return asked.stdout.strip() == b"PONG"

        command = [
            *(daemon, "--port", "0", "--unixsocket", str(socket), "--unixsocketperm", "700", "--dir", str(directory)),
            *("--save", "", "--appendonly", "no", "--daemonize", "no", "--maxclients", "1000"),
        ]
        url = f"redis+socket://{socket}"
        with contextlib.closing(Server("Redis", directory, user, command, url, ready)) as server:
            server.start()
            yield server
