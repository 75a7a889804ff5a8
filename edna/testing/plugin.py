"""Fixtures for pytest: ``pytest_plugins = ["edna.testing.plugin"]`` in the conftest.py beside pytest's configuration.

Loaded before Django is set up: it imports nothing that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from edna.testing.people import Person, cheap_keys


@pytest.fixture
def edna_cheap_keys() -> Iterator[None]:
    """Keys cost nothing in this test."""
    with cheap_keys():
        yield


@pytest.fixture
def edna_person(edna_cheap_keys: None) -> Callable[..., Person]:
    """Gives a user a key: ``edna_person(user)``, ``edna_person(user, password="...")``."""
    return Person.registered
