"""The group in which guardians compute: the points of prime order of edwards25519 (RFC 8032), and scalars modulo their number.

Keeps: whatever comes from elsewhere passes `point_of` or `scalar_of` before it is used, so that no identity, no point of small
order, none outside the main subgroup and no second spelling gets in. Operations on secret scalars are libsodium's.
Does not know: shares, guardians.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Final

import nacl.utils
from nacl.bindings import (
    crypto_core_ed25519_add,
    crypto_core_ed25519_from_uniform,
    crypto_core_ed25519_is_valid_point,
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_invert,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_core_ed25519_scalar_sub,
    crypto_core_ed25519_sub,
    crypto_scalarmult_ed25519_base_noclamp,
    crypto_scalarmult_ed25519_noclamp,
)

from edna.crypto.keys import Secret, fingerprint
from edna.errors import GuardianRefused

ORDER: Final = 2**252 + 27742317777372353535851937790883648493
POINT_BYTES: Final = 32
IDENTITY: Final = b"\x01" + bytes(31)
_WIDE_BYTES: Final = 64
#: About as long as libsodium takes to multiply, it adds so many times. Longer weights are never worth it: a third of their digits count.
_ADDITIONS_OF_A_MULTIPLICATION: Final = 5
_LONGEST_CHEAP_BITS: Final = 16

Point = bytes


class Scalar(Secret):
    """A number modulo the group's order, 32 bytes, little-endian: a share, or what blinds. Redacts itself like a key."""

    __slots__ = ()

    @classmethod
    def random(cls) -> Scalar:
        """Return one that is not zero, each as likely as any other."""
        while True:
            scalar = cls(crypto_core_ed25519_scalar_reduce(nacl.utils.random(_WIDE_BYTES)))
            if any(scalar.expose()):
                return scalar

    @classmethod
    def of_number(cls, number: int) -> Scalar:
        """Return that public number modulo the order."""
        return cls((number % ORDER).to_bytes(32, "little"))

    def __add__(self, other: Scalar) -> Scalar:
        return Scalar(crypto_core_ed25519_scalar_add(self.expose(), other.expose()))

    def __sub__(self, other: Scalar) -> Scalar:
        return Scalar(crypto_core_ed25519_scalar_sub(self.expose(), other.expose()))

    def __mul__(self, other: Scalar) -> Scalar:
        return Scalar(crypto_core_ed25519_scalar_mul(self.expose(), other.expose()))

    def inverse(self) -> Scalar:
        return Scalar(crypto_core_ed25519_scalar_invert(self.expose()))


ZERO: Final = Scalar.of_number(0)


def scalar_of(raw: bytes) -> Scalar:
    """Return the scalar that these bytes spell.

    Raises: GuardianRefused if they are not 32, or not less than the order: each scalar has one spelling.
    """
    valid = len(raw) == Scalar.SIZE and int.from_bytes(raw, "little") < ORDER
    if not valid:
        del raw
        raise GuardianRefused("A scalar is 32 bytes, less than the group's order.")
    return Scalar(bytes(raw))


def point_of(raw: bytes) -> Point:
    """Return these bytes if they are a point to compute with.

    Raises: GuardianRefused for the identity, a point of small order or outside the main subgroup, and any spelling but the one.
    """
    if len(raw) != POINT_BYTES or not crypto_core_ed25519_is_valid_point(bytes(raw)):
        raise GuardianRefused("This is no point of prime order of edwards25519, spelled as its only spelling.")
    return bytes(raw)


def hash_to_point(data: bytes) -> Point:
    """Return a point whose discrete logarithm nobody knows, each as likely as any other (two maps added: RFC 9380, section 3)."""
    wide = fingerprint(data, purpose=b"edna.guard.h2c.1", size=_WIDE_BYTES)
    return add(crypto_core_ed25519_from_uniform(wide[:32]), crypto_core_ed25519_from_uniform(wide[32:]))


def hash_to_scalar(data: bytes, *, purpose: bytes) -> Scalar:
    return Scalar(crypto_core_ed25519_scalar_reduce(fingerprint(data, purpose=purpose, size=_WIDE_BYTES)))


def multiply(point: Point, scalar: Scalar) -> Point:
    """
    Raises: GuardianRefused if the product is the identity, or these bytes are no point of prime order in its only spelling: libsodium
        does not multiply such.
    """
    try:
        return crypto_scalarmult_ed25519_noclamp(scalar.expose(), point)
    except (RuntimeError, TypeError) as error:
        raise GuardianRefused(
            "This is no point of prime order of edwards25519 in its only spelling; or its product with this scalar is the identity."
        ) from error


def multiply_base(scalar: Scalar) -> Point:
    """
    Raises: GuardianRefused if the scalar is zero.
    """
    try:
        return crypto_scalarmult_ed25519_base_noclamp(scalar.expose())
    except RuntimeError as error:
        raise GuardianRefused("The product of the base point and this scalar is the identity.") from error


def add(point: Point, other: Point) -> Point:
    return crypto_core_ed25519_add(point, other)


def subtract(point: Point, other: Point) -> Point:
    return crypto_core_ed25519_sub(point, other)


def weighted_sum(terms: Sequence[tuple[Point, int]]) -> Point:
    """The sum of these points of prime order, each so many times, by libsodium's additions alone (Straus 1964, of digits 1, 0 and -1). For
    small weights it takes a third of the time of multiplications; that time depends on the weights, which are public. No secret is one.
    """
    signed = [(point, _digits(weight)) for point, weight in terms]
    total = IDENTITY
    for place in reversed(range(max(len(digits) for _, digits in signed))):
        if total != IDENTITY:
            total = add(total, total)
        for point, digits in signed:
            if place < len(digits) and digits[place]:
                total = add(total, point) if digits[place] > 0 else subtract(total, point)
    return total


def is_cheap(weights: Collection[int]) -> bool:
    """Whether `weighted_sum` is quicker than to multiply by each of these."""
    if any(weight.bit_length() > _LONGEST_CHEAP_BITS for weight in weights):
        return False
    digits = [_digits(weight) for weight in weights]
    additions = max(map(len, digits)) + sum(map(bool, chain(*digits)))
    return additions < _ADDITIONS_OF_A_MULTIPLICATION * len(digits)


def _digits(weight: int) -> list[int]:
    """The lowest first; no two neighbours are other than 0 (the non-adjacent form)."""
    digits = []
    while weight:
        digit = 2 - weight % 4 if weight % 2 else 0
        digits.append(digit)
        weight = (weight - digit) // 2
    return digits
