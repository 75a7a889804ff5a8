"""Passwords are stretched in turn: one at a time among the processes of a machine, behind everything else, and never by a lock for good."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edna.custody import stretching
from tests.waiting import WAIT_SECONDS

COSTS: Any = {"opslimit": 1, "memlimit_bytes": 8192}
SECRET, SALT = b"correct horse", bytes(16)


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the lock file lies, with nobody's turn in it yet."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(stretching, "_pool", stretching._Pool())
    yield tmp_path
    stretching._pool.thread().shutdown()


def stretched() -> bytes | None:
    return stretching.stretch(32, SECRET, SALT, **COSTS)


def lock_file(directory: Path) -> Path:
    return directory / f"edna-stretching-{os.geteuid()}.lock"


def held(path: Path, *, mode: int = 0o600) -> int:
    """As another process has it while it has its turn."""
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    os.fchmod(file, mode)
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def test_one_waits_until_another_process_has_had_its_turn(directory: Path) -> None:
    """All of them together never take more than one processor."""
    expected = stretched()
    file = held(lock_file(directory))
    made: list[bytes | None] = []
    asking = threading.Thread(target=lambda: made.append(stretched()))
    asking.start()
    asking.join(0.05)
    assert asking.is_alive()
    assert made == []
    os.close(file)
    asking.join(WAIT_SECONDS)
    assert made == [expected]


def test_a_process_that_was_stopped_in_its_turn_shuts_nobody_out(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stretching, "WAIT_SECONDS", 0.02)
    file = held(lock_file(directory))
    assert stretched()
    os.close(file)


def test_a_lock_that_others_can_hold_counts_for_nothing(directory: Path) -> None:
    """Whoever has an account on the machine writes to its temporary directory."""
    file = held(lock_file(directory), mode=0o666)
    assert stretched()
    os.close(file)


def test_a_link_in_its_place_is_not_followed(directory: Path) -> None:
    elsewhere = directory / "elsewhere"
    lock_file(directory).symlink_to(elsewhere)
    assert stretched()
    assert not elsewhere.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own elsewhere")
def test_it_gives_way_to_whatever_else_the_process_does(directory: Path) -> None:
    assert stretched()
    thread = stretching._pool.thread().submit(threading.get_native_id).result()
    usual = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert os.getpriority(os.PRIO_PROCESS, thread) == min(19, usual + stretching.GIVES_WAY_BY)
    assert thread != threading.get_native_id()


def test_a_process_that_forks_afterwards_still_derives() -> None:
    """As a server does that loads the site before it forks: the thread is its own, and the child has a lock of its own."""
    script = """
import os, sys
from edna.custody import stretching
costs = {"opslimit": 1, "memlimit_bytes": 8192}
assert stretching.stretch(32, b"s", bytes(16), **costs)
child = os.fork()
if not child:
    assert stretching.stretch(32, b"s", bytes(16), **costs)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", script], timeout=WAIT_SECONDS, check=False).returncode == 0
