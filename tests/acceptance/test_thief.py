"""Somebody steals the whole database while a student is away: what do they learn? (nothing readable, nothing linkable)"""

from __future__ import annotations

import base64
import datetime
import itertools
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection, models

import edna
from apps.websubmit.models import Answer, Question, User
from edna import conf, inner_door, store
from edna.records.locator import BagKind
from edna.testing.dumps import columns, tables
from edna.testing.search import finds, spellings
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    BINARY,
    DELETE,
    EDNA_TABLES,
    Student,
    answer_everything,
    enrol,
    enrol_many,
    loot,
    make_course,
    rows_of,
    secrets_of,
)

pytestmark = pytest.mark.django_db

EMAIL = "beatrix.quimby@walrus.example"
PASSWORD = "correct horse battery staple"
USER_ID = 7_340_551_902


@pytest.fixture
def beatrix() -> Student:
    """A student with a rare name, who has answered, logged in, and changed something in the admin."""
    student = enrol(EMAIL, password=PASSWORD, pk=USER_ID)
    enrol("somebody.else@example.org", pk=USER_ID + 10)  # the table's counter stands at the largest key
    make_course()
    for question in Question.objects.all():
        Answer.objects.create(
            author=student.user, question=question, text=f"Marmalade über alles, thought {question.pk}"
        )
    LogEntry.objects.create(
        user=student.user,
        content_type=ContentType.objects.get_for_model(User),
        object_id=str(USER_ID),
        object_repr="the gourmand",
        action_flag=2,
    )
    session = SessionStore()
    session["_auth_user_id"] = str(USER_ID)
    session.save()
    inner_door.end_sessions_on_removal(student.user, str(session.session_key))
    return student


def traces_of(student: Student) -> dict[str, str | bytes | int]:
    user = User.objects.get(pk=student.user.pk)
    return {
        "e-mail": EMAIL,
        "name": "quimby",
        "password hash": user.password,
        "API key": user.apikey,
        "answer": "Marmalade",
        "special characters": "über alles",
        "log line": "the gourmand",
        "user id": USER_ID,
    }


@pytest.mark.once
def test_the_search_finds_what_is_there(beatrix: Student) -> None:
    """Without this the other tests would prove nothing: each trace is found before the student leaves."""
    traces = traces_of(beatrix)
    assert finds(loot(), traces) == list(traces)


@pytest.mark.once
def test_the_search_sees_through_encodings() -> None:
    secret = b"\x00\x9ffairly long secret \xff\xfe"
    for prefix in (b"", b"1", b"12", b"123", b"1234"):
        whole = prefix + secret + b"and more"
        for spelled in (
            whole,
            whole.hex().encode(),
            whole.hex().upper().encode(),
            base64.b64encode(whole),
            base64.urlsafe_b64encode(whole),
            base64.b32encode(whole).lower(),
        ):
            assert finds(b"...." + spelled + b"....", {"it": secret}) == ["it"]
    assert finds("Bäcker".encode("utf-16-le"), {"it": "Bäcker"}) == ["it"]
    assert finds(b"BEATRIX", {"it": "beatrix"}) == ["it"]
    assert finds(b"", {"it": "beatrix"}) == []
    assert b"7340551902" in spellings(USER_ID)


def test_nothing_of_a_student_who_left_is_in_any_table(beatrix: Student, caplog: pytest.LogCaptureFixture) -> None:
    """All tables, edna's, sessions and the admin's log included, and edna's own log lines at the finest level."""
    traces = traces_of(beatrix)
    with caplog.at_level(logging.DEBUG, logger="edna"):
        receipt = beatrix.disguise(DELETE)
        hidden = traces | secrets_of(beatrix, receipt) | {"password": PASSWORD, "MAC key": mac_key()}
        assert finds(loot(), hidden) == []
        # Looking at what is disguised, being refused, and returning write nothing down either.
        assert len(beatrix.history()) == 1
        assert finds(loot(), hidden) == []
        with pytest.raises(edna.errors.WrongCredentials):
            edna.unlock(identifier=EMAIL, password="not " + PASSWORD)
        beatrix.reveal(receipt)
    assert finds(loot(), secrets_of(beatrix, receipt) | {"password": PASSWORD}) == []
    assert finds(caplog.text.encode(), hidden) == []
    assert Session.objects.count() == 0


