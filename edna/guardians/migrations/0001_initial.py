"""The envelopes of whoever has guardians."""

import edna.models
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='KeptEnvelope',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('place', edna.models.FixedBinaryField(db_index=True, max_length=32)),
                ('tag', edna.models.FixedBinaryField(db_index=True, max_length=32)),
                ('sealed', models.BinaryField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
