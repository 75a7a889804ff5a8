"""edna.custody.guardians: a secret goes to guardians and comes back, by their policies, and never otherwise."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope
from edna.custody.guardians.process.policies import CounterCode, Waiting
from edna.custody.guardians.process.requests import Limits
from edna.custody.guardians.roster import Roster, from_base64
from edna.custody.guardians.schedule import GuardianSchedule
from edna.errors import ConfigurationError, EnvelopeRefused, GuardianRefused, QuorumUnavailable, TicketRefused
from tests.guardians.ring import NOW, SECRET, Ring, mailed
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.long

HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture(autouse=True)
def nobody_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine has no further guardian asked in the place of one that has not had its turn yet."""
    monkeypatch.setattr(quorum, "HEDGE_SECONDS", WAIT_SECONDS)


def test_a_secret_comes_back_with_the_help_of_a_threshold(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    ring.down = {1, 3}
    assert ring.recovery(enrolled).finish() == SECRET


def test_with_one_too_few_nothing_comes_back_and_a_later_try_succeeds(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    recovery = ring.recovery(ring.enrol())
    ring.down = {1, 3, 5}
    with pytest.raises(QuorumUnavailable) as refused:
        recovery.finish()
    assert (refused.value.have, refused.value.need) == (2, 3)
    assert set(refused.value.wrong) == {1, 3, 5}
    ring.down = set()
    assert recovery.finish() == SECRET


def test_guardians_that_were_down_at_the_enrolment_get_their_share_by_a_sweep(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    ring.down = {4, 5}
    enrolled = ring.enrol()
    assert set(enrolled.missing) == {4, 5}
    ring.down = set()
    swept = ring.sweep()
    assert swept.repaired == {4: 1, 5: 1}
    ring.down = {1, 2}
    assert ring.recovery(enrolled).finish() == SECRET


def test_an_enrolment_that_too_few_have_taken_leaves_nothing(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    ring.down = {3, 4, 5}
    with pytest.raises(QuorumUnavailable):
        ring.enrol()
    assert all(guardian.status()["enrolments"] == 0 for guardian in ring.guardians.values())


def test_neither_site_nor_guardian_sees_secret_output_or_pin(tmp_path: Path) -> None:
    """All that travels, and all that guardians keep: what was enrolled is in none of it, and no two questions for it look alike."""
    ring = Ring(tmp_path)
    pin = "4711 of the seven geese"  # nothing that base 64 could have by chance
    enrolled = ring.enrol(pin=pin)
    assert ring.recovery(enrolled).finish(pin=pin) == SECRET
    assert ring.recovery(enrolled).finish(pin=pin) == SECRET
    seen = b"".join(body for _, _, body in ring.asked)
    seen += b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"bea@example.org" in seen, "what is searched for would be found"
    for hidden in (SECRET, SECRET.hex().encode(), pin.encode()):
        assert hidden not in seen
    points = re.findall(rb'"point": "([^"]+)"', seen)
    assert len(set(points)) == 2


def test_a_pin_is_guessed_no_more_often_than_a_ticket_is_used(tmp_path: Path) -> None:
    """Below the threshold nothing is computed at all; with the guardians, each guess takes a use of a ticket at each of them."""
    ring = Ring(tmp_path, count=3, threshold=3, limits=Limits(requests_a_day=2, uses_of_a_ticket=3))
    enrolled = ring.enrol(pin="4711")
    for _ in range(2):
        recovery = ring.recovery(enrolled)
        for pin in ("0000", "0001", "0002"):
            with pytest.raises(EnvelopeRefused):
                recovery.finish(pin=pin)
        with pytest.raises(QuorumUnavailable, match="used up"):
            recovery.finish(pin="4711")
    with pytest.raises(QuorumUnavailable, match="enough requests today"):
        ring.recovery(enrolled).finish(pin="4711")
    ring.now += DAY
    assert ring.recovery(enrolled).finish(pin="4711") == SECRET


def test_a_ticket_of_one_enrolment_opens_no_other(tmp_path: Path) -> None:
    """Guardians see a blinded point alone. Each enrolment has shares of its own, so that another's point gives nothing of use."""
    ring = Ring(tmp_path)
    theirs, mine = ring.enrol(), ring.enrol(b"\x07" * 32)
    recovery = ring.recovery(mine)
    # Ours in front, so that our ticket counts; theirs behind it.
    swapped = Envelope(mine.envelope.head, theirs.envelope.commitment, theirs.envelope.box)
    recovery._envelope = swapped
    with pytest.raises(EnvelopeRefused):
        recovery.finish()
    recovery._envelope = theirs.envelope
    with pytest.raises(QuorumUnavailable):
        recovery.finish()


@pytest.mark.slow
def test_each_flipped_byte_of_an_envelope_fails(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2, limits=Limits(requests_a_day=10_000, uses_of_a_ticket=10_000))
    raw = bytes(ring.enrol().envelope)
    assert Envelope.parse(raw).head.count == 2
    for at in range(len(raw)):
        changed = bytearray(raw)
        changed[at] ^= 1
        with pytest.raises((EnvelopeRefused, QuorumUnavailable, GuardianRefused)):
            _recovered(ring, bytes(changed))


def _recovered(ring: Ring, raw: bytes) -> bytes:
    recovery = quorum.Recovery(Envelope.parse(raw), roster=ring.roster, transport=ring)
    recovery.open()
    return recovery.finish()


def test_an_envelope_says_what_was_put_in_alone(tmp_path: Path) -> None:
    """It commits: a box that somebody else sealed under the same output, with other content, does not open."""
    ring = Ring(tmp_path)
    one, two = ring.enrol().envelope, ring.enrol().envelope
    for mixed in (Envelope(one.head, one.commitment, two.box), Envelope(one.head, two.commitment, one.box)):
        recovery = quorum.Recovery(mixed, roster=ring.roster, transport=ring)
        recovery.open()
        with pytest.raises(EnvelopeRefused):
            recovery.finish()


# --- policies ---


def test_a_guardian_that_waits_tells_the_owner_who_can_veto(tmp_path: Path) -> None:
    policies = dict.fromkeys(range(1, 6), lambda tell: Waiting(tell, wait_seconds=2 * DAY))
    ring = Ring(tmp_path, policies=policies)
    enrolled = ring.enrol()
    recovery = ring.recovery(enrolled)
    contact, text = ring.mails[1][0]
    assert contact == "bea@example.org"
    assert recovery.name(1) in text
    assert recovery.name(1) != recovery.name(2)
    ring.now += 2 * DAY - 1
    with pytest.raises(QuorumUnavailable, match="so that the owner can veto"):
        recovery.finish()
    assert quorum.veto(SECRET, enrolled.envelope, roster=ring.roster, transport=ring) == {}
    ring.now += 1
    with pytest.raises(QuorumUnavailable, match="vetoed"):
        recovery.finish()
    assert set(ring.recovery(enrolled).open()) == {1, 2, 3, 4, 5}, "no further requests for a day"
    ring.now += 2 * DAY
    again = ring.recovery(enrolled)
    ring.now += 2 * DAY
    assert again.finish() == SECRET


def test_only_who_has_the_secret_vetoes(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    recovery = ring.recovery(enrolled)
    refused = quorum.veto(b"\x07" * 32, enrolled.envelope, roster=ring.roster, transport=ring)
    assert set(refused) == {1, 2, 3, 4, 5}
    assert recovery.finish() == SECRET


def test_a_mailed_code_opens_its_own_ticket_alone(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=2, threshold=2, policies={1: mailed, 2: mailed})
    enrolled = ring.enrol()
    thief, owner = ring.recovery(enrolled), ring.recovery(enrolled)
    codes = {
        number: [re.search(r"the code (\S+) there", text)[1] for _, text in ring.mails[number]]  # type: ignore[index]
        for number in (1, 2)
    }
    for number in (1, 2):
        with pytest.raises(TicketRefused):
            thief.confirm(number, codes[number][1])
        owner.confirm(number, codes[number][1].lower().replace("-", " "))
    with pytest.raises(QuorumUnavailable, match="no such ticket"):
        thief.finish()
    assert owner.finish() == SECRET


@pytest.mark.parametrize("is_waiting", [False, True])
def test_whoever_has_copied_an_envelope_asks_as_often_as_they_like_and_its_owner_gets_through(
    tmp_path: Path, is_waiting: bool
) -> None:
    """The owner is told of a few requests; a code in the last message confirms theirs, which no other displaces. It is good for one."""
    policy = (lambda tell: Waiting(tell, wait_seconds=HOUR)) if is_waiting else mailed
    ring = Ring(tmp_path, count=2, threshold=2, policies={1: policy, 2: policy})
    enrolled = ring.enrol()

    def flood() -> quorum.Recovery:
        return [ring.recovery(enrolled) for _ in range(30)][-1]

    flood()
    owner = ring.recovery(enrolled)
    flood()
    codes = {number: re.search(r"the code (\S+) on", mails[-1][1])[1] for number, mails in ring.mails.items()}  # type: ignore[index]
    for number, code in codes.items():
        with pytest.raises(TicketRefused, match="not the code"):
            owner.confirm(number, "AAAA-AAAA-AAAA")
        owner.confirm(number, code)
    thief = flood()
    for number, code in codes.items():
        with pytest.raises(TicketRefused, match="not the code"):
            thief.confirm(number, code)
    ring.now += HOUR
    assert owner.finish() == SECRET
    assert all(len(mails) <= 10 for mails in ring.mails.values())
    assert all(
        len(guardian._store.tickets(enrolled.envelope.head.enrolment, since=0)) <= 21
        for guardian in ring.guardians.values()
    )


def test_requests_that_were_answered_unconfirmed_leave_room_for_the_owners(tmp_path: Path) -> None:
    """Who can wait can ask; the owner, who has the code of the message, is answered besides."""
    ring = Ring(tmp_path, count=2, threshold=2)
    enrolled = ring.enrol()
    for _ in range(3):
        assert ring.recovery(enrolled).finish() == SECRET
    owner = ring.recovery(enrolled)
    with pytest.raises(QuorumUnavailable, match="enough requests today"):
        owner.finish()
    for number, mails in ring.mails.items():
        owner.confirm(number, re.search(r"the code (\S+) on", mails[-1][1])[1])  # type: ignore[index]
    assert owner.finish() == SECRET


def test_at_the_counter_the_owner_gets_through_as_well(tmp_path: Path) -> None:
    ring = Ring(tmp_path, policies={1: CounterCode})
    enrolled = ring.enrol()
    owner = ring.recovery(enrolled)
    ring.now += 1
    for _ in range(30):
        ring.recovery(enrolled)
    with pytest.raises(TicketRefused, match="no open request"):
        ring.guardians[1].issue_code(owner.name(1), contact="mallory@example.org")
    code = ring.guardians[1].issue_code(owner.name(1), contact="bea@example.org")
    with pytest.raises(TicketRefused):
        ring.recovery(enrolled).confirm(1, code)
    owner.confirm(1, code)
    ring.down = {2, 3}
    owner.open()
    assert owner.finish() == SECRET


def test_messages_to_the_owner_name_site_and_account(tmp_path: Path) -> None:
    ring = Ring(tmp_path, policies={1: mailed, 2: CounterCode})
    enrolled = quorum.enrol(SECRET, roster=ring.roster, transport=ring, contact="b@x.org", account="bea {code}")
    ring.recovery(enrolled)
    assert all("of the account bea {code} at Example's site" in mails[0][1] for mails in ring.mails.values())
    ring.start(3, empty=True)
    ring.sweep()
    assert ring.guardians[3].known(enrolled.envelope.head.enrolment).account == "bea {code}"


def test_a_code_is_tried_a_few_times_and_no_more(tmp_path: Path) -> None:
    ring = Ring(tmp_path, policies={1: mailed})
    recovery = ring.recovery(ring.enrol())
    for _ in range(3):
        with pytest.raises(TicketRefused, match="not the code"):
            recovery.confirm(1, "AAAA-AAAA-AAAA")
    code = re.search(r"the code (\S+) there", ring.mails[1][0][1])[1]  # type: ignore[index]
    with pytest.raises(TicketRefused, match="Too many"):
        recovery.confirm(1, code)


def test_a_counter_hands_out_the_code_of_the_ticket_that_is_named(tmp_path: Path) -> None:
    ring = Ring(tmp_path, policies={1: CounterCode})
    enrolled = ring.enrol()
    thief, owner = ring.recovery(enrolled), ring.recovery(enrolled)
    code = ring.guardians[1].issue_code(owner.name(1), contact="Bea@example.org ")
    with pytest.raises(TicketRefused):
        thief.confirm(1, code)
    owner.confirm(1, code)
    ring.down = {2, 3}
    assert owner.finish() == SECRET
    with pytest.raises(TicketRefused):
        ring.guardians[1].issue_code("0123456789", contact="bea@example.org")


def test_a_counter_hands_out_nothing_about_somebody_else(tmp_path: Path) -> None:
    """Mallory has a copy of the envelope, a request of her own for it, and her own passport."""
    ring = Ring(tmp_path, policies={1: CounterCode})
    mallory = ring.recovery(ring.enrol())
    with pytest.raises(TicketRefused, match="somebody else"):
        ring.guardians[1].issue_code(mallory.name(1), contact="mallory@example.org")
    assert ring.guardians[1].audit()[0][1] == "code refused"


def test_who_cannot_tell_the_owner_does_not_help(tmp_path: Path) -> None:
    def untold(_: object) -> Waiting:
        def tell(contact: str, text: str) -> None:
            raise TicketRefused("This guardian could not tell the owner; try again later.")

        return Waiting(tell, wait_seconds=HOUR)

    ring = Ring(tmp_path, count=2, threshold=2, policies={1: untold})
    recovery = ring.recovery(ring.enrol())
    ring.now += 2 * HOUR
    with pytest.raises(QuorumUnavailable, match="no such ticket"):
        recovery.finish()
    assert ring.guardians[1].audit()[0][1] == "owner not told"


def test_a_veto_holds_for_a_day_though_nothing_was_asked(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    assert quorum.veto(SECRET, enrolled.envelope, roster=ring.roster, transport=ring) == {}
    recovery = quorum.Recovery(enrolled.envelope, roster=ring.roster, transport=ring)
    assert set(recovery.open()) == {1, 2, 3, 4, 5}
    ring.now += DAY
    assert recovery.open() == {}
    assert recovery.finish() == SECRET


def test_who_has_heard_a_veto_cannot_say_it_to_others(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    quorum.veto(SECRET, enrolled.envelope, roster=ring.roster, transport=ring)
    heard = next(json.loads(body) for number, path, body in ring.asked if (number, path) == (1, "/veto"))
    for number in (2, 3, 4, 5):
        with pytest.raises(TicketRefused, match="Only the owner"):
            ring.ask(number, "/veto", heard)


def test_a_guardian_that_is_slow_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quorum, "HEDGE_SECONDS", 0.05)
    ring = Ring(tmp_path)
    recovery = ring.recovery(ring.enrol())
    over = threading.Event()

    def hang(answer: dict) -> dict:  # type: ignore[type-arg]
        over.wait()
        return answer

    ring.lies = {(1, "/evaluate"): hang}
    assert recovery.finish() == SECRET
    assert {number for number, path, _ in ring.asked if path == "/evaluate"} >= {1, 2, 3, 4}
    over.set()


def test_to_try_again_is_no_further_guess(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=3, threshold=3)
    recovery = ring.recovery(ring.enrol(pin="4711"))
    ring.down = {3}
    for _ in range(5):
        with pytest.raises(QuorumUnavailable):
            recovery.finish(pin="4711")
    ring.down = set()
    assert recovery.finish(pin="4711") == SECRET


def test_a_ticket_ends(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    recovery = ring.recovery(ring.enrol())
    ring.now += 8 * DAY
    with pytest.raises(QuorumUnavailable, match="over"):
        recovery.finish()


def test_the_audit_log_says_what_was_asked_and_no_secret(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    enrolled = ring.enrol()
    ring.recovery(enrolled).finish()
    entries = ring.guardians[1].audit()
    assert [what for _, what, _ in entries] == ["evaluated", "ticket opened", "enrolled"]
    assert all(at == NOW for at, _, _ in entries)
    # Ids of requests and enrolments, and not whom they are about. Their digits may well spell a short name.
    assert all(re.fullmatch("[0-9a-f]{16}", about) for _, _, about in entries)


# --- who is asked ---


def test_only_as_many_are_asked_as_are_needed_and_those_first_that_stay_up(tmp_path: Path) -> None:
    ring = Ring(tmp_path, count=6, threshold=2)
    plan = GuardianSchedule(6, 2, attack_seconds=600, restart_seconds=200)
    ring.roster = Roster(ring.roster.members, 2, ring.roster.site_key, plan)
    recovery = ring.recovery(ring.enrol())
    ring.asked.clear()
    assert plan.down(NOW) == {1, 2}
    assert recovery.finish(at_seconds=NOW) == SECRET
    assert {number for number, path, _ in ring.asked if path == "/evaluate"} == {5, 6}
    ring.down = {5, 6, 3}
    ring.asked.clear()
    assert recovery.finish(at_seconds=NOW) == SECRET
    assert {number for number, _, _ in ring.asked} == {4, 1}


@pytest.mark.parametrize("path", ["/evaluate"])
def test_a_guardian_that_lies_is_named_and_the_others_suffice(tmp_path: Path, path: str) -> None:
    ring = Ring(tmp_path)
    recovery = ring.recovery(ring.enrol())
    other = ring.enrol()
    stranger = ring.recovery(other)

    def lie(answer: dict) -> dict:  # type: ignore[type-arg]
        return {"partials": [{**answer["partials"][0], "response": answer["partials"][0]["challenge"]}]}

    ring.lies = {(1, path): lie, (2, path): lambda answer: {"partials": "rubbish"}}
    assert recovery.finish() == SECRET
    assert stranger.finish() == SECRET
    ring.down = {5}
    with pytest.raises(QuorumUnavailable) as refused:
        recovery.finish()
    assert set(refused.value.wrong) == {1, 2, 5}
    assert refused.value.have == 2


# --- the roster and the schedule ---


def test_a_roster_is_what_the_site_signed(tmp_path: Path) -> None:
    ring = Ring(tmp_path)
    plan = GuardianSchedule(5, 3, attack_seconds=86_400, restart_seconds=600)
    roster = Roster(ring.roster.members, 3, ring.roster.site_key, plan)
    text = roster.signed(ring.site_key)
    assert Roster.parse(text, site_key=ring.roster.site_key) == roster
    with pytest.raises(GuardianRefused):
        Roster.parse(text.replace("9001", "9009"), site_key=ring.roster.site_key)
    with pytest.raises(GuardianRefused):
        Roster.parse(text, site_key=bytes(ring.identities[1].signing_key.verify_key))
    for rubbish in ("", "[]", "{}", '{"roster": 1, "signature": 2}'):
        with pytest.raises(GuardianRefused):
            Roster.parse(rubbish, site_key=ring.roster.site_key)


IMPOSSIBLE: dict[str, Callable[[], GuardianSchedule]] = {
    "too many down at once": lambda: GuardianSchedule(5, 4, attack_seconds=100, restart_seconds=50),
    "a restart takes longer than an attack": lambda: GuardianSchedule(5, 3, attack_seconds=10, restart_seconds=11),
    "no restart takes no time": lambda: GuardianSchedule(5, 3, attack_seconds=10, restart_seconds=0),
    "more are needed than there are": lambda: GuardianSchedule(5, 6, attack_seconds=100, restart_seconds=1),
}


@pytest.mark.parametrize("why", IMPOSSIBLE)
def test_a_schedule_that_cannot_hold_is_refused(why: str) -> None:
    with pytest.raises(ConfigurationError):
        IMPOSSIBLE[why]()


@pytest.mark.parametrize(
    ("count", "threshold", "attack", "restart"), [(18, 6, 60, 10), (5, 3, 2_000, 150), (8, 6, 40, 10), (7, 2, 13, 4)]
)
def test_each_guardian_restarts_within_the_time_of_an_attack_and_enough_are_up(
    count: int, threshold: int, attack: int, restart: int
) -> None:
    plan = GuardianSchedule(count, threshold, attack, restart)
    for start in range(NOW, NOW + 3 * attack, restart):
        assert len(plan.up(start)) >= threshold
    for number in range(1, count + 1):
        restarts = [at for at in range(NOW, NOW + 4 * attack) if number in plan.down(at)]
        starts = [at for at in restarts if at - 1 not in restarts]
        assert all(later - earlier <= attack for earlier, later in pairwise(starts[1:]))
        assert len(starts) >= 3
        at = plan.next_restart(number, after_seconds=NOW)
        assert number in plan.down(at)
        assert NOW - restart < at <= NOW + attack


def test_base_64_of_another_size_is_refused() -> None:
    with pytest.raises(GuardianRefused):
        from_base64("AAAA", size=32)
    with pytest.raises(GuardianRefused):
        from_base64("!", size=1)
