"""What a monitor's operator is told of certificates: which file is none, and what policies name that no certificate gives.

Keeps: changes nothing. Does not know: who shows evidence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from edna import conf
from edna.custody.policies.certificates import Certified, Certifiers
from edna.custody.policies.evidence import is_manifest
from edna.custody.policies.lacking import lacking
from edna.custody.policies.language import Formula, Policy
from edna.custody.policies.process.store import Store
from edna.errors import ConfigurationError, EdnaError
from edna.policies import files


def lacks(store: Store) -> Iterator[str]:
    """Of the monitor's policies, and of those by attributes in the settings that are at hand."""
    by_attributes = conf.policies_by_attributes()
    policies: dict[str, Policy | Formula] = {name: Policy.parse(text) for name, text in store.policies().items()}
    policies |= {name: Formula.parse(text) for name, text in conf.policies().items() if name in by_attributes}
    certifiers = Certifiers(store.trusted("certifier"))
    given = Certified.of(store.certificates(), certifiers=certifiers).given(now=time.time())
    yield from map(str, lacking(policies, given=given, certifiers=certifiers))


def certificate(path: Path, certifiers: Certifiers) -> str:
    """
    Raises: ConfigurationError if it is none, or none that is believed.
    """
    text = files.read(path)
    if is_manifest(text):
        raise ConfigurationError(
            f"The file {path} is a manifest, and no certificate; no file was accepted. A worker shows its manifest by itself "
            '(EDNA["MONITOR"]["MANIFEST"]); what certify writes is for accept.'
        )
    try:
        certifiers.read(text)
    except EdnaError as error:
        raise ConfigurationError(f"The file {path} was not accepted, and no other: {error}") from error
    return text
