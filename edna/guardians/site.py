"""The guardians of this site, as ``EDNA["GUARDIANS"]`` names them: the signed roster, the site's key, and what people call each.

Keeps: read live, as all settings. Does not know: whom guardians help.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edna import conf
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Roster
from edna.errors import ConfigurationError
from edna.guardians import files


@dataclass(frozen=True, slots=True)
class Site:
    """The roster, the way to those who are in it, and their names by number."""

    roster: Roster
    transport: HttpTransport
    names: Mapping[int, str]


def configured() -> Site:
    """
    Raises:
        ConfigurationError: there are no guardians, or their files cannot be read.
        GuardianRefused: the site's key did not sign the roster.
    """
    said = conf.guardians()
    if said is None:
        raise ConfigurationError('EDNA["GUARDIANS"] names no guardians: see docs/guardians.md.')
    key = files.read_site_key(Path(said["SITE_KEY"]))
    roster = files.read_roster(Path(said["ROSTER"]), site_key=bytes(key.verify_key))
    names = [str(name) for name in said.get("NAMES", ())]
    if names and len(names) != roster.count:
        raise ConfigurationError(
            f'EDNA["GUARDIANS"]["NAMES"] has {len(names)} names, and the roster {roster.count} guardians.'
        )
    return Site(roster, HttpTransport(roster, site_key=key), dict(enumerate(names, start=1)))
