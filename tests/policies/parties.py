"""A monitor with certificates, and workers of whom each is what a test says."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nacl.signing
import pytest

from edna.custody.policies import seal
from edna.custody.policies.attributes import library
from edna.custody.policies.attributes import seal as by_attributes
from edna.custody.policies.attributes.parameters import Parameters
from edna.custody.policies.certificates import Certificate
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.credentials import Credential
from edna.custody.policies.evidence import ManifestProver, manifest
from edna.custody.policies.language import Formula, Policy
from edna.custody.policies.process.monitor import Monitor
from edna.custody.policies.process.sessions import Session
from edna.custody.policies.process.store import Store
from edna.custody.policies.signing import to_base64

NOW = 1_800_000_000
POLICIES = {"restore": "region = eu and role = restorer and build in (1.2, 1.3)"}
EU_RESTORER = {"region": "eu", "role": "restorer", "build": "1.2"}


with_library = pytest.mark.skipif(
    not library.place().is_file(), reason="the library of policies by attributes is not built: make test-abe builds it"
)


def without_library(patch: pytest.MonkeyPatch, *, place: Path = Path("/nowhere/library.so")) -> None:
    """As where nobody has built it yet: it would be at that place."""
    patch.setattr(library, "place", lambda: place)
    patch.setattr(library, "_loaded", None)


#: For tests of what both carriers keep.
CARRIERS = ["clauses", pytest.param("attributes", marks=with_library)]


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> int:
        return self.now


@dataclass
class Party:
    """Everybody who takes part: the monitor, who certifies, and who deploys."""

    policies: Mapping[str, str] = field(default_factory=lambda: dict(POLICIES))
    clock: Clock = field(default_factory=Clock)
    store: Store = field(default_factory=lambda: Store(":memory:"))
    certifier: nacl.signing.SigningKey = field(default_factory=nacl.signing.SigningKey.generate)
    deployer: nacl.signing.SigningKey = field(default_factory=nacl.signing.SigningKey.generate)
    carrier: str = "clauses"

    def __post_init__(self) -> None:
        Monitor.create(self.store)
        self.store.put_policies(self.policies)
        self.store.trust(bytes(self.certifier.verify_key), "certifier")
        self.store.trust(bytes(self.deployer.verify_key), "deployer")
        self.monitor = Monitor(self.store, clock=self.clock)
        if self.carrier == "attributes":
            self.monitor.create_attributes()

    @property
    def clauses(self) -> ClauseList:
        return ClauseList.parse(self.monitor.clauses(), monitor=self.monitor.public_key)

    @property
    def parameters(self) -> Parameters:
        return Parameters.parse(self.monitor.parameters(), monitor=self.monitor.public_key)

    def sealed(self, name: str = "restore", content: bytes = b"the bag", *, index: bytes) -> bytes:
        """By the carrier of this party."""
        text = self.policies[name]
        if self.carrier == "attributes":
            return by_attributes.seal(content, formula=Formula.parse(text), parameters=self.parameters, index=index)
        return seal.seal(content, policy=Policy.parse(text), clauses=self.clauses, index=index)

    def worker(self, attributes: Mapping[str, str]) -> ManifestProver:
        """One that is certified for these."""
        key = nacl.signing.SigningKey.generate()
        build = secrets.token_hex(8)
        self.certify(("worker", to_base64(bytes(key.verify_key))), attributes)
        self.certify(("build", build), {})
        return ManifestProver(manifest(bytes(key.verify_key), {"build": build}, key=self.deployer), key)

    def certify(
        self, measurement: tuple[str, str], attributes: Mapping[str, str], *, by: Any = None, until: int = NOW + 10**6
    ) -> str:
        file = Certificate(measurement, frozenset(attributes.items()), until).signed(by or self.certifier)
        self.store.put_certificates([file])
        self.monitor.reload()
        return file

    def session(self) -> Session:
        return Session(self.monitor.nonce(), monitor=self.monitor.public_key)

    def credential(self, prover: ManifestProver) -> Credential:
        session = self.session()
        request = session.request(prover)
        told = self.monitor.credential(*asked(request))
        return session.credential(told, clauses=self.clauses)

    def credentials(self, several: Iterable[Mapping[str, str]]) -> list[Credential]:
        return [self.credential(self.worker(attributes)) for attributes in several]


def asked(request: Mapping[str, Any]) -> tuple[bytes, bytes, Mapping[str, Any]]:
    from base64 import b64decode

    return b64decode(request["nonce"]), b64decode(request["session_key"]), request["evidence"]
