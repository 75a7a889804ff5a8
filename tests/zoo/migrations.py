"""Migrations of the zoo, as far as a machine has come: each changes texts, and says what that means for what is sealed.

Only their history is put in place; the machines do to the tables what the migrations would do.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model
from django.test.utils import override_settings

import edna
from edna import recordmigrations
from edna.engine.forwarding import table_history
from tests.zoo.models import shop

LAST: Final = 2
#: Whose texts each migration changes.
CHANGED: Final[dict[int, tuple[type[Model], ...]]] = {1: (shop.Slot,), 2: (shop.Slot, shop.Quote)}
NAMES: Final = ("0001_initial", "0002_shout_in_slots", "0003_shout_louder")

_USUAL: Final = table_history._loader
_FILE: Final = """
from django.db import migrations

def change(apps, schema_editor):
    apps.get_model("zoo", "Slot"), apps.get_model("zoo", "Quote")

class Migration(migrations.Migration):
    dependencies = [("zoo", name) for name in {before!r}]
    operations = {operations}
"""


@pytest.fixture
def history() -> Iterator[None]:
    """The zoo has migrations while this lasts."""
    with tempfile.TemporaryDirectory() as directory:
        for stage in range(LAST + 1):
            package = Path(directory) / f"zoo_at_{stage}"
            package.mkdir()
            (package / "__init__.py").touch()
            for number, name in enumerate(NAMES[: stage + 1]):
                operations = "[migrations.RunPython(change)]" if number else "[]"
                text = _FILE.format(before=list(NAMES[number - 1 : number]), operations=operations)
                (package / f"{name}.py").write_text(text)
        sys.path.insert(0, directory)
        for number, models in CHANGED.items():
            labels = [model._meta.label_lower for model in models]
            edna.record_migration("zoo", NAMES[number], models=labels)(_shout(number))
        yield
        for name in NAMES:
            recordmigrations._rules.pop(("zoo", name), None)
        sys.path.remove(directory)
        table_history._loader = _USUAL
        _forget()


def _shout(number: int) -> Any:
    def rule(record: Any) -> Any:
        record.derive("text", lambda text: text + "!", "text")
        return record

    rule.__qualname__ = f"shout_{number}"
    return rule


@functools.cache
def _loader(stage: int) -> MigrationLoader:
    with override_settings(MIGRATION_MODULES={"zoo": f"zoo_at_{stage}"}):
        return MigrationLoader(None)


def _forget() -> None:
    table_history._newest.cache_clear()
    table_history.history.cache_clear()


def go_to(stage: int) -> None:
    """From now on, the zoo's newest migration is this one."""
    table_history._loader = lambda: _loader(stage)  # type: ignore[assignment]
    _forget()
