"""A person of a site, and the guardians who help them back to their key; what the site's tables tell of it."""

from __future__ import annotations

import pytest

import edna
from apps.websubmit.models import User
from edna import errors, guardians
from edna.guardians import enrolments
from edna.guardians.models import KeptEnvelope
from edna.guardians.site import configured
from edna.guardians.upkeep import leftovers
from edna.models import KeySlot
from edna.testing.search import places
from tests.guardians.parties import Parties
from tests.support import PASSWORD

pytestmark = [pytest.mark.django_db]
NAME, CONTACT, PIN = "bea@example.org", "bea@home.example", "4711"


def bea(*, pin: str = "", name: str = NAME) -> tuple[User, edna.Registration]:
    user = User.objects.create(email=name)
    made = edna.register_principal(user, password=PASSWORD)
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert not guardians.enroll(unlocked, identifier=name, contact=CONTACT, pin=pin)
    return user, made


def test_who_has_lost_everything_comes_back_by_three_of_five(five: Parties) -> None:
    """Nothing opens before three have agreed, each in its own way; then the key is the one that there was."""
    user, made = bea(pin=PIN)
    assert guardians.is_enrolled(user)

    code, progress = guardians.ask(NAME)
    assert {(number, contact) for number, contact, _ in five.mails} == {(number, CONTACT) for number in range(1, 6)}
    assert (progress.helping, progress.needed) == (0, 3)
    assert [each.waits_until is not None for each in progress.answers] == [True, True, True, False, False]
    assert [each.waits_for_code for each in progress.answers] == [False, False, False, True, True]
    told = {number: text for number, _, text in five.mails}
    assert all(each.request in told[each.number] for each in progress.answers)

    guardians.confirm(NAME, code, 4, five.code(4))
    with pytest.raises(errors.TicketRefused):
        guardians.confirm(NAME, code, 5, "AAAA-AAAA-AAAA")
    with pytest.raises(errors.QuorumUnavailable):
        guardians.recover(NAME, code, pin=PIN)
    five.now += 7201
    five.stop(2)
    progress = guardians.look(NAME, str(code))
    assert (progress.helping, progress.is_enough, progress.answers[1].is_away) == (3, True, True)

    with pytest.raises(errors.EnvelopeRefused):
        guardians.recover(NAME, code, pin="0000")
    for _ in range(4):  # the right one again and again is one guess
        with guardians.recover(NAME, code, pin=PIN) as unlocked:
            assert unlocked.public_key == made.secret_key.public_key
            edna.change_password(unlocked, identifier=NAME, password="another password for bea")
    edna.unlock(identifier=NAME, password="another password for bea").close()


@pytest.mark.once
def test_who_has_no_account_any_more_comes_back_too(five: Parties) -> None:
    """The way back outlives the account, and needs the name alone that the person had."""
    user, _ = bea()
    edna.disguise("websubmit.delete-account", user)
    assert not User.objects.filter(email=NAME).exists()
    code, _ = guardians.ask("  BEA@example.org")
    five.now += 7201
    with guardians.recover(NAME, code) as unlocked:
        edna.reveal(edna.history(unlocked)[0].receipt, unlocked)
    assert User.objects.filter(email=NAME).exists()


@pytest.mark.once
def test_a_veto_stops_it_and_so_does_another_key(five: Parties) -> None:
    """Who still has the key refuses what somebody else asks; after a new key the former way back opens nothing."""
    user, made = bea()
    code, _ = guardians.ask(NAME)
    five.now += 7201
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert guardians.veto(unlocked) == {}
    assert all(each.is_refused for each in guardians.look(NAME, code).answers)
    with pytest.raises(errors.QuorumUnavailable):
        guardians.recover(NAME, code)

    five.now += 86_401
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        edna.rotate(unlocked, password="another password for bea")
    assert not guardians.is_enrolled(user)
    with pytest.raises(errors.WrongCredentials):
        guardians.recover(NAME, code)


def test_withdrawn_is_forgotten_everywhere(five: Parties) -> None:
    """Site and guardians have nothing left; enrolled once more, there is one row and one enrolment."""
    user, made = bea()
    slots = KeySlot.objects.count()
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)
        assert (KeptEnvelope.objects.count(), KeySlot.objects.count()) == (1, slots)
        assert {each.status()["enrolments"] for each in five.guardians.values()} == {1}
        assert guardians.withdraw(unlocked) == {}
    assert {each.status()["enrolments"] for each in five.guardians.values()} == {0}
    assert (KeptEnvelope.objects.count(), KeySlot.objects.count()) == (0, slots - 1)
    assert not guardians.is_enrolled(user)
    with pytest.raises(errors.WrongCredentials):
        guardians.ask(NAME)


@pytest.mark.once
def test_too_few_guardians_change_nothing(five: Parties) -> None:
    """Fewer than three could be given a share: the former way back stays, and a note that those who are down are to forget it."""
    _, made = bea()
    five.stop(1, 3, 5)
    before = list(KeptEnvelope.objects.values_list("sealed"))
    with edna.unlock(secret_key=made.secret_key) as unlocked, pytest.raises(errors.QuorumUnavailable):
        guardians.enroll(unlocked, identifier=NAME, contact=CONTACT)
    (note,) = KeptEnvelope.objects.exclude(sealed=before[0][0])
    assert KeptEnvelope.objects.count() == 2
    assert enrolments.kept_for(made.secret_key.public_key)
    assert leftovers.finish(configured(), using="default") == (0, 1)
    assert KeptEnvelope.objects.filter(pk=note.pk).exists()


@pytest.mark.once
def test_a_name_that_somebody_else_had_before_leads_to_both(five: Parties) -> None:
    """A former owner of a name and the present one each come back by it; neither's way back takes the other's place."""
    first, before = bea()
    edna.disguise("websubmit.delete-account", first)
    _, after = bea(pin=PIN)
    code, _ = guardians.ask(NAME)
    five.now += 7201
    with guardians.recover(NAME, code) as unlocked:
        assert unlocked.public_key == before.secret_key.public_key
    with guardians.recover(NAME, code, pin=PIN) as unlocked:
        assert unlocked.public_key in (before.secret_key.public_key, after.secret_key.public_key)


def test_a_dump_of_the_tables_tells_how_many_and_no_more(five: Parties) -> None:
    """No name, address, enrolment, guardian or ticket is in any cell; rows of two people have one length and nothing in common."""
    bea()
    bea(name="carl@example.org", pin=PIN)
    code, progress = guardians.ask(NAME)
    enrolments = [id_ for id_, _ in five.guardians[1].enrolments(after=b"", most=10)]
    assert len(enrolments) == 2
    secrets = [*enrolments, code.expose(), str(code), CONTACT, *(each.request for each in progress.answers)]
    assert places({f"secret {at}": each for at, each in enumerate(secrets)}) == []
    assert {place.partition(".")[0] for place in places({"name": NAME})} == {User._meta.db_table}
    rows = list(KeptEnvelope.objects.values_list("place", "tag", "sealed"))
    assert len({len(bytes(sealed)) for _, _, sealed in rows}) == 1
    tags = {bytes(tag) for tag in KeySlot.objects.values_list("tag", flat=True)}
    assert not tags & {bytes(each) for row in rows for each in row[:2]}
