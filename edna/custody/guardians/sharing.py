"""Shares of one secret scalar: any ``threshold`` of them give it, fewer say nothing (Shamir 1979). Each can be verified (Feldman 1987).

Keeps: the commitments belong to one polynomial; the first of them is the public half of the secret, and stays when shares are refreshed
(Herzberg et al. 1995): a refresh adds polynomials whose constant is zero, so that shares of before and after do not combine.
Does not know: who holds a share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import gcd, lcm, prod

from edna.custody.guardians.group import (
    ORDER,
    ZERO,
    Point,
    Scalar,
    add,
    is_cheap,
    multiply,
    multiply_base,
    weighted_sum,
)
from edna.errors import ConfigurationError, GuardianRefused

#: The number of a guardian is one byte, and zero is where the secret lies.
MAX_GUARDIANS = 255


@dataclass(frozen=True, slots=True)
class Dealt:
    """A secret in shares, by the number of the guardian, and the commitments to the polynomial's coefficients."""

    shares: Mapping[int, Scalar] = field(repr=False)
    commitments: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Share:
    """A share in one epoch. `deals` is the digest of the refresh that made it; empty for the first."""

    enrolment: bytes
    epoch: int
    share: Scalar = field(repr=False)
    commitments: tuple[Point, ...]
    deals: bytes = b""


def check_threshold(*, count: int, threshold: int) -> None:
    """
    Raises: ConfigurationError if that many of so many guardians make no sense.
    """
    if not 2 <= threshold <= count <= MAX_GUARDIANS:
        raise ConfigurationError(
            f"{threshold} of {count} guardians is not possible: at least 2 have to help, and at most all of at most {MAX_GUARDIANS}."
        )


def deal(secret: Scalar, *, count: int, threshold: int) -> Dealt:
    """Share `secret` among guardians 1 to `count`, so that any `threshold` give it.

    Raises: ConfigurationError as `check_threshold`.
    """
    check_threshold(count=count, threshold=threshold)
    return _deal([secret, *_random(threshold - 1)], count)


def deal_refresh(*, count: int, threshold: int) -> Dealt:
    """Deal shares of zero: each guardian adds theirs. The commitments begin with that of the first power.

    Raises: ConfigurationError as `check_threshold`.
    """
    check_threshold(count=count, threshold=threshold)
    return _deal([ZERO, *_random(threshold - 1)], count)


def _random(count: int) -> list[Scalar]:
    return [Scalar.random() for _ in range(count)]


def _deal(coefficients: Sequence[Scalar], count: int) -> Dealt:
    shares = {number: _value(coefficients, number) for number in range(1, count + 1)}
    return Dealt(shares, tuple(multiply_base(each) for each in coefficients if each != ZERO))


def _value(coefficients: Sequence[Scalar], number: int) -> Scalar:
    at = Scalar.of_number(number)
    return reduce(lambda value, coefficient: value * at + coefficient, reversed(coefficients), ZERO)


def public_share(commitments: Sequence[Point], number: int) -> Point:
    """The public half of the share that guardian `number` has by these commitments."""
    # Horner again; the numbers are public.
    at = Scalar.of_number(number)
    return reduce(
        lambda value, commitment: add(multiply(value, at), commitment), reversed(commitments[:-1]), commitments[-1]
    )


def check_share(share: Scalar, *, number: int, commitments: Sequence[Point]) -> None:
    """
    Raises: GuardianRefused if the share is not the one that these commitments announce.
    """
    if multiply_base(share) != public_share(commitments, number):
        raise GuardianRefused(f"The share of guardian {number} does not fit what was announced.")


def check_refresh(share: Scalar, *, number: int, commitments: Sequence[Point]) -> None:
    """
    Raises: GuardianRefused if this share of zero is not the one that these commitments announce.
    """
    if multiply_base(share) != multiply(public_share(commitments, number), Scalar.of_number(number)):
        raise GuardianRefused(f"What guardian {number} was dealt in the refresh does not fit what was announced.")


def refreshed(commitments: Sequence[Point], deals: Sequence[Sequence[Point]]) -> tuple[Point, ...]:
    """The commitments after a refresh with these deals. The first stays: the secret is the same.

    Raises: GuardianRefused if a deal has another number of powers.
    """
    if any(len(each) != len(commitments) - 1 for each in deals):
        raise GuardianRefused("A deal of the refresh is for another threshold.")
    return (commitments[0], *(reduce(add, powers) for powers in zip(commitments[1:], *deals, strict=True)))


def at_zero(numbers: Sequence[int]) -> dict[int, Scalar]:
    """With which factor each of these guardians counts, so that the sum lies at zero (Lagrange).

    Raises: GuardianRefused if one stands there twice, or is none.
    """
    weights, divisor = _weights(numbers)
    inverse = pow(divisor, -1, ORDER)
    return {number: Scalar.of_number(weight * inverse) for number, weight in weights.items()}


def _weights(numbers: Sequence[int]) -> tuple[dict[int, int], int]:
    """The same factors as whole numbers, as small as they get, and what all are divided by. They are public.

    Raises: as `at_zero`.
    """
    if len(set(numbers)) != len(numbers) or not all(1 <= number <= MAX_GUARDIANS for number in numbers):
        raise GuardianRefused("Each guardian counts once, by a number from 1.")
    above = {number: prod(other for other in numbers if other != number) for number in numbers}
    below = {number: prod(other - number for other in numbers if other != number) for number in numbers}
    divisor = lcm(*below.values())
    weights = {number: above[number] * divisor // below[number] for number in numbers}
    common = gcd(divisor, *weights.values())
    return {number: weight // common for number, weight in weights.items()}, divisor // common


def combine(points: Mapping[int, Point], *, times: Scalar | None = None) -> Point:
    """What lies at zero of a polynomial, of whose points these are; so many times."""
    factors = at_zero(list(points))
    if times is not None:
        factors = {number: factor * times for number, factor in factors.items()}
    return reduce(add, (multiply(point, factors[number]) for number, point in points.items()))


def combine_checked(points: Mapping[int, Point], *, times: Scalar) -> Point:
    """The same, of points that were checked. The secret number is multiplied by once."""
    weights, divisor = _weights(list(points))
    if not is_cheap(weights.values()):
        return combine(points, times=times)
    return multiply(_weighted(points, weights), Scalar.of_number(pow(divisor, -1, ORDER)) * times)


def lies_at_zero(points: Mapping[int, Point], point: Point) -> bool:
    """Whether `point` is what lies there. All were checked."""
    weights, divisor = _weights(list(points))
    if not is_cheap(weights.values()):
        return combine(points) == point
    return _weighted(points, weights) == (point if divisor == 1 else multiply(point, Scalar.of_number(divisor)))


def _weighted(points: Mapping[int, Point], weights: Mapping[int, int]) -> Point:
    return weighted_sum([(point, weights[number]) for number, point in points.items()])
