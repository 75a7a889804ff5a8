"""System checks: what `manage.py check` says about settings, databases and disguises before anything is disguised.

Every message says the consequence, every hint the remedy; `docs/checks.md` lists them all. Checks read definitions and
settings. Only those tagged ``database`` send queries: they run with ``migrate`` and ``check --database default``, and for
all databases with ``check --tag database`` from Django 6.1 on.
"""

from __future__ import annotations

from django.core.checks import Tags, register

from edna.checks import catalogue, databases, migrations, settings, specs, without_operations

TAG = "edna"


def connect() -> None:
    """Make the checks known to Django. Calling it again changes nothing."""
    for check in (settings.check_settings, settings.check_site, databases.check_routes, databases.check_sqlite_options):
        register(check, TAG)
    register(databases.check_lists, TAG)
    register(specs.check_disguises, TAG)
    register(migrations.check_rules, TAG)
    register(without_operations.check_wanted, TAG)
    register(databases.check_stored, Tags.database)
    register(catalogue.check_tables, Tags.database)
    register(migrations.check_applied, Tags.database)
    register(without_operations.check_left, Tags.database)
