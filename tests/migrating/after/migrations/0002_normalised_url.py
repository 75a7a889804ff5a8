from django.db import migrations, models

from tests.migrating.after.urls import normalised


def fill(apps, schema_editor):
    for story in apps.get_model("lobsters", "Story").objects.all():
        story.normalised_url = normalised(story.url)
        story.save()


class Migration(migrations.Migration):
    dependencies = [("lobsters", "0001_initial")]
    operations = [
        migrations.AddField("Story", "normalised_url", models.CharField(max_length=200, default="")),
        migrations.RunPython(fill),
    ]
