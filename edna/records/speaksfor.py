"""Speaks-for records: "this principal speaks for these pseudoprincipals", with their secret keys.

Keeps: the batch layout of docs/format.md ("Speaks-for batch"). After the process forgot the key pair it generated,
these records are the only place where a pseudoprincipal's secret key exists. In browser custody it is sealed once more in there, so that
who is shown the content of the bag learns who speaks for whom, and no key. Does not know: users, the key pool, the
ORM.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from edna.crypto.keys import KEY_BYTES, HybridSecretKey, PublicKey, SecretKey
from edna.crypto.sealing import open_small, seal_small
from edna.errors import BagCorrupt, KeyMalformed, WrongKey
from edna.records.values import Value

SEALED_KEY_BYTES = 80
#: Before a secret key of the hybrid kind, which is as long as one of X25519.
_HYBRID = b"\2"
_HYBRID_BYTES = len(_HYBRID) + KEY_BYTES


@dataclass(frozen=True, slots=True)
class SealedKey:
    """A pseudoprincipal's secret key, sealed to whom the bag is sealed to, or to the principal in the end."""

    box: bytes

    def __post_init__(self) -> None:
        if type(self.box) is not bytes or len(self.box) != SEALED_KEY_BYTES:
            raise KeyMalformed(f"A sealed secret key is exactly {SEALED_KEY_BYTES} bytes.")

    @classmethod
    def of(cls, secret_key: SecretKey, *, recipient: PublicKey) -> SealedKey:
        return cls(seal_small(secret_key.expose(), recipient=recipient))

    def open(self, keys: Iterable[SecretKey], *, public_key: PublicKey) -> SecretKey | None:
        """The secret half of `public_key`, by the first of `keys` that opens it; None if none does, or if it is another key's half."""
        for key in keys:
            try:
                opened = SecretKey(open_small(self.box, secret_key=key))
            except WrongKey:
                continue
            # Whoever had it moved into another bag has sealed it: the server's MAC says nothing about what is inside.
            both = (opened, HybridSecretKey(opened.expose()))
            return next((kind for kind in both if kind.public_key == public_key), None)
        return None


class SpeaksFor(NamedTuple):
    """One pseudoprincipal: its primary key (a raw database value), its key pair, and the primary key of whom it stands for."""

    principal: Value
    public_key: PublicKey
    secret_key: SecretKey | SealedKey
    owner: Value

    def sealed_to(self, recipient: PublicKey) -> SpeaksFor:
        """The same, with its secret key sealed if it is not yet."""
        if isinstance(self.secret_key, SealedKey):
            return self
        return self._replace(secret_key=SealedKey.of(self.secret_key, recipient=recipient))


@dataclass(frozen=True, slots=True, repr=False)
class SpeaksForBatch:
    """Speaks-for records for pseudoprincipals of one model; `model` is its lower-case label ("auth.user").

    Each row is a `SpeaksFor`, or a plain tuple of its fields. `unlisted` are indexes of bags that no list leads to (locator mode
    `client`) and that may name any of the locator's pseudoprincipals: while one of them is there, these are needed. `repr` shows
    neither.
    """

    model: str
    rows: Sequence[tuple[Value, PublicKey, SecretKey | SealedKey, Value]]
    unlisted: tuple[bytes, ...] = ()

    def __repr__(self) -> str:
        return f"<SpeaksForBatch {self.model} rows={len(self.rows)}>"

    def voices(self) -> list[SpeaksFor]:
        return [row if isinstance(row, SpeaksFor) else SpeaksFor(*row) for row in self.rows]

    def to_payload(self) -> list[Value]:
        """Return the batch as plain lists for `values.encode`. The result holds raw keys: do not give it a name."""
        return [
            self.model,
            [[principal, bytes(public), _raw(secret), owner] for principal, public, secret, owner in self.rows],
            *([self.unlisted] if self.unlisted else ()),
        ]

    @classmethod
    def from_payload(cls, payload: Value) -> SpeaksForBatch:
        """Read what `to_payload` made, after a decode; the keys become `PublicKey` and `SecretKey` objects.

        That the two halves of a key belong together is vouched for by the server's MAC, not computed again.

        Raises: BagCorrupt if the shape is any other.
        """
        batch = _read(payload)
        del payload  # raw secret keys: not for an error page that prints variables
        if batch is None:
            raise BagCorrupt(
                "A speaks-for batch of the bag is malformed. Nothing was changed; restore the bag from a backup."
            )
        return batch


def _read(payload: Value) -> SpeaksForBatch | None:
    """Return the batch or None; never raises, because its variables are raw secret keys."""
    match payload:
        case [str(model), list(raw_rows)]:
            unlisted: list[Value] = []
        case [str(model), list(raw_rows), [_, *_] as unlisted] if all(map(_is_index, unlisted)):
            pass
        case _:
            return None
    rows = []
    for row in raw_rows:
        match row:
            case [principal, bytes(public), bytes(secret), owner] if len(public) == KEY_BYTES and _is_secret(secret):
                try:
                    public_key = PublicKey(public)
                except KeyMalformed:
                    return None
                rows.append(SpeaksFor(principal, public_key, _key(secret, public_key), owner))
            case _:
                return None
    return SpeaksForBatch(model, rows, tuple(unlisted))


def _raw(secret: SecretKey | SealedKey) -> bytes:
    return secret.box if isinstance(secret, SealedKey) else secret.expose_with_kind()


def _key(secret: bytes, public_key: PublicKey) -> SecretKey | SealedKey:
    if len(secret) == KEY_BYTES:
        return SecretKey(secret).paired(public_key)
    return SealedKey(secret) if len(secret) == SEALED_KEY_BYTES else SecretKey.of_kind(secret).paired(public_key)


def _is_secret(secret: bytes) -> bool:
    size = len(secret)
    return size in (KEY_BYTES, SEALED_KEY_BYTES) or (size == _HYBRID_BYTES and secret.startswith(_HYBRID))


def _is_index(value: Value) -> bool:
    return type(value) is bytes and len(value) == KEY_BYTES
