"""Tables in which a package keeps what other rows held: what django-simple-history calls historical models, and notes about any row.

They hold it also when the row is disguised, and no constraint ties them to the row. Reads model definitions only, and knows the package
by the marks that it leaves on its models.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from typing import Any, Final

from django.apps import apps
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model

from edna import conf, registry
from edna.errors import SpecError
from edna.rights import words_of
from edna.spec import Decorrelate, Transformation
from edna.value_owners import about, by_value

#: In the name of a table that notes what happened.
LOGS: Final = {"log", "logs", "history", "historical", "audit", "activity", "action", "trail"}
_NOTES: Final = LOGS | {"crud"}
#: By which a row says which other one it is about, in the order in which packages have them.
_NUMBERS: Final = ("object_pk", "object_id")
_KIND: Final = "content_type"
#: Who made the change: of whom the copy is, this does not say.
CHANGED_BY: Final = "history_user"
#: The column that points at the row itself, where the site asks for one (``HistoricalRecords(related_name=...)``).
_OF_WHICH: Final = "history_relation"


def original(model: type[Model]) -> type[Model] | None:
    """The model whose rows are copied to ``model``; None if it is no such table."""
    copied = getattr(model, "instance_type", None)
    marks = {"history_id", "history_date", "history_type"}
    is_history = marks.issubset(field.name for field in model._meta.concrete_fields)
    if not is_history or not isinstance(copied, type) or not issubclass(copied, Model):
        return None
    return copied._meta.concrete_model


@functools.cache
def copies_of(model: type[Model]) -> tuple[type[Model], ...]:
    """The tables with copies of rows of ``model``. Looked up once per process."""
    return tuple(each for each in apps.get_models() if original(each) is (model._meta.concrete_model or model))


def same_for(copies: type[Model], step: Transformation) -> Transformation | None:
    """What the step does, done to the copies of its rows; None if they do not say whose they are."""
    key = step.model._meta.pk.name
    columns = {field.name for field in copies._meta.concrete_fields}
    if step.owners:
        owners = [*step.owners]
    elif _OF_WHICH in columns or key not in columns:
        owners = [_OF_WHICH]
    else:
        several = len(registry.principal_models()) > 1
        owners = [by_value(key, key, principal=step.model if several else None)]
    try:
        for owner in owners:
            registry.owner_target(copies, owner)
    except (FieldDoesNotExist, SpecError):
        return None
    changes: dict[str, Any] = {"model": copies, "owner": owners[0] if len(owners) == 1 else owners}
    if isinstance(step, Decorrelate) and step.group_by == ["pk"]:
        changes["group_by"] = [key]
    return dataclasses.replace(step, **changes)


def notes_about_any_row() -> Iterator[tuple[type[Model], tuple[str, str]]]:
    """Logs, by their names, that say by these two columns which row they are about, and have no generic key: what django-auditlog,
    django-easy-audit and Wagtail note. Not the admin's own, which knows its models."""
    for model in apps.get_models():
        columns = {field.name: field for field in model._meta.local_concrete_fields}
        number = next((name for name in _NUMBERS if name in columns), None)
        kind = columns.get(_KIND)
        is_log = not _NOTES.isdisjoint(words_of(model.__name__))
        is_own = model._meta.label == "admin.LogEntry" or model._meta.app_label in conf.OWN_LABELS
        if number is None or kind is None or kind.related_model is not ContentType or not is_log or is_own:
            continue
        if not any(getattr(field, "ct_field", "") == _KIND for field in model._meta.private_fields):
            yield model, (_KIND, number)


def noted_about(principal: type[Model], columns: tuple[str, str]) -> str:
    """The owner of such a row: the account that it is about."""
    return about(principal, by=columns if columns[1] != "object_id" else "")
