"""A worker's credential: the keys of the clauses that it satisfies, and that of its attributes, in memory only, until they expire.

Keeps: who holds it opens without asking anybody; a process that ends has nothing left. Each reason not to open has its own error, and
leaves the bag as it is. Does not know: how it was got.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from edna.crypto.keys import SecretKey
from edna.custody.policies import seal
from edna.custody.policies.attributes import seal as by_attributes
from edna.custody.policies.attributes.parameters import AttributeKey
from edna.custody.policies.language import Attribute, Clause, Formula, Policy
from edna.errors import CredentialExpired, EpochExpired, PolicyNotSatisfied, SecretKeyLeak


def epoch_of(stored: bytes, length: int) -> int:
    """What can be seen without a key, of a stored bag of ``length`` bytes with an outer seal, of which the beginning is given.

    Raises: PolicySealForged if it is no outer seal of either carrier.
    """
    return by_attributes.check(stored, length) if is_by_attributes(stored) else seal.check(stored, length)


def is_by_attributes(stored: bytes) -> bool:
    return stored[1:2] == bytes((by_attributes.SUITE,))


class Credential:
    """``keys`` are by epoch and clause; ``attribute_key`` is for policies by attributes, if the monitor has such. Redacts itself, and
    cannot be pickled or copied.

    ``attributes`` is what the monitor found the worker to be, ``expires_at`` a Unix time.
    """

    __slots__ = ("__attribute_key", "__keys", "attributes", "epochs", "expires_at")

    def __init__(
        self,
        keys: Mapping[tuple[int, Clause], SecretKey],
        *,
        attributes: Iterable[Attribute],
        epochs: Iterable[int],
        expires_at: int,
        attribute_key: AttributeKey | None = None,
    ) -> None:
        self.__keys = dict(keys)
        self.__attribute_key = attribute_key
        self.attributes = frozenset(attributes)
        #: Those whose seals the monitor lets anybody open, the newest last.
        self.epochs = tuple(sorted(epochs))
        self.expires_at = expires_at

    @property
    def clauses(self) -> list[Clause]:
        """Of the newest epoch."""
        return sorted(clause for epoch, clause in self.__keys if epoch == self.epochs[-1])

    @property
    def opens_by_attributes(self) -> bool:
        """Whether it has a key for policies by attributes."""
        return self.__attribute_key is not None

    def is_expired(self, *, now: float) -> bool:
        return now >= self.expires_at

    def open(self, stored: bytes, *, index: bytes, now: float) -> tuple[Policy | Formula, bytes]:
        """Return the policy (by attributes, its formula) and the container of a bag with an outer seal.

        Raises:
            CredentialExpired: it is over.
            EpochExpired: the seal is of an epoch that the monitor has closed.
            PolicyNotSatisfied: it is not for a worker with these attributes.
            PolicySealForged: something was changed, or lies elsewhere.
            ConfigurationError: it is by attributes, and the library is missing.
        """
        if self.is_expired(now=now):
            raise CredentialExpired(
                "This process's credential has expired, so that it opens no policy seal. The bag was not touched; it attests again "
                "at the next need."
            )
        epoch = epoch_of(stored, len(stored))
        if epoch not in self.epochs:
            raise EpochExpired(
                f"This bag's policy seal is of epoch {epoch}, of which the monitor gives no keys (only {_listed(self.epochs)}). The bag "
                "was not touched."
            )
        opened = self._opened(stored, epoch, index)
        if opened is None:
            raise PolicyNotSatisfied(
                f"This bag's policy is not satisfied by this worker, which is attested as {self.described()}. The bag was not touched."
            )
        return opened

    def _opened(self, stored: bytes, epoch: int, index: bytes) -> tuple[Policy | Formula, bytes] | None:
        if not is_by_attributes(stored):
            keys = (key for (of, _), key in self.__keys.items() if of == epoch)
            return seal.open_seal(stored, keys=keys, index=index)
        key = self.__attribute_key
        return by_attributes.open_seal(stored, key=key, index=index) if key is not None else None

    def described(self) -> str:
        return ", ".join(f"{name} = {value}" for name, value in sorted(self.attributes)) or "nothing"

    def __repr__(self) -> str:
        return f"<Credential of {self.described()} redacted>"

    def __reduce__(self) -> NoReturn:
        raise SecretKeyLeak("A Credential cannot be pickled, copied or serialised.")

    __copy__ = __reduce__

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__reduce__()


def _listed(epochs: Iterable[int]) -> str:
    return ", ".join(str(epoch) for epoch in epochs)
