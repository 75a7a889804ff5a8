"""What others try against somebody's way back: one who is logged in, a guardian who lies, one who had the name before."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import edna
from apps.websubmit.models import User
from edna import errors, guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.roster import Roster
from edna.guardians import enrolments, files, serving
from edna.guardians.models import KeptEnvelope
from edna.guardians.site import configured
from tests.guardians.parties import Parties, parties
from tests.support import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.once]
NAME, CONTACT = "bea@example.org", "bea@home.example"


@pytest.fixture
def five(tmp_path: Path) -> Iterator[Parties]:
    with parties(tmp_path) as made:
        yield made


def enrolled() -> tuple[User, edna.Registration]:
    user = User.objects.create(email=NAME)
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert not guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)
    return user, made


def known_to(five: Parties) -> set[int]:
    return {each.status()["enrolments"] for each in five.guardians.values()}


def test_nobody_has_guardians_forget_somebody_else_by_the_id_of_their_enrolment(five: Parties) -> None:
    """Each envelope tells its id to whoever asks. Enrolled under it once more, the site would have ordered to forget it."""
    enrolled()
    (envelope,) = enrolments.envelopes_at(NAME)
    made = enrolments.Made(
        bytes(envelope), salt=bytes(16), commitments=bytes(96), vetoes=bytes(160), shares=[bytes(80)] * 5
    )
    with pytest.raises(errors.EnvelopeRefused, match="another key"):
        enrolments.enroll_elsewhere(
            configured(), edna.SecretKey.generate().public_key, made, [], identifier="m", contact="m@example.org"
        )
    assert known_to(five) == {1}


def test_a_guardian_that_lies_about_the_time_stops_nobody(five: Parties) -> None:
    """It would wait longer than calendars go: the others are asked, and help."""
    _, made = enrolled()
    five.guardians[2].state = lambda token: {"retry_after_seconds": 10**30}  # type: ignore[method-assign]
    code, progress = guardians.ask(NAME)
    assert [each.waits_until is not None for each in progress.answers] == [True, False, True, False, False]
    guardians.confirm(NAME, code, 4, five.code(4))
    five.now += 7201
    with guardians.recover(NAME, code) as unlocked:
        assert unlocked.public_key == made.secret_key.public_key


def test_all_guardians_are_told_at_once_to_forget(five: Parties) -> None:
    """One that drips its answer keeps nobody else from hearing it."""
    _, made = enrolled()
    together = threading.Barrier(5, timeout=5)
    for guardian in five.guardians.values():

        def forget(enrolment: bytes, former: object = guardian.forget) -> None:
            together.wait()
            former(enrolment)  # type: ignore[operator]

        guardian.forget = forget  # type: ignore[method-assign]
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert guardians.withdraw(unlocked) == {}
    assert known_to(five) == {0}


def test_a_guardian_that_drips_its_answer_to_a_code_holds_nobody_up(
    five: Parties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gives it a code hears that it did not answer."""
    enrolled()
    code, _ = guardians.ask(NAME)
    over = threading.Event()

    def confirm(*given: object, **named: object) -> None:
        over.wait(5)

    five.guardians[4].confirm = confirm  # type: ignore[method-assign]
    monkeypatch.setattr(quorum, "DEFAULT_TIMEOUT_SECONDS", 0.05)
    with pytest.raises(errors.GuardianRefused, match="in time"):
        guardians.confirm(NAME, code, 4, five.code(4))
    over.set()


def test_of_two_enrolments_at_once_one_stays_everywhere(five: Parties) -> None:
    """The second is complete before the first has its row; what the first replaces then is that of the second."""
    _, made = enrolled()

    def enroll(unlocked: edna.Unlocked) -> None:
        guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)

    with edna.unlock(secret_key=made.secret_key) as unlocked:
        replace = enrolments.inner_door.replace_slot

        def overtaken(*given: object, **named: object) -> None:
            with pytest.MonkeyPatch.context() as as_it_was:
                as_it_was.setattr(enrolments.inner_door, "replace_slot", replace)
                enroll(unlocked)
            replace(*given, **named)  # type: ignore[arg-type]

        with pytest.MonkeyPatch.context() as overtaking:
            overtaking.setattr(enrolments.inner_door, "replace_slot", overtaken)
            enroll(unlocked)
    assert (KeptEnvelope.objects.count(), known_to(five)) == (1, {1})


def test_an_envelope_for_former_guardians_is_in_nobodys_way(five: Parties) -> None:
    """Somebody had the name, and other guardians; who has it now comes back with those of today."""
    first, _ = enrolled()
    edna.disguise("websubmit.delete-account", first)
    site_key = files.read_site_key(five.folder / "site.key")
    roster = Roster(five.roster.members, 2, five.roster.site_key)
    (five.folder / "roster.json").write_text(roster.signed(site_key))
    for guardian in five.guardians.values():
        guardian.roster = roster
    _, made = enrolled()
    code, _ = guardians.ask(NAME)
    five.now += 7201
    with guardians.recover(NAME, code) as unlocked:
        assert unlocked.public_key == made.secret_key.public_key


def test_after_another_key_nothing_is_left_of_the_former_way_back(
    five: Parties, django_capture_on_commit_callbacks: Any
) -> None:
    """Guardians forget it; enrolled anew, the owner is told once, and nobody waits for codes of what opens nothing."""
    _, made = enrolled()
    captured = django_capture_on_commit_callbacks(execute=True)
    with captured, edna.unlock(secret_key=made.secret_key) as unlocked:
        key = edna.rotate(unlocked, password=PASSWORD).secret_key
    assert (KeptEnvelope.objects.count(), known_to(five)) == (0, {0})
    with edna.unlock(secret_key=key) as unlocked:
        guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)
    guardians.ask(NAME)
    assert len(five.mails) == 5


@pytest.mark.parametrize("contact", ["", "a@example.org, b@example.org", "a@example.org\nBcc: b@example.org"])
def test_a_guardian_writes_to_one_address_alone(contact: str) -> None:
    """Whoever enrolls says where they are reached: not where others are."""
    with pytest.raises(errors.TicketRefused, match="no single address"):
        serving.tell_by_mail(host="127.0.0.1", port=9, sender="g@example.org")(contact, "")
