"""People of one site in two databases: a disguise stays in one, a key finds its own, and who has the same primary key in the other is not
touched."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shards.site import Site

STORIES = re.findall(r"^@story\ndef (\w+)", (Path(__file__).parent / "run.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, str]:
    """How each story failed: one process tells all that are asked for, for they are short, and its start is not."""
    wanted = [item.callspec.params["story"] for item in request.session.items if item.fspath == request.fspath]  # type: ignore[attr-defined]
    found: dict[str, str] = Site(tmp_path_factory.mktemp("shards"), {}).does("run", *wanted)
    return found


@pytest.mark.parametrize("story", STORIES)
def test_story(story: str, told: dict[str, str]) -> None:
    assert not told[story], told[story]
