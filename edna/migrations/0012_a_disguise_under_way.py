"""A column for what says under which receipt a disguise in chunks goes on that was interrupted. Empty of everybody for whom none is under way."""

from django.db import migrations

import edna.models
from edna.migrations._once import AddOnce


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0011_hybrid_keys'),
    ]

    operations = [
        AddOnce(
            model_name='principalentry',
            name='under_way',
            field=edna.models.FixedBinaryField(max_length=96, null=True),
        ),
    ]
