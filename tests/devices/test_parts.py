"""Of somebody who has hidden much, bags get their new recipients in parts: what is left meanwhile, and that nothing is lost between two."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

import edna
from apps.websubmit.models import Lecture
from edna import devices, errors
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_sealed, seal
from edna.devices import reading
from edna.engine.books import former_keys
from edna.engine.renewing import rewrapping
from edna.models import Bag
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.devices.test_acts import Devices, opened_by
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, killed_at
from tests.installed import registering
from tests.integration.test_rotation import Copy, EachAlone, assert_opens_nothing, keys_of
from tests.support import ANONYMISE_ALL, ANONYMISE_LECTURE, Student, enrol_in_course, loot, nothing_changes, statements
from tests.waiting import at_once

# Inside of a transaction there are no parts.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]

_DELETE = "websubmit.delete-account"


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(rewrapping, "AT_ONCE", 3)
    with registering(EachAlone):
        yield


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org")


def hidden(bea: Student) -> None:
    """Over each other: bags of her own, and of each of her placeholders."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    edna.disguise_all(EachAlone.name)
    edna.disguise_all(ANONYMISE_ALL)
    bea.disguise(_DELETE)


def secret_of(key: SecretKey) -> SecretKey:
    """The present one of the group. Unlike `devices.unlock` it finishes nothing."""
    secret: SecretKey = reading.read(key).secret.secret_key()
    return secret


def all_back(key: SecretKey) -> None:
    """By the principal's own key, so that what is left stays left."""
    with edna.unlock(secret_key=secret_of(key)) as unlocked:
        while entries := edna.history(unlocked):
            assert edna.reveal(entries[0].receipt, unlocked).complete


def left(key: SecretKey) -> int:
    return devices.pending(key).bags


@pytest.mark.parametrize("kind", ["x25519", "x-wing"])
def test_whoever_is_removed_opens_what_is_left_and_nothing_else_until_it_is_finished(
    bea: Student, settings: Any, kind: str
) -> None:
    """The new key is there at once: no list, no placeholder's key and nothing that is hidden from then on opens with a former one."""
    settings.EDNA = {**settings.EDNA, "RECIPIENT": kind}
    hidden(bea)
    hers = Devices(bea)
    thief = keys_of(opened_by(hers.phone))
    before, number = Copy(), devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    many = left(hers.laptop)
    assert 6 < many < number
    with pytest.raises(errors.DeviceRemoved):
        devices.unlock(hers.phone)
    edna.disguise_all(EachAlone.name)
    now = Copy()
    assert len(now.opened(thief)) == many
    assert now.opened(thief) < before.opened(thief)
    assert now.locators(thief) == set()
    assert not now.public_keys & {bytes(key.public_key) for key in thief}
    assert devices.finish(hers.laptop) == many
    assert_opens_nothing(thief)
    assert left(hers.laptop) == devices.finish(hers.laptop) == 0
    all_back(hers.laptop)
    assert Copy().bags == {}, "nothing is kept of the parts"


def _reveal(_: Devices) -> None:
    pass


def _disguise(hers: Devices) -> None:
    """Also what she had disowned, with the key."""
    with edna.unlock(secret_key=secret_of(hers.laptop)) as unlocked:
        assert edna.reveal(edna.history(unlocked)[0].receipt, unlocked).complete
        user = edna.principal(unlocked)
        assert user is not None
        edna.disguise(ANONYMISE_ALL, user, unlocked=unlocked)


def _update(hers: Devices) -> None:
    hers.laptop = devices.update(hers.laptop, leave_rest=True)
    assert left(hers.laptop)


def _update_in_one(hers: Devices) -> None:
    with transaction.atomic():
        hers.laptop = devices.update(hers.laptop)
    assert not left(hers.laptop)


def _add_one_that_has_the_present_alone(hers: Devices) -> None:
    new = devices.begin()
    devices.add(hers.laptop, new.code, with_history=False)
    hers.laptop = new.secret_key


@first_everywhere("act", [_reveal, _disguise, _update, _update_in_one, _add_one_that_has_the_present_alone], count=2)
def test_while_bags_are_left_everything_is_there_to_the_byte(bea: Student, act: Callable[[Devices], None]) -> None:
    before = application_dump()
    hidden(bea)
    hers = Devices(bea)
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    assert left(hers.laptop)
    act(hers)
    all_back(hers.laptop)
    assert application_dump() == before
    devices.unlock(hers.laptop).close()
    assert Copy().bags == {}


@pytest.mark.once
def test_whatever_replaces_the_key_or_hands_bags_out_finishes_first(bea: Student) -> None:
    before = application_dump()
    hidden(bea)
    hers = Devices(bea)
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    with edna.unlock(secret_key=secret_of(hers.laptop)) as unlocked:
        assert edna.export_sealed(unlocked)
    assert not left(hers.laptop)
    hers.laptop = devices.update(hers.laptop, leave_rest=True)
    thief = keys_of(bea_with(secret_of(hers.laptop), bea))
    bea.secret_key = devices.end(hers.laptop).secret_key
    assert_opens_nothing(thief)
    bea.reveal_everything()
    assert application_dump() == before
    assert Copy().bags == {}


def bea_with(key: SecretKey, bea: Student) -> Student:
    return Student(bea.user, key)


