"""A column for the second half of public keys of the hybrid kind (`EDNA["RECIPIENT"]`). Keys that are there stay as they are."""

from typing import Any

from django.db import migrations, models


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


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0010_operations_are_an_application'),
    ]

    operations = [
        AddOnce(
            model_name='principalentry',
            name='encapsulation_key',
            field=models.BinaryField(null=True),
        ),
    ]
