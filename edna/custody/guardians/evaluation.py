"""What guardians compute together: a keyed hash of an input that none of them sees, verified part by part (docs/format.md, "Guardians").

A client blinds the input's point; each guardian multiplies it by their share and proves that it was that share (a
proof of equal discrete logarithms:
Chaum and Pedersen 1992, made non-interactive); the client takes any ``threshold`` that are right, and unblinds. The
challenge of the proof binds everything: the enrolment, the epoch, the number, the public share, both points and both
announcements. One that
left the announcements out could be forged for any answer.

Keeps: an answer that is wrong is told with the number of its guardian, and the others go on. Does not know: sockets, policies, envelopes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from edna.crypto.keys import Secret, fingerprint
from edna.custody.guardians import sharing
from edna.custody.guardians.group import (
    Point,
    Scalar,
    hash_to_point,
    hash_to_scalar,
    multiply,
    multiply_base,
    point_of,
    scalar_of,
    subtract,
)
from edna.errors import GuardianRefused, QuorumUnavailable

_EPOCH_BYTES = 8


class Output(Secret):
    """What the guardians' hash gives for one input: 32 bytes that seal an envelope."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Blinded:
    """An input on its way to guardians. `point` says nothing about it; whoever has `factor` takes the blinding off again."""

    data: bytes = field(repr=False)
    point: Point
    factor: Scalar = field(repr=False)


@dataclass(frozen=True, slots=True)
class Place:
    """For what a guardian answers: which enrolment, which epoch of its shares, and who answers."""

    enrolment: bytes
    epoch: int
    number: int

    def __bytes__(self) -> bytes:
        return self.enrolment + self.epoch.to_bytes(_EPOCH_BYTES, "big") + bytes((self.number,))


@dataclass(frozen=True, slots=True)
class Partial:
    """A guardian's part: the point, and the proof that the share behind `public_share` made it."""

    place: Place
    point: Point
    public_share: Point
    challenge: bytes
    response: bytes
    #: Of the whole sharing, as this guardian knows it: says who is wrong where public shares do not fit each other.
    commitments: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Verified:
    """A part whose proof is right for that point. `verify` alone makes it."""

    partial: Partial
    point: Point

    @property
    def place(self) -> Place:
        return self.partial.place


def blind(data: bytes, *, secret: bytes | None = None) -> Blinded:
    """Hide an input from guardians, in a way that differs each time; or, with a secret of the caller's, that is the same for both."""
    factor = Scalar.random() if secret is None else hash_to_scalar(secret + data, purpose=b"edna.guard.bln.1")
    return Blinded(data, multiply(hash_to_point(data), factor), factor)


def evaluate(share: Scalar, *, place: Place, point: bytes, commitments: Sequence[Point]) -> Partial:
    """A guardian's part for a blinded point.

    Raises: GuardianRefused if it is no point to compute with.
    """
    # Multiplied, which refuses what is no point of prime order: not asked before, as in `check`.
    ours, public = multiply(point, share), multiply_base(share)
    nonce = Scalar.random()
    challenge = _challenge(place, public, point, ours, multiply_base(nonce), multiply(point, nonce))
    response = nonce + challenge * share
    return Partial(place, ours, public, challenge.expose(), response.expose(), tuple(commitments))


def check(partial: Partial, *, point: Point) -> None:
    """
    Raises: GuardianRefused if the share behind the partial's public share did not make it, for this point and place.
    """
    # Both are multiplied below, which refuses what is no point of prime order: to ask that before would cost a fifth of the whole.
    ours, public = partial.point, partial.public_share
    try:
        challenge, response = scalar_of(partial.challenge), scalar_of(partial.response)
        first = subtract(multiply_base(response), multiply(public, challenge))
        second = subtract(multiply(point, response), multiply(ours, challenge))
    except GuardianRefused as error:
        raise GuardianRefused(f"Guardian {partial.place.number}: {error}") from error
    if _challenge(partial.place, public, point, ours, first, second) != challenge:
        raise GuardianRefused(f"The proof of guardian {partial.place.number} is wrong.")


