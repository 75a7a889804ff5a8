"""How a guardian that has missed a refresh, or lost what it kept, gets its share again from `threshold` others
(Herzberg et al. 1995, section 4).

1. Each helper deals a polynomial that is zero at the one to be repaired, to the other helpers.
2. Each helper adds up what it was dealt and its own share, and seals the sum to the one to be repaired. The sums hide the shares.
3. That one verifies each sum, and takes what lies at its own number.

Keeps: no helper learns the new share, and the repaired one learns nobody else's. Does not know: sockets, stores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Final, Self

from edna.crypto.keys import SecretKey, fingerprint
from edna.crypto.sealing import open_small, seal_small
from edna.custody.guardians.group import ORDER, ZERO, Point, Scalar, add, multiply, multiply_base, scalar_of
from edna.custody.guardians.refresh import Receiver, epoch_of, number_of, points_of
from edna.custody.guardians.roster import Identity, Roster, check_signature, from_base64, signed, to_base64
from edna.custody.guardians.sharing import Share, check_share, public_share
from edna.errors import GuardianRefused, WrongKey

_MASK: Final = b"edna guardians mask 1\n"
_SUM: Final = b"edna guardians sum 1\n"


@dataclass(frozen=True, slots=True)
class Mask:
    """A polynomial of one helper that is zero at `repaired`: its commitments from the first power on of (x -
    repaired), and the other helpers' parts."""

    enrolment: bytes
    epoch: int
    repaired: int
    helper: int
    commitments: tuple[Point, ...]
    sealed: Mapping[int, bytes]
    signature: bytes = b""

    @classmethod
    def new(cls, share: Share, identity: Identity, *, repaired: int, helpers: Sequence[Receiver]) -> Self:
        """`helpers` were checked, and this guardian is among them."""
        # (x - repaired) * (a0 + a1 x + ...): zero where it has to be, without anybody's word for it.
        coefficients = [Scalar.random() for _ in share.commitments[1:]]
        sealed = {
            each.number: seal_small(
                _times(_value(coefficients, each.number), each.number - repaired).expose(), recipient=each.public_key
            )
            for each in helpers
        }
        points = tuple(multiply_base(each) for each in coefficients)
        mask = cls(share.enrolment, share.epoch, repaired, identity.number, points, sealed)
        return replace(mask, signature=signed(mask.digest, purpose=_MASK, key=identity.signing_key))

    @property
    def digest(self) -> bytes:
        """Of all that the helper signs."""
        boxes = b"".join(bytes((number,)) + box for number, box in sorted(self.sealed.items()))
        place = (
            self.enrolment + self.epoch.to_bytes(8, "big") + bytes((self.repaired, self.helper, len(self.commitments)))
        )
        return fingerprint(place + b"".join(self.commitments) + boxes, purpose=b"edna.guard.mask1")

    def check(self, roster: Roster) -> None:
        """
        Raises: GuardianRefused if that helper did not sign it, or it is for another threshold.
        """
        whose = f"guardian {self.helper}"
        check_signature(
            self.signature, self.digest, purpose=_MASK, key=roster.member(self.helper).verify_key, whose=whose
        )
        if len(self.commitments) != roster.threshold - 1:
            raise GuardianRefused(f"The mask of {whose} is for another threshold.")

    def public_part(self, number: int) -> Point:
        """The public half of the part of that helper."""
        return multiply(public_share(self.commitments, number), Scalar.of_number(number - self.repaired))

    def opened(self, *, number: int, secret_key: SecretKey) -> Scalar:
        """
        Raises: GuardianRefused if the part does not fit.
        """
        try:
            part = scalar_of(open_small(self.sealed[number], secret_key=secret_key))
            if multiply_base(part) != self.public_part(number):
                raise GuardianRefused("It does not fit what was announced.")
        except (KeyError, GuardianRefused, WrongKey) as error:
            raise GuardianRefused(f"The mask of guardian {self.helper} is wrong.") from error
        return part

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "enrolment": to_base64(self.enrolment),
            "epoch": self.epoch,
            "repaired": self.repaired,
            "helper": self.helper,
            "commitments": to_base64(b"".join(self.commitments)),
            "sealed": {str(number): to_base64(box) for number, box in self.sealed.items()},
            "signature": to_base64(self.signature),
        }

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> Self:
        """
        Raises: GuardianRefused if it is none.
        """
        try:
            return cls(
                from_base64(said["enrolment"], size=16),
                epoch_of(said["epoch"]),
                number_of(said["repaired"]),
                number_of(said["helper"]),
                points_of(from_base64(said["commitments"])),
                {number_of(int(number)): from_base64(box, size=80) for number, box in said["sealed"].items()},
                from_base64(said["signature"], size=64),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise GuardianRefused("This is no mask of a repair.") from error


@dataclass(frozen=True, slots=True)
class Sum:
    """What one helper hands over: its share and all masks, added up, sealed to the one to be repaired; and what it knows of the sharing."""

    enrolment: bytes
    epoch: int
    helper: int
    commitments: tuple[Point, ...]
    deals: bytes
    sealed: bytes
    signature: bytes = b""

    @classmethod
    def new(
        cls, share: Share, identity: Identity, masks: Sequence[Mask], *, secret_key: SecretKey, receiver: Receiver
    ) -> Self:
        """
        Raises: GuardianRefused, with the number of the helper whose mask is wrong.
        """
        total = share.share
        for mask in masks:
            total = total + mask.opened(number=identity.number, secret_key=secret_key)
        sealed = seal_small(total.expose(), recipient=receiver.public_key)
        said = cls(share.enrolment, share.epoch, identity.number, share.commitments, share.deals, sealed)
        return replace(said, signature=signed(said.digest, purpose=_SUM, key=identity.signing_key))

    @property
    def digest(self) -> bytes:
        """Of all that the helper signs."""
        place = self.enrolment + self.epoch.to_bytes(8, "big") + bytes((self.helper, len(self.commitments)))
        content = b"".join(self.commitments) + len(self.deals).to_bytes(1, "big") + self.deals + self.sealed
        return fingerprint(place + content, purpose=b"edna.guard.sum.1")

    def as_dict(self) -> Mapping[str, Any]:
        return {
            "enrolment": to_base64(self.enrolment),
            "epoch": self.epoch,
            "helper": self.helper,
            "commitments": to_base64(b"".join(self.commitments)),
            "deals": to_base64(self.deals),
            "sealed": to_base64(self.sealed),
            "signature": to_base64(self.signature),
        }

    @classmethod
    def of_dict(cls, said: Mapping[str, Any]) -> Self:
        """
        Raises: GuardianRefused if it is none.
        """
        try:
            return cls(
                from_base64(said["enrolment"], size=16),
                epoch_of(said["epoch"]),
                number_of(said["helper"]),
                points_of(from_base64(said["commitments"])),
                from_base64(said["deals"]),
                from_base64(said["sealed"], size=80),
                from_base64(said["signature"], size=64),
            )
        except (KeyError, TypeError) as error:
            raise GuardianRefused("This is no sum of a repair.") from error


def repaired(
    sums: Sequence[Sum], masks: Sequence[Mask], *, roster: Roster, number: int, secret_key: SecretKey
) -> Share:
    """The share of guardian `number`, from what `threshold` helpers have sealed to this key.

    Raises: GuardianRefused: too few, they do not say the same, or one of them is wrong.
    """
    helpers = [each.helper for each in sums]
    if len(set(helpers)) != len(helpers) or len(helpers) < roster.threshold or number in helpers:
        raise GuardianRefused(f"A repair takes {roster.threshold} other guardians.")
    if sorted(each.helper for each in masks) != sorted(helpers) or any(each.repaired != number for each in masks):
        raise GuardianRefused("Each helper of a repair deals one mask, for the guardian that is repaired.")
    for mask in masks:
        mask.check(roster)
    first = sums[0]
    told = (first.enrolment, first.epoch, first.commitments, first.deals)
    value = ZERO
    for each in sums:
        key, whose = roster.member(each.helper).verify_key, f"guardian {each.helper}"
        check_signature(each.signature, each.digest, purpose=_SUM, key=key, whose=whose)
        if (each.enrolment, each.epoch, each.commitments, each.deals) != told:
            raise GuardianRefused(f"What {whose} says about the shares is not what the others say.")
        value = value + _checked(each, masks, secret_key) * _at(number, each.helper, helpers)
    check_share(value, number=number, commitments=first.commitments)
    return Share(first.enrolment, first.epoch, value, first.commitments, first.deals)


def _checked(said: Sum, masks: Sequence[Mask], secret_key: SecretKey) -> Scalar:
    try:
        total = scalar_of(open_small(said.sealed, secret_key=secret_key))
    except (GuardianRefused, WrongKey) as error:
        raise GuardianRefused(f"What guardian {said.helper} hands over does not open.") from error
    own = public_share(said.commitments, said.helper)
    if multiply_base(total) != reduce(add, (mask.public_part(said.helper) for mask in masks), own):
        raise GuardianRefused(f"What guardian {said.helper} hands over does not fit its share.")
    return total


def _at(number: int, helper: int, helpers: Sequence[int]) -> Scalar:
    """With which factor a helper counts, so that the sum lies at `number`."""
    above, below = 1, 1
    for other in helpers:
        if other != helper:
            above, below = above * (number - other) % ORDER, below * (helper - other) % ORDER
    return Scalar.of_number(above * pow(below, -1, ORDER))


def _value(coefficients: Sequence[Scalar], number: int) -> Scalar:
    at = Scalar.of_number(number)
    return reduce(lambda value, coefficient: value * at + coefficient, reversed(coefficients), ZERO)


def _times(scalar: Scalar, number: int) -> Scalar:
    return scalar * Scalar.of_number(number)
