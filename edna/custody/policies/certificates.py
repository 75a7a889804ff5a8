"""Certificates: what somebody who is trusted for it says about a measurement, namely which attributes it stands for.

Keeps: docs/format.md, "Policy seals". A certifier may be trusted for some attributes alone. Does not know: how something is measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

import nacl.signing

from edna.custody.policies.language import Attribute, check_attribute
from edna.custody.policies.signing import signed_text, signer_of, to_base64, verified
from edna.errors import CertifierUnknown, EvidenceForged, MeasurementUnknown, PolicyMalformed

_VERSION: Final = 1
_CERTIFICATE: Final = b"edna policies certificate 1\n"

#: What was measured, and what came out: ("worker", "3f2a..."), ("build", "91c0...").
Measurement = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Certificate:
    """``expires_at`` is a Unix time."""

    measurement: Measurement
    attributes: frozenset[Attribute]
    expires_at: int

    def signed(self, key: nacl.signing.SigningKey) -> str:
        """Return the file, signed by a certifier."""
        said = {
            "version": _VERSION,
            "measurement": list(self.measurement),
            "attributes": sorted([name, value] for name, value in self.attributes),
            "expires_at": self.expires_at,
        }
        return signed_text(said, purpose=_CERTIFICATE, key=key)


@dataclass(frozen=True, slots=True)
class Certifiers:
    """Whom a monitor believes: by key, the names of the attributes that they may certify; None for all."""

    trusted: Mapping[bytes, frozenset[str] | None]

    def may_certify(self, name: str) -> bool:
        """Whether anybody is trusted for attributes of that name."""
        return any(allowed is None or name in allowed for allowed in self.trusted.values())

    def read(self, file: str) -> Certificate:
        """
        Raises:
            CertifierUnknown: whoever has signed it is not trusted, or not for such an attribute.
            EvidenceForged: it was changed, or is no certificate.
        """
        signer = signer_of(file)
        if signer is None:
            raise EvidenceForged("This file is no certificate.")
        if signer not in self.trusted:
            raise CertifierUnknown(f"This monitor does not know the certifier {to_base64(signer)}.")
        said = verified(file, purpose=_CERTIFICATE, signer=signer)
        if said is None:
            raise EvidenceForged("This certificate was changed since it was signed.")
        try:
            kind, value = said["measurement"]
            attributes = frozenset(check_attribute(str(name), str(each)) for name, each in said["attributes"])
            read = Certificate((str(kind), str(value)), attributes, int(said["expires_at"]))
            if said["version"] != _VERSION:
                raise ValueError
        except (KeyError, TypeError, ValueError, PolicyMalformed):
            raise EvidenceForged("This certificate is signed, and none that this release reads.") from None
        allowed = self.trusted[signer]
        others = sorted({name for name, _ in read.attributes} - allowed) if allowed is not None else []
        if others:
            raise CertifierUnknown(f"The certifier {to_base64(signer)} is not trusted for {others[0]}.")
        return read


@dataclass(frozen=True, slots=True)
class Certified:
    """Certificates by what they are about, read once. What is signed by nobody who is trusted does not count."""

    by_measurement: Mapping[Measurement, Sequence[Certificate]]

    @classmethod
    def of(cls, files: Iterable[str], *, certifiers: Certifiers) -> Self:
        found: dict[Measurement, list[Certificate]] = {}
        for file in files:
            try:
                read = certifiers.read(file)
            except (CertifierUnknown, EvidenceForged):
                continue
            found.setdefault(read.measurement, []).append(read)
        return cls(found)

    def given(self, *, now: float) -> frozenset[Attribute]:
        """All that valid ones say of anything."""
        valid = (each for known in self.by_measurement.values() for each in known if each.expires_at > now)
        return frozenset(attribute for each in valid for attribute in each.attributes)

    def attributes(
        self, measurements: Iterable[Measurement], *, now: float, brought: Sequence[Certificate] = ()
    ) -> frozenset[Attribute]:
        """What these stand for, together; by ``brought``, too, which were read with the same certifiers.

        Raises: MeasurementUnknown if there is no valid certificate about one of them.
        """
        had: set[Attribute] = set()
        for measurement in measurements:
            known = [
                *self.by_measurement.get(measurement, ()),
                *(each for each in brought if each.measurement == measurement),
            ]
            valid = [each for each in known if each.expires_at > now]
            if not valid:
                kind, value = measurement
                raise MeasurementUnknown(f"No certifier says, or says now, what {kind[:32]} {value[:64]} stands for.")
            had.update(*(each.attributes for each in valid))
        return frozenset(had)
