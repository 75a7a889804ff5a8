"""How tables go from one application of the library to another, with all that is in them: they keep their names.

Keeps: no row is lost, forwards or backwards; a table that somebody else is to have is dropped only while it is empty. Each operation looks
at what is there, so that it can be done again after a crash in the middle, where the database makes tables outside of transactions
(MariaDB). Not a migration: Django passes over modules whose names begin so.
"""

from __future__ import annotations

from typing import Any

from django.apps import apps as django_apps
from django.db import migrations, router
from django.db.models import Model, QuerySet


class GiveAway(migrations.DeleteModel):
    """The model is another application's from here on, and its table is, too. If that is not installed, a table without rows goes."""

    def __init__(self, name: str, *, to: str) -> None:
        self.to = to
        super().__init__(name)

    def deconstruct(self) -> Any:
        name, args, kwargs = super().deconstruct()
        return name, args, {**kwargs, "to": self.to}

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = from_state.apps.get_model(app_label, self.name)
        if not django_apps.is_installed(self.to) and self.allow_migrate_model(schema_editor.connection.alias, model):
            _drop_if_empty(model, schema_editor)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.name)
        if self.allow_migrate_model(schema_editor.connection.alias, model) and not _is_there(model, schema_editor):
            schema_editor.create_model(model)

    def describe(self) -> str:
        return f"Give away model {self.name}"


class TakeOver(migrations.CreateModel):
    """As `CreateModel`, but a table that is there is taken as it is; and backwards, one with rows stays."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = to_state.apps.get_model(app_label, self.name)
        if schema_editor.collect_sql or not _is_there(model, schema_editor):
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        model = from_state.apps.get_model(app_label, self.name)
        if self.allow_migrate_model(schema_editor.connection.alias, model):
            _drop_if_empty(model, schema_editor)

    def describe(self) -> str:
        return f"Take over model {self.name}"


class RenameContentTypes(migrations.RunPython):
    """What was granted and noted about these models goes with them: permissions, entries of the admin site's log."""

    def __init__(self, *, old: str, new: str) -> None:
        self.old, self.new = old, new
        super().__init__(
            lambda apps, editor: _rename(apps, editor, old, new), lambda apps, editor: _rename(apps, editor, new, old)
        )

    def deconstruct(self) -> Any:
        return self.__class__.__name__, [], {"old": self.old, "new": self.new}

    def describe(self) -> str:
        return f"Content types of {self.old} become those of {self.new}"


def _is_there(model: type[Model], schema_editor: Any) -> bool:
    return model._meta.db_table in schema_editor.connection.introspection.table_names()


def _drop_if_empty(model: type[Model], schema_editor: Any) -> None:
    there = not schema_editor.collect_sql and _is_there(model, schema_editor)
    if there and not QuerySet(model, using=schema_editor.connection.alias).exists():
        schema_editor.delete_model(model)


def _rename(apps: Any, schema_editor: Any, old: str, new: str) -> None:
    try:
        model = apps.get_model("contenttypes", "ContentType")
    except LookupError:
        return  # not installed, or not migrated yet: then there are none
    using = schema_editor.connection.alias
    if not router.allow_migrate_model(using, model):
        return
    names = [each._meta.model_name for each in apps.get_app_config("edna_operations").get_models()]
    found = model.objects.using(using).filter(model__in=names)
    taken = list(found.filter(app_label=new).values_list("model", flat=True))
    found.filter(app_label=old).exclude(model__in=taken).update(app_label=new)
    django_apps.get_model("contenttypes", "ContentType").objects.clear_cache()
