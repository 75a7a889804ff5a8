"""Verification looks at what is kept of devices: whatever was changed past edna is named by its row, for each kind of damage."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from edna import conf, devices
from edna.custody.devices.keeping import entry_place, guard_place, key_place, note_place, state_place
from edna.devices import reading
from edna.devices.models import DeviceRecord
from edna.operations.upkeep import verification
from tests.devices.test_acts import Devices, opened_by
from tests.devices.test_attacks import Log
from tests.installed import registering
from tests.integration.test_rotation import EachAlone
from tests.support import Student, enrol_in_course

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def each_alone() -> Iterator[None]:
    with registering(EachAlone):
        yield


class Site:
    """Bea's devices, whose log has four operations, and Carl's one, which is always sound."""

    def __init__(self, bea: Student, carl: Student) -> None:
        self.hers, self.his = Devices(bea), devices.create(carl.unlock(), name="desk")
        self.thief = reading.read(self.hers.phone)
        self.hers.laptop = devices.update(self.hers.laptop)
        self.drawer = devices.begin()
        devices.add(self.hers.laptop, self.drawer.code, name="drawer")
        self.log = Log(self.hers.laptop)
        self.public_key = opened_by(self.hers.laptop).secret_key.public_key

    def entry(self, number: int) -> DeviceRecord:
        return self.log.entry(number)

    def named(self) -> DeviceRecord:
        """Which group her key has."""
        return DeviceRecord.objects.get(place=key_place(self.public_key, pepper=conf.mac_keys()[0]))

    def note(self) -> DeviceRecord:
        return DeviceRecord.objects.get(place=note_place(self.log.group, self.hers.phone_id))

    def state(self) -> DeviceRecord:
        return DeviceRecord.objects.get(place=state_place(self.hers.phone))

    def guard(self) -> DeviceRecord:
        place = guard_place(state_place(self.hers.phone), pepper=conf.mac_keys()[0])
        return DeviceRecord.objects.get(place=place)


@pytest.fixture
def site() -> Site:
    bea = enrol_in_course("bea@example.org")
    return Site(bea, enrol_in_course("carl@example.org"))


def found() -> dict[str, list[int | str]]:
    return {each.kind: each.ids for each in verification.verify().findings if each.kind.startswith("device_")}


def flipped(record: DeviceRecord) -> int:
    """The last bit of what is sealed, by somebody who writes the table."""
    sealed = bytes(record.sealed)
    DeviceRecord.objects.filter(pk=record.pk).update(sealed=sealed[:-1] + bytes([sealed[-1] ^ 1]))
    return record.pk


def test_what_devices_have_written_is_sound_and_counted(site: Site) -> None:
    found_all = verification.verify()
    assert [each for each in found_all.findings if each.kind.startswith("device_")] == []
    assert found_all.seen["logs of devices"] == 2
    assert found_all.seen["records of devices"] == DeviceRecord.objects.count()


@pytest.mark.once
@pytest.mark.parametrize("what", ["named", "note", "guard"])
def test_a_record_that_was_changed_is_named(site: Site, what: str) -> None:
    pk = flipped(getattr(site, what)())
    assert found() == {"device_record": [pk]}


@pytest.mark.once
def test_an_operation_that_was_changed_is_named(site: Site) -> None:
    pk = flipped(site.entry(2))
    assert found() == {"device_record": [pk]}


@pytest.mark.once
@pytest.mark.parametrize("what", ["state", "note"])
def test_a_record_that_was_cut_is_named(site: Site, what: str) -> None:
    record: DeviceRecord = getattr(site, what)()
    DeviceRecord.objects.filter(pk=record.pk).update(sealed=bytes(record.sealed)[:-1])
    assert found() == {"device_record": [record.pk]}


def _forge(site: Site) -> int:
    """With a signature that is another operation's."""
    log = site.log
    log.write(3, log.raw(3)[:-64] + log.raw(2)[-64:])
    return log.entry(3).pk


def _swap(site: Site) -> int:
    first, second = site.log.raw(2), site.log.raw(3)
    site.log.write(2, second)
    site.log.write(3, first)
    return site.entry(2).pk


def _repeat(site: Site) -> int:
    site.log.write(4, site.log.raw(2))
    return site.entry(4).pk


def _fork(site: Site) -> int:
    """An operation that a device of the group did sign, at the end of the log as it was once."""
    other = site.thief.update().pending
    assert other is not None
    site.log.write(4, other.operation)
    return site.entry(4).pk


def _from_elsewhere(site: Site) -> int:
    """The beginning of another group."""
    site.log.write(0, Log(site.his).raw(0))
    return site.entry(0).pk


def _one_is_missing(site: Site) -> int:
    site.entry(2).delete()
    return site.entry(3).pk


def _its_end_is_missing(site: Site) -> int:
    for number in (3, 2):
        site.entry(number).delete()
    return site.named().pk


def _all_is_missing(site: Site) -> int:
    DeviceRecord.objects.filter(place__in=[entry_place(site.log.group, number) for number in range(4)]).delete()
    return site.named().pk


@pytest.mark.once
@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (_forge, "device_forged"),
        (_swap, "device_order"),
        (_repeat, "device_order"),
        (_fork, "device_order"),
        (_from_elsewhere, "device_order"),
        (_one_is_missing, "device_order"),
        (_its_end_is_missing, "device_end"),
        (_all_is_missing, "device_end"),
    ],
)
def test_a_log_that_somebody_has_written_is_named(site: Site, damage: Callable[[Site], int], kind: str) -> None:
    pk = damage(site)
    assert found() == {kind: [pk]}
