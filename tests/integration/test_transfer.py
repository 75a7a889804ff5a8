"""edna_export and edna_import: all of edna's tables, unchanged, between any two databases; all or nothing, and whole or refused."""

from __future__ import annotations

import datetime
import json
import os
import resource
import secrets
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import override_settings

import edna
from apps.websubmit.models import Answer
from edna import conf, errors
from edna.audiences.models import (
    AudienceName,
    AudienceUpdate,
    HeldCopy,
    HoldNotice,
    HoldPart,
    HoldRequest,
    SharedSecret,
)
from edna.devices.models import DeviceRecord
from edna.guardians.models import KeptEnvelope
from edna.models import Bag, FileTask, KeySlot, PrincipalEntry, ServerKey, SessionLink, random_primary_key
from edna.operations import audit
from edna.operations.exports import bundle, transfer
from edna.operations.models import AuditEntry, DormancyNotice, Job, JobItem, JobRunner, LastRun, LedgerEntry, LegalHold
from edna.testing import Dump, application_dump
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    answer_everything,
    edna_dump,
    enrol,
    flipped,
    make_course,
    nothing_changes,
    statements,
    with_server_keys,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]

ROOT = Path(__file__).resolve().parents[2]
MODELS = conf.own_models()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "edna.export")


def elsewhere(database: Path, *argv: str) -> None:
    """A command on a second database, an SQLite file."""
    done = subprocess.run(
        [sys.executable, "manage.py", *argv],
        cwd=ROOT,
        env=os.environ
        | {"EDNA_DATABASE_URL": f"sqlite:///{database}", "DJANGO_SETTINGS_MODULE": "config.settings_test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def fill() -> Any:
    """Something in every table; the one who left, and their receipt."""
    make_course()
    bea, carl = enrol("bea@example.org", password="a password of hers"), enrol()
    answer_everything(bea, carl)
    edna.disguise_all(ANONYMISE_ALL)
    receipt = bea.disguise(DELETE)
    for _ in range(3):
        audit.note("test", operator="ops", disguise=DELETE, count=7)
    today = datetime.date(2026, 11, 21)
    job = Job.objects.create(
        disguise=DELETE,
        params={"a": "ü"},
        everybody=True,
        state="paused",
        total=3,
        concurrency=1,
        created_on=today,
        seconds=0.1,
    )
    JobItem.objects.create(job=job.pk, reference="7", reason="IntegrityError")
    JobRunner.objects.create(job=job.pk, name="one", seen_at=datetime.datetime.now(datetime.UTC))
    DormancyNotice.objects.create(schedule="s", model="websubmit.user", reference="8", stage=1, sent_on=today)
    SessionLink.objects.create(owner_tag=os.urandom(32), session_key="key")
    KeptEnvelope.objects.create(place=os.urandom(32), tag=os.urandom(32), sealed=os.urandom(220))
    DeviceRecord.objects.create(place=os.urandom(32), sealed=os.urandom(300))
    tag = os.urandom(16)
    AudienceUpdate.objects.create(audience="chairs", sequence=0, update=os.urandom(300), tag=tag)
    AudienceName.objects.create(audience="chairs", member=os.urandom(16), name="ü", tag=tag)
    SharedSecret.objects.create(audience="chairs", together=2, epoch=0, dealer=0, said=os.urandom(300), tag=tag)
    HeldCopy.objects.create(
        place=os.urandom(32), mark=os.urandom(32), shared_by=os.urandom(16), sealed=os.urandom(148), tag=tag
    )
    asked = {"model": "websubmit.user", "reference": "8", "reason": "case 7", "places": os.urandom(32), "tag": tag}
    HoldRequest.objects.create(audience="chairs", together=2, asked_by=os.urandom(16), asked_on=today, **asked)
    HoldPart.objects.create(request=7, member=os.urandom(16), sealed=os.urandom(149))
    HoldNotice.objects.create(place=os.urandom(32), sealed=os.urandom(552))
    LedgerEntry.objects.create(index=os.urandom(32), sealed=os.urandom(296))
    edna.replay(Answer, where={"text": "nobody's"}, set={"text": "moderated"})
    FileTask.objects.create(
        field="a.b.c", name="ü.txt", size=2**40, digest=bytes(32), free=True, erase=False, mac=bytes(range(32))
    )
    LegalHold.objects.create(expires_on=today, reason="case 7", placed_on=today)
    LastRun.objects.create(name="edna_files", finished_at=datetime.datetime.now(datetime.UTC), counts={"deleted": 2})
    return bea, receipt


def empty() -> None:
    for model in MODELS:
        model._base_manager.all()._raw_delete("default")


def stored() -> Dump:
    """Every row of edna's tables, but for what the audit trail says of moving them."""
    found = edna_dump()
    trail = AuditEntry._meta.db_table
    return found | {trail: [row for row in found[trail] if not {"export", "import"} & set(row)]}


def test_there_and_back(path: str, tmp_path: Path) -> None:
    """Every row of every table to the byte, by way of another kind of database; and what was disguised comes back."""
    bea, receipt = fill()
    before, application = stored(), application_dump()
    there = transfer.export(path)
    assert min(there.tables.values()) > 0
    again, database = str(tmp_path / "again.export"), tmp_path / "other.sqlite3"
    for label in ("edna_operations", "edna_guardians", "edna_devices", "edna_audiences", "edna"):
        elsewhere(database, "migrate", label, "--verbosity=0", "--skip-checks")
    elsewhere(database, "edna_import", path)
    elsewhere(database, "edna_export", again)
    empty()
    transfer.load(again)
    assert stored() == before
    assert [entry.action for entry in audit.entries(most=2)] == ["export", "import"]
    assert audit.verify() == []
    assert bea.reveal(receipt).complete
    bea.reveal_everything()
    assert application_dump() != application  # she is back


def test_it_goes_on_after_an_import(path: str) -> None:
    """Rows that the database numbers do not meet those that were imported."""
    fill()
    transfer.export(path)
    empty()
    transfer.load(path)
    audit.note("test", operator="ops")
    newest = AuditEntry.objects.order_by("-id").values_list("id", flat=True)
    assert list(newest) == [5, 4, 3, 2, 1]
    enrol()


def pieces(path: str) -> list[Any]:
    """Without what the file says about where and when it was written."""
    with bundle.whole_file(path) as reader:
        header, *rest = reader.pieces()
    return [header["tables"], *rest]


# The file


@pytest.mark.once
def test_the_file_is_for_its_owner_alone(path: str) -> None:
    before = os.umask(0)
    try:
        transfer.export(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600


@pytest.mark.once
@pytest.mark.parametrize("link", [False, True])
def test_nothing_is_overwritten(path: str, tmp_path: Path, link: bool) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    os.symlink(mine, path) if link else os.rename(mine, path)
    with pytest.raises(errors.FileRefused, match="exists already"):
        transfer.export(path)
    assert Path(path).read_text() == "mine"


@pytest.mark.once
def test_what_fails_leaves_no_file(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill()

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        transfer.export(path, progress=interrupt)
    assert not os.path.exists(path)


def test_the_order_of_rows_is_random(path: str) -> None:
    """By random keys: not in the order in which they were written, which would tell who left first."""
    people = [enrol() for _ in range(12)]
    transfer.export(path)
    written = [bytes(person.secret_key.public_key) for person in people]
    [rows] = [rows for label, rows in pieces(path)[1:] if label == "edna.principalentry"]
    found = [row[1] for row in rows]
    assert set(written) <= set(found)
    assert [key for key in found if key in written] != written


@pytest.mark.once
def test_whoever_reads_it_learns_what_the_tables_hold_and_no_more(path: str) -> None:
    bea, receipt = fill()
    transfer.export(path)
    content = Path(path).read_bytes()
    for secret in (bea.secret_key.expose(), receipt.locator.expose(), b"An answer of", b"bea@example.org"):
        assert secret not in content


# What is refused, before anything is written


@pytest.fixture
def exported(path: str) -> str:
    fill()
    transfer.export(path)
    empty()
    return path


@pytest.mark.once
@pytest.mark.parametrize("cut", [1, 33, 97, 200, 5_000])
def test_a_file_that_was_cut_off_is_refused(exported: str, cut: int) -> None:
    content = Path(exported).read_bytes()
    Path(exported).write_bytes(content[:-cut])
    refused(exported, "cut off or edited")


@pytest.mark.once
def test_an_empty_file_is_refused(exported: str) -> None:
    Path(exported).write_bytes(b"")
    refused(exported, "is no file that")


@pytest.mark.once
def test_an_edited_file_is_refused_wherever_it_was_edited(exported: str) -> None:
    content = Path(exported).read_bytes()
    first = content.index(b"\n") + 1
    places = [
        first,
        first + 4,
        len(content) // 2,
        len(content) - 120,
        len(content) - 97,
        len(content) - 33,
        len(content) - 1,
    ]
    for place in [*places, *(secrets.randbelow(len(content) - first) + first for _ in range(20))]:
        Path(exported).write_bytes(flipped(content, place))
        refused(exported, "cut off or edited|signed it")
    Path(exported).write_bytes(content + b"\0")
    refused(exported, "cut off or edited")


@pytest.mark.once
def test_a_file_whose_checksum_was_made_anew_is_refused(exported: str) -> None:
    """Anybody can compute a checksum; the MAC takes a key of the server."""
    content = Path(exported).read_bytes()
    body = flipped(content[:-96], len(content) // 2)
    checksum = bundle._new_checksum()
    checksum.update(body)
    Path(exported).write_bytes(body + checksum.digest() + content[-32:])
    refused(exported, "no key of MAC_KEYS signed it")


@pytest.mark.once
def test_a_file_of_another_site_is_refused(exported: str) -> None:
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": ["the key of another site, at least"]}):
        refused(exported, "no key of MAC_KEYS signed it")


@pytest.mark.once
def test_a_file_that_was_signed_with_an_older_key_is_taken(path: str) -> None:
    fill()
    with with_server_keys("an old key of at least 16 bytes"):
        transfer.export(path)
    empty()
    keys = ["a new key of at least 16 bytes", "an old key of at least 16 bytes"]
    with override_settings(EDNA={**settings.EDNA, "MAC_KEYS": keys}):
        assert transfer.load(path).rows


@pytest.mark.once
def test_a_file_of_another_format_is_refused_in_a_sentence(exported: str) -> None:
    content = Path(exported).read_bytes()
    Path(exported).write_bytes(content.replace(b"edna export 1\n", b"edna export 2\n", 1))
    refused(exported, "is of format 2, and this release reads format 1")


@pytest.mark.once
def test_a_file_with_other_tables_is_refused(exported: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = transfer.store.tables()
    monkeypatch.setattr(transfer.store, "tables", lambda: known[1:])
    refused(exported, "a release of edna with other tables")


@pytest.mark.once
def test_a_file_of_a_release_with_other_numbers_is_refused(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would find what came with it."""
    with monkeypatch.context() as former:
        former.setattr(transfer, "FORM", 1)
        transfer.export(path)
    refused(path, "a release of edna with other tables")


@pytest.mark.once
def test_a_file_that_changes_while_it_is_read_changes_nothing(exported: str) -> None:
    content = Path(exported).read_bytes()
    middle = content.index(b"edna.principalentry", len(content) // 3)

    def edit(done: int, total: int) -> None:
        with open(exported, "r+b") as file:
            file.seek(middle + 200)
            file.write(bytes([content[middle + 200] ^ 1]))

    with nothing_changes(), pytest.raises(errors.FileRefused):
        transfer.load(exported, progress=edit)


def refused(path: str, why: str) -> None:
    with nothing_changes(), pytest.raises(errors.FileRefused, match=why):
        transfer.load(path)


#: Migrating fills the other.
EMPTY = [model for model in MODELS if model is not ServerKey]


@pytest.mark.once
@pytest.mark.parametrize("model", EMPTY, ids=lambda model: model._meta.model_name)
def test_a_database_that_is_in_use_is_refused(path: str, model: Any) -> None:
    fill()
    transfer.export(path)
    kept = list(model._base_manager.all()[:1])
    empty()
    assert kept
    model._base_manager.bulk_create(kept)
    with nothing_changes(), pytest.raises(errors.TablesNotEmpty, match=f"edna.{model._meta.model_name}"):
        transfer.load(path)


# One moment, and constant memory


@pytest.mark.only_on("mysql", "postgresql")  # on SQLite nobody writes to the file while it is read
def test_what_is_written_meanwhile_is_not_in_it(path: str) -> None:
    """All tables are of one moment, although others go on."""
    fill()
    before = stored()

    def meanwhile(done: int, total: int) -> None:
        def write() -> None:
            KeySlot.objects.create(slot_id=os.urandom(32), tag=os.urandom(32), wrapped=b"x")
            PrincipalEntry.objects.create(id=random_primary_key(), public_key=os.urandom(32), model="", natural=False)
            Bag.objects.all().delete()
            connections.close_all()

        writer = threading.Thread(target=write)
        writer.start()
        writer.join()

    transfer.export(path, progress=meanwhile)
    empty()
    transfer.load(path)
    assert stored() == before


def test_pages_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [10, 900, 900, 900, 5_000, 10, 10, 3_000, 10]
    Bag.objects.bulk_create(
        Bag(id=random_primary_key(), index=os.urandom(32), sealed=os.urandom(size)) for size in sizes
    )
    monkeypatch.setattr(transfer.store, "_BYTES_AT_ONCE", 1_000)
    monkeypatch.setattr(transfer.store, "_ROWS_AT_ONCE", 4)
    table = next(table for table in transfer.store.tables() if table.model is Bag)
    pages = list(transfer.store.pages(table, using="default"))
    column = table.names.index("sealed")
    assert sorted(len(row[column]) for page in pages for row in page) == sorted(sizes)
    assert all(len(page) == 1 or sum(len(row[column]) for row in page) <= 1_000 for page in pages)
    assert len({row[0] for page in pages for row in page}) == len(sizes)


@pytest.mark.slow
@pytest.mark.once
def test_memory_does_not_grow_with_the_tables(path: str) -> None:
    def bags(number: int) -> None:
        for _ in range(number // 1_000):
            Bag.objects.bulk_create(
                Bag(id=random_primary_key(), index=os.urandom(32), sealed=bytes(1_200)) for _ in range(1_000)
            )

    bags(2_000)
    transfer.export(path)
    empty()
    transfer.load(path)
    os.unlink(path)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    bags(25_000)
    filled = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    transfer.export(path)
    empty()
    transfer.load(path)
    # The database itself is in memory here; what is left of the growth must be far less than the 31 MB of the file.
    assert os.path.getsize(path) > 29_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - filled < 12_000
    assert filled >= before


def test_statements_do_not_depend_on_the_rows_of_a_page(path: str, tmp_path: Path) -> None:
    enrol()
    few = len(statements(lambda: transfer.export(path)))
    for _ in range(20):
        enrol()
    assert len(statements(lambda: transfer.export(str(tmp_path / "more")))) == few


# The commands


@pytest.mark.once
def test_commands(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    fill()
    before = stored()
    call_command("edna_export", path, "--json")
    exported = json.loads(capsys.readouterr().out)
    assert exported["file"] == path
    assert exported["tables"]["edna.bag"] == Bag.objects.count()
    empty()
    call_command("edna_import", path, "--json")
    read = capsys.readouterr()
    assert json.loads(read.out)["rows"] == exported["rows"]
    assert f"{exported['rows']} of {exported['rows']}" in read.err
    assert stored() == before
    with pytest.raises(CommandError, match="There are rows in"):
        call_command("edna_import", path)
    with pytest.raises(CommandError, match="exists already"):
        call_command("edna_export", path)
    with pytest.raises(CommandError, match="cannot be read: No such file"):
        call_command("edna_import", f"{path}.nowhere")
