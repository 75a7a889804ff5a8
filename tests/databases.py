"""Which cases of a test run on every database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_everywhere(names: str | tuple[str, ...], cases: Iterable[Any], *, count: int = 1, **options: Any) -> Any:
    """As `pytest.mark.parametrize`. On each database the first cases run, so many, and the others are marked `once`: they differ in what
    Python decides, and say the same in every SQL."""
    several = not isinstance(names, str)
    marked = [
        pytest.param(*(case if several else (case,)), marks=() if number < count else pytest.mark.once)
        for number, case in enumerate(cases)
    ]
    return pytest.mark.parametrize(names, marked, **options)
