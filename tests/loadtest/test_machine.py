"""Who took the processors: a process and what it has started, also after it has ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.db import connection

from benchmarks.kit.machine import cpu_seconds, descendants, machine_seconds
from loadtest.machine import DEADLOCKS, KINDS, WAITED_MS, WAITS, Machine, counted
from loadtest.stage import ROOT
from tests.waiting import eventually

#: Counted as the machine counts, in whole ticks: a process's own clock may be ahead of that.
BUSY = (
    "import os\nfrom benchmarks.kit.machine import cpu_seconds\n"
    "while cpu_seconds([os.getpid()]) < 0.4: pass\nprint('done', flush=True)\n"
)
LOCK = "SELECT pg_advisory_lock(7)"
PARENT = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BUSY!r}])\nsys.stdin.read()"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits, after a child of it has been busy for 0.4 seconds."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"done\n"
        yield process
        process.kill()


def url_of(database: str) -> str:
    return urlsplit(os.environ["EDNA_DATABASE_URL"])._replace(path=f"/{database}").geturl()


@contextmanager
def one_waits_for_another(database: str) -> Iterator[None]:
    """Two sessions of PostgreSQL and one lock, until the end of the block."""
    import psycopg

    def session() -> Any:
        parts = urlsplit(url_of(database))
        return psycopg.connect(
            user=parts.username, host=parse_qs(parts.query)["socket"][0], dbname=database, autocommit=True
        )

    with session() as waits:
        with session() as holds:
            holds.execute(LOCK)
            thread = threading.Thread(target=waits.execute, args=(LOCK,))
            thread.start()
            yield
        thread.join()


def test_what_children_took_counts(parent: subprocess.Popen[bytes]) -> None:
    assert cpu_seconds([parent.pid]) >= 0.4
    assert cpu_seconds([2**22 + 1]) == 0, "a process that is not there"


def test_descendants_are_found() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 60 & wait"]) as process:
        try:
            eventually(lambda: len(descendants([process.pid])) == 2)
            assert process.pid in descendants([os.getpid()])
        finally:
            for pid in descendants([process.pid]):
                os.kill(pid, 9)


def test_the_whole_machine_is_busier_than_its_part(parent: subprocess.Popen[bytes]) -> None:
    assert machine_seconds() > cpu_seconds([parent.pid])


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.django_db
def test_lines_grow_and_lose_nothing_when_a_process_ends(tmp_path: Path, parent: subprocess.Popen[bytes]) -> None:
    url = os.environ["EDNA_DATABASE_URL"]
    with Machine(tmp_path / "machine.jsonl", {"group": [parent.pid]}, url) as machine:
        eventually(lambda: machine.lines)
        parent.kill()
        parent.wait()
    looks = [json.loads(line) for line in (tmp_path / "machine.jsonl").read_text().splitlines()]
    assert len(looks) >= 2
    assert looks[-1]["cpu"]["group"] >= looks[0]["cpu"]["group"] >= 0.4
    for names in (WAITS, WAITED_MS, DEADLOCKS):
        assert counted(looks[-1]["database"], names) >= counted(looks[0]["database"], names) >= 0
    if connection.vendor == "mysql":
        assert looks[-1]["database"]["Questions"] > looks[0]["database"]["Questions"]
        assert {"Innodb_row_lock_waits", "Innodb_row_lock_time", "Innodb_deadlocks"} <= set(looks[0]["database"])


@pytest.mark.only_on("postgresql")
def test_who_waits_for_a_lock_when_it_is_looked_is_counted_once(db: None) -> None:
    """PostgreSQL counts no waits, so each look tells who waits."""
    with closing(KINDS["postgres"](url_of(connection.settings_dict["NAME"]))) as counters:
        with one_waits_for_another(connection.settings_dict["NAME"]):
            eventually(lambda: counters.counters()["waits_seen"])
            still = counters.counters()
        after = [counters.counters() for _ in range(2)]
    assert {look["waits_seen"] for look in (still, *after)} == {1}
    assert after[0]["waited_ms"] == after[1]["waited_ms"] == still["waited_ms"]


@pytest.mark.only_on("postgresql")
def test_who_waits_in_another_database_of_the_server_is_not_counted(db: None) -> None:
    """A server may hold other databases, whose waits are none of this load's."""
    with (
        closing(KINDS["postgres"](url_of("postgres"))) as there,
        closing(KINDS["postgres"](url_of(connection.settings_dict["NAME"]))) as here,
        one_waits_for_another("postgres"),
    ):
        eventually(lambda: there.counters()["waits_seen"])
        found = here.counters()
    assert (found["waits_seen"], found["waited_ms"]) == (0, 0)
