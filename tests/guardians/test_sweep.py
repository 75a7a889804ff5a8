"""edna.custody.guardians.sweep, refresh, repair: shares are renewed and repaired; whatever happens in between, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from edna.custody.guardians.group import Scalar
from edna.custody.guardians.refresh import Deal, Receiver, Taken
from edna.custody.guardians.sharing import Share, at_zero
from edna.custody.guardians.sweep import Sweep
from edna.errors import GuardianRefused, QuorumUnavailable
from tests.guardians.ring import SECRET, Ring

pytestmark = pytest.mark.long


def shares(ring: Ring, number: int) -> list[Share]:
    store = ring.guardians[number]._store
    return [share for id_ in store.enrolments() for share in store.shares(id_)]


def value(parts: Mapping[int, Scalar]) -> Scalar:
    factors, total = at_zero(list(parts)), Scalar.of_number(0)
    for number, share in parts.items():
        total = total + share * factors[number]
    return total


def test_a_sweep_renews_all_shares_and_the_secret_stays(tmp_path: Path) -> None:
    """Whoever stole two of three shares before, and one after, has nothing."""
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    before = {number: shares(ring, number)[0].share for number in range(1, 6)}
    secret = value({number: before[number] for number in (1, 2, 3)})
    swept = ring.sweep()
    assert (swept.refreshed, swept.wrong, swept.left) == (1, {}, [])
    after = {}
    for number in range(1, 6):
        (share,) = shares(ring, number)
        assert share.epoch == 1
        after[number] = share.share
    assert all(before[number] != after[number] for number in before)
    for one, two, three in combinations(range(1, 6), 3):
        assert value({one: after[one], two: after[two], three: after[three]}) == secret
        assert value({one: before[one], two: before[two], three: after[three]}) != secret
    assert ring.recovery(enrolled).finish() == SECRET


def test_the_former_share_is_in_no_file(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    ring.enrol()
    before = shares(ring, 1)[0].share.expose()
    assert before in (tmp_path / "1.sqlite3").read_bytes(), "what is searched for would be found"
    ring.sweep()
    assert all(before not in path.read_bytes() for path in tmp_path.iterdir())


def test_a_guardian_that_missed_refreshes_is_repaired(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    ring.down = {2}
    assert set(ring.sweep().wrong) == {2}
    ring.sweep()
    assert [shares(ring, 2)[0].epoch, shares(ring, 1)[0].epoch] == [0, 2]
    ring.down = set()
    swept = ring.sweep()
    assert swept.repaired == {2: 1}
    assert [share.epoch for share in shares(ring, 2)] == [3]
    ring.down = {1, 3}
    assert ring.recovery(enrolled).finish() == SECRET


def test_a_guardian_that_lost_everything_is_repaired(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    ring.sweep()
    ring.start(2, empty=True)
    assert ring.guardians[2].status()["enrolments"] == 0
    assert ring.sweep().repaired == {2: 1}
    ring.down = {4, 5}
    assert ring.recovery(enrolled).finish() == SECRET


class Killed(Exception):
    """The site's process dies."""


