"""Every invariant of the store, broken on its own, is found and named; a sound store is sound."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

import edna
from apps.websubmit.models import Answer, Lecture
from edna import errors
from edna.crypto.keys import SecretKey
from edna.db.short_values import label_number, short_reference
from edna.models import Bag, FileTask, KeySlot, PrincipalEntry, Replay
from edna.operations import audit
from edna.operations.models import AuditEntry, Job, JobItem, LegalHold
from edna.operations.upkeep import verification
from edna.operations.upkeep.findings import KINDS, Severity, Verified
from edna.records.bag import BagKind
from edna.testing.search import finds
from tests.support import (
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    enrol,
    execute,
    make_course,
    secrets_of,
    statements,
    vouch_for_what_is_there,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]

MARK = "_binary %s" if connection.vendor == "mysql" else "%s"


@pytest.fixture
def bea(db: None) -> Student:
    make_course()
    bea = enrol("bea@example.org", password="four zebras on a unicycle")
    carl = enrol("carl@example.org")
    answer_everything(bea, carl)
    carl.disguise(DELETE)
    edna.replay(Answer, where={"text": "An insult"}, set={"text": ""})
    bea.disguise(ANONYMISE_LECTURE, lecture=lecture(1))
    audit.note("look", operator="olga")
    return bea


def lecture(number: int) -> int:
    return list(Lecture.objects.order_by("pk").values_list("pk", flat=True))[number - 1]


def found_by(verified: Verified) -> dict[str, list[int | str]]:
    return {each.kind: each.ids for each in verified.findings}


def run(*arguments: str) -> tuple[int, str]:
    """Exit status and output of the command."""
    out = StringIO()
    try:
        call_command("edna_verify", *arguments, stdout=out, stderr=StringIO())
    except CommandError as error:
        return error.returncode, out.getvalue()
    return 0, out.getvalue()


def test_a_sound_store(bea: Student) -> None:
    verified = verification.verify(secret_key=bea.secret_key)
    assert (verified.findings, verified.worst) == ([], None)
    assert verified.seen["entries"] == PrincipalEntry.objects.count()
    assert verified.seen["bags"] == Bag.objects.count() == 3
    assert verified.seen["bags of the person"] == 2
    assert run()[0] == 0
    assert json.loads(run("--json")[1])["verdict"] == "sound"


def test_an_empty_store(db: None) -> None:
    assert run() == (0, "Nothing is stored.\nSound.\n")


Breaking = Callable[[Student], int | str | None]


def _entry(bea: Student) -> int:
    return int(PrincipalEntry.objects.get(public_key=bytes(bea.secret_key.public_key)).pk)


def _removed() -> int:
    return int(PrincipalEntry.objects.get(reference=None).pk)


_TODAY: dict[str, Any] = {"concurrency": 1, "created_on": "2026-01-01"}


def _set(table: str, column: str, value: Any, pk: int) -> int:
    mark = MARK if isinstance(value, bytes) else "%s"
    name = connection.ops.quote_name(column)
    assert execute(f"UPDATE {table} SET {name} = {mark} WHERE id = %s", [value, pk]) == 1
    return pk


def short_key(bea: Student) -> int:
    return _set("edna_principalentry", "public_key", b"short", _entry(bea))


def useless_key(bea: Student) -> int:
    key = bytes(bea.secret_key.public_key)
    return _set("edna_principalentry", "public_key", key[:31] + bytes((key[31] | 0x80,)), _entry(bea))


def cut_list(bea: Student) -> int:
    entry = PrincipalEntry.objects.get(pk=_entry(bea))
    return _set("edna_principalentry", "locators", bytes(entry.locators)[:-1], entry.pk)


def telling_entry(bea: Student) -> int:
    return _set("edna_principalentry", "model", label_number("websubmit.user"), _removed())


def dated_entry(bea: Student) -> int:
    return _set("edna_principalentry", "expires_on", datetime.date(2050, 1, 1), _entry(bea))


def entry_of_another_model(bea: Student) -> int:
    pk = _set("edna_principalentry", "model", label_number("shop.customer"), _entry(bea))
    vouch_for_what_is_there()
    return pk


def entry_without_row(bea: Student) -> int:
    entry = PrincipalEntry.objects.filter(natural=True).get(pk=_entry(bea))
    pk = _set("edna_principalentry", "reference", short_reference("999999"), entry.pk)
    vouch_for_what_is_there()
    return pk


def entry_of_another_key(bea: Student) -> int:
    return _set("edna_principalentry", "public_key", bytes(SecretKey.generate().public_key), _entry(bea))


def removed_under_another_number(bea: Student) -> int:
    return _renumbered("edna_principalentry", _removed())


def bag_under_another_number(bea: Student) -> int:
    return _renumbered("edna_bag", Bag.objects.all()[0].pk)


def _renumbered(table: str, pk: int) -> int:
    _set(table, "id", pk ^ 1, pk)
    return pk ^ 1


def untagged_entry(bea: Student) -> int:
    return _set("edna_principalentry", "tag", None, _entry(bea))


def tagged_entry_of_nobody(bea: Student) -> int:
    return _set("edna_principalentry", "tag", b"t" * 16, _removed())


def row_without_entry(bea: Student) -> str:
    entry = PrincipalEntry.objects.get(natural=False, reference__isnull=False)
    PrincipalEntry.objects.filter(pk=entry.pk).delete()
    return str(entry.reference)


def short_slot(bea: Student) -> int:
    slot = KeySlot.objects.all()[0]
    return _set("edna_keyslot", "wrapped", b"short", slot.pk)


def short_index(bea: Student) -> int:
    return _set("edna_bag", "index", b"short", Bag.objects.all()[0].pk)


def cut_bag(bea: Student) -> int:
    bag = Bag.objects.all()[0]
    return _set("edna_bag", "sealed", bytes(bag.sealed)[:-1], bag.pk)


def other_version(bea: Student) -> int:
    bag = Bag.objects.all()[0]
    return _set("edna_bag", "sealed", b"\x07" + bytes(bag.sealed)[1:], bag.pk)


def longer_bag(bea: Student) -> int:
    bag = Bag.objects.all()[0]
    return _set("edna_bag", "sealed", bytes(bag.sealed) + b"\0", bag.pk)


def unpadded_bag(bea: Student) -> int:
    """Consistent with its own header, but no body has such a length."""
    bag = Bag.objects.all()[0]
    sealed = bytes(bag.sealed)
    length = int.from_bytes(sealed[3:7], "big") + 1
    return _set("edna_bag", "sealed", sealed[:3] + length.to_bytes(4, "big") + sealed[7:] + b"\0", bag.pk)


def odd_bucket(bea: Student) -> int:
    return _set("edna_bag", "expires_on", datetime.date(2050, 1, 2), Bag.objects.all()[0].pk)


def forged_replay(bea: Student) -> int:
    return int(Replay.objects.create(logged_on="2026-01-01", sealed=b"x" * 200).pk)


def forged_file_task(bea: Student) -> int:
    task = FileTask.objects.create(
        field="a.b.c", name="x", size=1, digest=b"d" * 32, free=False, erase=False, mac=b"m" * 32
    )
    return int(task.pk)


def changed_trail(bea: Student) -> int:
    entry = AuditEntry.objects.all()[0]
    return _set("edna_auditentry", "operator", "nobody", entry.pk)


def overdue_bag(bea: Student) -> str:
    _set("edna_bag", "expires_on", datetime.date(2020, 2, 1), Bag.objects.all()[0].pk)
    return "2020-02-01"


def odd_hold(bea: Student) -> int:
    return int(LegalHold.objects.create(expires_on="2050-01-02", reason="x", placed_on="2026-01-01").pk)


def waiting_job(bea: Student) -> int:
    job = Job.objects.create(
        disguise=DELETE, everybody=True, state="running", total=1, concurrency=1, created_on="2026-01-01"
    )
    JobItem.objects.create(job=job.pk, reference=str(bea.user.pk))
    vouch_for_what_is_there()
    return int(job.pk)


def forged_job(bea: Student) -> int:
    """Nobody is asked to work on it."""
    return int(Job.objects.create(disguise=DELETE, everybody=True, state="running", total=1, **_TODAY).pk)


def forged_item(bea: Student) -> int:
    job = Job.objects.create(disguise=DELETE, everybody=False, state="paused", total=1, **_TODAY)
    vouch_for_what_is_there()
    return int(JobItem.objects.create(job=job.pk, reference=str(bea.user.pk)).pk)


def list_of_a_job_that_is_gone(bea: Student) -> None:
    JobItem.objects.create(job=7, reference="1")
    vouch_for_what_is_there()


def orphan(bea: Student) -> int:
    entry = PrincipalEntry.objects.get(natural=False, reference__isnull=False)
    execute("DELETE FROM websubmit_answer WHERE author_id = %s", [int(str(entry.reference))])
    return int(entry.pk)


BREAKINGS: dict[Breaking, str] = {
    useless_key: "entry_key_useless",
    removed_under_another_number: "entry_number",
    bag_under_another_number: "bag_index",
    cut_list: "entry_list",
    telling_entry: "entry_detached",
    dated_entry: "entry_dated",
    tagged_entry_of_nobody: "entry_detached",
    entry_of_another_key: "entry_tag",
    untagged_entry: "entry_tag",
    entry_of_another_model: "entry_model",
    entry_without_row: "entry_without_row",
    row_without_entry: "row_without_entry",
    short_slot: "slot",
    cut_bag: "bag_container",
    longer_bag: "bag_container",
    other_version: "bag_container",
    unpadded_bag: "bag_container",
    odd_bucket: "bag_bucket",
    forged_replay: "replay",
    forged_file_task: "file_task",
    changed_trail: "audit",
    overdue_bag: "expiry_overdue",
    odd_hold: "hold_misplaced",
    waiting_job: "job_waiting",
    forged_job: "job",
    forged_item: "job_item",
    list_of_a_job_that_is_gone: "residue",
    orphan: "orphan",
}
if connection.vendor != "mysql":  # there, these columns are of 32 bytes by their type
    BREAKINGS |= {short_key: "entry_key", short_index: "bag_index"}


@pytest.mark.parametrize("breaking", BREAKINGS, ids=lambda breaking: breaking.__name__)
def test_what_is_broken_is_found_and_named(bea: Student, breaking: Breaking) -> None:
    name = breaking(bea)
    kind = BREAKINGS[breaking]
    assert found_by(verification.verify()) == {kind: [] if name is None else [name]}
    status, text = run()
    assert status == {Severity.ATTENTION: 3, Severity.DAMAGE: 4}[KINDS[kind].severity]
    assert kind in text
    assert KINDS[kind].remedy in text
    if name is not None:
        assert str(name) in text
    document = json.loads(run("--json")[1])
    assert (document["verdict"], document["findings"][0]["kind"]) == (KINDS[kind].severity.value, kind)


@pytest.mark.only_on("postgresql")
def test_a_twin_in_a_table_that_was_restored_without_its_index(bea: Student) -> None:
    """PostgreSQL alone drops a constraint inside the test's transaction."""
    constraints = connection.introspection.get_constraints(connection.cursor(), "edna_bag")
    [name] = [name for name, each in constraints.items() if each["primary_key"]]
    execute("SET CONSTRAINTS ALL IMMEDIATE")
    execute(f'ALTER TABLE edna_bag DROP CONSTRAINT "{name}"')
    bag = Bag.objects.all()[0]
    twin = Bag.objects.create(id=bag.pk, index=bytes(bag.index), sealed=bytes(bag.sealed))
    assert found_by(verification.verify()) == {"duplicate": [bag.pk, twin.pk]}


