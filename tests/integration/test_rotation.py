"""A new key after a compromise: the new one opens everything, the old ones open nothing, whatever happens in between."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.db import connections

import edna
from apps.websubmit.models import Answer, Lecture, User
from edna import Decorrelate, Disguise, conf, errors, store
from edna.crypto.keys import SecretKey
from edna.crypto.sealing import open_sealed, open_small
from edna.custody.base import KINDS, slot_tags
from edna.engine.bags.reader import Everything, read_all
from edna.records.bag import BagKind
from edna.records.locator import SEALED_LOCATOR_BYTES, Locator, seal_locator
from edna.testing import Person, application_dump
from edna.testing.search import finds
from tests.databases import first_everywhere
from tests.faults.post.models import Citizen, Letter
from tests.installed import installed, registered, registering
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    answer_everything,
    counts,
    edna_dump,
    enrol,
    enrol_in_course,
    enrol_many,
    flipped,
    know_server_keys,
    loot,
    make_course,
    nothing_changes,
    rows_of,
    secrets_of,
    statements,
)
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NEW_PASSWORD = "five zebras on a tandem"
POST = "tests.faults.post"


class EachAlone(Disguise):
    """A pseudoprincipal for each answer."""

    name = "test.each-alone"
    transformations = [Decorrelate(Answer, owner="author")]


@pytest.fixture(autouse=True)
def each_alone() -> Iterator[None]:
    with registering(EachAlone):
        yield


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", password=PASSWORD)


@pytest.fixture
def carl(bea: Student) -> Student:
    student = enrol("carl@example.org")
    answer_everything(student)
    return student


def everything_of(person: Person) -> Everything:
    with person.unlock() as unlocked:
        return read_all(unlocked)


def keys_of(person: Person) -> list[SecretKey]:
    """The person's own, and those of everyone they speak for."""
    return [holder.opener.secret_key for holder in everything_of(person).holders.values()]


def rotated(person: Person, **kwargs: Any) -> edna.Registration:
    """Rotate, and let ``person`` have the new key."""
    with person.unlock(receipts=kwargs.pop("receipts", ())) as unlocked:
        made = edna.rotate(unlocked, **kwargs)
        assert unlocked.closed
    assert made.secret_key is not None
    person.secret_key, person.recovery_code = made.secret_key, str(made.recovery_code)
    return made


class Copy:
    """What somebody with a copy of edna's tables has."""

    def __init__(self) -> None:
        self.bags = dict(rows_of("edna_bag", ["index", "sealed"]))
        self.lists = [locators for (locators,) in rows_of("edna_principalentry", ["locators"])]
        self.public_keys = {key for (key,) in rows_of("edna_principalentry", ["public_key"])}
        self.tags = {tag for (tag,) in rows_of("edna_keyslot", ["tag"])}

    def locators(self, keys: Iterable[SecretKey]) -> set[Locator]:
        """What these keys open in the lists."""
        found = set()
        for key in keys:
            for each in self.lists:
                for start in range(0, len(each), SEALED_LOCATOR_BYTES):
                    try:
                        found.add(Locator(open_small(each[start : start + SEALED_LOCATOR_BYTES], secret_key=key)))
                    except errors.WrongKey:
                        continue
        return found

    def opened(self, keys: Iterable[SecretKey]) -> set[bytes]:
        """The indexes of all bags that these keys open, wherever they are, with whatever MAC."""
        found = set()
        for key in keys:
            for index, sealed in self.bags.items():
                try:
                    open_sealed(sealed, secret_key=key)
                except errors.WrongKey:
                    continue
                found.add(index)
        return found


def assert_opens_nothing(old: list[SecretKey]) -> None:
    """No bag, no item of a list, no slot and no entry knows these keys."""
    now = Copy()
    assert now.opened(old) == set()
    assert now.locators(old) == set()
    assert not now.public_keys & {bytes(key.public_key) for key in old}
    assert not now.tags & {
        tag for key in old for kind in KINDS for tag in slot_tags(key, kind=kind, peppers=conf.mac_keys())
    }
    for key in old:
        with pytest.raises(errors.PrincipalNotRegistered):
            edna.unlock(secret_key=key)