class Dying(Ring):
    """Ends after so many requests: of whoever carries the messages, or of the guardian that is asked, before or after it has answered."""

    left: int | None = None
    how = "site"

    def ask(self, number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        if self.left is None:
            return super().ask(number, path, said, ordered=ordered)
        self.left -= 1
        if self.left != 0:
            return super().ask(number, path, said, ordered=ordered)
        if self.how == "site":
            raise Killed
        if self.how == "after":
            super().ask(number, path, said, ordered=ordered)
        self.start(number)
        raise GuardianRefused(f"Guardian {number} cannot be reached (killed).")


@pytest.mark.slow
@given(
    requests=st.lists(
        st.tuples(st.integers(1, 45), st.sampled_from(["site", "before", "after"])), min_size=1, max_size=4
    ),
    down=st.sets(st.integers(1, 5), max_size=1),
)
# The first has taken what the first sweep dealt, and is down while all others take another.
@example(requests=[(22, "site"), (1, "before")], down=set())
# One dies, or the site does, while a sweep finishes what the one before it has left.
@example(requests=[(24, "site"), (14, "before")], down=set())
@example(requests=[(24, "site"), (17, "site")], down={1})
@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_dies_in_a_sweep_the_secret_comes_back_at_each_moment(
    tmp_path_factory: pytest.TempPathFactory, requests: list[tuple[int, str]], down: set[int]
) -> None:
    """Sweeps that end anywhere, one after the other. One guardian may be behind then, and another down: the others give the secret, and
    the next sweep heals all."""
    ring = Dying(tmp_path_factory.mktemp("ring"))
    enrolled = ring.enrol()
    for left, how in requests:
        ring.left, ring.how = left, how
        try:
            ring.sweep()
        except (Killed, QuorumUnavailable):
            pass
        ring.left = None
        ring.down = set(down)
        ring.now += 86_400
        assert ring.recovery(enrolled).finish() == SECRET
        ring.down = set()
    swept = ring.sweep()
    assert (swept.refreshed, swept.wrong) == (1, {})
    assert len({shares(ring, number)[-1].epoch for number in range(1, 6)}) == 1
    assert all(len(shares(ring, number)) == 1 for number in range(1, 6))
    ring.now += 86_400
    assert ring.recovery(enrolled).finish() == SECRET


def test_guardians_that_decided_on_two_refreshes_of_one_epoch_agree_again(tmp_path: Path) -> None:
    """Two of five suffice: two refresh while three are down, then the three while the two are."""
    ring = Ring(tmp_path, threshold=2)
    enrolled = ring.enrol()
    for down in ({3, 4, 5}, {1, 2}):
        ring.down = down
        ring.sweep()
    ring.down = set()
    assert [share.epoch for number in range(1, 6) for share in shares(ring, number)] == [1] * 5
    swept = ring.sweep()
    assert (swept.refreshed, dict(swept.repaired), swept.wrong) == (1, {1: 1, 2: 1}, {})
    ring.down = {2, 3, 4}
    assert ring.recovery(enrolled).finish() == SECRET


def test_a_sweep_that_was_left_undecided_is_finished_and_not_begun_anew(tmp_path: Path) -> None:
    """All have taken the next share, nobody has forgotten the former."""
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    ring.lies = {(number, "/commit"): _die for number in range(1, 6)}
    original = ring.ask

    def ask(number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        if path == "/commit":
            raise Killed
        return original(number, path, said, ordered=ordered)

    ring.ask = ask  # type: ignore[method-assign]
    with pytest.raises(Killed):
        ring.sweep()
    assert [share.epoch for share in shares(ring, 1)] == [0, 1]
    assert ring.recovery(enrolled).finish() == SECRET
    ring.ask = original  # type: ignore[method-assign]
    ring.lies = {}
    swept = ring.sweep()
    assert (swept.finished, swept.refreshed) == (1, 1)
    assert [share.epoch for share in shares(ring, 1)] == [2]


def _die(answer: dict[str, Any]) -> dict[str, Any]:
    raise Killed


def test_a_refresh_of_which_too_few_have_heard_is_dropped(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    taken = 0
    original = ring.ask

    def ask(number: int, path: str, said: Mapping[str, Any], *, ordered: bool = False) -> Mapping[str, Any]:
        nonlocal taken
        taken += path == "/take"
        if taken > 2:
            raise Killed
        return original(number, path, said, ordered=ordered)

    ring.ask = ask  # type: ignore[method-assign]
    with pytest.raises(Killed):
        ring.sweep()
    ring.ask = original  # type: ignore[method-assign]
    assert [len(shares(ring, number)) for number in range(1, 6)] == [2, 2, 1, 1, 1]
    ring.down = {5}
    swept = ring.sweep()
    # Guardian 5 may have decided it: it is asked before anything is dropped.
    assert swept.left == [enrolled.envelope.head.enrolment]
    ring.down = set()
    assert ring.sweep().refreshed == 1
    assert ring.recovery(enrolled).finish() == SECRET


# --- those who lie ---


def test_a_dealer_that_lies_is_named_and_left_out(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()

    def lie(answer: dict[str, Any]) -> dict[str, Any]:
        (deal,) = answer["deals"]
        boxes = deal["sealed"]
        return {"deals": [{**deal, "sealed": {**boxes, "1": boxes["2"]}}]}

    ring.lies = {(4, "/deal"): lie}
    swept = ring.sweep()
    assert set(swept.wrong) == {4}
    assert swept.refreshed == 1
    ring.down = {1, 2}
    ring.lies = {}
    ring.sweep()
    ring.down = set()
    assert ring.recovery(enrolled).finish() == SECRET


def test_whoever_signs_a_wrong_part_is_named(tmp_path: Path) -> None:
    """A dealer that is a guardian, and deals one of the others a part that does not fit."""
    ring = Ring(tmp_path)
    ring.enrol()
    id_ = ring.guardians[1]._store.enrolments()[0]
    round_ = b"r" * 16
    receivers = [ring.guardians[number].receive(round_) for number in range(1, 6)]
    (deal,) = ring.guardians[4].deal(round_, [id_], receivers)
    swapped = replace(deal, sealed={**deal.sealed, 1: deal.sealed[2]})
    resigned = Deal.of_dict(json.loads(json.dumps(_signed_again(ring, swapped).as_dict())))
    with pytest.raises(GuardianRefused, match="deal of guardian 4 is wrong"):
        ring.guardians[1].take(round_, [resigned])
    assert len(shares(ring, 1)) == 1


def _signed_again(ring: Ring, deal: Deal) -> Deal:
    from edna.custody.guardians.refresh import _DEAL
    from edna.custody.guardians.roster import signed

    return replace(deal, signature=signed(deal.digest, purpose=_DEAL, key=ring.identities[deal.dealer].signing_key))


def test_a_key_that_a_guardian_did_not_sign_for_this_round_gets_nothing(tmp_path: Path) -> None:
    """Whoever carries the messages could put in a key of their own."""
    ring = Ring(tmp_path)
    ring.enrol()
    id_ = ring.guardians[1]._store.enrolments()[0]
    ours = ring.guardians[1].receive(b"r" * 16)
    theirs = ring.guardians[2].receive(b"r" * 16)
    for forged in (
        replace(ours, public_key=theirs.public_key),
        replace(ours, round=b"s" * 16),
        replace(theirs, number=1),
    ):
        with pytest.raises(GuardianRefused):
            ring.guardians[3].deal(b"r" * 16, [id_], [forged, theirs])
        with pytest.raises(GuardianRefused):
            ring.guardians[3].mask(b"r" * 16, id_, epoch=0, repaired=5, helpers=[forged, theirs])


def test_a_share_is_forgotten_for_receipts_of_enough_guardians_alone(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    ring.enrol()
    id_ = ring.guardians[1]._store.enrolments()[0]
    round_ = b"r" * 16
    receivers = [ring.guardians[number].receive(round_) for number in range(1, 6)]
    deals = [ring.guardians[number].deal(round_, [id_], receivers)[0] for number in range(1, 6)]
    receipts = [ring.guardians[number].take(round_, deals) for number in (1, 2)]
    for too_few in (receipts, [receipts[0]] * 3, [], [*receipts, replace(receipts[0], number=3)]):
        with pytest.raises(GuardianRefused):
            ring.guardians[1].commit(too_few)
    assert len(shares(ring, 1)) == 2
    third = ring.guardians[3].take(round_, deals)
    assert ring.guardians[1].commit([*receipts, third])
    assert not ring.guardians[5].commit([*receipts, third]), "it has not taken it yet"
    assert len(shares(ring, 1)) == 1
    assert len(shares(ring, 5)) == 1


def test_another_refresh_is_not_taken_over_one_that_is_undecided(tmp_path: Path) -> None:
    """Enough others may have forgotten their former shares for the first."""
    ring = Ring(tmp_path)
    ring.enrol()
    id_ = ring.guardians[1]._store.enrolments()[0]
    for round_, fits in ((b"r" * 16, True), (b"s" * 16, False)):
        receivers = [ring.guardians[number].receive(round_) for number in range(1, 6)]
        deals = [ring.guardians[number].deal(round_, [id_], receivers)[0] for number in range(2, 6)]
        if fits:
            ring.guardians[1].take(round_, deals)
        else:
            with pytest.raises(GuardianRefused, match="another refresh"):
                ring.guardians[1].take(round_, deals)


def test_rubbish_is_refused() -> None:
    for kind in (Deal, Taken, Receiver):
        for rubbish in ({}, {"enrolment": 1}, {"sealed": []}):
            with pytest.raises(GuardianRefused):
                kind.of_dict(rubbish)


def test_a_repair_helps_nobody_else(tmp_path: Path) -> None:
    """Helpers seal to the key that the repaired one has signed, and to no other; what they send fits that one alone."""
    ring = Ring(tmp_path)
    ring.enrol()
    sweep = Sweep(roster=ring.roster, transport=ring)
    sweep._begin()
    id_ = ring.guardians[1]._store.enrolments()[0]
    round_ = sweep._round
    helpers = [sweep._receivers[number] for number in (1, 2, 3)]
    masks = [ring.guardians[number].mask(round_, id_, epoch=0, repaired=5, helpers=helpers) for number in (1, 2, 3)]
    with pytest.raises(GuardianRefused):
        ring.guardians[1].help_repair(round_, masks, receiver=sweep._receivers[4])
    with pytest.raises(GuardianRefused):
        ring.guardians[1].help_repair(round_, masks[:2], receiver=sweep._receivers[5])
    with pytest.raises(GuardianRefused):
        ring.guardians[4].help_repair(round_, masks, receiver=sweep._receivers[5])
