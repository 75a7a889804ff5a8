"""Processes of the site with shards, each with the same databases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.kit.servers import Server
from tests import warm
from tests.waiting import CHILD_SECONDS, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Site:
    scratch: Path
    #: Of the north and the south; in files, unless given.
    urls: Mapping[str, str]

    def environment(self) -> dict[str, str]:
        files = {alias: f"sqlite:///{self.scratch / alias}.sqlite3" for alias in ("default", "north", "south")}
        return {
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.shards.settings",
            "SHARDS_URLS": json.dumps({**files, **self.urls}),
            "SHARDS_SCRATCH": str(self.scratch),
        }

    def does(self, module: str, *arguments: str, **environment: str) -> Any:
        """What `python -m tests.shards.MODULE` has printed last, read as JSON."""
        done = subprocess.run(
            [warm.python(), "-m", f"tests.shards.{module}", *arguments],
            cwd=ROOT,
            env=os.environ | self.environment() | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=CHILD_SECONDS,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1])

    @contextmanager
    def served(self, **environment: str) -> Iterator[str]:
        """The address of the site, as `tests.shards.live` serves it."""
        address = self.scratch / "address"
        process = subprocess.Popen(
            [warm.python(), "-m", "tests.shards.live"],
            cwd=ROOT,
            env=os.environ | self.environment() | environment,
        )
        try:
            yield eventually(lambda: address.exists() and address.read_text())
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=CHILD_SECONDS)

    @contextmanager
    def runner(self, name: str, *arguments: str) -> Iterator[Server]:
        """`edna_run --forever`, as an operator starts it; but for what `tests.shards.apps` says."""
        directory = self.scratch / name
        directory.mkdir()
        environment = self.environment() | {"SHARDS_GATES": "1"}
        command = ["env", *(f"{key}={value}" for key, value in environment.items())]
        command += [sys.executable, str(ROOT / "manage.py"), "edna_run", "--forever", *arguments]
        process = Server("edna_run", directory, None, command, "", lambda: True)
        process.start()
        try:
            yield process
        finally:
            process.close()