def test_every_receipt_reveals_with_the_new_key(bea: Student, carl: Student) -> None:
    """Disguised by herself and by the staff, over each other, with and without the key: all of it comes back to the byte."""
    before, tables = application_dump(), edna_dump()
    receipts = [bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)]
    edna.disguise_all(EachAlone.name)
    edna.disguise_all(ANONYMISE_ALL)
    receipts += [bea.disguise(DELETE, with_key=True)]
    old = keys_of(bea)
    assert len(old) > 5
    history, disguised, numbers = bea.history(), application_dump(), counts()

    rotated(bea, password=NEW_PASSWORD, identifier="bea@example.org")

    assert application_dump() == disguised
    assert counts() == numbers
    assert bea.history() == history
    assert_opens_nothing(old)
    for receipt in reversed(receipts):
        bea.reveal(receipt)
    for person in (bea, carl):
        for _ in range(5):
            for entry in person.history():
                person.reveal(entry.receipt)
    assert application_dump() == before
    after = edna_dump()
    assert {name: len(rows) for name, rows in after.items()} == {name: len(rows) for name, rows in tables.items()}
    assert after["edna_bag"] == []


@pytest.mark.once
@pytest.mark.parametrize("order", [1, -1])
def test_what_is_disguised_after_a_rotation_is_like_what_was_before(bea: Student, carl: Student, order: int) -> None:
    """Rotated between two disguises, twice: revealed in either order."""
    before = application_dump()
    edna.disguise_all(ANONYMISE_ALL)
    rotated(bea)
    edna.disguise_all(EachAlone.name)
    rotated(bea)
    bea.disguise(DELETE, with_key=True)
    rotated(bea)
    for _ in range(4):
        for entry in bea.history()[::order]:
            bea.reveal(entry.receipt)
    carl.reveal_everything()
    assert application_dump() == before
    assert bea.history() == []


@pytest.mark.once
def test_the_slots_are_new(bea: Student) -> None:
    """The old password and the old code open nothing; the new ones open the new key; the same password may stay."""
    receipt = bea.disguise(DELETE)
    code = bea.recovery_code
    made = rotated(bea, password=NEW_PASSWORD, identifier="bea@example.org")
    for given in ({"identifier": "bea@example.org", "password": PASSWORD}, {"recovery_code": code}):
        with pytest.raises(errors.WrongCredentials):
            edna.unlock(**given)
    for given in ({"identifier": "bea@example.org", "password": NEW_PASSWORD}, {"recovery_code": made.recovery_code}):
        with edna.unlock(**given) as unlocked:
            assert unlocked.secret_key == made.secret_key
    assert bea.reveal(receipt).complete
    rotated(bea, password=NEW_PASSWORD)  # the user name is in the account now
    edna.unlock(identifier="bea@example.org", password=NEW_PASSWORD).close()
    assert len(rows_of("edna_keyslot", ["id"])) == 2
    rotated(bea)
    with pytest.raises(errors.WrongCredentials):
        edna.unlock(identifier="bea@example.org", password=NEW_PASSWORD)
    assert len(rows_of("edna_keyslot", ["id"])) == 1


@pytest.mark.once
def test_a_key_pair_from_elsewhere(bea: Student) -> None:
    """The server never sees its secret half, and keeps no slot."""
    before = application_dump()
    edna.disguise_all(EachAlone.name)
    old, new = keys_of(bea), SecretKey.generate()
    with bea.unlock() as unlocked:
        made = edna.rotate(unlocked, public_key=bytes(new.public_key))
    assert (made.public_key, made.secret_key, made.recovery_code) == (new.public_key, None, None)
    assert rows_of("edna_keyslot", ["id"]) == []
    assert_opens_nothing(old)
    bea.secret_key = new
    bea.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_what_cannot_be_asked_for(bea: Student, carl: Student) -> None:
    receipt = bea.disguise(DELETE)
    own = bea.secret_key.public_key
    with bea.unlock() as unlocked, nothing_changes():
        with pytest.raises(TypeError, match="slots"):
            edna.rotate(unlocked, public_key=SecretKey.generate().public_key, password=PASSWORD)
        with pytest.raises(errors.KeyMalformed):
            edna.rotate(unlocked, public_key=b"short")
        for taken in (carl.secret_key.public_key, own):
            with pytest.raises(errors.PrincipalAlreadyRegistered):
                edna.rotate(unlocked, public_key=taken)
        with pytest.raises(errors.PrincipalError, match="identifier="):
            edna.rotate(unlocked, password=PASSWORD)
        assert not unlocked.closed
        unlocked.close()
        with pytest.raises(errors.CapabilityClosed):
            edna.rotate(unlocked)
    assert bea.reveal(receipt).complete


