"""Columns that are added once, also where a migration is done again after a crash. Not a migration: Django passes over such names."""

from __future__ import annotations

from typing import Any

from django.db import migrations


class AddOnce(migrations.AddField):
    """As `AddField`, but where the column is there, nothing is done: after a crash behind it, where tables change outside of transactions."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        connection, model = schema_editor.connection, to_state.apps.get_model(app_label, self.model_name)
        if not schema_editor.collect_sql and self.allow_migrate_model(connection.alias, model):
            with connection.cursor() as cursor:
                columns = connection.introspection.get_table_description(cursor, model._meta.db_table)
            if any(column.name == self.name for column in columns):
                return
        super().database_forwards(app_label, schema_editor, from_state, to_state)
