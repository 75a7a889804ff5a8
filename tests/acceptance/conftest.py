"""The discussion site: an application with everything that the promises speak of, installed for the tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.installed import installed, registered
from tests.lobsters.community import Community

LOBSTERS = "tests.lobsters"


@pytest.fixture(scope="module")
def lobsters_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(LOBSTERS, principals=["lobsters.user"]):
        yield


@pytest.fixture
def lobsters(lobsters_tables: None, db: None) -> Iterator[None]:
    """Tables and disguises, and nobody there yet."""
    with registered(LOBSTERS):
        yield


@pytest.fixture
def community(lobsters: None) -> Community:
    return Community()


@pytest.fixture
def small_community(lobsters: None) -> Community:
    """The same with one story each."""
    return Community(stories=1)


@pytest.fixture(params=[None, 3], ids=["whole", "chunks"])
def chunked_community(request: Any, settings: Any, lobsters: None) -> Community:
    """The same, where disguises are cut into chunks of three rows, and where they are not."""
    if request.param:
        settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": request.param}
    return Community()