def test_a_file_that_waits_for_more_than_a_day(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tasks have no time: what waited at an earlier day's run is old."""
    from edna.engine.files import file_tasks
    from edna.store import PendingFile, add_file_tasks

    task = PendingFile("a.b.c", "x", 1, b"d" * 32)
    add_file_tasks([file_tasks.replace(task, mac=file_tasks._macs(task, None)[0])], using="default")
    assert found_by(verification.verify()) == {}
    assert found_by(verification.verify()) == {}
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1, hours=1)
    monkeypatch.setattr("django.utils.timezone.now", lambda: later)
    assert found_by(verification.verify()) == {"file_task_old": [task.id]}
    FileTask.objects.all().delete()
    assert found_by(verification.verify()) == {}


@pytest.mark.once
def test_an_orphan_that_something_may_name_is_no_reason_to_worry(bea: Student) -> None:
    @edna.on_reveal("websubmit.by-hand")
    def callback(revealed: Any) -> None:
        pass

    try:
        entry = orphan(bea)
        assert found_by(verification.verify()) == {"orphan_kept": [entry]}
        assert run()[0] == 0
    finally:
        edna.unregister(callback)


# With a key


@pytest.mark.once
def test_a_bag_of_the_person_that_was_changed(bea: Student) -> None:
    """Without their key nobody can tell."""
    receipt = bea.history()[0].receipt
    bag = Bag.objects.get(index=receipt.locator.index(BagKind.DIFF, 0))
    sealed = bytes(bag.sealed)
    _set("edna_bag", "sealed", sealed[:-1] + bytes([sealed[-1] ^ 1]), bag.pk)
    assert found_by(verification.verify()) == {}
    other = Bag.objects.get(index=receipt.locator.index(BagKind.SPEAKS_FOR, 0))
    assert found_by(verification.verify(secret_key=bea.secret_key)) == {"person_damaged": sorted([bag.pk, other.pk])}


