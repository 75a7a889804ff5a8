"""The world: a second application, installed for the tests that ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import override_settings

import edna
from edna import coverage
from edna.engine import plan


@pytest.fixture(scope="module")
def world_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    from tests.integration.world import models

    principals = [settings.AUTH_USER_MODEL, "world.person", "world.villager", "world.member"]
    changed = {
        "INSTALLED_APPS": [*settings.INSTALLED_APPS, "tests.integration.world"],
        "EDNA": {**settings.EDNA, "PRINCIPAL_MODELS": principals},
    }
    with override_settings(**changed), django_db_blocker.unblock():
        forget_relations()
        with connection.schema_editor() as editor:
            for model in models.MODELS:
                editor.create_model(model)
        yield
        with connection.schema_editor() as editor:
            for model in reversed(models.MODELS):
                editor.delete_model(model)
        connection.close()
    forget_relations()


@pytest.fixture
def world(world_tables: None, db: None) -> Iterator[Any]:
    """The world's models, its tables empty and its disguises registered."""
    from tests.integration.world import models, specs

    for cls in specs.ALL:
        edna.register(cls)
    yield models
    for cls in specs.ALL:
        edna.unregister(cls)


def forget_relations() -> None:
    """What is computed from the installed models once per process."""
    for module in (plan, coverage):
        for function in vars(module).values():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
