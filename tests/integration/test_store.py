"""The store: the only reader and writer of edna's tables."""

from __future__ import annotations

import datetime
import hashlib
import threading
from functools import partial

import pytest
from django.db import connection, transaction

from edna import store
from edna.db import transactions
from edna.errors import PrincipalAlreadyRegistered
from edna.models import PrincipalEntry
from tests.support import BINARY, edna_dump, rows_of, statements
from tests.waiting import until_waiting

pytestmark = pytest.mark.django_db

ONE, TWO, THREE = (bytes([number]) * 32 for number in (1, 2, 255))
USING = "default"


def add(key: bytes, reference: str, *, model: str = "shop.user", natural: bool = True) -> store.Entry:
    store.add_entries([store.NewEntry(key, model, reference, natural)], using=USING)
    [entry] = store.entries_by_public_key([key], using=USING)
    return entry


def test_an_entry_is_found_by_reference_and_by_key() -> None:
    entry = add(ONE, "7")
    add(TWO, "8")
    assert (entry.public_key, entry.model, entry.reference, entry.natural, entry.locators) == (
        ONE,
        "shop.user",
        "7",
        True,
        b"",
    )
    assert entry.attached
    assert store.entries_by_reference("shop.user", ["7", "9"], using=USING) == [entry]
    assert store.entries_by_reference("shop.user", [], using=USING) == []
    assert store.entries_by_public_key([ONE, THREE], using=USING) == [entry]
    assert store.entries_by_public_key([], using=USING) == []


def test_the_same_reference_in_another_model_is_somebody_else() -> None:
    user = add(ONE, "7")
    staff = add(TWO, "7", model="shop.staff")
    assert store.entries_by_reference("shop.user", ["7"], using=USING) == [user]
    assert store.entries_by_reference("shop.staff", ["7"], using=USING) == [staff]
    assert not store.is_pseudoprincipal("shop.user", "7", using=USING)


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.django_db(transaction=True)
def test_a_lock_waits_for_nobody_of_another_model_with_the_same_reference() -> None:
    """SQLite locks nothing less than the whole file."""
    add(ONE, "7")
    staff = add(TWO, "7", model="shop.staff")

    def lock() -> None:
        try:
            with transaction.atomic():
                locked.append(PrincipalEntry.objects.select_for_update(nowait=True).get(pk=staff.id).model)
        finally:
            connection.close()

    locked: list[str] = []
    with transaction.atomic():
        store.entries_by_reference("shop.user", ["7"], using=USING, lock=True)
        other = threading.Thread(target=lock)
        other.start()
        other.join()
    assert locked == ["shop.staff"]


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("former", "new"), [(ONE, THREE), (THREE, ONE)], ids=["forwards", "backwards"])
def test_a_lock_finds_who_got_a_new_key_while_it_waited(former: bytes, new: bytes) -> None:
    """Their row has another number then, and lies elsewhere in the index that is read."""
    entry = add(former, "7")

    def lock() -> None:
        try:
            with transaction.atomic():
                locked.extend(store.entries_by_reference("shop.user", ["7"], using=USING, lock=True))
        finally:
            connection.close()

    locked: list[store.Entry] = []
    other = threading.Thread(target=lock)
    with transaction.atomic():
        store.replace_keys([entry._replace(public_key=new)], using=USING)
        other.start()
        until_waiting()
    other.join()
    assert [(each.public_key, each.reference, each.sound) for each in locked] == [(new, "7", True)]


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("others", [[], ["8", "9", "10"]], ids=["alone", "among others"])
@pytest.mark.parametrize(("former", "new"), [(ONE, THREE), (THREE, ONE)], ids=["forwards", "backwards"])
def test_so_does_one_that_waited_before_the_key_was_replaced(former: bytes, new: bytes, others: list[str]) -> None:
    """The database may end one of the two; it is begun again then."""
    add(former, "7")
    for number in others:
        add(bytes([int(number) * 9]) * 32, number)
    waiter = threading.Thread(target=lambda: lock())

    def lock() -> None:
        try:
            read = partial(store.entries_by_reference, "shop.user", ["7", *others], using=USING, lock=True)
            locked.extend(transactions.run(read, using=USING))
        finally:
            connection.close()

    def replace() -> None:
        [entry] = store.entries_by_public_key([former], using=USING, lock=True)
        if waiter.ident is None:
            waiter.start()
            until_waiting()
        store.replace_keys([entry._replace(public_key=new)], using=USING)

    locked: list[store.Entry] = []
    transactions.run(replace, using=USING)
    waiter.join()
    assert {each.reference for each in locked} == {"7", *others}
    assert [each.reference for each in store.entries_by_public_key([new], using=USING)] == ["7"]


