"""The Python of tests that start many processes is one, and has nothing of edna in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.waiting import eventually


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([warm.python(), *arguments], capture_output=True, text=True, **options)


def test_nothing_of_edna_or_a_site_was_imported_and_nothing_was_set_up() -> None:
    said = run(
        "-c",
        "import sys, json, django.conf, django.apps\n"
        "print(json.dumps([sorted({name.partition('.')[0] for name in sys.modules}),"
        " django.conf.settings.configured or django.apps.apps.ready]))",
    )
    imported, ready = json.loads(said.stdout)
    assert {"django", "nacl"} <= set(imported)
    assert set(imported).isdisjoint({"apps", "benchmarks", "config", "edna", "loadtest", "tests"})
    assert ready is False


@pytest.mark.parametrize("python", [sys.executable, pytest.param(None, id="warm")])
def test_arguments_directory_environment_and_files_are_those_of_whoever_starts_it(
    python: str | None, tmp_path: Path
) -> None:
    (tmp_path / "told.py").write_text(
        "import os, sys\n"
        "print(sys.argv[1:], os.getcwd(), os.environ['SAID'], sys.stdin.read(), sys.path[0], __name__, sys.stdout.encoding)\n"
        "print('to whom it concerns', file=sys.stderr)\n"
        "sys.exit(7)\n"
    )
    (tmp_path / "elsewhere").mkdir()
    done = subprocess.run(
        [python or warm.python(), str(tmp_path / "told.py"), "a b", "c"],
        cwd=tmp_path / "elsewhere",
        env=os.environ | {"SAID": "yes"},
        input="hello",
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"['a b', 'c'] {tmp_path / 'elsewhere'} yes hello {tmp_path} __main__ utf-8\n"
    assert done.stderr == "to whom it concerns\n"
    assert done.returncode == 7


def test_it_ends_as_a_process_does() -> None:
    assert run("-c", "import os; os.kill(os.getpid(), 9)").returncode == -signal.SIGKILL
    failed = run("-c", "1 / 0")
    assert (failed.returncode, failed.stderr.splitlines()[-1]) == (1, "ZeroDivisionError: division by zero")
    said = run("-c", "import atexit; atexit.register(print, 'last words')")
    assert said.stdout == "last words\n"
    waits = [warm.python(), "-c", "print(1, flush=True); import time; time.sleep(600)"]
    for how in (signal.SIGTERM, signal.SIGKILL):
        with subprocess.Popen(waits, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"1\n"
            process.send_signal(how)
            assert process.stdout.read() == b"", "nobody writes there any more"
        assert process.returncode == -how


def test_whoever_is_killed_before_they_say_what_to_do_ends_nobody_else() -> None:
    place = str(Path(warm.python()).parents[1] / "socket")
    for said in (None, b'{"argv": ["-c", ""], "where": "/", "environment": {}, "mask": 18}'):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
            asking.connect(place)
            if said:
                socket.send_fds(asking, [said], [0, 1, 2])
    assert run("-c", "print('here')").stdout == "here\n"


def test_nothing_is_left_of_it_when_the_tests_are_killed() -> None:
    program = "import os; from tests import warm; print(warm.python(), flush=True); os.kill(os.getpid(), 9)"
    done = subprocess.run([sys.executable, "-c", program], cwd=warm.ROOT, capture_output=True, text=True)
    folder = Path(done.stdout.strip()).parents[1]
    assert folder.name.startswith("edna-warm-")
    eventually(lambda: not folder.exists(), what="its folder is gone")
