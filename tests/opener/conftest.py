"""Node, and the JavaScript opener in it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent

Case = dict[str, Any]


@pytest.fixture(scope="session")
def in_node() -> Callable[[Iterable[Case]], list[Case]]:
    """What the opener makes of cases: of each, `{"result": ...}` or `{"error": name}`."""
    program = shutil.which("node") or shutil.which("nodejs")
    if program is None:
        pytest.fail("Node is not installed: run .ci/system-packages as root.")

    def run(cases: Iterable[Case]) -> list[Case]:
        asked = "".join(json.dumps({name: case[name] for name in ("operation", "input")}) + "\n" for case in cases)
        done = subprocess.run([program, str(HERE / "node.mjs")], input=asked, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-2000:]
        return [json.loads(line) for line in done.stdout.splitlines()]

    return run
