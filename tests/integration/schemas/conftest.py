"""The schemas: installed for the tests beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection

import edna
from edna import Disguise
from edna.spec import Transformation
from tests.installed import installed, registered
from tests.support import Student
from tests.thorough import thorough

from . import models as declared

pytest_collection_modifyitems = thorough(__file__)

SCHEMAS = "tests.integration.schemas"


@pytest.fixture(scope="module")
def schema_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[Any]:
    with django_db_blocker.unblock(), installed(SCHEMAS, principals=declared.PRINCIPALS) as models:
        yield models
        if connection.vendor == "mysql":
            # Tables in a circle: whichever is dropped first, another one refers to it.
            connection.disable_constraint_checking()


@pytest.fixture
def schemas(schema_tables: Any, db: None) -> Iterator[Any]:
    """The models, their tables empty."""
    ContentType.objects.clear_cache()  # of rows that were rolled back with the last test
    with registered(SCHEMAS):
        yield schema_tables


@pytest.fixture
def spec() -> Iterator[Any]:
    """Registers a disguise of the given steps for one test: ``spec("name", Remove(...), ...)``."""
    added: list[type[Disguise]] = []

    def make(name: str, *transformations: Transformation, **attributes: Any) -> str:
        cls = type(name, (Disguise,), {"name": f"schemas.{name}", "transformations": transformations, **attributes})
        edna.register(cls)
        added.append(cls)
        return str(cls.name)

    yield make
    for cls in added:
        edna.unregister(cls)


@pytest.fixture
def enrolled(schemas: Any) -> Any:
    """Makes a principal with a key: ``enrolled(schemas.Keeper, name="Ada")``."""

    def make(model: Any, **values: Any) -> Student:
        principal = model.objects.create(**values)
        key = edna.register_principal(principal, identifier=str(principal.pk)).secret_key
        assert key is not None
        return Student(principal, key)

    return make
