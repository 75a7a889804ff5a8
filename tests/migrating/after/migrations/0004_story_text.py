import django.db.models.deletion
from django.db import migrations, models


def move(apps, schema_editor):
    text = apps.get_model("lobsters", "StoryText")
    for story in apps.get_model("lobsters", "Story").objects.all():
        text.objects.create(story=story, body=story.text)


class Migration(migrations.Migration):
    atomic = False  # PostgreSQL does not alter a table in the transaction that has just filled one that refers to it
    dependencies = [("lobsters", "0003_show_email")]
    operations = [
        migrations.CreateModel(
            "StoryText",
            fields=[
                (
                    "story",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        serialize=False,
                        to="lobsters.story",
                    ),
                ),
                ("body", models.TextField()),
            ],
        ),
        migrations.RunPython(move),
        migrations.RemoveField("Story", "text"),
    ]
