"""Does nothing any more: what is there is tagged at the end of the `migrate` in which 0007 adds the columns, and in no other."""

from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0007_rows_have_tags'),
    ]

    operations = []