def verify(partial: Partial, *, point: Point) -> Verified:
    """Check a part where it comes in. libsodium multiplies beside other threads: those that asked guardians verify at the same time.

    Raises: as `check`.
    """
    check(partial, point=point)
    return Verified(partial, point)


def combine(
    blinded: Blinded, partials: Sequence[Partial | Verified], *, threshold: int, secret_commitment: Point
) -> tuple[Output, Mapping[int, str]]:
    """Return the hash, and why guardians were passed over, by their number. All are checked that were not verified for this very point.

    `secret_commitment` is the public half of what is shared: it says that the right sharing answered. It has to come from elsewhere than
    from the guardians.

    Raises: QuorumUnavailable if fewer than `threshold` gave right answers of one epoch. It names those who were wrong.
    """
    wrong: dict[int, str] = {}
    epochs: dict[int, dict[int, Partial]] = defaultdict(dict)
    for each in partials:
        partial, is_checked = (
            (each.partial, each.point == blinded.point) if isinstance(each, Verified) else (each, False)
        )
        try:
            if not is_checked:
                check(partial, point=blinded.point)
        except GuardianRefused as error:
            wrong[partial.place.number] = str(error)
        else:
            epochs[partial.place.epoch][partial.place.number] = partial
    most = 0
    for right in sorted(epochs.values(), key=len, reverse=True):
        agreed = _agreed(right, threshold, secret_commitment, wrong)
        most = max(most, len(agreed))
        if len(agreed) >= threshold:
            chosen = {number: agreed[number].point for number in sorted(agreed)[:threshold]}
            return output_of(blinded.data, sharing.combine_checked(chosen, times=blinded.factor.inverse())), wrong
    raise QuorumUnavailable(have=most, need=threshold, wrong=wrong)


def _agreed(
    right: Mapping[int, Partial], threshold: int, secret_commitment: Point, wrong: dict[int, str]
) -> Mapping[int, Partial]:
    """Those whose public shares belong to the sharing of that secret."""
    if len(right) < threshold:
        return right
    first = {number: right[number].public_share for number in sorted(right)[:threshold]}
    if sharing.lies_at_zero(first, secret_commitment):
        return {number: right[number] for number in first}
    # Somebody announces a share of something else. Those who say the same about the whole sharing, and are right about themselves, agree.
    groups: dict[tuple[Point, ...], dict[int, Partial]] = defaultdict(dict)
    for number, partial in right.items():
        if _fits(partial, threshold, secret_commitment):
            groups[partial.commitments][number] = partial
        else:
            wrong[number] = f"Guardian {number} answers with a share of something else."
    agreed = max(groups.values(), key=len, default={})
    for number in set(right) - set(agreed) - set(wrong):
        wrong[number] = f"Guardian {number} tells something else about the shares than most others."
    return agreed


def _fits(partial: Partial, threshold: int, secret_commitment: Point) -> bool:
    commitments = partial.commitments
    if len(commitments) != threshold or commitments[0] != secret_commitment:
        return False
    try:
        checked = [point_of(each) for each in commitments]
        return sharing.public_share(checked, partial.place.number) == partial.public_share
    except GuardianRefused:
        return False


def output_of(data: bytes, point: Point) -> Output:
    """The hash of an input, whose point was multiplied by the secret."""
    size = len(data).to_bytes(_EPOCH_BYTES, "big")
    return Output(fingerprint(size + data + point, purpose=b"edna.guard.out.1"))


def _challenge(place: Place, public: Point, point: Point, ours: Point, first: Point, second: Point) -> Scalar:
    # Everything that the proof is about, and both announcements: who knew the challenge before would choose them to fit any answer.
    return hash_to_scalar(bytes(place) + public + point + ours + first + second, purpose=b"edna.guard.dleq1")
