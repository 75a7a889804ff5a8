"""The marker `thorough` for a whole folder: `pytest_collection_modifyitems = thorough(__file__)` in its conftest.py.

What is thorough goes through every schema, every order or every step of every operation; `make test-quick` leaves it out. A module alone
says `pytestmark = pytest.mark.thorough`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Hook = Callable[[list[pytest.Item]], None]


def thorough(conftest: str) -> Hook:
    folder = Path(conftest).parent

    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        for item in items:
            if item.path.is_relative_to(folder):
                item.add_marker(pytest.mark.thorough)

    return pytest_collection_modifyitems
