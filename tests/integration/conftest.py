"""The world: a second application, installed for the tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.installed import installed, registered
from tests.integration.shell import typed  # noqa: F401 - a fixture for all tests here

WORLD = "tests.integration.world"
FORUM = "tests.integration.forum"


@pytest.fixture
def of_x25519(settings: Any) -> None:
    """New keys are of the first kind, also where `EDNA_TEST_RECIPIENT` says otherwise: for tests of releases of before, and of sizes."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": "x25519"}


@pytest.fixture(scope="module")
def world_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with (
        django_db_blocker.unblock(),
        installed(WORLD, principals=["world.person", "world.villager", "world.member"]) as models,
    ):
        yield models


@pytest.fixture
def world(world_tables: Any, db: None) -> Iterator[Any]:
    """The world's models, its tables empty and its disguises registered."""
    with registered(WORLD):
        yield world_tables


@pytest.fixture(scope="module")
def forum_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(FORUM, principals=["forum.member"]):
        yield


@pytest.fixture(scope="module")
def papers_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed("tests.integration.papers", principals=["papers.writer"]):
        yield


@pytest.fixture(scope="module")
def fair_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed("tests.integration.fair", principals=["fair.trader"]):
        yield
