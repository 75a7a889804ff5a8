"""Applications that are installed for the tests that ask for them: their tables, their principals, their disguises.

An application of this kind is a package with ``models.MODELS`` (in an order in which the tables can be made) and
``specs.ALL`` (disguises and generators). It has no migrations and is unknown to every other test.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import connection
from django.test.utils import override_settings

import edna
from edna import conf


@contextmanager
def installed(application: str, *, principals: Sequence[str]) -> Iterator[Any]:
    """The application is installed and its tables exist; its models module is what the block gets."""
    changed = {
        "INSTALLED_APPS": [*settings.INSTALLED_APPS, application],
        "EDNA": {**settings.EDNA, "PRINCIPAL_MODELS": [*conf.principal_models(), *principals]},
    }
    models = import_module(f"{application}.models")
    with override_settings(**changed):
        forget_relations()
        with connection.schema_editor() as editor:
            for model in models.MODELS:
                editor.create_model(model)
        yield models
        with connection.schema_editor() as editor:
            for model in reversed(models.MODELS):
                editor.delete_model(model)
        connection.close()
    forget_relations()


@contextmanager
def registered(application: str) -> Iterator[Any]:
    """The application's disguises are registered; its specs module is what the block gets."""
    specs = import_module(f"{application}.specs")
    with registering(*specs.ALL):
        yield specs


@contextmanager
def registering(*specs: Any) -> Iterator[None]:
    """These disguises and generators are registered."""
    for cls in specs:
        edna.register(cls)
    try:
        yield
    finally:
        for cls in specs:
            edna.unregister(cls)


def forget_relations() -> None:
    """What the library computes once per process, from the models that are installed."""
    for name, module in list(sys.modules.items()):
        for function in vars(module).values() if name.startswith("edna.") else ():
            if hasattr(function, "cache_clear"):
                function.cache_clear()
