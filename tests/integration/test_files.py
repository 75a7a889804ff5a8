"""Files go with the rows that name them, and come back with them, to the byte and under their names."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import logging
import tracemalloc
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

import edna
from edna import Disguise, Modify, placeholders, signals
from edna.engine.files import stored_files
from edna.engine.forwarding.walk import Stuck, bring_forward
from edna.engine.layers import journal_forwarding
from edna.models import Bag, FileTask
from edna.operations.retention import expiry
from edna.records.diff import Removed
from edna.testing import Person, application_dump
from edna.testing.search import finds
from tests.databases import first_everywhere
from tests.faults.steps import killed_at
from tests.handing import keys_in_browsers
from tests.installed import registering
from tests.support import edna_dump, loot, statements
from tests.waiting import at_once

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.thorough]

SECRET = b"the diary of Ada, volume seven, strictly private. " * 40


@pytest.fixture
def files(
    transactional_db: None, world: Any, tmp_path: Path, settings: Any
) -> Iterator[Callable[[], dict[str, bytes]]]:
    """Everything that is in the storages."""
    settings.MEDIA_ROOT = tmp_path

    def found() -> dict[str, bytes]:
        on_disk = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        return on_disk | {f"memory:{name}": world.memory.open(name).read() for name in in_memory(world)}

    yield found
    for name in in_memory(world):
        world.memory.delete(name)
    connections.close_all()


def in_memory(world: Any) -> list[str]:
    return [f"drafts/{name}" for name in world.memory.listdir("drafts")[1]] if world.memory.exists("drafts") else []


def person(world: Any, handle: str = "ada") -> Person:
    made = world.Person.objects.create(handle=handle)
    secret_key = edna.register_principal(made, identifier=handle).secret_key
    assert secret_key is not None
    return Person(made, secret_key)


def document(world: Any, who: Person, content: bytes = SECRET, *, name: str = "diary.pdf", **fields: Any) -> Any:
    return world.Document.objects.create(owner=who.user, scan=ContentFile(content, name), **fields)


def state(files: Callable[[], dict[str, bytes]]) -> tuple[Any, ...]:
    tables = sorted((application_dump() | edna_dump()).items())
    return (*(table for table in tables if table[1]), files())


@contextlib.contextmanager
def connected(signal: Any, receiver: Callable[..., None]) -> Iterator[None]:
    signal.connect(receiver)
    try:
        yield
    finally:
        signal.disconnect(receiver)


# There and back


def test_the_file_of_a_removed_row_goes_and_comes_back(world: Any, files: Any, tmp_path: Path) -> None:
    ada = person(world)
    document(world, ada)
    before = state(files)

    receipt = ada.disguise("world.leave")

    assert files() == {}
    assert finds(loot(), {"content": SECRET[:40], "name": "diary.pdf"}) == []
    assert not FileTask.objects.exists()
    assert [entry.counts for entry in ada.history()] == [{"world.document": 1, "world.person": 1}]
    outcome = ada.reveal(receipt)
    assert outcome.complete
    assert outcome.restored == {"world.document": 1, "world.person": 1}
    assert state(files) == before


@pytest.mark.once
@pytest.mark.parametrize("name", ["world.leave", "world.blacken"])
def test_a_file_comes_back_by_what_a_browser_hands_over(world: Any, files: Any, name: str) -> None:
    """Its pieces are opened by what stands in the record: no key of theirs is handed over."""
    ada = person(world)
    document(world, ada)
    before = state(files)
    with keys_in_browsers():
        receipt = ada.disguise(name)
        assert SECRET not in files().values()
        assert ada.reveal(receipt).complete
    edna.finish_files()
    assert state(files) == before


@pytest.mark.once
def test_what_is_made_of_a_file_goes_and_comes_back_with_it(world: Any, files: Any, tmp_path: Path) -> None:
    """A thumbnail, say. When its receiver is told, the file can still be read."""
    ada = person(world)
    name = document(world, ada).scan.name
    thumbnail = tmp_path / "thumbnail"

    def draw(sender: Any, field: str, file_name: str, **kwargs: Any) -> None:
        thumbnail.write_bytes((tmp_path / file_name).read_bytes()[:3])

    def forget(sender: Any, field: str, file_name: str, **kwargs: Any) -> None:
        assert (sender, field, file_name, (tmp_path / file_name).exists()) == (world.Document, "scan", name, True)
        thumbnail.unlink(missing_ok=True)

    draw(world.Document, "scan", name)
    with connected(signals.file_deleted, forget), connected(signals.file_written, draw):
        ada.disguise("world.leave")
        assert not thumbnail.exists()
        ada.reveal_everything()
    assert thumbnail.read_bytes() == SECRET[:3]


@pytest.mark.once
def test_a_receiver_that_fails_keeps_no_file(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada)
    before = files()

    def fail(**kwargs: Any) -> None:
        raise RuntimeError("no thumbnails today")

    with connected(signals.file_deleted, fail), connected(signals.file_written, fail):
        ada.disguise("world.leave")
        assert files() == {}
        ada.reveal_everything()
    assert files() == before


@pytest.mark.once
def test_of_any_storage(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada, draft=ContentFile(b"a draft in memory", "draft.txt"))
    before = state(files)
    assert len(before[-1]) == 2
    receipt = ada.disguise("world.shred")
    assert files() == {}
    assert ada.reveal(receipt).complete
    assert state(files) == before


def test_the_file_of_a_changed_column_goes_and_comes_back(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada, draft=ContentFile(b"a draft in memory", "draft.txt"))
    before = state(files)
    receipt = ada.disguise("world.blacken")
    row = world.Document.objects.get()
    assert (row.scan.name, row.draft.name) == ("scans/blackened.pdf", None)
    assert files() == {}
    assert finds(loot(), {"content": SECRET[:40], "name": "diary.pdf"}) == []
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_an_image_and_its_size(world: Any, files: Any) -> None:
    image = pytest.importorskip("PIL.Image")
    ada = person(world)
    picture = io.BytesIO()
    image.new("RGB", (7, 5), "teal").save(picture, "PNG")
    world.Portrait.objects.create(owner=ada.user, image=ContentFile(picture.getvalue(), "ada.png"))
    before = state(files)
    for name in ("world.blacken", "world.leave"):
        receipt = ada.disguise(name)
        assert files() == {}
        assert ada.reveal(receipt).complete
        assert state(files) == before
    portrait = world.Portrait.objects.get()
    assert (portrait.width, portrait.height) == (portrait.image.width, portrait.image.height) == (7, 5)


@pytest.mark.parametrize("size", [0, 1, stored_files.PIECE_BYTES, 5 * stored_files.PIECE_BYTES + 17])
def test_of_any_size_in_pieces(world: Any, files: Any, size: int) -> None:
    ada = person(world)
    content = bytes(range(256)) * (size // 256 + 1)
    document(world, ada, content[:size])
    before = state(files)
    receipt = ada.disguise("world.shred")
    assert files() == {}
    pieces = -(-size // stored_files.PIECE_BYTES)
    assert Bag.objects.count() == 1 + pieces
    assert max(len(sealed) for sealed in Bag.objects.values_list("sealed", flat=True)) < stored_files.PIECE_BYTES * 1.13
    assert ada.reveal(receipt).complete
    assert state(files) == before


def test_pieces_that_do_not_compress_fit_a_bag_each(world: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_files, "PIECE_BYTES", 1000)
    ada = person(world)
    for number in range(3):
        document(world, ada, bytes(range(250)) * (5 * number + 1), name=f"{number}.bin")
    before = state(files)
    receipt = ada.disguise("world.shred")
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_large_files_need_little_memory(world: Any, files: Any, tmp_path: Path, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "COMPRESS": False}
    ada = person(world)
    row = document(world, ada)
    size = 32 * stored_files.PIECE_BYTES
    with open(tmp_path / row.scan.name, "wb") as file:
        for _ in range(size // stored_files.PIECE_BYTES):
            file.write(bytes(range(256)) * (stored_files.PIECE_BYTES // 256))
    tracemalloc.start()
    receipt = ada.disguise("world.shred")
    assert ada.reveal(receipt).complete
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / row.scan.name).stat().st_size == size
    assert peak < 20 * 1024 * 1024


@pytest.mark.once
def test_by_hand(world: Any, files: Any) -> None:
    ada = person(world)
    row = document(world, ada)
    before = state(files)

    @edna.on_reveal("world.by-hand")
    def nothing_sealed(revealed: edna.Revealed) -> None:
        pass

    try:
        with edna.session(ada.user, "world.by-hand") as session:
            session.modify(row, scan="")
            session.remove(row)
        assert files() == {}
        assert session.receipt is not None
        assert ada.reveal(session.receipt).complete
        assert state(files) == before
    finally:
        edna.unregister(nothing_sealed)


@pytest.mark.once
def test_a_row_that_only_changes_hands_keeps_its_file(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada)

    class HandOver(edna.Disguise):
        name = "world.hand-over"
        transformations = [edna.Decorrelate(world.Document, owner="owner")]

    edna.register(HandOver)
    try:
        before = state(files)
        receipt = ada.disguise("world.hand-over")
        assert files() == before[-1]
        assert ada.reveal(receipt).complete
        assert state(files) == before
    finally:
        edna.unregister(HandOver)


@pytest.mark.once
def test_a_replayed_update_renames_the_file_or_takes_it_away(world: Any, files: Any) -> None:
    ada = person(world)
    first, second = document(world, ada, b"first"), document(world, ada, b"second", name="other.pdf")
    receipt = ada.disguise("world.shred")
    edna.replay(world.Document, where={"scan": first.scan.name}, set={"scan": "archive/diary.pdf"})
    edna.replay(world.Document, where={"scan": second.scan.name}, set={"scan": ""})
    assert ada.reveal(receipt).complete
    assert files() == {"archive/diary.pdf": b"first"}
    assert not Bag.objects.exists()


def test_everybodys_files(world: Any, files: Any) -> None:
    people = [person(world, handle) for handle in ("ada", "bea", "carl")]
    for number, who in enumerate(people):
        document(world, who, SECRET + bytes([number]))
    before = state(files)
    edna.disguise_all("world.shred")
    assert files() == {}
    for who in reversed(people):
        who.reveal_everything()
    assert state(files) == before


def test_the_number_of_statements_does_not_depend_on_the_number_of_files(world: Any, files: Any) -> None:
    counts = []
    for number in (10, 200):
        ada = person(world, f"ada{number}")
        for each in range(number):
            document(world, ada, SECRET, name=f"{number}-{each}.pdf")
        receipts = []
        there = len(statements(lambda: receipts.append(ada.disguise("world.shred"))))  # noqa: B023
        back = len(statements(lambda: ada.reveal(receipts[0])))  # noqa: B023
        counts.append((there, back))
        assert len(files()) == number
        ada.disguise("world.shred")
    assert counts[0] == counts[1]


@pytest.mark.once
def test_where_there_is_no_file_nothing_is_asked(world: Any, files: Any) -> None:
    ada = person(world)
    world.Note.objects.create(author=ada.user, text="hello")
    world.Document.objects.create(owner=ada.user)
    receipts: list[edna.Receipt] = []
    sent = statements(lambda: receipts.append(ada.disguise("world.leave")))
    sent += statements(lambda: ada.reveal(receipts[0]))
    assert [sql for sql in sent if "edna_filetask" in sql or "world_copy" in sql] == []


# Whose a file is


def test_a_file_that_somebody_else_names_stays(world: Any, files: Any) -> None:
    ada = person(world)
    name = document(world, ada).scan.name
    copy = world.Copy.objects.create(scan=name)
    before = state(files)
    receipt = ada.disguise("world.shred")
    assert files() == {name: SECRET}
    assert ada.reveal(receipt).complete
    assert state(files) == before
    # It is sealed all the same: what becomes of it outside is for others to say.
    receipt = ada.disguise("world.shred")
    copy.scan.delete(save=False)
    copy.delete()
    assert files() == {}
    assert ada.reveal(receipt).complete
    assert files() == {name: SECRET}


def test_a_file_that_two_people_name_goes_with_the_second(world: Any, files: Any) -> None:
    ada, bea = person(world), person(world, "bea")
    name = document(world, ada).scan.name
    world.Document.objects.create(owner=bea.user, scan=name)
    before = state(files)
    for first, second in ((ada, bea), (bea, ada)):
        one = ada.disguise("world.shred")
        assert files() == {name: SECRET}
        other = bea.disguise("world.shred")
        assert files() == {}
        receipts = {id(ada): one, id(bea): other}
        assert first.reveal(receipts[id(first)]).complete
        assert files() == {name: SECRET}
        assert second.reveal(receipts[id(second)]).complete
        assert state(files) == before


@pytest.mark.once
def test_a_file_that_two_rows_of_one_person_name(world: Any, files: Any) -> None:
    ada = person(world)
    name = document(world, ada).scan.name
    world.Document.objects.create(owner=ada.user, scan=name)
    before = state(files)
    receipt = ada.disguise("world.shred")
    assert files() == {}
    assert ada.reveal(receipt).complete
    assert state(files) == before


def test_a_shared_row_keeps_its_file_until_the_last_owner_has_left(world: Any, files: Any) -> None:
    people = {handle: person(world, handle) for handle in ("ada", "bea")}
    ada, bea = people.values()
    world.Contract.objects.create(first=ada.user, second=bea.user, scan=ContentFile(SECRET, "contract.pdf"))
    before = state(files)
    for first, second in ((ada, bea), (bea, ada)):
        receipts = {id(ada): ada.disguise("world.leave")}
        assert len(files()) == 1
        receipts[id(bea)] = bea.disguise("world.leave")
        assert files() == {}
        assert finds(loot(), {"content": SECRET[:40]}) == []
        assert first.reveal(receipts[id(first)]).complete
        assert len(files()) == 1
        assert second.reveal(receipts[id(second)]).complete
        assert state(files) == before


@pytest.mark.once
@pytest.mark.parametrize("first", [0, 1])
def test_a_shared_row_that_is_held_keeps_its_file(world: Any, files: Any, tmp_path: Path, first: int) -> None:
    people = [person(world), person(world, "bea")]
    row = world.Contract.objects.create(
        first=people[0].user, second=people[1].user, scan=ContentFile(SECRET, "contract.pdf")
    )
    before = state(files)
    receipts = [who.disguise("world.leave") for who in people]
    (tmp_path / row.scan.name).write_bytes(b"somebody else's")
    outcome = people[first].reveal(receipts[first])
    assert edna.Held("world.contract", row.pk, edna.Reason.FILE_EXISTS, "scan") in outcome.held
    (tmp_path / row.scan.name).unlink()
    for number in (first, 1 - first):
        assert people[number].reveal(receipts[number]).complete
        assert len(files()) == 1
    assert state(files) == before


@pytest.mark.once
def test_what_the_project_itself_writes_stays(world: Any, files: Any) -> None:
    """A default picture and a placeholder are nobody's own, even if only one row names them."""
    FileSystemStorage().save("portraits/nobody.png", ContentFile(b"nobody"))
    FileSystemStorage().save("scans/blackened.pdf", ContentFile(b"black"))
    ada = person(world)
    world.Portrait.objects.bulk_create([world.Portrait(owner=ada.user)])
    world.Document.objects.create(owner=ada.user, scan="scans/blackened.pdf")
    before = state(files)
    receipt = ada.disguise("world.leave")
    assert files() == before[-1]
    assert ada.reveal(receipt).complete
    assert state(files) == before


