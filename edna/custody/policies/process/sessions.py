"""The other side of a monitor: who attests to it, becomes its clone, or has it show what it is.

Keeps: an answer counts if the monitor has signed it for this very session, or nonce. Does not know: how a monitor is reached.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nacl.bindings
from nacl.exceptions import CryptoError

from edna.crypto.keys import SecretKey
from edna.custody.policies.attributes.parameters import AttributeKey
from edna.custody.policies.batches import Path, check_path
from edna.custody.policies.clauses import ClauseList
from edna.custody.policies.credentials import Credential
from edna.custody.policies.evidence import SESSION_KEY_BYTES, Prover, Said
from edna.custody.policies.language import Attribute, Clause
from edna.custody.policies.process.monitor import CLONE, CREDENTIAL, OF_ATTRIBUTES, QUOTE
from edna.custody.policies.process.store import Store
from edna.custody.policies.signing import from_base64, is_signed, to_base64, verified
from edna.errors import ConfigurationError, CredentialForged, EvidenceForged, KeyMalformed, PolicyMalformed


def checked_attestation(
    told: Said, nonce: bytes, *, monitor: bytes, check_quote: Callable[[bytes, str], None] | None = None
) -> None:
    """That the monitor with this key answers, now. ``check_quote`` looks at the root and the quote of its hardware.

    Raises: EvidenceForged if somebody else has signed; NonceRefused if it was for another nonce.
    """
    quote = told.get("quote")
    said = verified(quote, purpose=QUOTE, signer=monitor) if isinstance(quote, str) else None
    try:
        if said is None:
            raise ValueError
        neighbours = tuple(base64_of(each, 32) for each in told["path"])
        number, count = told["number"], told["count"]
        if type(number) is not int or type(count) is not int:
            raise ValueError
        path = Path(number, count, neighbours)
        root, hardware = base64_of(said["root"], 32), str(said["hardware"])
    except (KeyError, TypeError, ValueError):
        raise EvidenceForged("Somebody else answers than the monitor with this key.") from None
    check_path(nonce, path, root=root)
    if check_quote is not None:
        check_quote(root, hardware)


def base64_of(text: Any, size: int | None = None) -> bytes:
    raw = from_base64(text, size=size)
    if raw is None:
        raise ValueError
    return raw


class Session:
    """A worker's side of one attestation: a nonce of the monitor's, and a key pair that lasts as long as this."""

    def __init__(self, nonce: bytes, *, monitor: bytes) -> None:
        self._nonce, self._monitor, self._key = nonce, monitor, SecretKey.generate()

    def request(self, prover: Prover) -> dict[str, Any]:
        session_key = bytes(self._key.public_key)
        evidence = dict(prover.show(self._nonce, session_key))
        return {"nonce": to_base64(self._nonce), "session_key": to_base64(session_key), "evidence": evidence}

    def credential(self, told: Said, *, clauses: ClauseList) -> Credential:
        """
        Raises: CredentialForged if it is not the monitor's answer, or has keys that do not belong to those that it has signed.
        """
        read = _credential_of(self._opened(told, CREDENTIAL))
        if read is None:
            raise CredentialForged("The monitor's credential is none that this release reads.")
        pairs, attribute_key, attributes, epochs, expires_at = read
        for epoch, clause, key in pairs:
            if epoch == clauses.epoch and clauses.keys.get(clause, key.public_key) != key.public_key:
                raise CredentialForged(
                    f"The credential has another key for {clause} than the monitor's list of clauses."
                )
        keys = {(epoch, clause): key for epoch, clause, key in pairs}
        return Credential(
            keys, attributes=attributes, epochs=epochs, expires_at=expires_at, attribute_key=attribute_key
        )

    def become_clone(self, told: Said, store: Store) -> None:
        """Fill an empty store with what the other monitor is.

        Raises: CredentialForged if it is not that monitor's answer; ConfigurationError if the store is not empty.
        """
        if store.value("master") is not None:
            raise ConfigurationError("This store has a monitor's keys already.")
        read = _clone_of(self._opened(told, CLONE))
        if read is None:
            raise CredentialForged("What the other monitor sent is nothing that this release reads.")
        store.put_policies(read.policies)
        store.put_certificates(read.certificates)
        for key, kind, names in read.trusted:
            store.trust(key, kind, names)
        # The master key last: a store without it is none yet.
        for name in sorted(read.values, key=lambda name: name == "master"):
            store.put_value(name, read.values[name])

    def _opened(self, told: Said, purpose: bytes) -> Mapping[str, Any]:
        public = bytes(self._key.public_key)
        box, signature = from_base64(told.get("box")), from_base64(told.get("signature"), size=64)
        if box is None or signature is None:
            raise CredentialForged("This is no answer of a monitor.")
        if not is_signed(signature, self._nonce + public + box, purpose=purpose, signer=self._monitor):
            raise CredentialForged("Somebody else has answered than the monitor with this key, or to something else.")
        opened = _unsealed(box, self._key)
        if opened is None:
            raise CredentialForged("The monitor's answer is sealed to somebody else.")
        return opened


def _unsealed(box: bytes, key: SecretKey) -> Mapping[str, Any] | None:
    """Never raises: its variables are keys."""
    try:
        said = json.loads(nacl.bindings.crypto_box_seal_open(box, bytes(key.public_key), key.expose()))
    except (CryptoError, ValueError):
        return None
    return said if isinstance(said, dict) else None


_Read = tuple[list[tuple[int, Clause, SecretKey]], AttributeKey | None, list[Attribute], list[int], int]


def _credential_of(said: Mapping[str, Any]) -> _Read | None:
    """Never raises: its variables are keys."""
    try:
        pairs = [
            (int(each["epoch"]), Clause.parse(each["clause"]), SecretKey(base64_of(each["key"], SESSION_KEY_BYTES)))
            for each in said["keys"]
        ]
        of_attributes = said.get("attribute_key")
        key = AttributeKey(base64_of(of_attributes)) if of_attributes is not None else None
        attributes = [(str(name), str(value)) for name, value in said["attributes"]]
        return pairs, key, attributes, [int(each) for each in said["epochs"]], int(said["expires_at"])
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError, KeyMalformed, PolicyMalformed):
        return None


@dataclass(frozen=True, slots=True, repr=False)
class _Clone:
    """What another monitor is. Not shown: it has its keys."""

    values: Mapping[str, bytes]
    trusted: Sequence[tuple[bytes, str, Sequence[str]]]
    policies: Mapping[str, str]
    certificates: Sequence[str]


def _clone_of(said: Mapping[str, Any]) -> _Clone | None:
    """Never raises: its variables are keys."""
    try:
        values = {name: base64_of(said["values"][name]) for name in ("signing", "epochs", "master")}
        values |= {name: base64_of(said["values"][name]) for name in OF_ATTRIBUTES if name in said["values"]}
        trusted = [(base64_of(key, 32), str(kind), list(names)) for kind, key, names in said["trusted"]]
        return _Clone(values, trusted, dict(said["policies"]), list(said["certificates"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
