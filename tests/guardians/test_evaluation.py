"""edna.custody.guardians.evaluation, sharing, group: parts of guardians, and what does not pass for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest
from nacl.bindings import crypto_core_ed25519_add, crypto_scalarmult_ed25519_base_noclamp

from edna.custody.guardians import evaluation, group, sharing
from edna.custody.guardians.evaluation import Partial, Place, Verified
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
    weighted_sum,
)
from edna.custody.guardians.quorum import partials_of, verified_of
from edna.custody.guardians.roster import to_base64
from edna.errors import ConfigurationError, GuardianRefused, QuorumUnavailable

ENROLMENT = bytes(16)
DATA = b"what is asked"
IDENTITY = b"\x01" + bytes(31)
#: A point of order 8 (RFC 8032's curve; libsodium's list of small orders).
SMALL = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
#: The point of order 2. What it was added to passed for a point of the main subgroup before PyNaCl 1.6.2 (CVE-2025-69277).
SMALLEST = (2**255 - 20).to_bytes(32, "little")


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

    def combined(self, partials: Sequence[Partial | Verified]) -> tuple[evaluation.Output, dict[int, str]]:
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


@pytest.mark.parametrize("numbers", [range(1, 7), range(7, 13), (2, 3, 7, 11, 13, 18), (1, 2, 3, 4, 5, 18)])
def test_of_eighteen_any_six_give_it_however_large_their_weights_are(numbers: Sequence[int]) -> None:
    """Small weights are added, large ones multiplied: the value is the same, and who lies is named."""
    shared = Sharing(count=18, threshold=6)
    partials = [shared.partial(number) for number in numbers]
    assert shared.combined(partials) == (shared.value, {})

    liar, spare = numbers[2], next(number for number in range(1, 19) if number not in numbers)
    partials[2] = evaluation.evaluate(
        Scalar.random(), place=partials[2].place, point=shared.blinded.point, commitments=shared.dealt.commitments
    )
    output, wrong = shared.combined([*partials, shared.partial(spare)])
    assert (output, set(wrong)) == (shared.value, {liar})


def test_a_weighted_sum_is_that_of_multiplications() -> None:
    points = [multiply_base(Scalar.random()) for _ in range(4)]
    for weights in ((1, 1, 1, 1), (-1, 1, 2, -2), (12, -66, 220, -495), (1, -(2**16) + 1, 43691, 3)):
        multiplied = [multiply(point, Scalar.of_number(weight)) for point, weight in zip(points, weights, strict=True)]
        total = crypto_core_ed25519_add(
            crypto_core_ed25519_add(*multiplied[:2]), crypto_core_ed25519_add(*multiplied[2:])
        )
        assert weighted_sum(list(zip(points, weights, strict=True))) == total
    assert weighted_sum([(points[0], 3), (points[0], -3)]) == IDENTITY


def test_one_too_few_gives_nothing(shared: Sharing) -> None:
    with pytest.raises(QuorumUnavailable) as refused:
        shared.combined([shared.partial(1), shared.partial(5)])
    assert (refused.value.have, refused.value.need) == (2, 3)


def test_right_answers_cost_no_check_of_a_point_beside_its_multiplication(
    shared: Sharing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a check takes half as long, and each answer brings as many points as it takes guardians."""
    answers = {number: answered(shared.partial(number)) for number in (1, 2, 3)}
    checked: list[bytes] = []
    monkeypatch.setattr(group, "crypto_core_ed25519_is_valid_point", checked.append)

    partials = [partials_of(answer, enrolment=ENROLMENT, number=number)[0] for number, answer in answers.items()]
    output, wrong = shared.combined(partials)

    assert (output, wrong, checked) == (shared.value, {}, [])


def test_a_point_of_an_answer_that_is_none_is_refused_with_the_guardians_number(shared: Sharing) -> None:
    for part in ("point", "public_share"):
        for rubbish in (IDENTITY, SMALL, b"\xff" * 32):
            answer = {"partials": [answered(shared.partial(2))["partials"][0] | {part: to_base64(rubbish)}]}
            partials = [shared.partial(number) for number in (1, 3, 4)]
            partials += partials_of(answer, enrolment=ENROLMENT, number=2)
            output, wrong = shared.combined(partials)
            assert output == shared.value
            assert list(wrong) == [2]
            assert "Guardian 2: This is no point" in wrong[2]


def test_what_was_verified_for_another_point_is_verified_again(shared: Sharing) -> None:
    """Whoever has verified a part of an earlier question says nothing about this one."""
    other = evaluation.blind(DATA).point
    former = evaluation.verify(shared.partial(2, point=other), point=other)
    output, wrong = shared.combined([former, *(shared.partial(number) for number in (1, 3, 4))])
    assert (output, set(wrong)) == (shared.value, {2})


def test_a_part_is_verified_where_it_comes_in(shared: Sharing) -> None:
    """And a wrong one beside a right one, of a refresh under way, still names its guardian."""
    right, wrong = (answered(shared.partial(2, epoch=epoch))["partials"][0] for epoch in (0, 1))
    wrong |= {"response": to_base64(Scalar.random().expose())}

    def verified(*partials: dict[str, Any]) -> Sequence[Partial | Verified]:
        answer = {"partials": list(partials)}
        return verified_of(answer, enrolment=ENROLMENT, number=2, point=shared.blinded.point)

    assert [type(each) for each in verified(right, wrong)] == [Verified, Partial]
    output, named = shared.combined([*verified(right, wrong), shared.partial(1), shared.partial(3)])
    assert (output, set(named)) == (shared.value, {2})
    with pytest.raises(GuardianRefused, match="The proof of guardian 2 is wrong"):
        verified(wrong)
    with pytest.raises(GuardianRefused, match="Guardian 2 answers without a part"):
        verified()


def answered(partial: Partial) -> dict[str, Any]:
    """As it comes from the guardian's process."""
    named = {name: to_base64(getattr(partial, name)) for name in ("point", "public_share", "challenge", "response")}
    commitments = to_base64(b"".join(partial.commitments))
    return {"partials": [named | {"epoch": partial.place.epoch, "commitments": commitments}]}


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
    "a point that was taken for one of the main subgroup": lambda shared: replace(
        shared.partial(2), point=crypto_core_ed25519_add(shared.partial(2).point, SMALLEST)
    ),
    "a share's point that was taken for one of the main subgroup": lambda shared: replace(
        shared.partial(2), public_share=crypto_core_ed25519_add(shared.partial(2).public_share, SMALLEST)
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
        crypto_core_ed25519_add(multiply_base(Scalar.of_number(7)), SMALL),
        crypto_core_ed25519_add(multiply_base(Scalar.of_number(7)), SMALLEST),
    ],
)
def test_only_points_of_the_main_subgroup_in_their_one_spelling_pass(raw: bytes) -> None:
    """Neither where it is asked, nor where it is multiplied: `check` leaves it to that."""
    for computed in (
        point_of,
        lambda each: multiply(each, Scalar.of_number(8)),
        lambda each: multiply(each, Scalar.random()),
    ):
        with pytest.raises(GuardianRefused):
            computed(raw)


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
