import edna.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0003_only_permissions_that_mean_something'),
    ]

    operations = [
        migrations.CreateModel(
            name='ServerKey',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('check_value', edna.models.FixedBinaryField(max_length=32, unique=True)),
                ('added_on', models.DateField()),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
