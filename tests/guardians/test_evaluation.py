"""edna.custody.guardians.evaluation, sharing, group: parts of guardians, and what does not pass for one."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from nacl.bindings import crypto_core_ed25519_add, crypto_scalarmult_ed25519_base_noclamp

from edna.custody.guardians import evaluation, sharing
from edna.custody.guardians.evaluation import Partial, Place
from edna.custody.guardians.group import (
    ORDER,
    Scalar,
    hash_to_point,
    hash_to_scalar,
    multiply,
    multiply_base,
    point_of,
    scalar_of,
    subtract,
)
from edna.errors import ConfigurationError, GuardianRefused, QuorumUnavailable

ENROLMENT = bytes(16)
DATA = b"what is asked"
IDENTITY = b"\x01" + bytes(31)
#: A point of order 8 (RFC 8032's curve; libsodium's list of small orders).
SMALL = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")


class Sharing:
    """One secret among guardians."""

    def __init__(self, *, count: int, threshold: int) -> None:
        self.secret, self.threshold = Scalar.random(), threshold
        self.dealt = sharing.deal(self.secret, count=count, threshold=threshold)
        self.commitment = multiply_base(self.secret)
        self.blinded = evaluation.blind(DATA)

    def partial(
        self, number: int, *, epoch: int = 0, enrolment: bytes = ENROLMENT, point: bytes | None = None
    ) -> Partial:
        return evaluation.evaluate(
            self.dealt.shares[number],
            place=Place(enrolment, epoch, number),
            point=point or self.blinded.point,
            commitments=self.dealt.commitments,
        )

    def combined(self, partials: list[Partial]) -> tuple[evaluation.Output, dict[int, str]]:
        output, wrong = evaluation.combine(
            self.blinded, partials, threshold=self.threshold, secret_commitment=self.commitment
        )
        return output, dict(wrong)

    @property
    def value(self) -> evaluation.Output:
        """That of the single key."""
        return evaluation.output_of(DATA, multiply(hash_to_point(DATA), self.secret))


@pytest.fixture
def shared() -> Sharing:
    return Sharing(count=5, threshold=3)


def test_any_threshold_of_guardians_give_the_value_of_the_single_key(shared: Sharing) -> None:
    for numbers in combinations(range(1, 6), 3):
        output, wrong = shared.combined([shared.partial(number) for number in numbers])
        assert output == shared.value
        assert wrong == {}


def test_one_too_few_gives_nothing(shared: Sharing) -> None:
    with pytest.raises(QuorumUnavailable) as refused:
        shared.combined([shared.partial(1), shared.partial(5)])
    assert (refused.value.have, refused.value.need) == (2, 3)


def test_the_input_is_blinded_differently_each_time() -> None:
    first, second = evaluation.blind(DATA), evaluation.blind(DATA)
    assert first.point != second.point
    assert hash_to_point(DATA) not in (first.point, second.point)


def forged(shared: Sharing, number: int) -> Partial:
    """As the published check lets through: the challenge depends on the input alone, so that it is known before anything is announced."""
    challenge = hash_to_scalar(shared.blinded.point, purpose=b"edna.guard.dleq1")
    public = multiply_base(shared.dealt.shares[number])
    wrong = multiply(shared.blinded.point, Scalar.random())
    return Partial(
        Place(ENROLMENT, 0, number), wrong, public, challenge.expose(), Scalar.random().expose(), shared.dealt.commitments
    )  # fmt: skip


def test_the_published_proof_can_be_forged_and_ours_refuses_the_forgery(shared: Sharing) -> None:
    """visa/dise hashes the input alone into the challenge. Whoever knows the challenge beforehand announces what fits any answer."""
    forgery = forged(shared, 2)
    challenge, response = scalar_of(forgery.challenge), scalar_of(forgery.response)
    # Their check: the announcements, which the forger chose last, and both equations, with a challenge that is only H(x).
    announced = (
        subtract(multiply_base(response), multiply(forgery.public_share, challenge)),
        subtract(multiply(shared.blinded.point, response), multiply(forgery.point, challenge)),
    )
    left = multiply_base(response), multiply(shared.blinded.point, response)
    right = (
        crypto_core_ed25519_add(announced[0], multiply(forgery.public_share, challenge)),
        crypto_core_ed25519_add(announced[1], multiply(forgery.point, challenge)),
    )
    assert left == right
    assert challenge == hash_to_scalar(shared.blinded.point, purpose=b"edna.guard.dleq1")

    with pytest.raises(GuardianRefused, match="guardian 2 is wrong"):
        evaluation.check(forgery, point=shared.blinded.point)


def wrong_share(shared: Sharing) -> Partial:
    """Right in itself, by a share of something else."""
    share = Scalar.random()
    return evaluation.evaluate(
        share, place=Place(ENROLMENT, 0, 2), point=shared.blinded.point, commitments=shared.dealt.commitments
    )


def cancelling(shared: Sharing) -> Partial:
    """The same, with commitments of which two add up to nothing at guardian 2."""
    point = multiply_base(Scalar.random())
    return replace(
        wrong_share(shared), commitments=(shared.commitment, multiply(point, Scalar.of_number(ORDER - 2)), point)
    )


LIARS = {
    "commitments that cancel each other out": cancelling,
    "a wrong share": wrong_share,
    "a forged proof": lambda shared: forged(shared, 2),
    "another input": lambda shared: shared.partial(2, point=evaluation.blind(DATA).point),
    "another epoch": lambda shared: replace(shared.partial(2, epoch=1), place=Place(ENROLMENT, 0, 2)),
    "another enrolment": lambda shared: replace(shared.partial(2, enrolment=b"1" * 16), place=Place(ENROLMENT, 0, 2)),
    "another guardian's": lambda shared: replace(shared.partial(1), place=Place(ENROLMENT, 0, 2)),
    "the identity": lambda shared: replace(shared.partial(2), point=IDENTITY),
    "a point of small order": lambda shared: replace(shared.partial(2), point=SMALL),
    "a point outside the main subgroup": lambda shared: replace(
        shared.partial(2), point=crypto_core_ed25519_add(shared.partial(2).point, SMALL)
    ),
    "another spelling of a scalar": lambda shared: replace(
        shared.partial(2),
        response=(int.from_bytes(shared.partial(2).response, "little") + ORDER).to_bytes(32, "little"),
    ),
    "other commitments": lambda shared: replace(
        wrong_share(shared), commitments=(shared.commitment, *shared.dealt.commitments[:0:-1])
    ),
}


@pytest.mark.parametrize("lie", LIARS)
def test_a_lie_is_refused_by_the_guardians_number_and_the_honest_ones_suffice(shared: Sharing, lie: str) -> None:
    partials = [shared.partial(1), LIARS[lie](shared), shared.partial(4), shared.partial(5)]
    output, wrong = shared.combined(partials)
    assert output == shared.value
    assert set(wrong) == {2}
    with pytest.raises(QuorumUnavailable) as refused:
        shared.combined(partials[:3])
    assert set(refused.value.wrong) == {2}
    assert refused.value.have == 2


@pytest.mark.parametrize(
    "raw",
    [
        IDENTITY,
        SMALL,
        bytes(32),
        bytes(31),
        (2**255 - 19 + 1).to_bytes(32, "little"),  # the identity, spelled otherwise
        b"\xff" * 32,
    ],
)
def test_only_points_of_the_main_subgroup_in_their_one_spelling_pass(raw: bytes) -> None:
    with pytest.raises(GuardianRefused):
        point_of(raw)


def test_shares_of_before_and_after_a_refresh_do_not_combine() -> None:
    """Whoever has stolen one too few before, and one after, has nothing."""
    shared = Sharing(count=5, threshold=3)
    before = dict(shared.dealt.shares)
    zero = sharing.deal_refresh(count=5, threshold=3)
    after = {number: share + zero.shares[number] for number, share in before.items()}
    commitments = sharing.refreshed(shared.dealt.commitments, [zero.commitments])

    def at_zero(shares: dict[int, Scalar]) -> Scalar:
        factors = sharing.at_zero(list(shares))
        total = Scalar.of_number(0)
        for number, share in shares.items():
            total = total + share * factors[number]
        return total

    assert at_zero({number: after[number] for number in (1, 3, 5)}) == shared.secret
    assert at_zero({1: before[1], 3: before[3], 5: after[5]}) != shared.secret
    for number, share in after.items():
        sharing.check_share(share, number=number, commitments=commitments)
        with pytest.raises(GuardianRefused):
            sharing.check_share(before[number], number=number, commitments=commitments)


@pytest.mark.parametrize(("count", "threshold"), [(5, 1), (2, 3), (256, 3), (0, 0)])
def test_impossible_numbers_are_refused(count: int, threshold: int) -> None:
    with pytest.raises(ConfigurationError):
        sharing.deal(Scalar.random(), count=count, threshold=threshold)


def test_the_group_agrees_with_numbers() -> None:
    """libsodium's scalars are numbers modulo the order."""
    three, five = Scalar.of_number(3), Scalar.of_number(5)
    assert three * five == Scalar.of_number(15)
    assert three - five == Scalar.of_number(-2)
    assert five * five.inverse() == Scalar.of_number(1)
    assert multiply(multiply_base(three), five) == crypto_scalarmult_ed25519_base_noclamp(Scalar.of_number(15).expose())
    assert "redacted" in repr(three)
