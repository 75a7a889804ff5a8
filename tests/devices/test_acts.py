"""A person with several devices on a site: what each opens, and what one that was removed or copied does not."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

import edna
from apps.websubmit.models import Lecture
from edna import devices, errors
from edna.crypto.keys import SecretKey
from edna.custody.devices.device import Device
from edna.custody.devices.keeping import (
    card_place,
    entry_place,
    open_of_group,
    seal_for_group,
    seal_welcome,
    state_place,
    welcome_place,
)
from edna.devices import acts, reading, writing
from edna.devices.models import DeviceRecord
from edna.models import Bag, KeySlot, PrincipalEntry
from edna.operations.upkeep import verification
from edna.records.bag import BagKind
from edna.testing import application_dump
from tests.installed import registering
from tests.integration.test_rotation import Copy, EachAlone, assert_opens_nothing, keys_of
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    Student,
    enrol,
    enrol_in_course,
    loot,
    nothing_changes,
    statements,
)
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.long]

_DELETE = "websubmit.delete-account"


@pytest.fixture(autouse=True)
def each_alone() -> Iterator[None]:
    with registering(EachAlone):
        yield


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


class Devices:
    """Bea's laptop, on which she has made a group, and her phone."""

    def __init__(self, bea: Student) -> None:
        self.laptop = devices.create(bea.unlock(), name="laptop")
        new = devices.begin()
        self.phone = new.secret_key
        self.phone_id = devices.add(self.laptop, new.code, name="phone")


def opened_by(key: SecretKey) -> Student:
    """Bea, by the key of the group that a device of hers has now."""
    with devices.unlock(key) as unlocked:
        person = edna.principal(unlocked)
        return Student(person, unlocked.secret_key)  # type: ignore[arg-type]  # None while she is away


def test_each_device_brings_back_what_any_of_them_has_hidden(bea: Student) -> None:
    before = application_dump()
    receipts = [bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)]
    old = keys_of(bea)
    hers = Devices(bea)
    assert_opens_nothing(old)
    receipts += [edna.disguise(name, opened_by(hers.phone).user) for name in (EachAlone.name, _DELETE)]
    for key, receipt in zip((hers.phone, hers.laptop, hers.phone), reversed(receipts), strict=True):
        with devices.unlock(key) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    assert application_dump() == before
    assert Copy().bags == {}


@pytest.mark.once
def test_a_removed_device_opens_nothing_that_is_there(bea: Student) -> None:
    """Neither what is hidden later nor what was before, if it fetches it now, and none of the lists; the one that stays opens all."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    edna.disguise_all(EachAlone.name)
    hers = Devices(bea)
    thief = keys_of(opened_by(hers.phone))
    copy = Copy()
    assert copy.opened(thief), "what it has copied it keeps"
    expected = len(copy.opened(thief))
    assert devices.remove(hers.laptop, hers.phone_id) == expected
    edna.disguise_all(ANONYMISE_ALL)
    assert_opens_nothing(thief)
    assert copy.opened(thief), "what it has copied it keeps"
    for act in (devices.unlock, devices.update, devices.members, devices.catch_up):
        with pytest.raises(errors.DeviceRemoved):
            act(hers.phone)
    with devices.unlock(hers.laptop) as unlocked:
        while entries := edna.history(unlocked):
            assert edna.reveal(entries[0].receipt, unlocked).complete


@pytest.mark.once
def test_a_copied_device_is_locked_out_once_it_updates_and_not_before(bea: Student) -> None:
    """The thief has the key of the phone, and reads the tables, its state among them."""
    bea.disguise(_DELETE)
    hers = Devices(bea)
    stolen = hers.phone
    hers.laptop = devices.update(hers.laptop)
    assert keys_of(opened_by(stolen)), "another one's update heals nobody"
    thief = keys_of(opened_by(stolen))
    hers.phone = devices.update(hers.phone)
    assert_opens_nothing(thief)
    with pytest.raises(errors.DeviceUnknown):
        devices.unlock(stolen)
    hers.laptop = devices.update(hers.laptop)
    assert_opens_nothing(thief)
    assert len(keys_of(opened_by(hers.phone))) == len(thief)


@pytest.mark.once
def test_the_tables_tell_neither_whose_devices_there_are_nor_how_many_each_has(bea: Student) -> None:
    hers = Devices(bea)
    with devices.unlock(hers.laptop) as unlocked:
        secret = unlocked.secret_key
    spoils = loot()
    known = [secret.expose(), hers.laptop.expose(), hers.phone.expose(), hers.phone_id, b"laptop", b"phone"]
    assert not [needle for needle in known if needle in spoils]
    sizes = {len(record.sealed) for record in DeviceRecord.objects.all()}
    assert len(sizes) == 1, "all records are of one length"


@pytest.mark.once
def test_members_are_called_and_seen_and_what_is_pending_is_told(bea: Student) -> None:
    hers = Devices(bea)
    names = [(member.name, member.is_own) for member in devices.members(hers.laptop)]
    assert names == [("laptop", True), ("phone", False)]
    assert devices.pending(hers.phone) == devices.Pending(2, is_update_due=False)
    devices.catch_up(hers.phone)
    assert devices.pending(hers.phone).operations == 0
    devices.rename(hers.phone, hers.phone_id, "telephone")
    assert [member.name for member in devices.members(hers.laptop)] == ["laptop", "telephone"]
    hers.laptop = devices.update(hers.laptop)
    assert devices.pending(hers.phone).operations == 1
    assert len({member.last_seen for member in devices.members(hers.phone)}) == 1


@pytest.mark.once
def test_catching_up_never_takes_a_device_back(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody adds a device in one tab while another one has read the state and is about to store it."""
    hers, new, read = Devices(bea), devices.begin(), reading.read

    def interrupted(key: SecretKey) -> Device:
        device = read(key)
        monkeypatch.setattr(acts, "read", read)
        devices.add(hers.laptop, new.code)
        return device

    monkeypatch.setattr(acts, "read", interrupted)
    devices.catch_up(hers.laptop)
    assert opened_by(hers.laptop).user == opened_by(new.secret_key).user == bea.user


