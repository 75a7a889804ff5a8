"""A column for the second half of public keys of the hybrid kind (`EDNA["RECIPIENT"]`). Keys that are there stay as they are."""

from django.db import migrations, models

from edna.migrations._once import AddOnce


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
