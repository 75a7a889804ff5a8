"""The keys that the sample site makes for itself: whoever starts at the same moment has the same ones, whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from config import settings as site
from tests.waiting import at_once


def test_those_who_start_at_once_have_the_same_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads a file that somebody else has begun, and nothing else is left."""
    monkeypatch.setattr(site, "VAR", tmp_path)
    for number in range(10):
        keys = at_once(*[lambda number=number: site._generated(f"key{number}")] * 8)
        assert len(set(keys)) == 1
        assert len(keys[0]) == 64
    assert len(list(tmp_path.iterdir())) == 10