@pytest.mark.once
def test_a_device_that_acts_in_another_tab_is_not_taken_for_a_copy(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read its state there and is about to read the log, in which its own operation stands by now."""
    hers, new, entries = Devices(bea), devices.begin(), reading.entries

    def interrupted(group: bytes, *, start: int) -> list[bytes]:
        monkeypatch.setattr(reading, "entries", entries)
        devices.add(hers.laptop, new.code)
        return entries(group, start=start)

    monkeypatch.setattr(reading, "entries", interrupted)
    assert len(devices.members(hers.laptop)) == 3


@pytest.mark.once
def test_a_device_unlocks_while_another_one_replaces_the_key(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """The secret that it has read is no longer the present one when it is used."""
    hers, read = Devices(bea), reading.read

    def interrupted(key: SecretKey) -> Device:
        device = read(key)
        monkeypatch.setattr(acts, "read", read)
        devices.update(hers.phone)
        return device

    monkeypatch.setattr(acts, "read", interrupted)
    assert opened_by(hers.laptop).user == bea.user


@pytest.mark.once
def test_a_code_leads_to_the_device_that_shows_it_and_to_no_other(bea: Student) -> None:
    laptop = devices.create(bea.unlock())
    new, other = devices.begin(), devices.begin()
    with pytest.raises(errors.DeviceUnknown, match=new.code):
        devices.unlock(new.secret_key)
    for wrong in ("", "B055", new.code[:-1] + "U", "0000-0000-0000"):
        with pytest.raises(errors.DeviceCodeRefused):
            devices.add(laptop, wrong)
    # Somebody writes another device's card where the code leads.
    records = {code: DeviceRecord.objects.get(place=card_place(code)) for code in (new.code, other.code)}
    DeviceRecord.objects.filter(pk=records[new.code].pk).update(sealed=records[other.code].sealed)
    with pytest.raises(errors.DeviceCodeRefused):
        devices.add(laptop, new.code)
    typed = other.code.lower().replace("-", " ").replace("0", "o")
    devices.add(laptop, typed)
    with pytest.raises(errors.DeviceCodeRefused, match="No device shows"):
        devices.add(laptop, other.code)
    assert opened_by(other.secret_key).user == bea.user


@pytest.mark.once
def test_a_code_that_was_shown_too_long_ago_is_refused_and_deleted(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    laptop, new = devices.create(bea.unlock()), devices.begin()
    now = timezone.now()
    monkeypatch.setattr("django.utils.timezone.now", lambda: now + writing.CODE_LIFETIME)
    with pytest.raises(errors.DeviceCodeRefused, match="too long ago"):
        devices.add(laptop, new.code)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now + 2 * timedelta(days=1))
    later = devices.begin()
    assert not DeviceRecord.objects.filter(place=card_place(new.code)).exists()
    devices.add(laptop, later.code)
    assert opened_by(later.secret_key).user == bea.user
    assert not DeviceRecord.objects.exclude(expires_on=None).exists()


@pytest.mark.once
def test_a_log_that_lacks_its_end_is_refused(bea: Student) -> None:
    hers = Devices(bea)
    devices.catch_up(hers.phone)
    before = {record.pk for record in DeviceRecord.objects.all()}
    hers.laptop = devices.update(hers.laptop)
    devices.catch_up(hers.phone)
    group = reading.read(hers.laptop).membership.group
    assert DeviceRecord.objects.exclude(pk__in=before).filter(place=entry_place(group, 2)).delete()[0] == 1
    with pytest.raises(errors.DeviceLogTruncated):
        devices.unlock(hers.phone)


def test_an_error_in_the_middle_changes_nothing(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    bea.disguise(_DELETE)
    hers = Devices(bea)
    records = {(bytes(record.place), bytes(record.sealed)) for record in DeviceRecord.objects.all()}

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the power is gone")

    with monkeypatch.context() as patched:
        patched.setattr("edna.store.replace_keys", broken)
        with pytest.raises(RuntimeError):
            devices.remove(hers.laptop, hers.phone_id)
    assert {(bytes(record.place), bytes(record.sealed)) for record in DeviceRecord.objects.all()} == records
    assert len(opened_by(hers.phone).history()) == 1


@pytest.mark.once
def test_a_device_is_not_removed_while_a_part_of_what_is_hidden_is_missing(bea: Student) -> None:
    """Restored afterwards, it would be sealed to a key that nobody has any more. A rotation refuses, too."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    hers = Devices(bea)
    bags = list(Bag.objects.all())
    assert len(bags) == 2
    for missing in bags:
        Bag.objects.filter(pk=missing.pk).delete()
        with nothing_changes(), pytest.raises(errors.BagMissing):
            devices.remove(hers.laptop, hers.phone_id)
        Bag.objects.bulk_create([missing])
    assert devices.remove(hers.laptop, hers.phone_id) == len(bags)


@pytest.mark.once
def test_a_bag_to_which_only_a_receipt_leads_is_not_left_to_the_former_key(bea: Student, settings: Any) -> None:
    """It was made while the site kept no lists, and what speaks for her placeholder has noted it; a rotation refuses, too."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    today = settings.EDNA
    settings.EDNA = {**today, "LOCATORS": "client"}
    receipt = bea.disguise(_DELETE, with_key=True)
    settings.EDNA = today
    with nothing_changes(), pytest.raises(errors.ReceiptsIncomplete):
        devices.create(bea.unlock())
    with bea.unlock(receipts=[receipt]) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


def test_it_takes_as_many_statements_for_many_bags_as_for_few(bea: Student) -> None:
    laptop = devices.create(bea.unlock())
    counts = []
    for _ in range(2):
        for lecture in Lecture.objects.all():
            edna.disguise(ANONYMISE_LECTURE, bea.user, params={"lecture": lecture.pk})
        keys = [laptop]
        counts.append(statements(lambda keys=keys: keys.append(devices.update(keys[0]))))
        laptop = keys[-1]
    assert len(counts[0]) == len(counts[1]), (
        [sql[:90] for sql in counts[0]] + ["----"] + [sql[:90] for sql in counts[1]]
    )


@pytest.mark.once
def test_a_lost_answer_loses_no_key(bea: Student) -> None:
    """Whoever has kept the new key before it is used has it, whether they heard of it or not."""
    bea.disguise(_DELETE)
    laptop, following, third = devices.new_key(), devices.new_key(), devices.begin()
    devices.create(bea.unlock(), name="laptop", new=laptop)
    assert len(opened_by(laptop).history()) == 1
    devices.add(laptop, third.code)
    assert devices.update(laptop, new=following.expose_text()) == following
    with nothing_changes():
        assert devices.update(laptop, new=following) == following
        with pytest.raises(errors.DeviceUnknown):
            devices.update(laptop, new=devices.new_key())
        with pytest.raises(errors.SequenceTaken):  # the state of that device would be lost
            devices.update(following, new=third.secret_key)
    assert len(opened_by(following).history()) == len(opened_by(third.secret_key).history()) == 1


@pytest.mark.once
def test_what_is_damaged_is_given_up_on_purpose_alone(bea: Student) -> None:
    """The device that is removed opens nothing of the rest, and the group goes on."""
    lectures = Lecture.objects.order_by("pk")
    damaged, sound = (bea.disguise(ANONYMISE_LECTURE, lecture=lecture.pk) for lecture in lectures[:2])
    hers = Devices(bea)
    thief = keys_of(opened_by(hers.phone))
    missing = Bag.objects.filter(index=damaged.locator.index(BagKind.DIFF, 0))
    assert missing.delete()[0] == 1
    for act in (devices.update, lambda key: devices.remove(key, hers.phone_id)):
        with nothing_changes(), pytest.raises(errors.BagMissing):
            act(hers.laptop)
    devices.remove(hers.laptop, hers.phone_id, leave_damaged=True)
    assert [entry.receipt for entry in opened_by(hers.laptop).history()] == [sound]
    left = {damaged.locator.index(kind, 0) for kind in BagKind}
    assert Copy().opened(thief) <= left, "what was given up stays as it is"
    hers.laptop = devices.update(hers.laptop)
    with devices.unlock(hers.laptop) as unlocked:
        assert edna.reveal(sound, unlocked).complete


@pytest.mark.once
def test_rotate_updates_a_device_and_never_locks_all_of_them_out(bea: Student) -> None:
    """Whether the key was opened by a device, by a password, or as it is."""
    receipt = bea.disguise(_DELETE)
    hers = Devices(bea)
    with devices.unlock(hers.laptop) as unlocked:
        thief = keys_of(opened_by(hers.laptop))
        edna.change_password(unlocked, identifier="bea", password="a long walk home")
        for arguments in ({"password": "a new one"}, {"public_key": SecretKey.generate().public_key}):
            with pytest.raises(errors.PrincipalHasDevices), nothing_changes():
                edna.rotate(unlocked, **arguments)
        by_password = edna.unlock(identifier="bea", password="a long walk home")
        with pytest.raises(errors.PrincipalHasDevices), nothing_changes():
            edna.rotate(by_password, leave_damaged=True)
        made = edna.rotate(unlocked)
        assert unlocked.closed
    assert_opens_nothing(thief)
    assert made.secret_key is not None
    with pytest.raises(errors.DeviceUnknown):
        devices.unlock(hers.laptop)
    with devices.unlock(made.secret_key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert opened_by(hers.phone).user == bea.user


@pytest.mark.once
def test_a_password_and_a_code_go_on_opening_while_devices_come_go_and_update(bea: Student) -> None:
    """Each is a device, and is removed as one. A device that is lost takes none of them along."""
    receipt, hers = bea.disguise(_DELETE), Devices(bea)
    words = {"identifier": "bea", "password": "a long walk home"}
    by_password = devices.add_password(hers.laptop, **words, name="password")
    code = devices.add_recovery_code(hers.phone, name="paper")
    assert [member.name for member in devices.members(hers.laptop)] == ["laptop", "phone", "password", "paper"]
    devices.remove(hers.laptop, hers.phone_id)
    hers.laptop = devices.update(hers.laptop)
    for given in (words, {"recovery_code": str(code)}, {"secret_key": hers.laptop}):
        with edna.unlock(**given) as unlocked:
            assert [entry.receipt for entry in edna.history(unlocked)] == [receipt]
    with edna.unlock(**words) as unlocked, nothing_changes(), pytest.raises(errors.PrincipalHasDevices):
        edna.rotate(unlocked)  # its new key would be in no slot
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier="bea", password="another")
    devices.remove(hers.laptop, by_password)
    with pytest.raises(errors.DeviceRemoved):
        edna.unlock(**words)
    with edna.unlock(recovery_code=code) as unlocked:
        assert edna.reveal(receipt, unlocked).complete


@pytest.mark.once
def test_an_operator_verifies_what_somebody_opens_by_the_key_of_a_device(bea: Student) -> None:
    """Of a restored backup, say: nobody has the key of the group itself."""
    bea.disguise(_DELETE)
    hers = Devices(bea)
    assert verification.verify(secret_key=hers.phone).seen["bags of the person"] == Bag.objects.count()
    devices.remove(hers.laptop, hers.phone_id)
    with pytest.raises(errors.DeviceRemoved):
        verification.verify(secret_key=hers.phone)
    with pytest.raises(errors.PrincipalNotRegistered):
        verification.verify(secret_key=devices.new_key())


@pytest.mark.once
def test_a_restored_backup_has_the_devices_of_its_day(bea: Student) -> None:
    """Who was removed since is in the group again, and is removed again; who was updated since is added anew (docs/backups.md)."""
    bea.disguise(_DELETE)
    hers, tables = Devices(bea), (DeviceRecord, Bag, PrincipalEntry, KeySlot)
    devices.catch_up(hers.phone)
    backup = {table: list(table._base_manager.all()) for table in tables}
    was_laptop = next(member.id for member in devices.members(hers.laptop) if member.is_own)
    devices.remove(hers.laptop, hers.phone_id)
    hers.laptop = devices.update(hers.laptop)
    for table, rows in backup.items():
        table._base_manager.all().delete()
        table._base_manager.bulk_create(rows)
    with pytest.raises(errors.DeviceUnknown):
        devices.unlock(hers.laptop)
    assert len(opened_by(hers.phone).history()) == 1
    new = devices.begin()
    devices.add(hers.phone, new.code)
    devices.remove(hers.phone, was_laptop)
    devices.remove(new.secret_key, hers.phone_id)
    with pytest.raises(errors.DeviceRemoved):
        devices.unlock(hers.phone)
    assert len(opened_by(new.secret_key).history()) == 1


@pytest.mark.once
def test_a_password_that_could_not_be_added_leaves_nothing(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    hers = Devices(bea)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("the power is gone")

    monkeypatch.setattr(acts, "add", broken)
    with nothing_changes(), pytest.raises(RuntimeError):
        devices.add_password(hers.laptop, identifier="bea", password="a long walk home")
    devices.remove(hers.laptop, hers.phone_id)
    with nothing_changes(), pytest.raises(errors.DeviceRemoved):
        devices.add_recovery_code(hers.phone)


@pytest.mark.once
def test_who_wants_no_devices_any_more_has_one_key_and_nothing_is_kept_of_the_group(bea: Student) -> None:
    receipt, hers = bea.disguise(_DELETE), Devices(bea)
    others = devices.create(enrol().unlock())
    theirs = {entry_place(reading.read(others).membership.group, 0), state_place(others)}
    made = devices.end(hers.laptop, identifier="bea", password="a long walk home")
    with pytest.raises(errors.DeviceGroupEnded):
        devices.unlock(hers.phone)
    devices.forget(hers.phone)
    assert theirs < {bytes(record.place) for record in DeviceRecord.objects.all()}
    assert DeviceRecord.objects.count() == 5, (
        "of the other group: operation, state with its guard, note, and whose key it has"
    )
    with edna.unlock(identifier="bea", password="a long walk home") as unlocked:
        assert made.public_key == unlocked.public_key
        assert edna.reveal(receipt, unlocked).complete


@pytest.mark.once
def test_nothing_is_kept_of_the_group_of_somebody_who_is_erased(bea: Student) -> None:
    receipt, hers = bea.disguise(_DELETE), Devices(bea)
    with devices.unlock(hers.laptop) as unlocked:
        edna.erase(receipt, unlocked)
    assert DeviceRecord.objects.count() == 5, "two states with guards, a welcome: what devices alone can delete"
    with pytest.raises(errors.DeviceGroupEnded):
        devices.unlock(hers.phone)


@pytest.mark.once
def test_a_device_is_told_that_its_group_has_ended(bea: Student) -> None:
    hers = Devices(bea)
    laptop = devices.create(devices.unlock(hers.phone))
    for act in (devices.unlock, devices.update):
        with pytest.raises(errors.DeviceGroupEnded):
            act(hers.phone)
    assert opened_by(laptop).user == bea.user


@pytest.mark.once
def test_what_is_kept_of_a_device_is_deleted_once_it_is_in_no_group(bea: Student) -> None:
    hers, never, before = Devices(bea), devices.begin(), DeviceRecord.objects.count()
    devices.unlock(hers.phone).close()  # with which it takes its welcome
    with pytest.raises(errors.OperationRefused), nothing_changes():
        devices.forget(hers.phone)
    devices.forget(never.secret_key)
    assert DeviceRecord.objects.count() == before - 4, (
        "its state, guard and card, and the welcome of the phone, which has come"
    )
    devices.remove(hers.laptop, hers.phone_id)
    devices.forget(hers.phone)
    for act in (devices.forget, devices.unlock):
        with pytest.raises(errors.DeviceUnknown):
            act(hers.phone)
    assert opened_by(hers.laptop).user == bea.user


@pytest.mark.once
def test_a_device_stays_in_the_group_to_which_it_was_added(bea: Student) -> None:
    """A device that was removed knows the cards of all, and writes the table: it tells the phone of a group of its own."""
    hers, carls = Devices(bea), devices.create(enrol().unlock())
    card = reading.stored(hers.phone).card
    groups = {name: reading.read(key).membership.group for name, key in (("hers", hers.laptop), ("carls", carls))}
    welcome = DeviceRecord.objects.get(place=welcome_place(hers.phone_id))
    # Entries of her log in the place of the first of his: they are of another group.
    first = DeviceRecord.objects.get(place=entry_place(groups["carls"], 0))
    operation = open_of_group(
        bytes(DeviceRecord.objects.get(place=entry_place(groups["hers"], 0)).sealed), groups["hers"]
    )
    DeviceRecord.objects.filter(pk=first.pk).update(sealed=seal_for_group(operation, groups["carls"]))
    forged = seal_welcome(groups["carls"], prekey=card.prekey)
    DeviceRecord.objects.filter(pk=welcome.pk).update(sealed=forged)
    with pytest.raises(errors.OperationRefused, match="another group"):
        devices.unlock(hers.phone)
    DeviceRecord.objects.filter(pk=first.pk).update(sealed=bytes(first.sealed))
    welcome.save()
    assert devices.group_code(hers.phone) == devices.group_code(hers.laptop) != devices.group_code(carls)
    # Once it has come, nobody tells it of another group.
    assert opened_by(hers.phone).user == bea.user
    DeviceRecord.objects.create(place=bytes(welcome.place), sealed=forged)
    assert opened_by(hers.phone).user == bea.user


@pytest.mark.django_db(transaction=True)
@pytest.mark.every_database
def test_of_two_that_update_at_once_one_does_it_after_the_other() -> None:
    bea = enrol_in_course("bea@example.org")
    bea.disguise(_DELETE)
    hers = Devices(bea)
    keys = at_once(lambda: devices.update(hers.laptop), lambda: devices.update(hers.phone))
    for key in keys:
        assert isinstance(key, SecretKey), key
        assert len(opened_by(key).history()) == 1
        assert devices.pending(key).operations <= 1


def test_co_owners_are_the_group_of_an_account_that_is_theirs_together() -> None:
    """Each hides and brings back what is the account's; nobody's own is opened by it; who is removed opens nothing from then on."""
    bea, carl, band = (enrol_in_course(f"{name}@example.org") for name in ("bea", "carl", "band"))
    before = application_dump()
    of_bea = devices.create(band.unlock(), name="Bea")
    new = devices.begin()
    carl_id = devices.add(of_bea, new.code, name="Carl")

    alone = [edna.disguise(_DELETE, one.user) for one in (bea, carl)]
    for hides, brings_back in ((of_bea, new.secret_key), (new.secret_key, of_bea)):
        receipt = edna.disguise(_DELETE, opened_by(hides).user)
        for receipt_of_one in alone:
            with devices.unlock(brings_back) as unlocked, pytest.raises(errors.ReceiptForeign):
                edna.reveal(receipt_of_one, unlocked)
        with devices.unlock(brings_back) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
    known_to_carl = keys_of(opened_by(new.secret_key))
    devices.remove(of_bea, carl_id)
    receipt = edna.disguise(_DELETE, opened_by(of_bea).user)
    with pytest.raises(errors.DeviceRemoved):
        devices.unlock(new.secret_key)
    assert_opens_nothing(known_to_carl)
    with devices.unlock(of_bea) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    for one, receipt in zip((bea, carl), alone, strict=True):
        assert one.reveal(receipt).complete
    assert application_dump() == before
    assert Copy().bags == {}
