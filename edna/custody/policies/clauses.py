"""The keys of clauses: the monitor computes each from its master key; their public halves lie in a list that it signs.

Keeps: docs/format.md, "Policy seals". Each key is signed for itself, with its epoch and its clause, and the list as a whole, so that
nothing is left out. Whoever seals needs the list and nobody's answer. Does not know: what is sealed, who gets which key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import nacl.signing

from edna.crypto.keys import PublicKey, Secret, SecretKey, derive
from edna.custody.policies.language import Clause, Policy
from edna.custody.policies.signing import from_base64, is_signed, signed_text, to_base64, verified
from edna.errors import ClauseKeyForged, ClauseKeyMissing, ClauseListForged, KeyMalformed, PolicyMalformed

_VERSION: Final = 1
_LIST: Final = b"edna policies clauses 1\n"
_KEY: Final = b"edna policies clause key 1\n"
_EPOCH_BYTES: Final = 4
MOST_EPOCH: Final = 2 ** (8 * _EPOCH_BYTES) - 1


class MasterKey(Secret):
    """What a monitor computes all keys of clauses from. Redacts itself."""


def clause_key(master: MasterKey, *, epoch: int, clause: Clause) -> SecretKey:
    """The key of a clause in one epoch."""
    data = epoch_bytes(epoch) + str(clause).encode()
    return SecretKey(derive(master.expose(), purpose=b"edna.policy.key1", data=data))


def epoch_bytes(epoch: int) -> bytes:
    return epoch.to_bytes(_EPOCH_BYTES, "big")


def _signed_of(epoch: int, clause: Clause, key: bytes) -> bytes:
    return epoch_bytes(epoch) + key + str(clause).encode()


@dataclass(frozen=True, slots=True)
class ClauseList:
    """The public keys of clauses in one epoch. ``former`` are the epochs before it whose seals still open."""

    epoch: int
    former: tuple[int, ...]
    keys: Mapping[Clause, PublicKey]
    signatures: Mapping[Clause, bytes] = field(repr=False)

    @classmethod
    def make(
        cls,
        clauses: Iterable[Clause],
        *,
        epoch: int,
        former: Iterable[int] = (),
        master: MasterKey,
        key: nacl.signing.SigningKey,
    ) -> Self:
        keys = {clause: clause_key(master, epoch=epoch, clause=clause).public_key for clause in sorted({*clauses})}
        signatures = {
            clause: bytes(key.sign(_KEY + _signed_of(epoch, clause, bytes(public))).signature)
            for clause, public in keys.items()
        }
        return cls(epoch, tuple(sorted(former)), keys, signatures)

    def signed(self, key: nacl.signing.SigningKey) -> str:
        """Return the file."""
        said = {
            "version": _VERSION,
            "epoch": self.epoch,
            "former": list(self.former),
            "clauses": [
                {
                    "clause": str(clause),
                    "key": to_base64(bytes(public)),
                    "signature": to_base64(self.signatures[clause]),
                }
                for clause, public in self.keys.items()
            ],
        }
        return signed_text(said, purpose=_LIST, key=key)

    @classmethod
    def parse(cls, text: str, *, monitor: bytes) -> Self:
        """
        Raises:
            ClauseListForged: the monitor with this key has not signed the list as it is.
            ClauseKeyForged: it has not signed one of the keys in it.
        """
        said = verified(text, purpose=_LIST, signer=monitor)
        if said is None:
            raise ClauseListForged("The list of clauses is not one that this monitor has signed, or was changed since.")
        try:
            return cls._of_dict(said, monitor)
        except (KeyError, TypeError, ValueError, AttributeError, KeyMalformed, PolicyMalformed):
            raise ClauseListForged("The list of clauses is signed, and none that this release reads.") from None

    @classmethod
    def _of_dict(cls, said: Mapping[str, Any], monitor: bytes) -> Self:
        epoch, former = said["epoch"], tuple(said["former"])
        if said["version"] != _VERSION or any(type(each) is not int or each < 0 for each in (epoch, *former)):
            raise ValueError
        keys, signatures = {}, {}
        for each in said["clauses"]:
            clause, raw, signature = Clause.parse(each["clause"]), from_base64(each["key"], size=32), each["signature"]
            signature = from_base64(signature, size=64)
            if raw is None or signature is None:
                raise ValueError
            if not is_signed(signature, _signed_of(epoch, clause, raw), purpose=_KEY, signer=monitor):
                raise ClauseKeyForged(f"The monitor has not signed the key of the clause {clause} in epoch {epoch}.")
            keys[clause], signatures[clause] = PublicKey(raw), signature
        return cls(epoch, former, keys, signatures)

    def of_policy(self, policy: Policy) -> list[PublicKey]:
        """
        Raises: ClauseKeyMissing if the monitor was not told this policy.
        """
        missing = [str(clause) for clause in policy.clauses if clause not in self.keys]
        if missing:
            raise ClauseKeyMissing(
                f"The list of clauses has no key for {missing[0]}: register the policy with the monitor, and take "
                "its new list."
            )
        return [self.keys[clause] for clause in policy.clauses]