def mac_key() -> bytes:
    return conf.mac_keys()[0]


@pytest.mark.once
@pytest.mark.parametrize("with_key", [True, False])
def test_nothing_tells_who_wrote_an_anonymised_answer(beatrix: Student, with_key: bool) -> None:
    """The text stays, readable by all; that it was hers is sealed, also once she has left."""
    traces = traces_of(beatrix)
    receipts = edna.disguise_all(ANONYMISE_ALL)
    with beatrix.unlock() as unlocked:
        keys = {f"key {q}": voice.opener.secret_key.expose() for q, voice in enumerate(unlocked.spoken_for())}
    assert len(keys) == 2
    assert finds(loot(), keys) == []
    author_ids = set(Answer.objects.values_list("author_id", flat=True))
    assert USER_ID not in author_ids

    receipt = beatrix.disguise(DELETE, with_key=with_key)

    if not with_key:
        del traces["answer"], traces["special characters"]
    assert finds(loot(), traces | keys | secrets_of(beatrix, receipt, *receipts)) == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("sqlite3")
def test_nothing_is_left_in_the_pages_of_the_file(beatrix: Student) -> None:
    """SQLite overwrites what it frees (secure_delete): neither free pages nor the write-ahead log hold a trace."""
    path = Path(str(connection.settings_dict["NAME"]))
    traces = traces_of(beatrix)

    def files() -> bytes:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert cursor.fetchone()[0] == 0
        return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))

    del traces["user id"]  # pages keep integers in as few bytes as they need: the tables are searched for it above
    assert finds(files(), traces) == list(traces)
    receipt = beatrix.disguise(DELETE)
    assert finds(files(), traces | secrets_of(beatrix, receipt) | {"password": PASSWORD}) == []


def test_ednas_tables_have_no_columns_that_link() -> None:
    """Random keys, no foreign keys in or out, no times, no kinds: only dates, those of bags coarse. What operators and their
    processes do has times, and names nobody."""
    times = set()
    for model in conf.own_models():
        for field in model._meta.fields:
            assert not field.is_relation, field
            if isinstance(field, models.DateTimeField | models.TimeField):
                times.add(f"{model.__name__}.{field.name}")
            elif isinstance(field, models.DateField):
                assert field.name.endswith("_on"), field
        assert not any(
            not relation.related_model._meta.app_label.startswith("edna") for relation in model._meta.related_objects
        )
    assert times == {"AuditEntry.logged_at", "JobRunner.seen_at", "LastRun.busy_until", "LastRun.finished_at"}
    assert set(columns("edna_bag")) == {"id", "index", "sealed", "expires_on"}
    assert set(columns("edna_principalentry")) == {
        *("id", "public_key", "encapsulation_key", "model", "reference", "natural", "locators", "last_seen_on"),
        *("expires_on", "tag", "under_way"),
    }


def test_keys_of_ednas_rows_say_nothing_about_their_order() -> None:
    """Random and large, so that neither the key nor, on SQLite and InnoDB, the place in the file tells when."""
    make_course()
    seen: dict[str, list[int]] = {table: [] for table in ("edna_bag", "edna_principalentry", "edna_keyslot")}
    for _ in range(12):
        student = enrol()
        answer_everything(student)
        student.disguise(DELETE)
        for table, ids in seen.items():
            ids += [key for (key,) in rows_of(table, ["id"]) if key not in ids]
    for ids in seen.values():
        assert ids != sorted(ids)
        assert ids != sorted(ids, reverse=True)
        assert min(ids) > 0
        assert max(ids) > 2**55
        assert min(abs(a - b) for a, b in itertools.combinations(ids, 2)) > 1000


