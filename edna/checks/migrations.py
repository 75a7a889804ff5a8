"""Checks of what happens to sealed records when the application's tables change."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.core.checks import CheckMessage, Warning
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from edna import inner_door, registry
from edna.checks.settings import homes
from edna.checks.steps import usable_steps

#: A new database gets all migrations at once; no bag of it is older than any of them.
_AT_ONCE: Final = datetime.timedelta(hours=1)


def check_rules(**_: Any) -> list[CheckMessage]:
    return list(_rules())


def _rules() -> Iterator[CheckMessage]:
    for app_label, name in inner_door.rules_without_migration():
        yield Warning(
            f"@edna.record_migration({app_label!r}, {name!r}) is for no migration of that application: it is never called, "
            "and records from before the migration that it means may stay sealed.",
            hint="Use the name of the migration's file, without .py, and the label of its application.",
            obj=f"{app_label}.{name}",
            id="edna.W120",
        )


def check_applied(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Only of migrations that were applied after edna's own tables were there: no bag is older than those."""
    return [message for alias in databases or () for message in _applied(alias)]


def _applied(alias: str) -> Iterator[CheckMessage]:
    if alias not in homes():
        return
    labels = {step.model._meta.app_label for cls in registry.disguises().values() for step in usable_steps(cls)}
    wanted = inner_door.migrations_without_rule(sorted(labels))
    applied = MigrationRecorder(connections[alias]).applied_migrations() if wanted else {}
    since = applied.get(("edna", "0001_initial"))
    for app_label, name in wanted:
        migration = applied.get((app_label, name))
        if since is not None and migration is not None and migration.applied > since.applied + _AT_ONCE:
            yield Warning(
                f"The migration {app_label}.{name} runs code, and nothing says what that means for records that were sealed "
                "before it: those that it may concern stay sealed (schema_changed).",
                hint=f"Write a function with @edna.record_migration({app_label!r}, {name!r}); with models=() it says that no "
                "record is concerned.",
                obj=f"{app_label}.{name}",
                id="edna.W058",
            )