# Whoever has the old key


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_a_thief_with_an_old_copy_and_the_old_key_learns_nothing_new(bea: Student, carl: Student) -> None:
    """They know the old locators; what lies under them now they cannot open, and what came since they cannot find."""
    bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    edna.disguise_all(EachAlone.name)
    old_copy, old = Copy(), keys_of(bea)
    locators = old_copy.locators(old)
    assert len(locators) >= 3
    assert len(old_copy.opened(old)) >= 5

    rotated(bea)
    edna.disguise_all(ANONYMISE_ALL)

    new_copy = Copy()
    known = {locator.index(kind, 0) for locator in locators for kind in BagKind} & new_copy.bags.keys()
    assert known == {index for index in old_copy.opened(old) if index in new_copy.bags}
    assert new_copy.opened([*old, *(locator.shared_key() for locator in locators)]) == set()
    assert new_copy.locators(old) == set()
    for index in known:
        assert new_copy.bags[index] != old_copy.bags[index]


@pytest.mark.once
def test_a_bag_from_the_old_copy_cannot_be_put_back(bea: Student) -> None:
    """A vandal who writes old bytes into the table gets neither the old key nor the new one to open them."""
    receipt = bea.disguise(DELETE)
    [(index, sealed)] = rows_of("edna_bag", ["index", "sealed"])
    old = bea.secret_key
    rotated(bea)
    store.replace_bags([(index, sealed)], using="default")
    with nothing_changes(), pytest.raises(errors.ReceiptForeign):
        bea.reveal(receipt)
    with pytest.raises(errors.PrincipalNotRegistered):
        edna.unlock(secret_key=old)


@pytest.mark.once
def test_a_capability_from_before_opens_nothing(bea: Student) -> None:
    """Of another request, say: it is told that the key is nobody's, and gives the old key no new slot."""
    receipt = bea.disguise(EachAlone.name)
    with bea.unlock() as stale, bea.unlock() as unread:
        edna.history(stale)
        rotated(bea)
        with nothing_changes():
            for work in (
                lambda: edna.reveal(receipt, stale),
                lambda: edna.history(unread),
                lambda: edna.rotate(stale),
                lambda: edna.change_password(stale, identifier="bea@example.org", password=NEW_PASSWORD),
                lambda: edna.new_recovery_code(stale),
            ):
                with pytest.raises(errors.PrincipalNotRegistered):
                    work()
            with pytest.raises(errors.NotYours):
                edna.disguise(DELETE, bea.user, unlocked=stale)
    assert bea.reveal(receipt).complete


# Damage


@pytest.mark.once
def test_a_damaged_bag_is_refused_and_nothing_changes(bea: Student) -> None:
    """Sealing anew what opens would leave behind what does not; unless that is what is asked for."""
    first = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    second = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[1].pk)
    index = first.locator.index(BagKind.SPEAKS_FOR, 0)
    sealed = store.bags_by_index([index], using="default")[index]
    store.replace_bags([(index, flipped(sealed))], using="default")
    with bea.unlock() as unlocked, nothing_changes():
        with pytest.raises(errors.BagCorrupt):
            edna.rotate(unlocked)
        assert not unlocked.closed
    rotated(bea, leave_damaged=True)
    assert [entry.receipt for entry in bea.history()] == [second]
    assert store.bags_by_index([index], using="default")[index] == flipped(sealed)
    assert bea.reveal(second).complete
    assert rotated(bea)