@pytest.mark.once
def test_a_bag_of_the_person_that_is_missing(bea: Student) -> None:
    receipt = bea.history()[0].receipt
    Bag.objects.filter(index=receipt.locator.index(BagKind.SPEAKS_FOR, 0)).delete()
    left = Bag.objects.get(index=receipt.locator.index(BagKind.DIFF, 0))
    assert found_by(verification.verify(secret_key=bea.secret_key)) == {"person_damaged": [left.pk]}
    left.delete()
    verified = verification.verify(secret_key=bea.secret_key)
    assert (found_by(verified), verified.worst) == ({"person_nothing": []}, Severity.NOTE)


@pytest.mark.once
def test_a_server_key_that_is_missing(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key of the server, long enough"]}
    assert set(found_by(verification.verify(secret_key=bea.secret_key))) == {
        "server_key",
        "server_key_missing",
        "entry_tag",
        "audit",
        "replay",
    }


@pytest.mark.once
def test_the_command_takes_a_key_and_tells_nothing(
    bea: Student, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receipt = bea.history()[0].receipt
    file = tmp_path / "bea.key"
    file.write_text(bea.secret_key.expose_text() + "\n")
    status, text = run("--key-file", str(file))
    assert status == 0
    assert "bags of the person" in text
    monkeypatch.setattr("sys.stdin", StringIO(bea.secret_key.expose_text()))
    assert run("--key-stdin")[0] == 0
    assert (
        finds(
            text.encode(), {**secrets_of(bea, receipt), "address": bea.email, "key": bytes(bea.secret_key.public_key)}
        )
        == []
    )
    file.write_text("edna-key:no")
    assert run("--key-file", str(file))[0] == 1
    assert run("--key-file", str(tmp_path / "nowhere"))[0] == 1


@pytest.mark.once
def test_the_key_of_nobody(db: None) -> None:
    with pytest.raises(errors.PrincipalNotRegistered):
        verification.verify(secret_key=edna.SecretKey.generate())


def test_as_many_statements_for_many_rows_as_for_few(bea: Student) -> None:
    verification.verify()
    few = len(statements(verification.verify))
    others = [enrol() for _ in range(5)]
    answer_everything(*others)
    for each in others:
        each.disguise(ANONYMISE_LECTURE, lecture=lecture(2))
    assert len(statements(verification.verify)) == few
