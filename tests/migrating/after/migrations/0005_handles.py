import django.db.models.deletion
from django.db import migrations, models


def move(apps, schema_editor):
    handle = apps.get_model("lobsters", "Handle")
    for user in apps.get_model("lobsters", "User").objects.all():
        handle.objects.create(user=user, name=user.username)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("lobsters", "0004_story_text")]
    operations = [
        migrations.CreateModel(
            "Handle",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40, unique=True)),
                (
                    "user",
                    models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, to="lobsters.user"),
                ),
            ],
        ),
        migrations.RunPython(move),
        migrations.RemoveField("User", "username"),
    ]