@pytest.mark.once
def test_what_was_given_up_does_not_come_back_with_a_backup(bea: Student) -> None:
    """It is under the old key, which is nobody's any more. `unlocked.damaged` says before what will be lost."""
    first = bea.disguise(ANONYMISE_LECTURE, lecture=Lecture.objects.order_by("pk")[0].pk)
    index = first.locator.index(BagKind.SPEAKS_FOR, 0)
    whole = store.bags_by_index([index], using="default")[index]
    store.replace_bags([(index, flipped(whole))], using="default")
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []
        assert [type(each) for each in unlocked.damaged] == [errors.BagCorrupt]
    old = bea.secret_key
    rotated(bea, leave_damaged=True)
    store.replace_bags([(index, whole)], using="default")
    with bea.unlock() as unlocked:
        assert edna.history(unlocked) == []
        assert list(unlocked.damaged) == []
    with nothing_changes(), pytest.raises(errors.ReceiptForeign):
        bea.reveal(first)
    with pytest.raises(errors.PrincipalNotRegistered), edna.unlock(secret_key=old) as unlocked:
        edna.reveal(first, unlocked)


@pytest.mark.once
def test_a_missing_bag_is_refused(bea: Student) -> None:
    receipt = bea.disguise(EachAlone.name)
    store.delete_bags([receipt.locator.index(BagKind.SPEAKS_FOR, 0)], using="default")
    with bea.unlock() as unlocked, nothing_changes(), pytest.raises(errors.BagMissing):
        edna.rotate(unlocked)


@pytest.mark.once
@pytest.mark.usefixtures("of_x25519")
def test_a_planted_item_is_refused_or_forgotten(bea: Student, carl: Student) -> None:
    """It cannot be told from a bag of one's own that was damaged. One that leads nowhere is no matter."""
    receipt, foreign = bea.disguise(EachAlone.name), carl.disguise(EachAlone.name)
    for locator, refused in ((Locator.new(), False), (foreign.locator, True)):
        key = bea.secret_key.public_key
        [entry] = store.entries_by_public_key([bytes(key)], using="default")
        planted = entry.locators + bytes(80) + seal_locator(locator, recipient=key) + b"short"
        store.save_entries([entry._replace(locators=planted)], using="default")
        if refused:
            with bea.unlock() as unlocked, nothing_changes(), pytest.raises(errors.WrongKey):
                edna.rotate(unlocked)
        rotated(bea, leave_damaged=refused)
    [entry] = store.entries_by_public_key([bytes(bea.secret_key.public_key)], using="default")
    assert len(entry.locators) == 2 * SEALED_LOCATOR_BYTES
    assert bea.reveal(receipt).complete
    assert carl.reveal(foreign).complete


