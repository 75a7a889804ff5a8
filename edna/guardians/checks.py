"""The check of ``EDNA["GUARDIANS"]``: that its files can be read and fit together. Asks no guardian."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

from edna import conf
from edna.checks import TAG
from edna.custody.guardians.roster import Roster
from edna.custody.sockets.profiles import Profile
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
        problem = _of_browsers(configured().roster)
    except (ConfigurationError, GuardianRefused) as error:
        problem = str(error)
    if not problem:
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


def _of_browsers(roster: Roster) -> str:
    """What is wrong with the addresses, if browsers ask there."""
    deaf = [each for each in roster.members if Profile.of_scheme(each.address.partition(":")[0]) is not None]
    if conf.custody() != "browser" or not deaf:
        return ""
    return f'With EDNA["CUSTODY"] "browser" browsers ask the guardians, and none speaks as {deaf[0].address} takes: it has to be https.'
