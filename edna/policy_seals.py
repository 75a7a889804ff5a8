"""What joins bags with policies: a process that has `edna.policies` puts policy seals on and takes them off; others say clearly that they
cannot.

Keeps: a bag that wants a policy seal is never stored without one, and one that has one is never taken for another kind of bag. Imports
nothing of policies: a site without any pays one comparison for each bag. Does not know: credentials, monitors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from edna import conf
from edna.errors import ConfigurationError, PolicyNotSatisfied

#: No container begins so (docs/format.md, "Policy seals").
FIRST_BYTE: Final = b"\x81"


@dataclass(frozen=True)
class Standing:
    """How this process stands: what it is attested as ("" if it is not), why it is not, since and until when, what it has opened and
    refused, which policies it lacks, seals of which epochs it opens, and what it shows the monitor. Times are Unix times, 0 if there is
    none."""

    attested_as: str
    problem: str
    expires_at: int
    opened: int
    refused: int
    lacks: tuple[str, ...] = field(default=())
    attested_at: int = 0
    epochs: tuple[int, ...] = ()
    evidence: str = ""


class Sealer(Protocol):
    """What `edna.policies` does."""

    def put_on(self, sealed: bytes, *, name: str, index: bytes) -> bytes: ...

    def put_back(self, sealed: bytes, *, policy: str, index: bytes) -> bytes: ...

    def take_off(self, stored: bytes, *, index: bytes) -> tuple[str, bytes]: ...

    def is_sound(self, beginning: bytes, length: int) -> bool: ...

    def standing(self) -> Standing: ...


_connected: list[Sealer] = []


def connect(sealer: Sealer) -> None:
    """This one from now on."""
    _connected[:] = [sealer]


def put_on(sealed: bytes, *, name: str | None, index: bytes) -> bytes:
    """With the policy seal of the policy of that name, as ``EDNA["POLICIES"]`` has it; as it is without a name.

    Raises:
        ConfigurationError: there is no such policy, or edna.policies is not installed.
        AttestationRefused: the monitor's list of clauses is not sound, or does not have it.
    """
    if name is None:
        return sealed
    if not _connected:
        raise ConfigurationError(
            f"A disguise asks for the policy {name!r}, and edna.policies is not installed. Nothing was changed."
        )
    return _connected[0].put_on(sealed, name=name, index=index)


def take_off(stored: bytes, *, index: bytes) -> tuple[str, bytes]:
    """The policy ("" if it has no policy seal), and the container.

    Raises:
        PolicyError: this process does not open it, now. The bag was not touched.
        PolicySealForged: it was changed or moved.
    """
    if stored[:1] != FIRST_BYTE:
        return "", stored
    if not _connected:
        raise PolicyNotSatisfied(
            "This bag has a policy seal, and this process has no way to attest: edna.policies is not installed. The bag was not touched."
        )
    return _connected[0].take_off(stored, index=index)


def is_sound(beginning: bytes, *, length: int) -> bool:
    """Whether a policy seal looks like one, as far as can be seen without a credential. Nobody can say so without edna.policies."""
    return not _connected or _connected[0].is_sound(beginning, length)


def put_back(sealed: bytes, *, policy: str, index: bytes) -> bytes:
    """What `take_off` took off; another container may be in it."""
    return _connected[0].put_back(sealed, policy=policy, index=index) if policy else sealed


def standing() -> Standing | None:
    """None where there are no policies."""
    return _connected[0].standing() if _connected and conf.policies() else None
