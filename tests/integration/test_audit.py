"""The audit trail: what is noted stays as it is, in one chain, whoever writes at the same time; and it names nobody but operators."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import threading
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.test import override_settings
from django.utils import timezone

from edna.db import transactions
from edna.errors import AppendOnly, DatabaseBusy
from edna.operations import audit
from edna.operations.models import UNREADABLE, AuditCount, AuditEntry
from edna.operations.store.audit import AuditRow
from tests.databases import first_everywhere
from tests.support import with_server_keys
from tests.waiting import WAIT_SECONDS, at_once, until_waiting

pytestmark = pytest.mark.django_db

NEW_KEY = "a new key of the server, of 32 bytes"


def note(number: int = 1, /, **details: int | str) -> None:
    for _ in range(number):
        audit.note("apply", operator="olga", disguise="test.leave", **details)


def tamper(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


# What an entry says


def test_an_entry_has_operator_disguise_details_and_the_hour() -> None:
    audit.note("apply", operator="olga", disguise="test.leave", principals=3, job=2**63 - 1, what="a selection")
    (entry,) = audit.entries()
    assert (entry.operator, entry.action, entry.disguise) == ("olga", "apply", "test.leave")
    assert entry.details == {"principals": 3, "job": 2**63 - 1, "what": "a selection"}
    assert datetime.timedelta() <= timezone.now() - entry.hour < datetime.timedelta(hours=1, minutes=1)
    assert (entry.hour.minute, entry.hour.second, entry.hour.microsecond) == (0, 0, 0)


def test_entries_are_newest_first_and_no_more_than_asked_for() -> None:
    for number in range(4):
        note(1, count=number)
    assert [entry.details["count"] for entry in audit.entries(most=3)] == [3, 2, 1]


@pytest.mark.once
def test_a_detail_that_is_neither_number_nor_text_is_refused() -> None:
    with pytest.raises(TypeError, match="whom"):
        audit.note("apply", operator="olga", whom=object())  # type: ignore[arg-type]
    assert audit.entries() == []


@pytest.mark.once
def test_a_long_name_of_an_operator_is_cut() -> None:
    audit.note("apply", operator="o" * 300)
    assert (audit.entries()[0].operator, audit.verify()) == ("o" * 255, [])


def test_it_is_noted_with_what_it_is_about_or_not_at_all() -> None:
    with contextlib.suppress(ZeroDivisionError), transaction.atomic():
        note()
        raise ZeroDivisionError
    assert audit.entries() == []


@pytest.mark.django_db(transaction=True)
def test_the_log_has_the_mac_of_what_was_committed(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="edna.audit"):
        note()
    assert AuditEntry.objects.get().mac.hex() in caplog.text


# The chain


def test_an_untouched_trail_verifies() -> None:
    note(5, principals=3)
    assert audit.verify() == []


@first_everywhere(
    "change",
    [
        "operator = 'otto'",
        "action = 'view'",
        "disguise = 'test.other'",
        """details = '{"principals": 4}'""",
        "logged_at = '2001-01-01 00:00:00'",
    ],
)
def test_an_entry_that_was_changed_does_not_verify(change: str) -> None:
    note(3, principals=3)
    second = AuditEntry.objects.order_by("id")[1].pk
    tamper(f"UPDATE edna_auditentry SET {change} WHERE id = %s", second)
    assert audit.verify() == [second]


@pytest.mark.once
def test_after_an_entry_that_was_taken_out_the_next_one_does_not_verify() -> None:
    note(4)
    tamper("DELETE FROM edna_auditentry WHERE id = 2")
    assert audit.verify() == [3]
    tamper("UPDATE edna_auditentry SET id = id - 1 WHERE id = 3")
    assert audit.verify() == [2, 4]


@pytest.mark.once
def test_the_first_entry_cannot_be_taken_out() -> None:
    note(2)
    tamper("DELETE FROM edna_auditentry WHERE id = 1")
    assert audit.verify() == [2]


@pytest.mark.once
def test_entries_that_changed_places_do_not_verify() -> None:
    note(1, count=1)
    note(1, count=2)
    tamper("UPDATE edna_auditentry SET id = 9 WHERE id = 1")
    tamper("UPDATE edna_auditentry SET id = 1 WHERE id = 2")
    tamper("UPDATE edna_auditentry SET id = 2 WHERE id = 9")
    assert audit.verify() == [1, 2]


@pytest.mark.parametrize("cut", [1, 2, 4])
def test_an_end_that_was_cut_off_is_missed_before_and_after_others_have_gone_on(cut: int) -> None:
    """Numbers that were given once are not given again, on any database."""
    note(4)
    tamper("DELETE FROM edna_auditentry WHERE id > %s", 4 - cut)
    assert audit.verify() == [5 - cut], "the number of the first that is missing"
    note(2)
    assert [entry.id for entry in audit.entries()] == [6, 5, *range(4 - cut, 0, -1)]
    assert audit.verify() == [5], "the first after the gap"
    tamper("UPDATE edna_auditentry SET id = id - %s WHERE id = 5", cut)
    assert audit.verify()[:2] == [5 - cut, 6]


@pytest.mark.once
def test_what_was_cut_off_fits_in_its_place_alone() -> None:
    note(1)
    note(1, count=2)
    former = AuditEntry.objects.values().get(id=2)
    tamper("DELETE FROM edna_auditentry WHERE id = 2")
    note(1, count=3)
    AuditEntry(**former | {"id": 4}).save()
    assert audit.verify() == [3, 4]
    tamper("DELETE FROM edna_auditentry WHERE id = 4")
    AuditEntry(**former).save()
    assert audit.verify() == []


@first_everywhere(
    "vandalise",
    [
        "DELETE FROM edna_auditcount",
        "UPDATE edna_auditcount SET count = 2",
        "UPDATE edna_auditcount SET count = 0",
        "UPDATE edna_auditcount SET newest = mac",
        "UPDATE edna_auditcount SET mac = newest",
    ],
    count=2,
)
def test_the_count_is_not_forged_and_a_lost_one_stays_lost(vandalise: str) -> None:
    """Whoever notes something next does not sign what the vandal wrote."""
    note(4)
    tamper("DELETE FROM edna_auditentry WHERE id > 2")
    tamper(vandalise)
    assert audit.verify() == [3]
    note(2)
    assert len(found := audit.verify()) == 1
    note(1)
    assert audit.verify() == found


def test_a_lost_count_alone_is_found() -> None:
    note(2)
    tamper("DELETE FROM edna_auditcount")
    assert audit.verify() == [3]
    note(2)
    assert audit.verify() == [3]


@pytest.mark.once
def test_an_earlier_end_with_its_count_is_not_found() -> None:
    """Said in docs/threat-model.md: the log finds it."""
    note(2)
    former = AuditCount.objects.values().get()
    note(2)
    tamper("DELETE FROM edna_auditentry WHERE id > 2")
    AuditCount.objects.update(**former)
    assert audit.verify() == []


@pytest.mark.once
def test_a_row_that_the_count_does_not_know_stops_nobody() -> None:
    note(2)
    twin = AuditEntry.objects.values().get(id=2)
    AuditEntry(**twin | {"id": 3}).save()
    assert audit.verify() == [3]
    note(2)
    assert [entry.id for entry in audit.entries()] == [5, 4, 3, 2, 1]
    assert audit.verify() == [3]


HIGHEST = 2**63 - 1
#: MariaDB takes no JSON of more than 32 levels.
NOT_SO_DEEP = pytest.mark.only_on("sqlite", "postgresql")


@pytest.mark.parametrize(
    "vandalise",
    [
        [f"UPDATE edna_auditcount SET count = {HIGHEST}"],
        [f"UPDATE edna_auditcount SET count = {2**62 - 1}"],
        [f"UPDATE edna_auditcount SET count = -{HIGHEST}"],
        [f"UPDATE edna_auditentry SET id = {HIGHEST} WHERE id = 2", "DELETE FROM edna_auditcount"],
        [f"UPDATE edna_auditentry SET id = {2**62 - 1} WHERE id = 2", "DELETE FROM edna_auditcount"],
    ],
)
def test_no_number_of_a_vandal_is_the_last(vandalise: list[str]) -> None:
    """Otherwise one statement stops whatever is noted: no job could be paused any more."""
    note(2)
    for statement in vandalise:
        tamper(statement)
    note(3)
    assert len(audit.entries()) == 5
    assert audit.verify() != []


@pytest.mark.parametrize(
    "written",
    [
        "null",
        "[1]",
        "7",
        '{"a": ' + "1" * 5_000 + "}",
        '{"a": [1]}',
        pytest.param("[" * 900 + "]" * 900, marks=NOT_SO_DEEP),
    ],
)
def test_details_that_cannot_be_read_are_one_entry_that_does_not_verify(written: str) -> None:
    if "1111" in written and connection.vendor == "mysql" and not connection.mysql_is_mariadb:
        pytest.skip("MySQL takes no such number")
    note(3)
    tamper("UPDATE edna_auditentry SET details = %s WHERE id = 2", written)
    assert audit.verify() == [2]
    assert [entry.details for entry in audit.entries()] == [{}, UNREADABLE, {}]
    note(1)


def as_earlier_releases_did(number: int) -> None:
    """Entries, and no count of them."""
    AuditCount.objects.all().delete()
    before = b""
    for each in range(1, number + 1):
        row = AuditRow(each, timezone.now().replace(minute=0, second=0, microsecond=0), "olga", "apply", "", {})
        (before, *_) = audit._macs(row, before, audit._Kind.UNCOUNTED, None)
        AuditEntry(**dataclasses.asdict(dataclasses.replace(row, mac=before))).save()


@pytest.mark.only_on("sqlite3")
@pytest.mark.parametrize("written", ["x", "", "2026-13-45 00:00:00"])
def test_a_time_that_is_none_is_one_entry_that_does_not_verify(written: str) -> None:
    """SQLite takes any text for one. The others are looked at all the same, and the pages show them."""
    note(3)
    tamper("UPDATE edna_auditentry SET logged_at = %s WHERE id = 2", written)
    assert audit.verify() == [2]
    assert len(audit.entries()) == 3


@pytest.mark.once
def test_a_trail_of_earlier_releases_verifies_and_is_counted_from_now_on() -> None:
    as_earlier_releases_did(3)
    assert audit.verify() == []
    note(2)
    assert ([entry.id for entry in audit.entries()], audit.verify()) == ([5, 4, 3, 2, 1], [])
    tamper("DELETE FROM edna_auditentry WHERE id > 4")
    assert audit.verify() == [5]
    note(1)
    assert audit.verify() == [6]


@pytest.mark.once
def test_a_process_of_an_earlier_release_that_still_runs_breaks_nothing() -> None:
    note(1)
    row = AuditRow(2, timezone.now().replace(minute=0, second=0, microsecond=0), "olga", "apply", "", {})
    (mac, *_) = audit._macs(row, bytes(AuditEntry.objects.get().mac), audit._Kind.UNCOUNTED, None)
    AuditEntry(**dataclasses.asdict(dataclasses.replace(row, mac=mac))).save()
    note(1)
    assert ([entry.id for entry in audit.entries()], audit.verify()) == ([3, 2, 1], [])


@pytest.mark.once
def test_who_has_no_key_of_the_server_cannot_continue_the_trail() -> None:
    note(1)
    with with_server_keys(NEW_KEY):
        note(1)
    assert audit.verify() == [2]


@pytest.mark.once
def test_older_keys_go_on_verifying() -> None:
    note(1)
    with with_server_keys(NEW_KEY, *settings.EDNA["MAC_KEYS"]):
        note(1)
        assert audit.verify() == []
    with with_server_keys(NEW_KEY):
        assert audit.verify() == [1]


def test_with_naive_times_it_verifies_too() -> None:
    with override_settings(USE_TZ=False):
        note(2)
        assert audit.verify() == []


# Append only


@pytest.mark.once
def test_an_entry_is_neither_changed_nor_deleted() -> None:
    note(2)
    entry = AuditEntry.objects.order_by("id")[0]
    entry.operator = "otto"
    twin = AuditEntry(id=entry.id, logged_at=entry.logged_at, operator="otto", action="x", mac=entry.mac)
    for change in (
        entry.save,
        entry.delete,
        lambda: AuditEntry.objects.update(operator="otto"),
        lambda: AuditEntry.objects.filter(id=1).delete(),
        lambda: AuditEntry.objects.bulk_update([entry], ["operator"]),
        lambda: AuditEntry.objects.bulk_create(
            [twin], update_conflicts=True, unique_fields=["id"], update_fields=["operator"]
        ),
        lambda: AuditEntry.objects.update_or_create(id=1, defaults={"operator": "otto"}),
    ):
        with pytest.raises(AppendOnly):
            change()
    with pytest.raises(Exception, match=r"(?i)unique|duplicate"), transaction.atomic():
        twin.save()
    assert {entry.operator for entry in audit.entries()} == {"olga"}
    assert audit.verify() == []


# Several at once


@pytest.mark.django_db(transaction=True)
def test_writers_at_once_make_one_chain() -> None:
    note(1)  # whoever writes the very first entry is alone: nothing is there to wait for
    writers, each = 6, 5

    def write(writer: int) -> None:
        for number in range(each):
            transactions.run(lambda number=number: note(1, writer=writer, number=number), using="default")

    assert at_once(*(functools.partial(write, writer) for writer in range(writers))) == [None] * writers
    assert audit.verify() == []
    noted = audit.entries(most=1_000)
    assert [entry.id for entry in noted] == list(range(writers * each + 1, 0, -1))
    assert len({(entry.details.get("writer"), entry.details.get("number")) for entry in noted}) == writers * each + 1


@pytest.mark.django_db(transaction=True)
def test_the_very_first_writers_at_once_make_one_chain() -> None:
    assert at_once(*[lambda: transactions.run(note, using="default")] * 4) == [None] * 4
    assert (len(audit.entries()), audit.verify()) == (4, [])


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("mysql", "postgresql")
def test_a_writer_waits_for_the_one_before() -> None:
    note(1)
    noted = threading.Event()

    def slow() -> None:
        with transaction.atomic():
            note(1, who="slow")
            noted.set()
            until_waiting()

    def quick() -> None:
        assert noted.wait(WAIT_SECONDS)
        note(1, who="quick")

    assert at_once(slow, quick) == [None, None]
    assert [entry.details.get("who") for entry in audit.entries()] == ["quick", "slow", None]
    assert audit.verify() == []


def keeps_its_snapshot() -> bool:
    """Whether this is a MariaDB that refuses to lock a row that it would show as it was: from 11.6 on, unless it is told otherwise."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
        return cursor.fetchone() == ("innodb_snapshot_isolation", "ON")


@pytest.mark.django_db(transaction=True)
@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.parametrize("strictly", [False, True])
def test_who_began_before_others_noted_something_comes_after_them(strictly: bool) -> None:
    """Or, where a transaction only sees what was there when it began, is told to try again. They never go side by side."""
    note(1)
    refused = strictly and (connection.vendor == "postgresql" or keeps_its_snapshot())

    def others() -> None:
        note(3, who="others")
        connections.close_all()

    if strictly and connection.vendor == "mysql":
        tamper("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    with pytest.raises(DatabaseBusy) if refused else contextlib.nullcontext(), transaction.atomic():
        if strictly and connection.vendor == "postgresql":
            tamper("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        assert len(audit.entries()) == 1
        thread = threading.Thread(target=others, daemon=True)
        thread.start()
        thread.join(WAIT_SECONDS)
        note(1, who="slow")
    names = [entry.details.get("who") for entry in audit.entries()]
    assert names == [*([] if refused else ["slow"]), "others", "others", "others", None]
    assert audit.verify() == []
