"""Pytest fixtures that install the zoo: its tables for a module, its disguises for a test. Import them where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.test.utils import override_settings

from tests.installed import installed, registered

ZOO = "tests.zoo"
PRINCIPALS = (
    "zoo.citizen",
    "zoo.party",
    "zoo.reader",
    "zoo.artist",
    "zoo.customer",
    "zoo.villager",
    "zoo.member",
    "zoo.writer",
    "zoo.elder",
)


@contextmanager
def zoo_installed() -> Iterator[Any]:
    """Its tables are in the database that is in use; its models are what the block gets."""
    customers = override_settings(ZOO_CUSTOMER_MODEL="zoo.Customer")
    with customers, installed(ZOO, principals=PRINCIPALS) as models:
        yield models
        ContentType.objects.clear_cache()


@pytest.fixture(scope="module")
def zoo_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), zoo_installed() as models:
        yield models


@pytest.fixture
def zoo(zoo_tables: Any, db: None) -> Iterator[Any]:
    """The zoo's models, its tables empty and its disguises registered."""
    ContentType.objects.clear_cache()
    with registered(ZOO):
        yield zoo_tables
    # Its rows go with the test.
    ContentType.objects.clear_cache()
