import edna.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0004_server_keys'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditCount',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('count', models.BigIntegerField()),
                ('newest', edna.models.FixedBinaryField(max_length=32)),
                ('mac', edna.models.FixedBinaryField(max_length=32)),
            ],
            options={
                'default_permissions': (),
            },
        ),
    ]
