"""The check of ``EDNA["GUARDIANS"]``: that its files can be read and fit together. Asks no guardian."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from edna import conf
from edna.checks import TAG
from edna.errors import ConfigurationError, GuardianRefused
from edna.guardians.site import configured


def connect() -> None:
    """Make the check known to Django. Calling it again changes nothing."""
    register(check_files, TAG)


def check_files(**_: object) -> list[CheckMessage]:
    try:
        if not isinstance(getattr(settings, "EDNA", {}), Mapping) or conf.guardians() is None:
            return []
    except ConfigurationError:
        return []  # edna.E002 says so
    try:
        configured()
    except (ConfigurationError, GuardianRefused) as error:
        problem = str(error)
    else:
        return []
    said = conf.guardians() or {}
    # A machine that builds or migrates need not have the files; whoever runs the site there is told, and not stopped.
    is_missing = not all(Path(said[name]).exists() for name in ("ROSTER", "SITE_KEY"))
    return [
        (Warning if is_missing else Error)(
            f"{problem} Until then every page of guardians ends with an error.",
            hint='EDNA["GUARDIANS"] names in "ROSTER" the file that edna_guardian schedule has signed, in "SITE_KEY" the key with which it '
            "did so. Write whole paths: others count from where a process was started.",
            obj="settings.EDNA",
            id="edna.W065" if is_missing else "edna.E065",
        )
    ]
