"""The server's own keys at rest: sealed to guardians of those who operate the site, which starts when enough of them answer.

A folder holds what it takes to ask them: the roster, the envelope, and the request, which an operator at each guardian has allowed once.
Whoever copies the folder has no key, and the guardians answer nobody whom they do not let in; they can stop answering.

Keeps: the keys are never written. Does not know: Django, for it is called from the settings.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import nacl.utils

from edna.custody.guardians.envelope import Envelope
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.quorum import Recovery
from edna.custody.guardians.roster import Roster, from_base64, to_base64
from edna.errors import ConfigurationError, EdnaError, EnvelopeRefused, QuorumUnavailable

ENVELOPE: Final = "keys.envelope"
REQUEST: Final = "keys.request"
ROSTER: Final = "roster.json"
SITE_KEY: Final = "site-public-key"
#: In front, so that nothing can be guessed of what is derived from the beginning.
_RANDOM_BYTES: Final = 64
_AGAIN_SECONDS: Final = 0.5


def sealed_settings(folder: Path | str, *, timeout_seconds: float = 60.0) -> Mapping[str, Any]:
    """Return what was sealed, by the names of settings: ``MAC_KEYS``, and texts. Asks again until enough guardians answer, so that a site
    and its guardians may start together.

    Raises:
        QuorumUnavailable: too few guardians answered in that time.
        ConfigurationError: the folder is not one that ``edna_guardian seal-keys`` has made.
        GuardianRefused: somebody has changed the roster.
        EnvelopeRefused: somebody has changed the envelope.
    """
    recovery = recovery_of(Path(folder))
    end = time.monotonic() + timeout_seconds
    while True:
        try:
            return unpacked(recovery.finish(timeout_seconds=max(end - time.monotonic(), 0.1)))
        except QuorumUnavailable as error:
            refused = error
        if time.monotonic() + _AGAIN_SECONDS > end:
            said = " ".join(QuorumUnavailable.said_by(number, what) for number, what in sorted(refused.wrong.items()))
            raise QuorumUnavailable(
                f"The keys of this site are sealed, and within {timeout_seconds:g} s {refused.have} of the {refused.need} guardians "
                f"helped that it takes to start. {said}",
                have=refused.have,
                need=refused.need,
                wrong=refused.wrong,
            )
        time.sleep(_AGAIN_SECONDS)


def recovery_of(folder: Path) -> Recovery:
    """What asks the guardians, as the folder says.

    Raises: as `sealed_settings`.
    """
    try:
        texts = {name: (folder / name).read_text(encoding="ascii") for name in (ENVELOPE, REQUEST, ROSTER, SITE_KEY)}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{folder} is no folder that edna_guardian seal-keys has made: {type(error).__name__}."
        ) from error
    roster = Roster.parse(texts[ROSTER], site_key=from_base64(texts[SITE_KEY].strip(), size=32))
    secret = from_base64(texts[REQUEST].strip(), size=32)
    return Recovery(Envelope.parse_text(texts[ENVELOPE]), roster=roster, transport=HttpTransport(roster), secret=secret)


def packed(mac_keys: Sequence[bytes], texts: Mapping[str, str]) -> bytes:
    """What is sealed: keys, and the texts of other settings by name."""
    said = {**texts, "MAC_KEYS": [to_base64(key) for key in mac_keys]}
    return nacl.utils.random(_RANDOM_BYTES) + json.dumps(said).encode()


def unpacked(content: bytes) -> Mapping[str, Any]:
    """
    Raises: EnvelopeRefused if it is nothing that `packed` made.
    """
    found = _unpacked(content)
    if found is None:
        raise EnvelopeRefused("What is in this envelope are no keys of a server.")
    return found


def _unpacked(content: bytes) -> Mapping[str, Any] | None:
    """Never raises: its variables are keys."""
    try:
        said = json.loads(content[_RANDOM_BYTES:])
        return {**said, "MAC_KEYS": [from_base64(key) for key in said["MAC_KEYS"]]}
    except (ValueError, KeyError, TypeError, EdnaError):
        return None
