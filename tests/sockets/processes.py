"""Guardians and monitors as processes of their own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import warm

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def process(*arguments: Any) -> Iterator[int]:
    """The port at which it says that it listens; it ends as it is asked to."""
    with subprocess.Popen(
        [warm.python(), "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings_test"},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        try:
            said = ""
            while not (found := re.search(r"port (\d+)", said)):
                line = running.stderr.readline()
                assert line, said
                said += line
            yield int(found[1])
        finally:
            running.terminate()
        assert running.wait(60) == 0
