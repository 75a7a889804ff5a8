"""A site, and the five guardians that it has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guardians.parties import Parties, parties


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Parties]:
    with parties(tmp_path) as made:
        yield made
