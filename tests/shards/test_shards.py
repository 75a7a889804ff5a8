"""People of one site in two databases: a disguise stays in one, a key finds its own, and who has the same primary key in the other is not
touched. And what operators see of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.shards.site import Site

pytestmark = pytest.mark.long


def told_in(module: str) -> list[str]:
    return re.findall(r"^@story\ndef (\w+)", (Path(__file__).parent / f"{module}.py").read_text(), re.MULTILINE)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, str]:
    """How each story failed: one process tells all that are asked for of a module, for they are short, and its start is not."""
    asked = {item.callspec.params["story"] for item in request.session.items if item.fspath == request.fspath}  # type: ignore[attr-defined]
    found: dict[str, str] = {}
    for module, environment in (
        ("run", {}),
        ("pages", {"SHARDS_ADMIN": "1"}),
        ("browsers", {"SHARDS_APPS": "edna.devices edna.guardians"}),
        ("copied", {"SHARDS_APPS": "edna.devices edna.guardians"}),
        ("audiences", {"SHARDS_APPS": "edna.devices edna.guardians edna.audiences", "SHARDS_ADMIN": "1"}),
    ):
        if wanted := [name for name in told_in(module) if name in asked]:
            found |= Site(tmp_path_factory.mktemp(module), {}).does(module, *wanted, **environment)
    return found


MODULES = ("run", "pages", "browsers", "copied", "audiences")


@pytest.mark.parametrize("story", [story for module in MODULES for story in told_in(module)])
def test_story(story: str, told: dict[str, str]) -> None:
    assert not told[story], told[story]