@pytest.mark.once
def test_the_entry_of_a_student_who_left_is_a_key_and_no_more(beatrix: Student) -> None:
    """It names nobody; it does not even say of which model the person was."""
    beatrix.disguise(DELETE)
    [entry] = [
        row
        for row in rows_of("edna_principalentry", ["public_key", "model", "reference", "last_seen_on"])
        if row[0] == bytes(beatrix.secret_key.public_key)
    ]
    assert entry[1:] == (0, None, None)


@pytest.mark.once
def test_bags_of_two_students_look_alike() -> None:
    """With about as much data they differ in nothing but random bytes: same sizes, same expiry, same header."""
    make_course()
    one, other = enrol_many(2)
    answer_everything(one, other)
    one.disguise(DELETE)
    other.disguise(DELETE)

    first, second = rows_of("edna_bag", ["id", "index", "sealed", "expires_on"])

    assert len(first[1]) == len(second[1]) == 32
    assert len(first[2]) == len(second[2])
    assert first[3] == second[3]
    # Version, suite, number of stanzas, body length, stanza type and length are the same; then all is random.
    assert first[2][:10] == second[2][:10]
    assert same_bytes(first[2][10:], second[2][10:]) < 0.02
    entries = rows_of("edna_principalentry", ["locators", "natural"])
    assert len({(len(bytes(locators)), natural) for locators, natural in entries}) == 1


def same_bytes(left: bytes, right: bytes) -> float:
    return sum(a == b for a, b in zip(left, right, strict=True)) / len(left)


@pytest.mark.once
def test_small_and_larger_accounts_make_bags_of_few_sizes() -> None:
    """Padding: up to about a kilobyte every bag has one size, beyond it few."""
    make_course(lectures=3, questions=8)
    questions = list(Question.objects.order_by("pk"))
    sizes = set()
    for number, student in enumerate(enrol_many(24), start=1):
        Answer.objects.bulk_create(Answer(author=student.user, question=q, text="hm") for q in questions[:number])
        student.disguise(DELETE)
        sizes |= {len(sealed) for (sealed,) in rows_of("edna_bag", ["sealed"])}
    assert len(sizes) <= 3


@pytest.mark.once
def test_disguises_of_different_kinds_cannot_be_told_apart_by_columns(beatrix: Student) -> None:
    """A diff bag, a speaks-for bag, an account's or a lecture's: rows of the same shape and, when small, of the same size."""
    other = enrol()
    Answer.objects.create(author=other.user, question=Question.objects.first(), text="x")
    edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": Question.objects.first().lecture_id})
    other.disguise(DELETE)
    bags = rows_of("edna_bag", ["index", "sealed", "expires_on"])
    assert len(bags) == 5
    assert {(len(index), len(sealed), expires_on) for index, sealed, expires_on in bags} == {
        (32, len(bags[0][1]), None)
    }


@pytest.mark.once
def test_expiry_is_the_first_of_a_month(settings: Any, beatrix: Student) -> None:
    """With a retention period, all bags of a month expire on one day."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 400}
    beatrix.disguise(DELETE)
    [(expires_on,)] = rows_of("edna_bag", ["expires_on"])
    last = datetime.date.today() + datetime.timedelta(days=400)
    assert expires_on.day == 1
    assert last < expires_on <= last + datetime.timedelta(days=32)


def test_anonymous_authors_are_alike_and_have_random_keys() -> None:
    """Negative, far apart, in no order; nothing in their rows differs but random text; the next student's id is the next."""
    make_course(lectures=4, questions=1)
    students = enrol_many(5)
    answer_everything(*students)
    highest = max(student.user.pk for student in students)

    edna.disguise_all(ANONYMISE_ALL)

    rows = list(User.objects.filter(is_anon=True).values())
    keys = [row["id"] for row in rows]
    assert len(keys) == 20
    assert max(keys) < 0
    assert min(abs(a - b) for a, b in itertools.combinations(keys, 2)) > 1000
    assert min(keys) < -(2**45)
    assert min(keys) >= -(2**53 - 1)  # JavaScript reads them exactly
    for name in ("last_login", "joined_on", "is_active", "is_admin", "is_anon"):
        assert len({row[name] for row in rows}) == 1, name
    for name in ("email", "apikey", "password"):
        assert len({row[name] for row in rows}) == 20
        assert len({len(row[name]) for row in rows}) == 1
        assert len({re.sub("[a-zA-Z0-9]", "", row[name]) for row in rows}) == 1
    # The same author's answers in two lectures, or the same lecture's two authors, have nothing in common.
    made = User.objects.create(email="newcomer@example.org")
    assert made.pk == highest + 1