@pytest.mark.once
def test_a_device_that_unlocks_finishes_and_one_part_takes_as_many_statements_as_another(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden(bea)
    hers = Devices(bea)
    counts = []
    for size, parts in ((1_000, 0), (3, 3), (5, 2)):
        monkeypatch.setattr(rewrapping, "AT_ONCE", size)
        hers.laptop = devices.update(hers.laptop, leave_rest=True)
        assert parts == -(-left(hers.laptop) // size)
        counts.append(len(statements(lambda: devices.unlock(hers.laptop).close())))
        assert not left(hers.laptop)
    without, three, two = counts
    assert (three - without) % 3 == 0
    assert (three - without) // 3 == (two - without) // 2
    assert len(statements(lambda: devices.unlock(hers.laptop).close())) == without


@pytest.mark.slow
@pytest.mark.parametrize("act", ["update", "remove"])
def test_killed_between_two_parts_nothing_is_lost_and_the_next_unlock_finishes_it(bea: Student, act: str) -> None:
    """And in the middle of one, and before the first: whatever the last thing was that it did."""
    hidden(bea)
    hers = Devices(bea)
    shown = len(opened_by(hers.laptop).history())
    were_left = set()
    for number in [AFTER_COMMIT, *range(0, MOST_STEPS, 7)]:
        new, held = devices.new_key(), keys_of(opened_by(hers.laptop))
        step = killed_at(
            number,
            lambda new=new: (
                devices.update(hers.laptop, new=new) if act == "update" else devices.remove(hers.laptop, hers.phone_id)
            ),
        )
        if act == "update" and _is_device(new):
            hers.laptop = new
        if step is None:
            break
        were_left.add(left(hers.laptop))
        # All of it opens before anything is finished, and after it.
        with edna.unlock(secret_key=secret_of(hers.laptop)) as unlocked:
            assert len(edna.history(unlocked)) == shown
        assert len(opened_by(hers.laptop).history()) == shown
        assert not left(hers.laptop)
        if act == "remove" and len(devices.members(hers.laptop)) == 1:
            assert_opens_nothing(held)
            begun = devices.begin()
            hers.phone, hers.phone_id = begun.secret_key, devices.add(hers.laptop, begun.code)
    assert len(were_left) > 2, were_left
    all_back(hers.laptop)
    assert Copy().bags == {}


def _is_device(key: SecretKey) -> bool:
    try:
        devices.pending(key)
    except errors.DeviceUnknown:
        return False
    return True


@pytest.mark.every_database
def test_several_who_finish_and_bring_back_at_once_lose_nothing(bea: Student) -> None:
    before = application_dump()
    hidden(bea)
    hers = Devices(bea)
    devices.update(hers.phone, new=(phone := devices.new_key()), leave_rest=True)
    results = at_once(lambda: devices.finish(hers.laptop), lambda: all_back(hers.laptop), lambda: devices.finish(phone))
    assert not [result for result in results if isinstance(result, Exception)], results
    all_back(hers.laptop)
    assert application_dump() == before
    assert Copy().bags == {}


@pytest.mark.once
def test_nothing_is_kept_of_the_parts_of_somebody_who_is_erased(bea: Student) -> None:
    hidden(bea)
    hers = Devices(bea)
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    with edna.unlock(secret_key=secret_of(hers.laptop)) as unlocked:
        for entry in edna.history(unlocked):
            edna.erase(entry.receipt, unlocked)
    assert not Bag.objects.exists()


def _part(key: SecretKey) -> Bag:
    return Bag.objects.get(index=former_keys._place(secret_of(key), 0))


@pytest.mark.once
def test_a_part_that_somebody_has_written_is_refused_and_keeps_nobody_out(
    bea: Student, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has copied a device can seal to the key of the group; it takes a key of the server to say which keys open what."""
    hidden(bea)
    hers = Devices(bea)
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    secret = secret_of(hers.laptop)
    part = _part(hers.laptop)
    sealed = bytes(part.sealed)
    content = open_sealed(sealed, secret_key=secret)
    part.sealed = seal(content[:-1] + bytes([content[-1] ^ 1]), recipients=[secret.public_key])
    part.save()
    many = left(hers.laptop)
    with pytest.raises(errors.BagForged):
        devices.finish(hers.laptop)
    assert not left(hers.laptop), "the other parts are finished"
    with nothing_changes():
        with pytest.raises(errors.BagForged):
            devices.update(hers.laptop)
        devices.unlock(hers.laptop).close()
    assert "BagForged" in caplog.text
    Bag.objects.filter(pk=part.pk).update(sealed=sealed)
    assert 0 < devices.finish(hers.laptop) < many


@pytest.mark.once
def test_what_is_noted_of_the_parts_looks_like_any_bag_and_is_kept_as_long(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    hidden(bea)
    hers = Devices(bea)
    thief = keys_of(opened_by(hers.laptop))
    dates = set(Bag.objects.values_list("expires_on", flat=True))
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    spoils = loot()
    assert not [key for key in thief if key.expose() in spoils]
    assert set(Bag.objects.values_list("expires_on", flat=True)) == dates
    assert isinstance(_part(hers.laptop).expires_on, datetime.date)


@pytest.mark.once
@pytest.mark.parametrize("changed", [{"CUSTODY": "both"}, {"POLICIES": {"restore": "role = restorer"}}])
def test_there_are_no_parts_where_browsers_open_bags_or_only_some_workers_may(
    bea: Student, settings: Any, changed: dict[str, Any]
) -> None:
    hidden(bea)
    hers = Devices(bea)
    settings.EDNA = {**settings.EDNA, **changed}
    devices.remove(hers.laptop, hers.phone_id, leave_rest=True)
    assert not left(hers.laptop)