def test_an_error_in_the_middle_leaves_one_key_that_opens_everything(
    bea: Student, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it happens, the old key is still the key."""
    before = application_dump()
    edna.disguise_all(EachAlone.name)
    for name in ("replace_bags", "replace_keys", "delete_slots_by_tag", "add_slots"):
        with monkeypatch.context() as patch, bea.unlock() as unlocked, nothing_changes():

            def fail(*_: Any, **__: Any) -> None:
                raise OSError("no space left on device")

            patch.setattr(store, name, fail)
            with pytest.raises(OSError, match="space"):
                edna.rotate(unlocked, password=NEW_PASSWORD)
    bea.reveal_everything()
    assert application_dump() == before


# Modes and settings


@pytest.mark.once
def test_in_client_mode_the_receipts_are_needed(bea: Student, settings: Any) -> None:
    """The server does not know the bags; what it is not told about would be lost, so it asks."""
    before = application_dump()
    settings.EDNA = {**settings.EDNA, "LOCATORS": "client"}
    [first] = edna.disguise_all(EachAlone.name)
    second = bea.disguise(ANONYMISE_ALL)
    edna.disguise_all(ANONYMISE_ALL)
    with bea.unlock(receipts=[first, second]) as unlocked:
        third = edna.disguise(DELETE, bea.user, unlocked=unlocked)
    receipts = [first, second, third]
    with bea.unlock(receipts=receipts) as unlocked:
        old = [holder.opener.secret_key for holder in read_all(unlocked).holders.values()]
        with nothing_changes(), pytest.raises(errors.ReceiptsIncomplete):
            edna.rotate(unlocked)

    rotated(bea, receipts=[str(receipt) for receipt in receipts], receipts_complete=True)

    assert_opens_nothing(old)
    for _ in range(2):
        with bea.unlock(receipts=receipts) as unlocked:
            found = [entry.receipt for entry in edna.history(unlocked)]
        for receipt in found:
            with bea.unlock(receipts=receipts) as unlocked:
                edna.reveal(receipt, unlocked)
    assert application_dump() == before
    assert rows_of("edna_bag", ["id"]) == []


@pytest.mark.once
def test_one_disguise_in_client_mode_is_enough_to_ask(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EachAlone, "locators", "client")
    receipt = bea.disguise(EachAlone.name)
    with bea.unlock() as unlocked, nothing_changes(), pytest.raises(errors.ReceiptsIncomplete, match="receipts"):
        edna.rotate(unlocked)
    rotated(bea, receipts=[receipt], receipts_complete=True)
    assert bea.reveal(receipt).complete


@pytest.mark.once
def test_a_receipt_of_somebody_else_is_refused(bea: Student, carl: Student) -> None:
    bea.disguise(EachAlone.name)
    foreign = carl.disguise(EachAlone.name)
    with bea.unlock(receipts=[foreign]) as unlocked, nothing_changes(), pytest.raises(errors.ReceiptForeign):
        edna.rotate(unlocked)


def test_bags_keep_their_dates_and_get_the_current_mac_key(bea: Student, settings: Any) -> None:
    """What expires expires then; and an old key of the server is needed no longer for what was sealed anew."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 400}
    receipt = bea.disguise(DELETE)
    [(date,)] = rows_of("edna_bag", ["expires_on"])
    new = "a new key of the server"
    know_server_keys(new)
    old_keys = settings.EDNA["MAC_KEYS"]
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 4000, "MAC_KEYS": [new, *old_keys]}
    rotated(bea)
    assert rows_of("edna_bag", ["expires_on"]) == [(date,)]
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": [new]}
    edna.unlock(recovery_code=bea.recovery_code).close()
    assert bea.reveal(receipt).complete
    assert conf.mac_keys()[0] == new.encode()


@pytest.mark.once
@pytest.mark.parametrize("chunk", [1, 3])
def test_every_segment_is_sealed_anew(bea: Student, settings: Any, chunk: int) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": chunk}
    before = application_dump()
    for name in (EachAlone.name, EachAlone.name):
        bea.disguise(name, with_key=True)
    bea.disguise(DELETE, with_key=True)
    old, number = keys_of(bea), len(rows_of("edna_bag", ["id"]))
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1000}
    rotated(bea)
    assert len(rows_of("edna_bag", ["id"])) == number
    assert_opens_nothing(old)
    bea.reveal_everything()
    assert application_dump() == before


def test_it_takes_as_many_statements_for_100_rows_as_for_3() -> None:
    """As many as there are levels of speaking-for, and a fixed number more."""
    make_course(lectures=1, questions=100)
    small, large = enrol_many(2)
    answer_everything(small, large)
    Answer.objects.filter(author=small.user).exclude(question__number__lte=3).delete()
    taken = []
    for _ in range(3):
        sizes = []
        for student in (small, large):
            with student.unlock() as unlocked:
                made: list[edna.Registration] = []
                sizes.append(len(statements(lambda u=unlocked, m=made: m.append(edna.rotate(u)))))
            assert made[0].secret_key is not None
            student.secret_key = made[0].secret_key
        assert len(set(sizes)) == 1, sizes
        taken.append(sizes[0])
        edna.disguise_all(EachAlone.name)
    assert taken[0] <= 12, taken
    assert taken[1] - taken[0] <= 4, taken  # nothing was sealed before
    assert taken[2] - taken[1] <= 2, taken


# Shared rows