@pytest.mark.parametrize("reference", ["Meg", "meg", "e\u0301", "x" * 255, " 7", "7 "])
def test_references_are_told_apart_exactly(reference: str) -> None:
    """Text keys that differ in case, accents or blanks only are different people, whatever the database's collation."""
    add(ONE, reference)
    for other in {"MEG", "meg", "Meg", "\u00e9", "7", " 7", "7 "} - {reference}:
        assert store.entries_by_reference("shop.user", [other], using=USING) == []
    assert [e.reference for e in store.entries_by_reference("shop.user", [reference], using=USING)] == [reference]


def test_nobody_is_registered_twice() -> None:
    add(ONE, "7")
    before = edna_dump()
    for key, reference in ((TWO, "7"), (ONE, "8")):
        with pytest.raises(PrincipalAlreadyRegistered):
            _nested(lambda key=key, reference=reference: add(key, reference))
        assert edna_dump() == before


def _nested(work: object) -> None:
    with transaction.atomic():
        work()  # type: ignore[operator]


def test_pseudoprincipals_are_known_as_such() -> None:
    add(ONE, "-7", natural=False)
    assert store.is_pseudoprincipal("shop.user", "-7", using=USING)
    assert not store.is_pseudoprincipal("shop.user", "7", using=USING)
    assert not store.is_pseudoprincipal("shop.other", "-7", using=USING)


def test_a_detached_entry_keeps_its_key_and_locators_only() -> None:
    """Several may be detached at the same time, and be attached again."""
    entries = [add(ONE, "7"), add(TWO, "8")]
    store.touch_entry("shop.user", "7", today=datetime.date(2024, 2, 3), using=USING)
    entries = store.entries_by_public_key([ONE, TWO], using=USING)
    detached = [entry._replace(locators=b"sealed" + BINARY).detached(expires_on=None) for entry in entries]
    store.save_entries(detached, using=USING)
    found = store.entries_by_public_key([ONE, TWO], using=USING)
    assert sorted(found, key=lambda e: e.id) == sorted(detached, key=lambda e: e.id)
    assert {(e.model, e.reference, e.last_seen_on, e.locators) for e in found} == {("", None, None, b"sealed" + BINARY)}
    store.save_entries([entry._replace(locators=b"") for entry in entries], using=USING)
    assert {e.reference for e in store.entries_by_public_key([ONE, TWO], using=USING)} == {"7", "8"}


def test_activity_is_noted_once_a_day() -> None:
    add(ONE, "7")
    today = datetime.date(2024, 2, 3)
    store.touch_entry("shop.user", "7", today=today, using=USING)
    before = edna_dump()
    store.touch_entry("shop.user", "7", today=today, using=USING)
    assert edna_dump() == before
    assert [str(day) for (day,) in rows_of("edna_principalentry", ["last_seen_on"])] == ["2024-02-03"]


def test_bags_are_found_by_index_only() -> None:
    bags = [(ONE, b""), (TWO, BINARY * 3), (THREE, b"\0" * 100_000)]
    store.add_bags(bags, expires_on=datetime.date(2030, 1, 1), using=USING)
    stored = store.stored_bags([ONE, TWO, THREE], using=USING, lock=True)
    assert {index: bag.sealed for index, bag in stored.items()} == dict(bags)
    assert store.bags_by_index([TWO, bytes(32)], using=USING) == {TWO: BINARY * 3}
    assert store.bags_by_index([], using=USING) == {}
    store.delete_bags([ONE, THREE, bytes(32)], using=USING)
    assert store.bags_by_index([ONE, TWO, THREE], using=USING) == {TWO: BINARY * 3}


def test_a_bag_is_due_on_its_day() -> None:
    """As `edna.operations` erases it: what is left of a disguise from that day on counts as expired, not as damaged."""
    day = datetime.date(2030, 3, 1)
    eve = day - datetime.timedelta(days=1)
    assert (store.StoredBag(b"", day).is_due(eve), store.StoredBag(b"", day).is_due(day)) == (False, True)
    assert not store.StoredBag(b"", None).is_due(day)


def test_a_bag_that_is_put_off_never_goes_earlier() -> None:
    march, may, july = (datetime.date(2030, month, 1) for month in (3, 5, 7))
    for index, day in ((ONE, march), (TWO, july), (THREE, None)):
        store.add_bags([(index, b"sealed")], expires_on=day, using=USING)
    kept_until = {ONE: may, TWO: july, THREE: None}
    store.postpone_bags([ONE, TWO, THREE], expires_on=may, using=USING)
    assert {index: bag.expires_on for index, bag in store.stored_bags(kept_until, using=USING).items()} == kept_until
    store.postpone_bags([ONE, TWO], expires_on=None, using=USING)
    assert {bag.expires_on for bag in store.stored_bags(kept_until, using=USING).values()} == {None}


