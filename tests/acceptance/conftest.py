"""The discussion site: an application with everything that the promises speak of, installed for the tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from edna.db import transactions
from tests.installed import installed, registered
from tests.interrupting import Transactions
from tests.lobsters.community import Community
from tests.support import cut_into_chunks

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


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Transactions:
    made = Transactions()
    monkeypatch.setattr(transactions, "run", made.run)
    return made


@pytest.fixture(params=[1, 2])
def most(request: pytest.FixtureRequest) -> Iterator[int]:
    """Chunks of that many rows."""
    with cut_into_chunks(request.param):
        yield request.param