@pytest.fixture(scope="module")
def post_tables(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(POST, principals=["post.citizen"]):
        yield


@first_everywhere("first", ["Dora", "Emil"])
@pytest.mark.parametrize("who", [("Dora",), ("Emil",), ("Dora", "Emil")])
def test_shared_rows_come_back_whoever_rotates(
    post_tables: None, db: None, tmp_path: Any, settings: Any, who: tuple[str, ...], first: str
) -> None:
    """The shared bags stay where they are, and both find them: through their lists, and through their own bags."""
    settings.MEDIA_ROOT = tmp_path
    with registered(POST):
        people = {}
        for name in ("Dora", "Emil"):
            citizen = Citizen.objects.create(name=name)
            key = edna.register_principal(citizen).secret_key
            assert key is not None
            people[name] = Person(citizen, key)
        dora, emil = people.values()
        for sender, recipient in ((dora, emil), (emil, dora), (dora, dora)):
            Letter.objects.create(sender=sender.user, recipient=recipient.user, text=f"To {recipient.user.name}")
        before = application_dump()
        receipts = {name: person.disguise("post.leave") for name, person in people.items()}
        old_copy = Copy()
        old = {name: keys_of(people[name]) for name in who}
        for name in who:
            rotated(people[name])
            assert_opens_nothing(old[name])
            # What a copy of the lists from before leads to still are the shared bags alone.
            locators = [locator.shared_key() for locator in old_copy.locators(old[name])]
            assert not Copy().opened(locators) - old_copy.opened(locators)
        second = "Emil" if first == "Dora" else "Dora"
        for _ in range(2):
            for name in (first, second):
                for entry in people[name].history():
                    people[name].reveal(entry.receipt)
        assert receipts.keys() == people.keys()
        assert application_dump() == before
        assert rows_of("edna_bag", ["id"]) == []


@pytest.mark.once
def test_nothing_of_the_new_keys_is_in_the_database(bea: Student) -> None:
    edna.disguise_all(EachAlone.name)
    rotated(bea, password=NEW_PASSWORD)
    spoken_for = {f"key {number}": key.expose() for number, key in enumerate(keys_of(bea))}
    assert finds(loot(), secrets_of(bea) | spoken_for) == []
    assert User.objects.filter(email="bea@example.org").exists()


# At the same time


@pytest.fixture
def afterwards(transactional_db: None) -> Iterator[None]:
    yield
    connections.close_all()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("afterwards")
class TestAtOnce:
    def test_two_rotations(self, bea: Student) -> None:
        """One of them wins, and its key opens everything; the other is told, and its keys were never used."""
        before = application_dump()
        edna.disguise_all(EachAlone.name)
        old = keys_of(bea)

        def rotate() -> edna.Registration:
            with bea.unlock() as unlocked:
                return edna.rotate(unlocked)

        results = at_once(*[rotate] * 3)

        won = [result for result in results if isinstance(result, edna.Registration)]
        lost = {type(result) for result in results if not isinstance(result, edna.Registration)}
        assert len(won) == 1, results
        assert lost <= {errors.PrincipalNotRegistered, errors.DatabaseBusy}, results
        assert_opens_nothing(old)
        assert len(rows_of("edna_keyslot", ["id"])) == 1
        assert won[0].secret_key is not None
        bea.secret_key = won[0].secret_key
        bea.reveal_everything()
        assert application_dump() == before

    @pytest.mark.parametrize("what", ["the staff", "herself", "with the key", "a reveal"])
    def test_a_rotation_and_something_else(self, bea: Student, carl: Student, what: str) -> None:
        """Whoever comes first: what was sealed opens with the key that she has then."""
        before = application_dump()
        edna.disguise_all(EachAlone.name)
        receipt = bea.history()[0].receipt
        old = Student(bea.user, bea.secret_key)
        works = {
            "the staff": lambda: edna.disguise_all(ANONYMISE_ALL),
            "herself": lambda: bea.disguise(DELETE),
            "with the key": lambda: old.disguise(DELETE, with_key=True),
            "a reveal": lambda: old.reveal(receipt),
        }
        registration, other = at_once(lambda: rotated(bea), works[what])
        if isinstance(registration, errors.DatabaseBusy):
            registration = rotated(bea)
        assert isinstance(registration, edna.Registration), registration
        refusals = errors.PrincipalError | errors.DatabaseBusy
        assert not isinstance(other, Exception) or isinstance(other, refusals), other
        assert Copy().opened([old.secret_key]) == set()
        for _ in range(4):
            for person in (bea, carl):
                for entry in person.history():
                    person.reveal(entry.receipt)
        assert application_dump() == before
        assert rows_of("edna_bag", ["id"]) == []
