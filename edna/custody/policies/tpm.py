"""Evidence of hardware: a TPM 2.0 quotes its registers for one nonce and one session key, by a key that never leaves it.

Keeps: docs/format.md, "Policy seals". A quote counts if the TPM has made it for this very session; whose TPM it is, and what its registers
stand for, certifiers have said. The package `tpm2-pytss` (the extra `tpm`) is imported when a quote is made or verified, and not before.
Does not know: attributes.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Self

from edna.custody.policies.certificates import Measurement
from edna.custody.policies.evidence import Said, binding
from edna.custody.policies.signing import from_base64, to_base64
from edna.errors import ConfigurationError, EvidenceForged, NonceRefused

#: What the firmware and the loader have measured.
PCRS: Final = "sha256:0,1,2,3,4,5,6,7"
#: Of the key that quotes: made in this TPM, which never gives it away, and signs with it nothing that it has not made itself.
_ATTRIBUTES: Final = "fixedtpm|fixedparent|sensitivedataorigin|userwithauth|restricted|sign"
_MOST_BYTES: Final = 4096
_KEY, _REGISTERS = "tpm", "pcr"


def _library() -> Any:
    """
    Raises: ConfigurationError if it is not installed.
    """
    try:
        import tpm2_pytss
    except (ImportError, OSError) as error:
        raise ConfigurationError(
            f"Evidence of a TPM takes the package tpm2-pytss: pip install 'django-edna[tpm]' ({type(error).__name__})."
        ) from error
    return tpm2_pytss


@dataclass(frozen=True, slots=True)
class TpmProver:
    """A worker whose machine has a TPM. ``tpm`` says where, as the TSS does: "device:/dev/tpmrm0". ``certificate`` is a certifier's, about
    the TPM's key. The key is made anew from the TPM's own seed each time, and so is the same until the TPM is cleared.
    """

    tpm: str
    registers: str = PCRS
    certificate: str = ""
    described = "a TPM"

    def show(self, nonce: bytes, session_key: bytes) -> Said:
        """
        Raises: ConfigurationError if there is no TPM, or it has no such registers.
        """
        library = _library()
        with _refusals(library, self.tpm), library.ESAPI(self.tpm) as tpm:
            template = library.TPM2B_PUBLIC.parse("ecc256:ecdsa-sha256:null", objectAttributes=_ATTRIBUTES)
            handle, public, *_ = tpm.create_primary(library.TPM2B_SENSITIVE_CREATE(), template, library.ESYS_TR.OWNER)
            try:
                selection = library.TPML_PCR_SELECTION.parse(self.registers)
                quote, signature = tpm.quote(handle, selection, library.TPM2B_DATA(binding(nonce, session_key)))
            finally:
                tpm.flush_context(handle)
        return {
            "kind": TpmVerifier.kind,
            "key": to_base64(public.marshal()),
            "quote": to_base64(bytes(quote)),
            "signature": to_base64(signature.marshal()),
            "certificate": self.certificate,
        }

    def measured(self) -> Sequence[Measurement]:
        """What certifiers have to say something about, as it is now.

        Raises: as `show`.
        """
        nonce, session_key = bytes(32), bytes(32)
        return TpmVerifier().verify(self.show(nonce, session_key), nonce, session_key)


@contextmanager
def _refusals(library: Any, where: str) -> Iterator[None]:
    try:
        yield
    except (library.TSS2_Exception, ValueError, RuntimeError) as error:
        raise ConfigurationError(f"The TPM at {where} makes no quote: {error}.") from error


@dataclass(frozen=True, slots=True)
class TpmVerifier:
    """Measures the key, as ("tpm", its name in base 64), and the registers, as ("pcr", "sha256:0,1,2:" and their digest)."""

    kind = "tpm"
    is_hardware = True
    brings_certificate = True

    @classmethod
    def checked(cls) -> Self:
        """One that can verify.

        Raises: ConfigurationError if the package is missing.
        """
        _library()
        return cls()

    def verify(self, shown: Said, nonce: bytes, session_key: bytes) -> Sequence[Measurement]:
        library = _library()
        key, said, signed = (_raw(shown, name) for name in ("key", "quote", "signature"))
        public = _read(library, library.TPM2B_PUBLIC, key)
        quote = _read(library, library.TPMS_ATTEST, said)
        if int(public.publicArea.objectAttributes) != int(library.TPMA_OBJECT.parse(_ATTRIBUTES)):
            raise EvidenceForged(
                "This quote is signed by a key that may leave its TPM, or that signs anything that it is given."
            )
        _check_signature(library, _read(library, library.TPMT_SIGNATURE, signed), public, said)
        if quote.magic != library.TPM2_GENERATED.VALUE or quote.type != library.TPM2_ST.ATTEST_QUOTE:
            raise EvidenceForged("What the TPM has signed is no quote.")
        if not hmac.compare_digest(bytes(quote.extraData), binding(nonce, session_key)):
            raise NonceRefused("This quote was made for another nonce, or for another session. Attest anew.")
        registers = f"{_selected(library, quote)}:{bytes(quote.attested.quote.pcrDigest).hex()}"
        return [(_KEY, to_base64(bytes(public.get_name()))), (_REGISTERS, registers)]


def _raw(shown: Said, name: str) -> bytes:
    raw = from_base64(shown.get(name))
    if raw is None or len(raw) > _MOST_BYTES:
        raise EvidenceForged("This evidence has no quote of a TPM.")
    return raw


def _read(library: Any, kind: Any, raw: bytes) -> Any:
    """
    Raises: EvidenceForged if it is none, or something stands behind it.
    """
    try:
        read, length = kind.unmarshal(raw)
        if length == len(raw) and read.marshal() == raw:
            return read
    except (library.TSS2_Exception, ValueError, RuntimeError):
        pass
    raise EvidenceForged("This evidence has no quote of a TPM that can be read.")


def _check_signature(library: Any, signature: Any, public: Any, said: bytes) -> None:
    """By ECDSA and SHA-256, as the key itself says: hashes of old could be made to fit.

    Raises: EvidenceForged if the key did not sign it.
    """
    from cryptography.exceptions import InvalidSignature

    algorithm = library.TPM2_ALG
    try:
        is_known = signature.sigAlg == algorithm.ECDSA and signature.signature.ecdsa.hash == algorithm.SHA256
        if is_known and public.publicArea.nameAlg == algorithm.SHA256:
            signature.verify_signature(public, said)
            return
    except (InvalidSignature, library.TSS2_Exception, ValueError, TypeError, RuntimeError):
        pass
    raise EvidenceForged("This quote is not signed by the key of the TPM that shows it, or was changed since.")


def _selected(library: Any, quote: Any) -> str:
    """Which registers: "sha256:0,1,2", with + between banks."""
    banks = []
    for bank in quote.attested.quote.pcrSelect:
        chosen = bytes(bank.pcrSelect)[: bank.sizeofSelect]
        numbers = [str(number) for number in range(8 * len(chosen)) if chosen[number // 8] >> (number % 8) & 1]
        banks.append(f"{library.TPM2_ALG(bank.hash)!s}:{','.join(numbers)}")
    return "+".join(banks)