@pytest.mark.once
def test_the_place_of_a_bag_cannot_be_computed_from_what_is_stored(beatrix: Student) -> None:
    """An index follows from the locator alone, one way, and the two bags of one disguise have unrelated ones."""
    receipt = beatrix.disguise(ANONYMISE_ALL)
    stored = {index for (index,) in rows_of("edna_bag", ["index"])}
    assert stored == {receipt.locator.index(kind, 0) for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR)}
    assert same_bytes(*sorted(stored)) < 0.2


@pytest.mark.once
def test_who_has_the_receipt_but_no_key_reads_nothing(beatrix: Student) -> None:
    """A receipt in the wrong hands finds the bags and opens none."""
    receipt = beatrix.disguise(DELETE)
    thief = enrol()
    with thief.unlock(receipts=[receipt]) as unlocked, pytest.raises(edna.errors.EdnaError):
        edna.reveal(receipt, unlocked)


@pytest.mark.once
def test_a_public_key_registered_elsewhere_is_never_followed_by_a_secret_one() -> None:
    """Where the browser made the key pair, the server has a public key and no slots."""
    key = edna.SecretKey.generate()
    user = User.objects.create(email="browser@example.org")
    made = edna.register_principal(user, public_key=key.public_key)
    assert made.secret_key is None
    assert made.recovery_code is None
    assert rows_of("edna_keyslot", ["id"]) == []
    assert finds(loot(), {"secret key": key.expose()}) == []


@pytest.mark.once
def test_key_slots_say_neither_whose_they_are_nor_what_opens_them() -> None:
    """Password and recovery slots have one shape, and no column relates a slot to a principal."""
    enrol("one@example.org", password=PASSWORD)
    enrol("two@example.org", password=PASSWORD)
    slots = rows_of("edna_keyslot", ["slot_id", "tag", "wrapped"])
    assert len(slots) == 4
    assert {tuple(map(len, slot)) for slot in slots} == {(32, 32, len(slots[0][2]))}
    # The same password of two people leads to unrelated slots.
    assert len({value for slot in slots for value in slot}) == 12
    entries = {key for (key,) in rows_of("edna_principalentry", ["public_key"])}
    assert entries.isdisjoint(value for slot in slots for value in slot)


def test_errors_name_no_person(beatrix: Student) -> None:
    """What is refused is said without quoting the person's data: messages end up in logs."""
    receipt = beatrix.disguise(DELETE)
    User.objects.create(email=EMAIL)
    with pytest.raises(edna.errors.RevealRefused) as caught:
        beatrix.reveal(receipt, allow_partial=False)
    hidden = secrets_of(beatrix, receipt) | {"e-mail": EMAIL, "answer": "Marmalade"}
    assert finds(f"{caught.value} {caught.value.outcome}".encode(), hidden) == []


def test_binary_columns_of_edna_hold_what_was_put_there() -> None:
    """A key with every byte value survives the column type on each database."""
    store.add_bags([(BINARY[:32], BINARY * 40)], expires_on=None, using="default")
    assert store.bags_by_index([BINARY[:32]], using="default") == {BINARY[:32]: BINARY * 40}
    assert {table for table in tables() if table.startswith("edna_")} == set(EDNA_TABLES)
