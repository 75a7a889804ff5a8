"""What others try against somebody's way back: one who is logged in, a guardian who lies, one who had the name before."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import nacl.signing
import pytest

import edna
from apps.websubmit.models import User
from edna import errors, guardians
from edna.custody.guardians import quorum
from edna.custody.guardians.process import orders
from edna.custody.guardians.process.transport import HttpTransport
from edna.custody.guardians.roster import Roster
from edna.guardians import enrolments, files, serving
from edna.guardians.models import KeptEnvelope
from edna.guardians.site import configured
from tests.guardians.parties import Parties
from tests.support import PASSWORD
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.long]
NAME, CONTACT = "bea@example.org", "bea@home.example"


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
    together = threading.Barrier(5, timeout=WAIT_SECONDS)
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
        over.wait(WAIT_SECONDS)

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


def test_what_a_guardian_says_moves_no_cursor(five: Parties) -> None:
    """It is shown in terminals: neither colours, nor a line of its own, nor text that runs the other way."""
    enrolled()

    def refuse(token: bytes) -> None:
        raise errors.TicketRefused("\x1b[2J\x1b]0;owned\x07Guardian 2: all is well\r\n\u202eok" + "x" * 5000)

    five.guardians[1].state = refuse  # type: ignore[method-assign, assignment]
    envelope, site = enrolments.envelopes_at(NAME)[0], configured()
    said = str(quorum.Recovery(envelope, roster=site.roster, transport=site.transport).states()[1])
    assert said.isprintable()
    assert (said.startswith("Guardian 1: "), len(said) < 500) == (True, True)
    status = {"number": 1, "enrolments": "\x1b[2J", "epochs": {}}
    key = nacl.signing.SigningKey.generate()
    member = replace(site.roster.members[0], verify_key=bytes(key.verify_key))
    answer = orders.signed_status(status, challenge=bytes(32), key=key)
    with pytest.raises(errors.GuardianRefused, match="no number"):
        orders.checked_status(answer, challenge=bytes(32), member=member)


@pytest.mark.parametrize("dripped", [b"HTTP/1.0 200 OK\r\n", b"{}"])
def test_an_answer_that_drips_in_ends_with_the_time_out(five: Parties, dripped: bytes) -> None:
    """Each byte comes in time: the whole does not. Headers and body alike."""
    answer = b"HTTP/1.0 200 OK\r\nContent-Length: 1000\r\n\r\n{}"
    end = answer.index(dripped) + len(dripped) - 1
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(answer[:end])
                while not stop.wait(0.02):
                    try:
                        connection.sendall(b" ")
                    except OSError:
                        return

        threading.Thread(target=drip, daemon=True).start()
        site = configured()
        member = replace(site.roster.members[0], address=f"http://127.0.0.1:{listening.getsockname()[1]}")
        roster = Roster([member, *site.roster.members[1:]], 3, site.roster.site_key)
        try:
            with pytest.raises(errors.GuardianRefused, match="cannot be reached"):
                HttpTransport(roster, timeout_seconds=0.3).ask(1, "/waits", {})
        finally:
            stop.set()


def test_of_two_who_had_a_name_the_one_comes_back_who_has_given_codes(five: Parties) -> None:
    """Both enrolled without a PIN, and the guardians who only wait help for both: the first row is the other one's."""
    user, first = enrolled()
    User.objects.filter(pk=user.pk).update(email="former@example.org")
    second = edna.register_principal(User.objects.create(email=NAME), password=PASSWORD)
    with edna.unlock(secret_key=second.secret_key) as unlocked:
        assert not guardians.enroll(unlocked, identifier=NAME, contact="second@home.example")
    keys = [first.public_key, second.public_key]
    for contact, key in zip((CONTACT, "second@home.example"), keys, strict=True):
        code, _ = guardians.ask(NAME)
        [text] = [text for number, to, text in five.mails if (number, to) == (4, contact)]
        guardians.confirm(NAME, code, 4, text.split("give the code ")[1].split()[0])
        five.now += 7201
        with guardians.recover(NAME, code) as unlocked:
            assert unlocked.public_key == key
        five.mails.clear()
