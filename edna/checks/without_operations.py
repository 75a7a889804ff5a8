"""Checks of a project without `edna.operations`: that it asks for nothing that only this does, and that no rows of it are there. And of
one without `edna.guardians` or `edna.policies`: that it names no guardians or policies.

Knows the names of its tables and settings, for it cannot ask what is not installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.apps import apps
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections

from edna import conf, schedules
from edna.checks.settings import homes, settings_value

TABLES: Final = (
    "edna_job",
    "edna_jobitem",
    "edna_jobrunner",
    "edna_auditentry",
    "edna_auditcount",
    "edna_ledgerentry",
    "edna_legalhold",
    "edna_dormancynotice",
    "edna_lastrun",
)
#: What nobody reads without it.
_SETTINGS: Final = (
    "JOB_RUNNER",
    "JOB_BATCH",
    "JOB_CONCURRENCY",
    "JOB_RATE_PER_SECOND",
    "JOB_SILENT_SECONDS",
    "LEDGER",
    "METRICS_TOKEN",
)
_HINT: Final = 'INSTALLED_APPS += ["edna.operations"], then manage.py migrate.'


def check_wanted(**_: Any) -> list[CheckMessage]:
    """From the settings and what is registered alone."""
    return [
        *_guardians(),
        *_policies(),
        *([] if conf.has_operations() else [*_settings(), *_schedules(), *_retention()]),
    ]


def _guardians() -> Iterator[CheckMessage]:
    if settings_value("GUARDIANS") is not None and not apps.is_installed("edna.guardians"):
        yield Error(
            'EDNA["GUARDIANS"] is set, and edna.guardians, which alone reads it, is not installed: it is ignored: there are no pages of '
            "guardians.",
            hint='INSTALLED_APPS += ["edna.guardians"], then manage.py migrate. Or leave the setting out.',
            obj="settings.EDNA",
            id="edna.E006",
        )


def _policies() -> Iterator[CheckMessage]:
    if settings_value("POLICIES") and not apps.is_installed("edna.policies"):
        yield Error(
            'EDNA["POLICIES"] is set, and edna.policies, which alone puts policy seals on, is not installed: disguises that name one are '
            "refused, and what has a policy seal does not open.",
            hint='INSTALLED_APPS += ["edna.policies"]. Or leave the setting out.',
            obj="settings.EDNA",
            id="edna.E006",
        )


def _settings() -> Iterator[CheckMessage]:
    for name in _SETTINGS:
        if settings_value(name) != conf.DEFAULTS[name]:
            yield Error(
                f'EDNA["{name}"] is set, and edna.operations, which alone reads it, is not installed: it is ignored.',
                hint=f"{_HINT} Or leave the setting out.",
                obj="settings.EDNA",
                id="edna.E006",
            )


def _schedules() -> Iterator[CheckMessage]:
    for name in schedules.schedules():
        yield Error(
            "edna.operations, which runs schedules, is not installed: nobody is warned, and nobody disguised.",
            hint=_HINT,
            obj=f"the schedule {name}",
            id="edna.E406",
        )


def _retention() -> Iterator[CheckMessage]:
    if settings_value("RETENTION_DAYS") is not None:
        yield Warning(
            'EDNA["RETENTION_DAYS"] is set, and edna.operations, which erases what has expired (manage.py edna_expire), is not installed: '
            "data stays longer than you have promised.",
            hint=_HINT,
            obj="settings.EDNA",
            id="edna.W006",
        )


def check_left(databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Asks the databases themselves, as `edna.checks.databases.check_stored` does, whether operations have left rows in their tables."""
    if conf.has_operations():
        return []
    return [message for alias in databases or () if alias in homes() for message in _left(alias)]


def _left(alias: str) -> Iterator[CheckMessage]:
    if found := _with_rows(alias):
        yield Error(
            f"There are rows in {', '.join(found)}, and edna.operations, whose tables these are, is not installed: no job is done, no "
            "legal hold and no entry of the ledger is heeded, and the audit trail has a gap from here on.",
            hint=_HINT,
            obj=f"database {alias!r}",
            id="edna.E062",
        )


def _with_rows(alias: str) -> list[str]:
    connection = connections[alias]
    with connection.cursor() as cursor:
        there = set(connection.introspection.table_names(cursor))
        found = []
        for table in TABLES:
            if table in there:
                cursor.execute(f"SELECT 1 FROM {table} LIMIT 1")  # noqa: S608  (one of the names above)
                if cursor.fetchone() is not None:
                    found.append(table)
    return found
