"""`edna_run` as processes of the sample site, each with one server: what an operator starts on each machine."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.kit.servers import Server
from tests.workers.crew import ROOT, environment


@contextlib.contextmanager
def runner(directory: Path, url: str, *, batch: int = 5) -> Iterator[Server]:
    """One that goes on until it is stopped, whatever becomes of its server."""
    directory.mkdir()
    site = environment(database=url, broker="", batch=batch)
    command = ["env", *(f"{key}={value}" for key, value in site.items() if value)]
    command += [sys.executable, str(ROOT / "manage.py"), "edna_run", "--forever"]
    with contextlib.closing(Server("edna_run", directory, None, command, "", lambda: True)) as process:
        process.start()
        yield process
