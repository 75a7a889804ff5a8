"""What an enrolment leaves at guardians that nobody keeps: after a kill, or because a guardian was down when it was to forget."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from django.core.management import call_command

import edna
from edna import errors, guardians
from edna.crypto.keys import PublicKey
from edna.custody import by_guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope
from edna.guardians import enrolments
from edna.guardians.models import KeptEnvelope
from edna.guardians.site import configured
from edna.guardians.upkeep import leftovers
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, killed_at
from tests.guardians.parties import Parties, made_elsewhere
from tests.guardians.test_attacks import CONTACT, NAME, enrolled, known_to

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]


def shares_of(five: Parties) -> set[int]:
    """How many enrolments each guardian keeps."""
    return known_to(five)


def kept(public_key: PublicKey) -> list[bytes]:
    return [envelope.head.enrolment for _, envelope in enrolments.kept_for(public_key)]


def helped_by(five: Parties, enrolment: bytes) -> int:
    return sum(guardian._store.enrolment(enrolment) is not None for guardian in five.guardians.values())


def refreshed(five: Parties) -> str:
    out = io.StringIO()
    files = "--roster", str(five.folder / "roster.json"), "--site-key", str(five.folder / "site.key")
    call_command("edna_guardian", "refresh", *files, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_at_every_step_of_an_enrolment_somebody_keeps_a_way_back_and_no_guardian_keeps_another(
    five: Parties,
) -> None:
    """The former enrolment or the new one opens the key, whichever was kept; a refresh has guardians forget what nobody keeps; and the
    same call does it again."""
    _, made = enrolled()
    public_key = made.secret_key.public_key

    def enroll() -> None:
        with edna.unlock(secret_key=made.secret_key) as unlocked:
            guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)

    killed, orphans = [], 0
    for number in [AFTER_COMMIT, *range(MOST_STEPS)]:
        step = killed_at(number, enroll)
        if step is None:
            break
        killed.append(step)
        (enrolment,) = kept(public_key)
        assert helped_by(five, enrolment) == 5
        orphans += shares_of(five) != {1}
        leftovers.finish(configured(), using="default")
        assert (KeptEnvelope.objects.count(), shares_of(five), helped_by(five, enrolment)) == (1, {1}, 5)
    assert {"COMMIT", AFTER_COMMIT} <= set(killed)
    assert orphans > 3, "a kill in between leaves something"
    enroll()
    assert (KeptEnvelope.objects.count(), shares_of(five)) == (1, {1})


def test_a_guardian_that_is_down_when_it_is_to_forget_is_told_again(five: Parties) -> None:
    """And the others are not made to keep it again by a repair meanwhile."""
    _, made = enrolled()
    away = five.guardians[2]
    with pytest.MonkeyPatch.context() as down, edna.unlock(secret_key=made.secret_key) as unlocked:
        down.setattr(away, "forget", _refuses)
        assert set(guardians.withdraw(unlocked)) == {2}
        assert sorted(each.status()["enrolments"] for each in five.guardians.values()) == [0, 0, 0, 0, 1]
        with pytest.raises(SystemExit):
            refreshed(five)
        assert not guardians.is_enrolled(edna.principal(unlocked))
    assert "1 enrolment that nobody keeps" in refreshed(five)
    assert (KeptEnvelope.objects.count(), shares_of(five)) == (0, {0})
    assert "that nobody keeps" not in refreshed(five)


def _refuses(enrolment: bytes) -> None:
    raise errors.GuardianRefused("It is being restarted.")


def test_a_refresh_in_the_middle_of_an_enrolment_makes_it_fail_whole(
    five: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot be told from one that was left by a kill. Nobody is told that they have guardians who have forgotten them."""
    _, made = enrolled()
    (former,) = kept(made.secret_key.public_key)
    replace = enrolments.inner_door.replace_slot

    def overtaken(*given: object, **named: object) -> None:
        leftovers.finish(configured(), using="default")
        replace(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(enrolments.inner_door, "replace_slot", overtaken)
    with (
        edna.unlock(secret_key=made.secret_key) as unlocked,
        pytest.raises(errors.EnvelopeRefused, match="enroll again"),
    ):
        guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)
    assert kept(made.secret_key.public_key) == [former]
    assert (KeptEnvelope.objects.count(), shares_of(five), helped_by(five, former)) == (1, {1}, 5)


def test_what_the_command_has_begun_is_forgotten_by_its_envelope(five: Parties, tmp_path: Path) -> None:
    """Its file is written before any guardian hears of it, so whoever is killed has something to name it by."""
    roster, transport = configured().roster, configured().transport
    path = tmp_path / "bea.envelope"

    def written(envelope: Envelope) -> None:
        assert shares_of(five) == {0}
        path.write_text(envelope.text)

    quorum.enrol(b"secret", roster=roster, transport=transport, contact=CONTACT, before=written)
    assert shares_of(five) == {1}
    files = "--roster", str(five.folder / "roster.json"), "--site-key", str(five.folder / "site.key")
    out = io.StringIO()
    call_command("edna_guardian", "forget", *files, str(path), stdout=out)
    assert "5 of 5 guardians keep nothing of it" in out.getvalue()
    assert shares_of(five) == {0}


def test_an_enrolment_that_a_browser_sends_once_more_is_not_forgotten_though_it_fails_then(five: Parties) -> None:
    """Its answer was lost, and too few guardians are up the second time: those that have the shares keep them, also after a refresh."""
    _, made = enrolled()
    public_key, salt = made.secret_key.public_key, by_guardians.new_salt()
    sent, id_ = (
        made_elsewhere(five, public_key, bytes(range(32)), salt=salt),
        by_guardians.enrolment_for(public_key, salt=salt),
    )

    def send() -> None:
        enrolments.enroll_elsewhere(configured(), public_key, sent, [], identifier=NAME, contact=CONTACT)

    send()
    assert (kept(public_key), helped_by(five, id_), shares_of(five)) == ([id_], 5, {1})
    five.stop(1, 2, 3)
    with pytest.raises(errors.QuorumUnavailable):
        send()
    leftovers.finish(configured(), using="default")
    assert (kept(public_key), helped_by(five, id_)) == ([id_], 5)
