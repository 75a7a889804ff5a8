"""What operators keep is of the application ``edna_operations`` from here on: its tables stay as they are, and are its.

Without it in INSTALLED_APPS, tables without rows go. Those with rows stay until it is there (edna.E062 says so).
"""

from django.db import migrations

from edna.migrations._handover import GiveAway


class Migration(migrations.Migration):

    dependencies = [
        ('edna', '0009_a_job_counts_whom_it_left_out'),
    ]

    operations = [
        GiveAway(name, to='edna.operations')
        for name in (
            'DisguiseCatalogue',
            'SiteHealth',
            'JobItem',
            'JobRunner',
            'Job',
            'AuditCount',
            'AuditEntry',
            'DormancyNotice',
            'LastRun',
            'LedgerEntry',
            'LegalHold',
        )
    ]
