"""The marker `thorough` for a whole folder: `pytest_collection_modifyitems = thorough(__file__)` in its conftest.py.

What is thorough goes through every schema, every order or every step of every operation; `make test-quick` leaves it out. A module alone
says `pytestmark = pytest.mark.thorough`. Where such a folder is left out as a whole, none of its modules is imported (`conftest.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

Hook = Callable[[list[pytest.Item]], None]


def thorough(conftest: str) -> Hook:
    folder = str(Path(conftest).parent) + os.sep

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if str(item.path).startswith(folder):
                item.add_marker(pytest.mark.thorough)

    return pytest_collection_modifyitems


def is_thorough(folder: Path) -> bool:
    """Whether its conftest.py says so. Reads it, and imports nothing."""
    conftest = folder / "conftest.py"
    return conftest.is_file() and "= thorough(__file__)" in conftest.read_text()
