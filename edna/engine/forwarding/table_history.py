"""The history of the application's tables, read from its migration files: where a record stands, and what has happened since.

From the files, not the database: the running code works with the tables that its own migrations describe. Knows Django's
migrations; knows no records, and reads no tables.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from django.apps import apps
from django.db.migrations import Migration, RunPython, RunSQL, SeparateDatabaseAndState
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Field

#: Operations of these modules that are no `RunPython` or `RunSQL` say all that they do.
_READABLE = ("django.db.migrations.operations.", "django.contrib.postgres.operations")


@dataclass(frozen=True)
class Opaque:
    """An operation that may have moved data from anywhere to anywhere. ``models`` are those that it names, if it names any."""

    models: frozenset[str]

    def may_concern(self, model: str) -> bool:
        return not self.models or model in self.models


@dataclass(frozen=True)
class Step:
    """One migration: its operations in order, what only the state knows of them included."""

    app_label: str
    name: str
    operations: tuple[Operation | Opaque, ...]


@dataclass(frozen=True)
class History:
    """An application's migrations in order. ``after`` says how many of them a stamp stands for: 0 is before the first."""

    steps: tuple[Step, ...]
    after: dict[str, int] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return len(self.steps)


def newest(app_label: str) -> str:
    """The name of the application's newest migration, "" if it has none: which shape of its tables a record is made for."""
    return _newest().get(app_label, "")


@functools.cache
def _loader() -> MigrationLoader:
    return MigrationLoader(None)


@functools.cache
def _newest() -> dict[str, str]:
    return dict(_loader().graph.leaf_nodes())


@functools.cache
def history(app_label: str) -> History:
    graph = _loader().graph
    name = newest(app_label)
    steps: list[Step] = []
    after: dict[str, int] = {}
    if not name:
        return History((), {"": 0})
    for key in graph.forwards_plan((app_label, name)):
        if key[0] == app_label:
            _add(graph.nodes[key], steps, after)
    return History(tuple(steps), after)


def reached(app_label: str, *, by: tuple[str, str]) -> int:
    """How far the application ``app_label`` has come when the migration ``by`` of another one has been applied."""
    graph, own = _loader().graph, history(app_label)
    if by not in graph.nodes:
        return own.end
    return max([own.after.get(name, 0) for label, name in graph.forwards_plan(by) if label == app_label], default=0)


def fields_at(label: str, stamp: str) -> Mapping[str, Field[Any, Any]]:
    """The columns of a model as they were at a stamp, foreign keys as what they refer to; none if no migration file says so.

    Raises:
        LookupError: the model, or one that it refers to, was not there.
    """
    app_label, _, name = label.partition(".")
    node = (app_label, stamp)
    if stamp == newest(app_label) or node not in _loader().graph.nodes:
        return {}
    state = _state_at(node)
    columns = state.models[app_label, name].fields.items()
    return {field: _referred(column, state) for field, column in columns if not column.many_to_many}


@functools.cache
def _state_at(node: tuple[str, str]) -> ProjectState:
    return _loader().project_state(node)


def _referred(column: Any, state: ProjectState) -> Field[Any, Any]:
    while column.remote_field is not None:
        app_label, _, name = column.remote_field.model.lower().partition(".")
        fields = state.models[app_label, name].fields
        keys = [key for key, field in fields.items() if field.primary_key]
        column = fields[column.remote_field.field_name or keys[0]]
    found: Field[Any, Any] = column
    return found


def known(app_label: str, name: str) -> bool:
    """Whether the application has such a migration, or had it before it was squashed."""
    on_disk: dict[tuple[str, str], Migration] = _loader().disk_migrations
    key = (app_label, name)
    return key in on_disk or any(key in (migration.replaces or ()) for migration in on_disk.values())


def unreadable(app_label: str) -> list[str]:
    """The migrations that may have moved data in ways that their operations do not say."""
    return [
        step.name
        for step in history(app_label).steps
        if any(isinstance(operation, Opaque) for operation in step.operations)
    ]


def _add(migration: Migration, steps: list[Step], after: dict[str, int]) -> None:
    """One node of the graph; one that replaces others, as those others if their files are still there."""
    label = migration.app_label
    replaced = [(app, name) for app, name in migration.replaces or () if app == label]
    on_disk: dict[tuple[str, str], Migration] = _loader().disk_migrations
    if replaced and all(key in on_disk for key in replaced):
        for key in replaced:
            _add(on_disk[key], steps, after)
    else:
        steps.append(Step(label, migration.name, tuple(_flat(migration.operations))))
        if replaced:
            # A record from the middle of it is nowhere: what was renamed before it and after it cannot be told.
            after[replaced[-1][1]] = len(steps)
    after[migration.name] = len(steps)


def _flat(operations: Any) -> Iterator[Operation | Opaque]:
    for operation in operations:
        if isinstance(operation, SeparateDatabaseAndState):
            yield from _flat(operation.state_operations or operation.database_operations)
        elif isinstance(operation, RunSQL):
            if operation.state_operations:
                yield from _flat(operation.state_operations)
            elif operation.sql != RunSQL.noop:
                yield Opaque(frozenset())
        elif isinstance(operation, RunPython):
            if operation.code is not RunPython.noop:
                yield Opaque(_named_models(getattr(operation.code, "__code__", None)))
        elif type(operation).__module__.startswith(_READABLE):
            yield operation
        else:
            # Somebody's own: it may be built on one of Django's, and still do more.
            yield operation
            yield Opaque(frozenset())


def _named_models(code: CodeType | None) -> frozenset[str]:
    """Models that a data migration's function asks for by name, as far as they are written in it."""
    if code is None:
        return frozenset()
    words = {word.lower() for word in _texts(code)}
    labels = {config.label for config in apps.get_app_configs()} & {word.partition(".")[0] for word in words}
    names = {word.rpartition(".")[2] for word in words}
    labels_named = {f"{label}.{name}" for label in labels for name in names if name.isidentifier()}
    # Of names that are nowhere in it (a loop over a list, a helper) nothing can be told: then it may mean every model.
    return (
        frozenset(labels_named)
        if labels_named & {model._meta.label_lower for model in apps.get_models()}
        else frozenset()
    )


def _texts(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _texts(constant)
