"""Devices of somebody whose site has got another key since."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import edna
from edna import devices, errors, serverkeys, vouching
from edna.devices.models import DeviceRecord
from edna.testing import application_dump
from tests.installed import registering
from tests.integration.test_rotation import EachAlone
from tests.support import ANONYMISE_LECTURE, enrol_in_course, with_server_keys

pytestmark = pytest.mark.django_db
OLD, NEW, PASSWORD = "an old key of the server's, long", "a new key of the server's, long", "another long walk home"


@pytest.fixture(autouse=True)
def each_alone() -> Iterator[None]:
    with registering(EachAlone):
        yield


def test_they_open_under_both_keys_and_need_the_new_one_alone_once_they_were_vouched_for() -> None:
    """What only the server finds moves without anybody's key. A password has to be used once."""
    with with_server_keys(OLD):
        bea = enrol_in_course("bea@example.org")
        laptop = devices.create(bea.unlock(), name="laptop")
        phone = devices.begin()
        devices.add(laptop, phone.code, name="phone")
        devices.add_password(laptop, identifier=bea.email, password=PASSWORD, name="password")
    with with_server_keys(NEW, OLD):
        # Which group has her key; who may replace the states of laptop, phone and password.
        assert serverkeys.former().older["devices"] == 4
        assert serverkeys.former().older["slots"] == 1
        found = vouching.vouch().found["devices"]
        assert (found.looked_at, found.older, found.tagged) == (4, 4, 4)
        assert serverkeys.former().older["devices"] == 0
        assert vouching.vouch().found["devices"].tagged == 0
        edna.unlock(identifier=bea.email, password=PASSWORD).close()
        assert not any(serverkeys.former().older[kind] for kind in ("devices", "slots"))
    with with_server_keys(NEW):
        with (
            edna.unlock(identifier=bea.email, password=PASSWORD) as unlocked,
            pytest.raises(errors.PrincipalHasDevices),
        ):
            edna.rotate(unlocked)
        former, laptop = laptop, devices.update(laptop)
        with pytest.raises(errors.DeviceUnknown):
            devices.unlock(former)
        assert [each.name for each in devices.members(phone.secret_key)] == ["laptop", "phone", "password"]
        assert serverkeys.former().wrong["slots"] == 0


@pytest.mark.once
def test_what_was_hidden_under_the_former_key_comes_back_by_a_device() -> None:
    """Before and after the devices have another key, as long as the former key of the server is in the list."""
    with with_server_keys(OLD):
        bea = enrol_in_course("bea@example.org")
        before = application_dump()
        laptop = devices.create(bea.unlock(), name="laptop")
        receipts = [bea.disguise(ANONYMISE_LECTURE, lecture=1), bea.disguise("websubmit.delete-account")]
    with with_server_keys(NEW, OLD):
        vouching.vouch()
        with devices.unlock(laptop) as unlocked:
            assert edna.reveal(receipts[1], unlocked).complete
        laptop = devices.update(laptop)
        with devices.unlock(laptop) as unlocked:
            assert edna.reveal(receipts[0], unlocked).complete
    assert application_dump() == before


@pytest.mark.once
def test_a_group_that_ends_under_the_new_key_leaves_nothing_to_find() -> None:
    with with_server_keys(OLD):
        laptop = devices.create(enrol_in_course("bea@example.org").unlock(), name="laptop")
    with with_server_keys(NEW, OLD):
        vouching.vouch()
    with with_server_keys(NEW):
        devices.end(laptop)
        assert not DeviceRecord.objects.exists()
