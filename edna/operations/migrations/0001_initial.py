"""Takes over the tables that were of the application ``edna``, and makes those that are not there."""

import edna.models
from django.db import migrations, models

from edna.migrations._handover import RenameContentTypes, TakeOver


class Migration(migrations.Migration):

    # `migrate --fake-initial` would pass over the content types.
    initial = False

    dependencies = [
        ('edna', '0010_operations_are_an_application'),
    ]

    operations = [
        TakeOver(
            name='AuditCount',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('count', models.BigIntegerField()),
                ('newest', edna.models.FixedBinaryField(max_length=32)),
                ('mac', edna.models.FixedBinaryField(max_length=32)),
            ],
            options={
                'db_table': 'edna_auditcount',
                'default_permissions': (),
            },
        ),
        TakeOver(
            name='AuditEntry',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('logged_at', models.DateTimeField()),
                ('operator', models.CharField(max_length=255)),
                ('action', models.CharField(max_length=50)),
                ('disguise', models.CharField(default='', max_length=100)),
                ('details', models.JSONField(default=dict)),
                ('mac', edna.models.FixedBinaryField(max_length=32)),
            ],
            options={
                'verbose_name': 'audit trail entry',
                'verbose_name_plural': 'audit trail entries',
                'db_table': 'edna_auditentry',
                'default_permissions': ('view',),
            },
        ),
        TakeOver(
            name='Job',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('disguise', models.CharField(max_length=100)),
                ('params', models.JSONField(default=dict)),
                ('everybody', models.BooleanField()),
                ('schedule', models.CharField(default='', max_length=100)),
                ('operator', models.CharField(default='', max_length=255)),
                ('state', models.CharField(choices=[('running', 'Running'), ('paused', 'Paused'), ('cancelled', 'Cancelled'), ('finished', 'Finished')], db_index=True, max_length=10)),
                ('total', models.BigIntegerField()),
                ('left_out', models.BigIntegerField(null=True)),
                ('done', models.BigIntegerField(default=0)),
                ('skipped', models.BigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0)),
                ('concurrency', models.PositiveSmallIntegerField()),
                ('rate_per_second', models.FloatField(null=True)),
                ('created_on', models.DateField()),
                ('finished_on', models.DateField(null=True)),
                ('tag', edna.models.FixedBinaryField(max_length=16, null=True)),
            ],
            options={
                'db_table': 'edna_job',
                'permissions': (('apply_disguise', 'Can apply disguises to users'), ('control_job', 'Can pause, resume, cancel and retry jobs'), ('view_health', 'Can see key pool, storage and health')),
                'default_permissions': ('view',),
            },
        ),
        TakeOver(
            name='JobRunner',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('job', models.BigIntegerField(db_index=True)),
                ('name', models.CharField(max_length=100)),
                ('done', models.BigIntegerField(default=0)),
                ('skipped', models.BigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'db_table': 'edna_jobrunner',
                'default_permissions': (),
            },
        ),
        TakeOver(
            name='LastRun',
            fields=[
                ('name', models.CharField(max_length=100, primary_key=True, serialize=False)),
                ('finished_at', models.DateTimeField(null=True)),
                ('counts', models.JSONField(default=dict)),
                ('busy_until', models.DateTimeField(null=True)),
            ],
            options={
                'db_table': 'edna_lastrun',
                'default_permissions': (),
            },
        ),
        TakeOver(
            name='LedgerEntry',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('index', edna.models.FixedBinaryField(max_length=32, unique=True)),
                ('sealed', models.BinaryField()),
            ],
            options={
                'db_table': 'edna_ledgerentry',
                'default_permissions': (),
            },
        ),
        TakeOver(
            name='LegalHold',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('expires_on', models.DateField(unique=True)),
                ('reason', models.CharField(max_length=200)),
                ('placed_on', models.DateField()),
            ],
            options={
                'db_table': 'edna_legalhold',
                'default_permissions': (),
            },
        ),
        TakeOver(
            name='DormancyNotice',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('schedule', models.CharField(max_length=100)),
                ('model', models.CharField(max_length=100)),
                ('reference', models.CharField(max_length=255)),
                ('stage', models.PositiveSmallIntegerField()),
                ('sent_on', models.DateField()),
            ],
            options={
                'db_table': 'edna_dormancynotice',
                'default_permissions': (),
                'constraints': [models.UniqueConstraint(fields=('reference', 'schedule', 'model'), name='edna_dormancy_notice')],
            },
        ),
        TakeOver(
            name='DisguiseCatalogue',
            fields=[
            ],
            options={
                'verbose_name': 'disguise',
                'verbose_name_plural': 'disguises',
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('edna_operations.job',),
        ),
        TakeOver(
            name='SiteHealth',
            fields=[
            ],
            options={
                'verbose_name': 'storage and health',
                'verbose_name_plural': 'storage and health',
                'proxy': True,
                'default_permissions': (),
                'indexes': [],
                'constraints': [],
            },
            bases=('edna_operations.job',),
        ),
        TakeOver(
            name='JobItem',
            fields=[
                ('id', edna.models.RandomKeyField(default=edna.models.random_primary_key, editable=False, primary_key=True, serialize=False)),
                ('job', models.BigIntegerField()),
                ('reference', models.CharField(max_length=255)),
                ('state', models.SmallIntegerField(choices=[(0, 'Pending'), (1, 'Failed')], default=0)),
                ('reason', models.CharField(default='', max_length=100)),
                ('attempts', models.PositiveSmallIntegerField(default=0)),
                ('tag', edna.models.FixedBinaryField(max_length=16, null=True)),
            ],
            options={
                'db_table': 'edna_jobitem',
                'default_permissions': (),
                'indexes': [models.Index(fields=['job', 'state', 'id'], name='edna_job_items')],
                'constraints': [models.UniqueConstraint(fields=('reference', 'job'), name='edna_job_item')],
            },
        ),
        RenameContentTypes(old='edna', new='edna_operations'),
    ]
