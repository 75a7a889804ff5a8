"""People of one site in two databases: a disguise stays in one, a key finds its own, and who has the same primary key in the other is not
touched."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import warm
from tests.waiting import CHILD_SECONDS

ROOT = Path(__file__).resolve().parents[2]
STORIES = re.findall(r"^@story\ndef (\w+)", (Path(__file__).parent / "run.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, str]:
    """How each story failed: one process tells all that are asked for, for they are short, and its start is not."""
    scratch = tmp_path_factory.mktemp("shards")
    wanted = [item.callspec.params["story"] for item in request.session.items if item.fspath == request.fspath]  # type: ignore[attr-defined]
    urls = {alias: f"sqlite:///{scratch / alias}.sqlite3" for alias in ("default", "north", "south")}
    done = subprocess.run(
        [warm.python(), "-m", "tests.shards.run", *wanted],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "tests.shards.settings",
            "SHARDS_URLS": json.dumps(urls),
            "SHARDS_SCRATCH": str(scratch),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=CHILD_SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("story", STORIES)
def test_story(story: str, told: dict[str, str]) -> None:
    assert not told[story], told[story]
