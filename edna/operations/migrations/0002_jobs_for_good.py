"""Jobs that keep no way back, and the permission to start one."""


from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('edna_operations', '0001_initial'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='job',
            options={'default_permissions': ('view',), 'permissions': (('apply_disguise', 'Can apply disguises to users'), ('disguise_for_good', 'Can apply disguises without a way back'), ('control_job', 'Can pause, resume, cancel and retry jobs'), ('view_health', 'Can see key pool, storage and health'))},
        ),
        migrations.AddField(
            model_name='job',
            name='keep_no_way_back',
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
