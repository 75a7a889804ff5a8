"""Whoever writes the table of devices, ends a process in the middle, or acts at the same moment: nobody is let in, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import edna
from edna import devices, errors
from edna.crypto.keys import SecretKey
from edna.custody.devices.device import Device
from edna.custody.devices.keeping import entry_place, open_of_group, seal_for_group, seal_state, state_place
from edna.devices import reading
from edna.devices.models import DeviceRecord
from tests.devices.test_acts import Devices, opened_by
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, killed_at
from tests.integration.test_rotation import assert_opens_nothing, keys_of
from tests.support import Student, enrol_in_course
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.long]

_DELETE = "websubmit.delete-account"


class Log:
    """The log of a group, as somebody sees it who has been in it, and writes the table."""

    def __init__(self, key: SecretKey) -> None:
        self.group = reading.read(key).membership.group

    def entry(self, number: int) -> DeviceRecord:
        return DeviceRecord.objects.get(place=entry_place(self.group, number))

    def raw(self, number: int) -> bytes:
        return open_of_group(bytes(self.entry(number).sealed), self.group)

    def write(self, number: int, raw: bytes) -> None:
        sealed = seal_for_group(raw, self.group)
        DeviceRecord.objects.update_or_create(place=entry_place(self.group, number), defaults={"sealed": sealed})


def _forge(log: Log, thief: Device) -> None:
    """The device that was removed signs an update of its own, at the end of the log as it knows it."""
    forged = thief.update().pending
    assert forged is not None
    log.write(3, forged.operation)


def _replay(log: Log, _: Device) -> None:
    log.write(4, log.raw(2))


def _swap(log: Log, _: Device) -> None:
    first, second = log.raw(2), log.raw(3)
    log.write(2, second)
    log.write(3, first)


def _truncate(log: Log, _: Device) -> None:
    log.entry(3).delete()


def _fork(log: Log, thief: Device) -> None:
    """As if it had never been removed, from the operation before on."""
    forged = thief.update().pending
    assert forged is not None
    log.write(2, forged.operation)
    log.entry(3).delete()


@pytest.mark.once
@pytest.mark.parametrize("attack", [_forge, _replay, _swap, _truncate, _fork])
def test_a_removed_device_that_writes_the_table_is_refused(attack: Callable[[Log, Device], None]) -> None:
    """It puts nobody else's key in the place of theirs: who reads the log says so, and what was hidden is there once it is restored."""
    bea = enrol_in_course("bea@example.org")
    bea.disguise(_DELETE)
    hers, drawer = Devices(bea), devices.begin()
    thief, held = reading.read(hers.phone), keys_of(opened_by(hers.phone))
    devices.remove(hers.laptop, hers.phone_id)
    devices.add(hers.laptop, drawer.code)
    devices.catch_up(drawer.secret_key)
    rows = {record.pk: record for record in DeviceRecord.objects.all()}
    attack(Log(hers.laptop), thief)
    for key in (hers.laptop, drawer.secret_key):
        with pytest.raises(errors.EdnaError) as refusal:
            devices.update(key)
        assert isinstance(refusal.value, errors.CustodyError), refusal.value
    assert_opens_nothing(held)
    DeviceRecord.objects.all().delete()
    DeviceRecord.objects.bulk_create(rows.values())
    assert len(opened_by(drawer.secret_key).history()) == 1


@pytest.mark.once
def test_an_older_state_that_somebody_puts_back_does_not_make_a_device_act_twice() -> None:
    bea = enrol_in_course("bea@example.org")
    hers = Devices(bea)
    place = state_place(hers.laptop)
    former = bytes(DeviceRecord.objects.get(place=place).sealed)
    devices.remove(hers.laptop, hers.phone_id)
    DeviceRecord.objects.filter(place=place).update(sealed=former)
    for act in (devices.unlock, devices.update):
        with pytest.raises(errors.DeviceCopied):
            act(hers.laptop)
    # Nor does another's: it is sealed to the key of its own device alone.
    stranger = SecretKey.generate()
    DeviceRecord.objects.filter(place=place).update(sealed=seal_state(Device.new(), key=stranger))
    with pytest.raises(errors.DeviceStateRefused):
        devices.unlock(hers.laptop)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["update", "remove"])
def test_killed_at_every_step_nothing_is_lost_and_the_same_call_finishes_it(act: str) -> None:
    """Before the commit all is as it was; behind it, it is done, whoever heard of it."""
    bea = enrol_in_course("bea@example.org")
    bea.disguise(_DELETE)
    hers = Devices(bea)

    def work(new: SecretKey, phone: bytes) -> object:
        if act == "update":
            return devices.update(hers.laptop, new=new)
        return devices.remove(hers.laptop, phone)

    killed = []
    for number in ["COMMIT", AFTER_COMMIT, *range(0, MOST_STEPS, 3)]:
        new, held = devices.new_key(), keys_of(opened_by(hers.laptop))
        step = killed_at(number, lambda new=new: work(new, hers.phone_id))
        if step is None:
            break
        killed.append(step)
        is_done = False
        for key in (hers.laptop, new):
            try:
                assert len(opened_by(key).history()) == 1
            except errors.DeviceUnknown:
                is_done = key is hers.laptop
        if act == "update":
            if step in ("COMMIT", AFTER_COMMIT):  # a look for bags that are left comes behind it, too
                assert is_done == (step == AFTER_COMMIT)
            assert devices.update(hers.laptop, new=new) == new
            hers.laptop = new
        elif hers.phone_id in {member.id for member in devices.members(hers.laptop)}:
            assert step != AFTER_COMMIT
            devices.remove(hers.laptop, hers.phone_id)
        assert_opens_nothing(held)
        assert len(opened_by(hers.laptop).history()) == 1
        if act == "remove":
            begun = devices.begin()
            hers.phone, hers.phone_id = begun.secret_key, devices.add(hers.laptop, begun.code)
    assert {"COMMIT", AFTER_COMMIT} <= set(killed)


@pytest.mark.django_db(transaction=True)
@pytest.mark.every_database
def test_several_who_act_at_once_do_it_one_after_the_other() -> None:
    """Two remove each other, a third one updates, and the site hides something: what is hidden opens for whoever is left."""
    bea = enrol_in_course("bea@example.org")
    hers, drawer = Devices(bea), devices.begin()
    devices.add(hers.laptop, drawer.code)
    laptop = next(member.id for member in devices.members(hers.laptop) if member.is_own)
    new = devices.new_key()
    results = at_once(
        lambda: devices.remove(hers.laptop, hers.phone_id),
        lambda: devices.remove(hers.phone, laptop),
        lambda: devices.update(drawer.secret_key, new=new),
        lambda: edna.disguise(_DELETE, bea.user),
    )
    problems = [result for result in results if isinstance(result, Exception)]
    assert all(isinstance(each, errors.DeviceRemoved) for each in problems), results
    left = devices.members(new)
    assert 1 <= len(left) <= 2
    assert len(opened_by(new).history()) == 1
    opening = [key for key in (hers.laptop, hers.phone) if _opens(key)]
    assert len(opening) == len(left) - 1


def _opens(key: SecretKey) -> Student | None:
    try:
        return opened_by(key)
    except errors.DeviceRemoved:
        return None