# What is in the way


@pytest.mark.once
def test_a_missing_file_stays_missing(world: Any, files: Any, tmp_path: Path) -> None:
    ada = person(world)
    (tmp_path / document(world, ada).scan.name).unlink()
    world.Document.objects.create(owner=ada.user, scan="../outside.pdf")
    world.Document.objects.create(owner=ada.user, scan="scans")
    world.Document.objects.create(owner=ada.user, scan="https://example.org/x.pdf")
    before = state(files)
    receipt = ada.disguise("world.shred")
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_a_storage_that_does_not_answer_stops_the_disguise(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = person(world)
    row = document(world, ada)
    before = state(files)

    def fail(*_: Any) -> Any:
        raise PermissionError(13, "Permission denied", "/media/scans/diary.pdf")

    with monkeypatch.context() as patched:
        patched.setattr(FileSystemStorage, "_open", fail)
        with pytest.raises(edna.errors.StorageFailed) as refusal:
            ada.disguise("world.shred")
    assert str(refusal.value).startswith(
        f"The file of world.document {row.pk}, field scan, cannot be read (PermissionError)"
    )
    assert "diary" not in repr((refusal.value, refusal.value.__context__, refusal.value.__cause__))
    assert state(files) == before


@pytest.mark.once
def test_a_name_that_another_file_has_by_now_is_never_overwritten(world: Any, files: Any, tmp_path: Path) -> None:
    ada = person(world)
    taken = document(world, ada)
    document(world, ada, b"another one", name="other.pdf")
    before = state(files)
    receipt = ada.disguise("world.shred")
    path = tmp_path / taken.scan.name
    path.write_bytes(b"somebody else's")
    away = state(files)

    with pytest.raises(edna.errors.RevealRefused):
        ada.reveal(receipt, allow_partial=False)
    assert state(files) == away
    for _ in range(2):
        outcome = ada.reveal(receipt)
        assert outcome.held == [edna.Held("world.document", taken.pk, edna.Reason.FILE_EXISTS, "scan")]
        assert files() == {taken.scan.name: b"somebody else's", "scans/other.pdf": b"another one"}
    assert Bag.objects.count() == 2
    path.unlink()
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_the_old_name_of_a_changed_column_is_taken(world: Any, files: Any, tmp_path: Path) -> None:
    ada = person(world)
    row = document(world, ada)
    before = state(files)
    receipt = ada.disguise("world.blacken")
    path = tmp_path / row.scan.name
    path.write_bytes(b"somebody else's")
    outcome = ada.reveal(receipt)
    assert outcome.held == [edna.Held("world.document", row.pk, edna.Reason.FILE_EXISTS, "scan")]
    path.unlink()
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_the_same_content_under_the_name_is_fine(world: Any, files: Any, tmp_path: Path) -> None:
    ada = person(world)
    row = document(world, ada)
    before = state(files)
    receipt = ada.disguise("world.shred")
    (tmp_path / row.scan.name).write_bytes(SECRET)
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
def test_a_record_that_is_held_keeps_its_file(world: Any, files: Any) -> None:
    ada = person(world)
    row = document(world, ada)
    before = state(files)
    receipt = ada.disguise("world.blacken")
    world.Document.objects.update(scan="scans/moderated.pdf")
    assert ada.reveal(receipt).held == [edna.Held("world.document", row.pk, edna.Reason.CHANGED, "scan")]
    assert files() == {}
    world.Document.objects.update(scan="scans/blackened.pdf")
    assert ada.reveal(receipt).complete
    assert state(files) == before


@pytest.mark.once
@pytest.mark.parametrize("first", [0, 1])
def test_one_disguise_on_top_of_another(world: Any, files: Any, first: int) -> None:
    ada = person(world)
    document(world, ada)
    before = state(files)
    receipts = [ada.disguise("world.blacken"), ada.disguise("world.shred")]
    assert files() == {}
    ada.reveal(receipts[first])
    assert files() == {}
    assert ada.reveal(receipts[1 - first]).complete
    assert state(files) == before


@pytest.mark.once
def test_content_lives_as_long_as_the_bag_that_leads_to_it(
    world: Any, files: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    ada = person(world)
    document(world, ada)
    before = state(files)
    receipts = []
    for month, name in ((1, "world.blacken"), (6, "world.shred")):
        now = datetime.datetime(2026, month, 10, tzinfo=datetime.UTC)
        monkeypatch.setattr("django.utils.timezone.now", lambda now=now: now)
        receipts.append(ada.disguise(name))
    assert ada.reveal(receipts[0]).deferred == {"world.document": 1}
    assert set(Bag.objects.values_list("expires_on", flat=True)) == {datetime.date(2026, 8, 1)}
    assert ada.reveal(receipts[1]).complete
    assert state(files) == before


@pytest.mark.once
def test_the_same_disguise_again_and_again_leaves_nothing(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada)
    before = state(files)
    for _ in range(5):
        assert ada.reveal(ada.disguise("world.leave")).complete
    assert state(files) == before


@pytest.mark.once
def test_lost_or_damaged_content_is_noticed_before_anything_changes(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada, SECRET * 2000)
    receipt = ada.disguise("world.shred")
    pieces = sorted(Bag.objects.all(), key=lambda bag: len(bag.sealed))[1:]
    Bag.objects.filter(pk=pieces[0].pk).delete()
    away = state(files)
    with pytest.raises(edna.errors.BagMissing):
        ada.reveal(receipt)
    assert state(files) == away
    pieces[0].save(force_insert=True)
    Bag.objects.filter(pk=pieces[0].pk).update(sealed=bytes(pieces[1].sealed))
    away = state(files)
    with pytest.raises(edna.errors.BagError):
        ada.reveal(receipt)
    assert state(files) == away
    Bag.objects.filter(pk=pieces[0].pk).update(sealed=bytes(pieces[0].sealed))
    assert ada.reveal(receipt).complete
    assert len(files()) == 1


# What a crash leaves


@pytest.mark.slow
def test_killed_while_disguising(world: Any, files: Any) -> None:
    """Before the commit nothing has happened; after it the file goes, by the next who looks after it."""
    ada = person(world)
    document(world, ada, SECRET * 50)
    before = state(files)
    kills, after_commit = 0, 0
    while killed_at(kills, lambda: ada.disguise("world.shred")) is not None:
        kills += 1
        if world.Document.objects.exists():
            assert state(files) == before
            continue
        after_commit += 1
        edna.finish_files()
        assert files() == {}
        assert not FileTask.objects.exists()
        assert ada.reveal_latest().complete
        assert state(files) == before
    assert kills > after_commit > 3
    assert files() == {}


@pytest.mark.slow
def test_killed_while_revealing(world: Any, files: Any) -> None:
    ada = person(world)
    document(world, ada, SECRET * 50)
    before = state(files)
    receipt = ada.disguise("world.shred")
    away = state(files)
    kills, after_commit = 0, 0
    while killed_at(kills, lambda: ada.reveal(receipt)) is not None:  # noqa: B023
        kills += 1
        if not world.Document.objects.exists():
            assert state(files) == away
            continue
        after_commit += 1
        edna.finish_files()
        assert state(files) == before
        receipt = ada.disguise("world.shred")
        away = state(files)
    assert kills > after_commit > 3
    assert state(files) == before


@pytest.mark.once
@pytest.mark.slow
def test_killed_before_the_file_was_written_and_disguised_again(world: Any, files: Any) -> None:
    """Whatever is on the disk then, none of it or a part of it, goes; the content is still sealed."""
    ada = person(world)
    document(world, ada, SECRET * 50)
    before = state(files)
    receipt = ada.disguise("world.shred")
    kills = 0
    while killed_at(kills, lambda: ada.reveal(receipt)) is not None:  # noqa: B023
        kills += 1
        if world.Document.objects.exists():
            receipt = ada.disguise("world.shred")
            assert files() == {}
            assert not FileTask.objects.exists()
            edna.finish_files()
            assert files() == {}
    assert state(files) == before


def crashed(work: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Do ``work``, and nothing of what would follow its commit."""
    with monkeypatch.context() as patched:
        patched.setattr("edna.engine.files.file_tasks.finish", lambda *_, **__: edna.FinishedFiles())
        return work()


@pytest.mark.once
def test_what_is_left_is_finished_by_the_command(world: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = person(world)
    document(world, ada)
    before = state(files)
    receipt = crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    assert len(files()) == 1
    assert finds(loot(), {"content": SECRET[:40]}) == []
    assert run("edna_files", "--json") == {"deleted": 1, "written": 0, "dropped": 0, "left": []}
    assert files() == {}
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    assert files() == {}
    assert "written  1" in run("edna_files")
    assert state(files) == before
    assert run("edna_files") == "No file was waiting.\n"


@first_everywhere(
    "change", [{"name": "templates/index.html"}, {"size": 10**15}, {"digest": b"d" * 32}, {"mac": b"m" * 32}]
)
def test_a_task_that_the_site_has_not_noted_is_not_done(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    """Whoever writes to the database could have files written and deleted by anybody's next request."""
    ada = person(world)
    document(world, ada)
    receipt = ada.disguise("world.shred")
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    noted = FileTask.objects.get()
    FileTask.objects.update(**change)
    left = [{"field": noted.field, "action": "write", "reason": "forged"}]
    assert edna.finish_files().as_dict() == {"deleted": 0, "written": 0, "dropped": 0, "left": left}
    assert files() == {}
    noted.save()
    assert edna.finish_files().written == 1


@pytest.mark.once
def test_a_file_is_not_taken_from_where_a_task_that_the_site_has_not_noted_says(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes to the database would have something else sealed in its place, and the file would stay."""
    ada = person(world)
    document(world, ada)
    before = state(files)
    receipt = crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    noted = FileTask.objects.get()
    edna.finish_files()
    ada.reveal(receipt)
    assert state(files) == before
    FileTask.objects.create(
        field=noted.field,
        name=noted.name,
        size=3,
        digest=b"d" * 32,
        locator=b"l" * 32,
        free=True,
        erase=False,
        mac=b"m" * 32,
    )
    receipt = ada.disguise("world.shred")
    assert files() == {}
    assert FileTask.objects.count() == 1  # it stays, as evidence
    FileTask.objects.all().delete()
    ada.reveal(receipt)
    assert state(files) == before


@pytest.mark.once
def test_what_is_left_is_finished_by_the_next_who_has_to_do_with_files(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, bea = person(world), person(world, "bea")
    document(world, ada)
    document(world, bea)
    crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    assert len(files()) == 2
    bea.disguise("world.shred")
    assert files() == {}
    assert not FileTask.objects.exists()


@pytest.mark.once
def test_a_storage_that_does_not_answer_is_asked_again_later(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ada = person(world)
    document(world, ada)
    before = state(files)

    def fail(*_: Any) -> Any:
        raise OSError(30, "Read-only file system", "/media/scans/diary.pdf")

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(FileSystemStorage, "delete", fail)
        receipt = ada.disguise("world.shred")
        assert len(files()) == 1
        assert "run manage.py edna_files" in caplog.text
        with pytest.raises(CommandError) as refusal:
            run("edna_files")
        assert refusal.value.returncode == 3
    assert edna.finish_files().deleted == 1
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(FileSystemStorage, "_save", fail)
        assert ada.reveal(receipt).complete
        assert files() == {}
        left = edna.finish_files().left
        assert [(each.field, each.action, each.reason) for each in left] == [
            ("world.document.scan", "write", "storage_failed (OSError)")
        ]
    assert "diary" not in caplog.text
    assert edna.finish_files().written == 1
    assert state(files) == before


@pytest.mark.once
def test_a_file_that_is_another_one_by_now_is_not_deleted(
    world: Any, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = person(world)
    name = document(world, ada).scan.name
    crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    (tmp_path / name).write_bytes(b"somebody else's")
    assert edna.finish_files().as_dict() == {"deleted": 0, "written": 0, "dropped": 1, "left": []}
    assert files() == {name: b"somebody else's"}


def test_a_file_that_a_row_names_again_is_not_deleted(world: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = person(world)
    name = document(world, ada).scan.name
    before = state(files)
    receipt = crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    assert FileTask.objects.count() == 2
    assert edna.finish_files().deleted == 0
    assert files() == {name: SECRET}
    assert state(files) == before


@pytest.mark.once
def test_a_file_whose_row_has_gone_again_is_not_written(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = person(world)
    document(world, ada)
    receipt = ada.disguise("world.shred")
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    world.Document.objects.all().delete()
    assert edna.finish_files().dropped == 1
    assert files() == {}
    assert not Bag.objects.exists()


@pytest.mark.once
def test_a_name_that_is_taken_between_reveal_and_writing(
    world: Any, files: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is back by then. The content stays sealed until the name is free."""
    ada = person(world)
    name = document(world, ada).scan.name
    before = state(files)
    receipt = ada.disguise("world.shred")
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    (tmp_path / name).write_bytes(b"somebody else's")
    assert [each.reason for each in edna.finish_files().left] == ["name_taken"]
    assert files() == {name: b"somebody else's"}
    (tmp_path / name).unlink()
    assert edna.finish_files().written == 1
    assert state(files) == before


def test_two_at_once_do_no_harm(world: Any, files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = person(world)
    for number in range(20):
        document(world, ada, SECRET + bytes([number]), name=f"{number}.pdf")
    before = state(files)
    receipt = crashed(lambda: ada.disguise("world.shred"), monkeypatch)
    assert sum(done.deleted for done in at_once(edna.finish_files, edna.finish_files)) == 20
    assert files() == {}
    crashed(lambda: ada.reveal(receipt), monkeypatch)
    assert sum(done.written for done in at_once(edna.finish_files, edna.finish_files)) == 20
    assert state(files) == before


def run(*arguments: str) -> Any:
    out = io.StringIO()
    call_command(*arguments, stdout=out, stderr=io.StringIO())
    return json.loads(out.getvalue()) if "--json" in arguments else out.getvalue()


@pytest.mark.once
def test_content_that_a_reveal_has_yet_to_write_does_not_expire(
    world: Any, files: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The row is back, and the storage did not answer: its file is in the bags alone."""
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 30}
    ada = person(world)
    document(world, ada)
    before = files()
    receipt = ada.disguise("world.leave")

    def fail(*_: Any) -> Any:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patched:
        patched.setattr(FileSystemStorage, "_save", fail)
        assert ada.reveal(receipt).complete
    assert (files(), FileTask.objects.count()) == ({}, 1)
    expiry.expire(today=datetime.date(2150, 1, 1))
    assert edna.finish_files().left == []
    assert files() == before
    expiry.expire(today=datetime.date(2150, 1, 1))
    assert not Bag.objects.exists()


def test_what_is_erased_or_disguised_for_good_leaves_neither_file_nor_content(
    world: Any, files: Callable[[], dict[str, bytes]]
) -> None:
    """And a file whose content somebody else's row still names stays."""
    ada, bob = person(world), person(world, "bob")
    document(world, ada)
    receipt = ada.disguise("world.shred")
    with ada.unlock() as unlocked:
        assert edna.erase(receipt, unlocked).files == 1
    assert (files(), Bag.objects.exists()) == ({}, False)
    kept = document(world, bob)
    world.Document.objects.create(owner=ada.user, scan=kept.scan.name)
    document(world, ada, name="other.pdf")
    edna.disguise("world.shred", ada.user, keep_no_way_back=True)
    assert (list(files()), Bag.objects.exists()) == ([kept.scan.name], False)


@pytest.mark.once
def test_who_takes_their_data_along_takes_the_content_too(world: Any, files: Any, tmp_path: Path) -> None:
    """What lies sealed as what is there; nobody else's. A name cannot lead out of the folder into which the archive is unpacked."""
    ada, bob = person(world), person(world, "bob")
    document(world, ada)
    ada.disguise("world.shred")
    stays = document(world, ada, b"written since", name="new.pdf")
    document(world, bob, b"none of hers", name="bob.pdf")
    world.Document.objects.create(owner=ada.user, scan="../../etc/passwd")
    before, key, path = files(), tmp_path.parent / "ada.key", tmp_path.parent / "ada.zip"
    key.write_text(ada.secret_key.expose_text())
    said = io.StringIO()
    typed = ["edna_export_person", "--files", "--output", str(path), "--secret-key-file", str(key)]
    call_command(*typed, stdout=io.StringIO(), stderr=said)
    with zipfile.ZipFile(path) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    documents = json.loads(found.pop("export.json"))
    assert {each["state"] for each in documents["rows"] if each["model"] == "world.document"} == {"present", "removed"}
    assert sorted(found.values()) == sorted([SECRET, b"written since", b""])
    assert found[f"files/present/world.document/scan/{stays.scan.name}"] == b"written since"
    assert all(name.startswith("files/") and ".." not in name for name in found)
    assert "1 file could not be read" in said.getvalue()
    assert files() == before


@pytest.mark.once
def test_the_file_of_two_people_stays_in_the_bag_of_whoever_hid_it(world: Any, files: Any) -> None:
    """What waits for the other one moves into a bag that both find; its file would not be found from there."""
    people = [person(world), person(world, "bea")]
    two = {name: who.user for name, who in zip(("first", "second"), people, strict=True)}
    row = world.Contract.objects.create(**two, scan=ContentFile(SECRET, "contract.pdf"))
    step = Modify(world.Contract, owner=["first", "second"], set={"scan": placeholders.constant("")})
    hide = type("HideScan", (Disguise,), {"name": "test.hide-scan", "transformations": [step]})
    before = state(files)
    with registering(hide):
        receipts = [who.disguise("test.hide-scan") for who in people]
        assert people[0].reveal(receipts[0]).held == [
            edna.Held("world.contract", row.pk, edna.Reason.OWNER_AWAY, "scan")
        ]
        assert finds(loot(), {"content": SECRET[:40]}) == []
        for number in (1, 0):
            people[number].reveal(receipts[number])
    assert state(files) == before


@pytest.mark.once
@pytest.mark.parametrize("revealed", ["world.leave", "world.anonymise"])
def test_the_content_stays_that_a_record_names_which_nothing_brings_forward(
    world: Any, files: Any, monkeypatch: pytest.MonkeyPatch, revealed: str
) -> None:
    """Of a table that is not there for now. The rest of its bag comes back, or takes in what another disguise has changed."""
    ada = person(world)
    document(world, ada)
    world.Note.objects.create(author=ada.user, text="dear diary")
    before = state(files)
    receipts = {name: ada.disguise(name, with_key=True) for name in ("world.anonymise", "world.leave")}

    def without_the_table(batches: Any, **options: Any) -> Any:
        forwarded = bring_forward(batches, **options)
        stuck = [each for each in forwarded.batches if isinstance(each, Removed) and each.model == "world.document"]
        kept = [batch for batch in forwarded.batches if batch not in stuck]
        gone = [Stuck(replace(batch, model="world.gone"), None) for batch in stuck]
        return replace(forwarded, batches=kept, stuck=gone)

    def with_it(batches: Any, **options: Any) -> Any:
        there = [replace(batch, model="world.document") if batch.model == "world.gone" else batch for batch in batches]
        return bring_forward(there, **options)

    with monkeypatch.context() as patched:
        patched.setattr(journal_forwarding, "bring_forward", without_the_table)
        ada.reveal(receipts[revealed])
    assert files() == {}
    with monkeypatch.context() as patched:
        patched.setattr(journal_forwarding, "bring_forward", with_it)
        for entry in ada.history():
            assert ada.reveal(entry.receipt).complete
    assert state(files) == before