def test_entries_and_bags_are_written_in_an_order_by_lot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours in the file must not be those of one disguise in the order in which they were made; nor in that of their numbers."""
    written: list[list[bytes]] = []
    monkeypatch.setattr(store.rows, "insert", lambda _table, _names, new, **_: written.append([row[1] for row in new]))
    made = [hashlib.blake2b(bytes([number]), digest_size=32).digest() for number in range(20)]
    store.add_bags([(index, b"") for index in made], expires_on=None, using=USING)
    store.add_entries([store.NewEntry(key, "shop.user", key.hex(), False) for key in made], using=USING)
    assert written == [sorted(made, key=lambda drawn: drawn[8:])] * 2
    assert written[0] not in (made, sorted(made))


def test_key_slots_are_found_by_any_candidate_and_replaced_by_tag() -> None:
    """Candidates: one per server key."""
    store.add_slots([(ONE, TWO, b"wrapped" + BINARY)], using=USING)
    assert store.find_slots([THREE, ONE], using=USING) == [(ONE, TWO, b"wrapped" + BINARY)]
    assert store.find_slots([THREE], using=USING) == []
    store.add_slots([(ONE, THREE, b"other")], using=USING)
    store.delete_slots_by_tag([TWO], using=USING)
    assert store.find_slots([ONE], using=USING) == [(ONE, THREE, b"other")]


def test_sessions_are_found_by_owner() -> None:
    store.link_session(ONE, "first", using=USING)
    store.link_session(ONE, "second", using=USING)
    store.link_session(TWO, "third", using=USING)
    assert sorted(store.sessions_of([ONE], using=USING)) == ["first", "second"]
    store.link_session(TWO, "second", using=USING)
    assert store.sessions_of([ONE], using=USING) == ["first"]
    store.unlink_session("third", using=USING)
    store.unlink_sessions_of([ONE], using=USING)
    assert store.sessions_of([ONE, TWO], using=USING) == ["second"]


@pytest.mark.once
@pytest.mark.parametrize(
    ("today", "days", "expected"),
    [
        ("2024-01-31", None, None),
        ("2024-01-31", 1, "2024-03-01"),
        ("2024-11-15", 15, "2024-12-01"),
        ("2024-11-15", 16, "2025-01-01"),
        ("2024-12-31", 365, "2026-01-01"),
        ("2023-12-01", 30, "2024-01-01"),
    ],
)
def test_expiry_falls_on_the_first_of_a_month_and_never_early(
    today: str, days: int | None, expected: str | None
) -> None:
    bucket = store.expiry_bucket(datetime.date.fromisoformat(today), retention_days=days)
    assert bucket == (expected and datetime.date.fromisoformat(expected))


def test_statements_do_not_depend_on_the_number_of_rows() -> None:
    def sent(number: int) -> list[int]:
        keys = [index.to_bytes(2, "big") * 8 + number.to_bytes(2, "big") * 8 for index in range(number)]
        found: list[store.Entry] = []
        return [
            len(statements(work))
            for work in (
                lambda: store.add_entries(
                    [store.NewEntry(key, "shop.user", key.hex(), True) for key in keys], using=USING
                ),
                lambda: found.extend(store.entries_by_public_key(keys, using=USING)),
                lambda: store.entries_by_reference("shop.user", [key.hex() for key in keys], using=USING),
                lambda: store.save_entries([entry._replace(locators=b"x" * 80) for entry in found], using=USING),
                lambda: store.add_bags([(key, b"sealed") for key in keys], expires_on=None, using=USING),
                lambda: store.stored_bags(keys, using=USING, lock=True),
                lambda: store.delete_bags(keys, using=USING),
                lambda: store.delete_entries(found, using=USING),
            )
        ]

    sent(1)  # the server's keys are read once in each process
    assert sent(2) == sent(1000) == [1] * 8


@pytest.mark.only_on("sqlite3")
def test_lookups_use_an_index() -> None:
    """Each lookup runs in every disguise: none may read the whole table. (Other planners read small tables whole anyway.)"""
    for number in range(300):
        add(number.to_bytes(2, "big") * 16, str(number))
    lookups = [
        lambda: store.entries_by_reference("shop.user", ["7"], using=USING),
        lambda: store.entries_by_public_key([ONE], using=USING),
        lambda: store.bags_by_index([ONE], using=USING),
        lambda: store.find_slots([ONE], using=USING),
    ]
    for lookup in lookups:
        [sql] = statements(lookup)
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + sql.replace("%", "%%"))
            plan = " ".join(str(row[-1]) for row in cursor.fetchall())
        assert "SEARCH" in plan, plan
        assert "SCAN" not in plan, plan
