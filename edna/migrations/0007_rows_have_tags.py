"""Gives public keys, jobs and people on their lists a tag each: here the columns, and at the end of the same `migrate` what they say.

Only rows of a table that gets its column here are tagged (`edna.vouching.begin`). Where it has one already, the rows stay as
they are: whoever writes to the database can have this migration run again, and must gain nothing by it.
"""

from typing import Any

import edna.models
from django.db import migrations

from edna.store import vouching


class AddTag(migrations.AddField):
    """As `AddField`, but where the column is there, nothing is done; where it was not, that is noted for this process."""

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        connection, model = schema_editor.connection, to_state.apps.get_model(app_label, self.model_name)
        if schema_editor.collect_sql or not self.allow_migrate_model(connection.alias, model):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        with connection.cursor() as cursor:
            columns = connection.introspection.get_table_description(cursor, model._meta.db_table)
        if all(column.name != self.name for column in columns):
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            vouching.note_new_column(model._meta.db_table, using=connection.alias)


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0006_a_slot_id_may_occur_twice'),
    ]

    operations = [
        AddTag(
            model_name='job',
            name='tag',
            field=edna.models.FixedBinaryField(max_length=16, null=True),
        ),
        AddTag(
            model_name='jobitem',
            name='tag',
            field=edna.models.FixedBinaryField(max_length=16, null=True),
        ),
        AddTag(
            model_name='principalentry',
            name='tag',
            field=edna.models.FixedBinaryField(max_length=16, null=True),
        ),
    ]
