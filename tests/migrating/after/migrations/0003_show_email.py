from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lobsters", "0002_normalised_url")]
    operations = [
        migrations.AddField("User", "show_email", models.BooleanField(default=True)),
        migrations.RenameField("User", "karma", "reputation"),
    ]
