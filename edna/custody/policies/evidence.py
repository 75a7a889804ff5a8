"""Evidence: by what a worker shows what it is. Pluggable; here the kind that needs no hardware (with it: `tpm`).

Keeps: evidence is for one nonce and one session key, so that nobody else can use it, or use it again. **A manifest is not hardware**:
it shows that whoever deploys has given this process a key, and says what of; who copies the key from the machine passes for the worker.
Does not know: attributes.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import nacl.signing

from edna.crypto.keys import fingerprint
from edna.custody.policies.certificates import Measurement
from edna.custody.policies.signing import from_base64, is_signed, signed_text, signer_of, to_base64, verified
from edna.errors import CertifierUnknown, ConfigurationError, EvidenceForged, NonceRefused

NONCE_BYTES: Final = 32
SESSION_KEY_BYTES: Final = 32
_MANIFEST: Final = b"edna policies manifest 1\n"
_SHOWN: Final = b"edna policies shown 1\n"
_VERSION: Final = 1
#: Measured by a signature, and never by what a manifest says.
WORKER: Final = "worker"

Said = Mapping[str, Any]


def binding(nonce: bytes, session_key: bytes) -> bytes:
    """What evidence is about: this nonce, and whoever has the secret half of this key. 32 bytes, as quotes of hardware take them."""
    return fingerprint(nonce + session_key, purpose=b"edna.policy.bind")


class Prover(Protocol):
    """A worker's side. ``described`` says to operators what is shown, and whether it is hardware."""

    described: str

    def show(self, nonce: bytes, session_key: bytes) -> Said: ...


class Verifier(Protocol):
    """A monitor's side: returns what was measured; first, who shows it. With `brings_certificate` they may bring a certificate about
    themselves along, as ``certificate``.

    Raises:
        NonceRefused: the evidence is for another nonce or session key.
        CertifierUnknown: it is vouched for by somebody who is not trusted.
        EvidenceForged: it is not as it has to be.
    """

    kind: str
    is_hardware: bool
    brings_certificate: bool

    def verify(self, shown: Said, nonce: bytes, session_key: bytes) -> Sequence[Measurement]: ...


def manifest(worker: bytes, measurements: Mapping[str, str], *, key: nacl.signing.SigningKey) -> str:
    """Return the file in which whoever deploys says what the worker with this key is: ``{"build": "91c0..."}``.

    Raises: ConfigurationError if it says which worker shows it.
    """
    if WORKER in measurements:
        raise ConfigurationError(
            f"A manifest does not say {WORKER}: that is measured by the key that it names. Leave it out; certify --measurement "
            f"{WORKER}=KEY says what that key stands for."
        )
    said = {"version": _VERSION, "worker": to_base64(worker), "measurements": dict(measurements)}
    return signed_text(said, purpose=_MANIFEST, key=key)


def is_manifest(file: str) -> bool:
    """Whether it is one, whoever has signed it."""
    signer = signer_of(file)
    return signer is not None and verified(file, purpose=_MANIFEST, signer=signer) is not None


@dataclass(frozen=True, slots=True)
class ManifestProver:
    """A worker with a manifest, and the key that it names. Redacts itself."""

    file: str
    key: nacl.signing.SigningKey = field(repr=False)
    described = "a signed manifest, which is not hardware"

    def show(self, nonce: bytes, session_key: bytes) -> Said:
        signature = bytes(self.key.sign(_SHOWN + binding(nonce, session_key)).signature)
        bound = to_base64(binding(nonce, session_key))
        return {"kind": ManifestVerifier.kind, "manifest": self.file, "for": bound, "signature": to_base64(signature)}


@dataclass(frozen=True, slots=True)
class ManifestVerifier:
    """``deployers`` are the keys of who may sign manifests. Each worker is measured by its key, too, as ("worker", key in base 64)."""

    deployers: frozenset[bytes]
    kind = "manifest"
    is_hardware = False
    brings_certificate = False

    def verify(self, shown: Said, nonce: bytes, session_key: bytes) -> Sequence[Measurement]:
        file = shown.get("manifest")
        signer = signer_of(file) if isinstance(file, str) else None
        if not isinstance(file, str) or signer is None:
            raise EvidenceForged("This evidence has no manifest.")
        if signer not in self.deployers:
            raise CertifierUnknown(f"This monitor does not know who has signed the manifest: {to_base64(signer)}.")
        said = verified(file, purpose=_MANIFEST, signer=signer)
        if said is None or said.get("version") != _VERSION:
            raise EvidenceForged("This manifest was changed since it was signed, or is none that this release reads.")
        worker, measured = from_base64(said.get("worker"), size=32), said.get("measurements")
        if worker is None or not isinstance(measured, dict):
            raise EvidenceForged("This manifest names no worker, or does not say what it is.")
        if WORKER in measured:
            raise EvidenceForged(
                f"This manifest says for itself which {WORKER} shows it: that is the key that it names, and no other."
            )
        wanted, bound = binding(nonce, session_key), from_base64(shown.get("for"), size=32) or b""
        signature = from_base64(shown.get("signature"), size=64) or b""
        if not is_signed(signature, bound, purpose=_SHOWN, signer=worker):
            raise EvidenceForged("Whoever shows this manifest does not have the worker's key.")
        if not hmac.compare_digest(bound, wanted):
            raise NonceRefused("This evidence was made for another nonce, or for another session. Attest anew.")
        found = [(WORKER, to_base64(worker))]
        return [*found, *sorted((str(kind), str(value)) for kind, value in measured.items())]
