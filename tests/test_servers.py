"""Private servers are private, and gone when their user is gone, however it went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from benchmarks.kit.servers import Server, private_mariadb, private_postgres, private_redis
from tests.waiting import WAIT_SECONDS, eventually

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.slow


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def gone(pid: int, directory: Path) -> bool:
    return bool(eventually(lambda: not alive(pid) and not directory.exists()))


@pytest.mark.parametrize("make", [private_mariadb, private_postgres, private_redis])
def test_a_server_survives_its_crash_and_not_its_context(make, tmp_path_factory) -> None:
    with make() as server:
        assert isinstance(server, Server)
        assert server.directory.stat().st_mode & 0o077 == 0  # others on the machine cannot reach the socket
        server.kill()
        server.start()
        pid = server.pid
        assert alive(pid)
    assert gone(pid, server.directory)


def test_redis_has_lost_everything_after_a_crash() -> None:
    with private_redis() as server:
        client = redis.Redis(unix_socket_path=str(server.directory / "socket"))
        client.set("a", "b")
        assert client.keys() == [b"a"]
        server.kill()
        with pytest.raises(redis.ConnectionError):
            client.keys()
        server.start()
        assert client.keys() == []
        assert [path.name for path in server.directory.iterdir() if path.is_file()] == ["log"]


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("postgres", signal.SIGINT),
        ("mariadb", signal.SIGTERM),
        ("postgres", signal.SIGKILL),
        ("mariadb", signal.SIGKILL),
    ],
)
def test_servers_stop_when_the_run_is_ended(name: str, how: signal.Signals) -> None:
    report = "import os, time; print(os.environ['EDNA_DATABASE_URL'], os.getpid(), flush=True); time.sleep(600)"
    run = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "benchmarks.kit.servers",
            "run",
            "--databases",
            name,
            "--",
            sys.executable,
            "-c",
            report,
        ],
        cwd=ROOT,
        env={key: value for key, value in os.environ.items() if not key.startswith("EDNA_TEST_")},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert run.stdout is not None
    url, child = next(line for line in run.stdout if "://" in line).split()
    path = Path(url.partition("socket=")[2])
    directory = path if path.is_dir() else path.parent
    pid_file = directory / ("pid" if name == "mariadb" else "data/postmaster.pid")
    pid = int(pid_file.read_text().split()[0])
    run.send_signal(how)
    assert run.wait(WAIT_SECONDS) == (-how if how == signal.SIGKILL else 128 + how)
    run.stdout.close()
    assert gone(pid, directory)
    if how == signal.SIGKILL:  # nobody was left to end it; it does not keep the servers either
        os.kill(int(child), signal.SIGKILL)
    else:
        assert not alive(int(child))


def test_what_failed_is_told_at_the_end() -> None:
    """Where the last pass is read, and not the first."""
    leave = "import os, sys; open(os.environ['EDNA_LAST_WORDS'], 'w').write('why it failed\\n'); sys.exit(3)"
    run = [sys.executable, "-m", "benchmarks.kit.servers", "run", "--databases", "sqlite", "--"]
    done = subprocess.run([*run, sys.executable, "-c", leave], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "\n##### sqlite: what failed\nwhy it failed\nfailed on sqlite\n"
