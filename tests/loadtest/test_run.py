"""A whole load, small and short: only whether all is as it must be, for what it measures says nothing here."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from loadtest import samples
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = [pytest.mark.slow, pytest.mark.only_on("mysql")]
NAME = "websubmit-paced"


def command(output: Path) -> list[str]:
    return [sys.executable, "-m", "loadtest", NAME, "--quick", "--seconds=2", "--scale=0.02", f"--output={output}"]


def test_everything_is_restored_and_told(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path), capture_output=True, text=True, timeout=1_800)
    assert done.returncode == 0, done.stdout + done.stderr
    run = tmp_path / NAME
    summary = json.loads((run / "summary.json").read_text())
    assert summary["failed"] == []
    (part,) = summary["parts"]
    assert part["away"] == part["server_errors"] == 0
    assert part["compared_rows"] > 20 * 81, "the rows of those who left, and whose all the others are"
    made = list(samples.read(run / part["directory"] / "samples.jsonl.gz"))
    kinds = {sample.kind for sample in made}
    assert kinds == {"normal", "disguise", "reveal", "around"}
    assert all(sample.status == 200 for sample in made)
    looks = [json.loads(line) for line in (run / part["directory"] / "machine.jsonl").read_text().splitlines()]
    assert set(looks[-1]["cpu"]) == {"mariadbd", "gunicorn", "locust"}
    assert all(looks[-1]["cpu"][group] > looks[0]["cpu"].get(group, 0) for group in looks[-1]["cpu"])
    assert looks[-1]["database"]["Questions"] > looks[0]["database"]["Questions"]
    assert "<svg" in (run / "report.html").read_text()
    assert_gone(run / part["directory"] / "order.json")


def test_a_site_that_is_broken_fails_the_run(tmp_path: Path) -> None:
    broken = "import sys; from loadtest import stage; stage.SETTINGS = 'tests.loadtest.broken_settings'; "
    program = f"{broken} from loadtest.__main__ import main; sys.exit(main())"
    arguments = [sys.executable, "-c", program, *command(tmp_path)[3:]]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=1_800)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "answers with status 500 or above" in done.stderr
    assert "POST edit an answer gave 500" in done.stderr
    assert f"error: {NAME}: not everything was as it must be." in done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_load_that_is_broken_off(how: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    for line in process.stdout:
        if "round 1" in line:
            break
    os.kill(process.pid, how)
    assert process.wait(WAIT_SECONDS) == (128 + how if how == signal.SIGINT else -how)
    assert_gone(*tmp_path.glob(f"{NAME}/*/order.json"))


def assert_gone(order_path: Path) -> None:
    """The site does not answer any more, the directory with everybody's recovery codes is not there."""
    order = json.loads(order_path.read_text())
    site = urlsplit(order["host"])

    def gone() -> bool:
        with socket.socket() as connection:
            return connection.connect_ex((site.hostname, site.port)) != 0 and not Path(order["people"]).parent.exists()

    eventually(gone)
