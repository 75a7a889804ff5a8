"""Disguises the content of files with the rows that name them, and brings it back with them.

A record that removes a row, or changes a column that names a file, is accompanied by a *pointer* (a row of `Operation.FILE`) to the
sealed content. Invariants: content that a sealed record names is sealed too, or in its storage (DESIGN 2.1); a file that any
row still names stays; where no file is in question, nothing is asked and nothing is done. The storages themselves are
touched after the commit only (`engine.filetasks`), but for reading. Knows records and bags; knows no plans.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from django.db.models import FileField

from edna import store
from edna.engine import filecontent, filestorage, filetasks
from edna.engine.filecontent import Content, SealedFile, Sink
from edna.engine.filefields import (
    Name,
    field_of,
    file_fields,
    label_of,
    mentions,
    name_of,
    names_in,
    project_names,
    still_named,
)
from edna.engine.filestorage import Missing, Presence
from edna.engine.journal import Journal, Opened
from edna.records.diff import DiffBatch, Operation
from edna.records.locator import Locator
from edna.rows import Row
from edna.store import PendingFile

_KEY, _COLUMNS = ("locator",), ("field", "name", "size", "digest")


@dataclass(frozen=True)
class Pointer:
    """One file's sealed content, and whose it is. ``column`` is None if the project has no such field any more."""

    column: FileField | None
    name: str = field(repr=False)
    content: Content
    #: As in the record.
    label: tuple[str, str]

    @property
    def key(self) -> Name | None:
        return None if self.column is None else name_of(self.column, self.name)

    def task(self, *, free: bool, erase: bool) -> PendingFile:
        assert self.column is not None
        content = self.content
        locator = content.locator.expose()
        return PendingFile(label_of(self.column), self.name, content.size, content.digest, locator, free, erase)


# Disguising


def collect(
    bags: Sequence[Sequence[DiffBatch]], *, now: datetime.datetime, expires_on: datetime.date | None, using: str
) -> list[list[DiffBatch]]:
    """Seal the files that the records of each bag name, and return the pointers that go with them.

    To be called when the rows are gone and changed: what a row names now, stays. Where several bags name one file, each has it.

    Raises:
        StorageFailed: a file cannot be read; nothing must be committed then.
    """
    wanted = [_files_of(batches) for batches in bags]
    names = {name for each in wanted for name in each}
    if not names:
        return [[] for _ in bags]
    staying = still_named(names, using=using)
    unwritten = _unwritten(names, using=using)
    sink = Sink(now=now, expires_on=expires_on, using=using)
    tasks: dict[Name, PendingFile] = {}
    pointers: list[list[Pointer]] = []
    for each in wanted:
        pointers.append([])
        for name, (column, what) in each.items():
            waiting = unwritten.get(name)
            try:
                if waiting is not None:
                    sealed = SealedFile(filetasks.content_of(waiting), using=using)
                    content = sink.put(sealed.pieces())
                    stored = _measured_if_ours(column, name[1], sealed, what=what)
                else:
                    content = sink.put(filestorage.stored_pieces(column.storage, name[1], what=what))
                    stored = content.size, content.digest
            except Missing:
                # The row goes all the same, and comes back as it was: without a file.
                continue
            pointers[-1].append(Pointer(column, name[1], content, (column.model._meta.label_lower, column.name)))
            if name not in staying and stored is not None:
                tasks[name] = PendingFile(label_of(column), name[1], *stored)
    sink.flush()
    # What was to be written for rows that have gone again is sealed anew above.
    obsolete = [task for name, task in unwritten.items() if name not in staying]
    if obsolete:
        store.delete_file_tasks([task.id for task in obsolete], using=using)
        filecontent.erase([filetasks.content_of(task) for task in obsolete if task.erase], using=using)
    filetasks.schedule(list(tasks.values()), using=using)
    return [batches_of(each) for each in pointers]


def _files_of(batches: Iterable[DiffBatch]) -> dict[Name, tuple[FileField, str]]:
    """The files that these records name, each once, with a field that names it and words for an error."""
    found: dict[Name, tuple[FileField, str]] = {}
    everybodys = None
    for batch in batches:
        for column, name, key in mentions(batch):
            everybodys = project_names() if everybodys is None else everybodys
            if name not in everybodys.get(column, ()):
                what = f"{batch.model} {key[0] if len(key) == 1 else key}, field {column.name},"
                found.setdefault(name_of(column, name), (column, what))
    return found


def _unwritten(names: set[Name], *, using: str) -> dict[Name, PendingFile]:
    """Files of rows that came back, and that a crash has kept from being written: their content is still sealed."""
    found = {}
    for task in store.file_tasks_by_name({name for _, name in names}, using=using):
        column = field_of(task.field)
        if task.locator is not None and column is not None and name_of(column, task.name) in names:
            found[name_of(column, task.name)] = task
    return found


def _measured_if_ours(column: FileField, name: str, sealed: SealedFile, *, what: str) -> tuple[int, bytes] | None:
    """Size and digest of what is stored, if it is the content or an interrupted write of it; otherwise it is not to be deleted."""
    measured = filestorage.measure(column.storage, name, what=what)
    whole = measured == (sealed.content.size, sealed.content.digest)
    if measured is None or whole or filecontent.holds_beginning(column.storage, name, sealed, what=what):
        return measured
    return None


# Records


def pointers_in(batches: Iterable[DiffBatch]) -> Iterator[Pointer]:
    """The pointers among the records. One whose field was renamed since belongs to a field that names the file now."""
    batches = list(batches)
    files = [batch for batch in batches if _leads_to_files(batch)]
    if not files:
        return
    by_name: dict[str, FileField] | None = None
    for batch in files:
        for locator, label, name, size, digest in batch.rows:
            column = field_of(f"{batch.model}.{label}")
            if column is None or column not in file_fields(column.model):
                if by_name is None:
                    by_name = {other: found for each in batches for found, other, _ in mentions(each)}
                column = by_name.get(name)
            yield Pointer(column, name, Content(Locator(locator), size, digest), (batch.model, label))


def batches_of(pointers: Iterable[Pointer]) -> list[DiffBatch]:
    """The pointers as records."""
    rows: dict[str, list[list[object]]] = {}
    for each in pointers:
        model, label = each.label
        content = each.content
        rows.setdefault(model, []).append([content.locator.expose(), label, each.name, content.size, content.digest])
    return [DiffBatch(Operation.FILE, model, "", _KEY, _COLUMNS, found) for model, found in rows.items()]


def without_pointers(batches: Iterable[DiffBatch]) -> list[DiffBatch]:
    return [batch for batch in batches if batch.operation is not Operation.FILE]


#: What each row of a bag names, by model, key and field.
Named: TypeAlias = dict[tuple[str, Row, str], str]


def names_by_row(journal: Journal) -> list[tuple[Opened, Named]]:
    """Of the bags that lead to files."""
    bags = (journal.current, *journal.others)
    return [(opened, _named_rows(opened)) for opened in bags if any(map(_leads_to_files, opened.diffs))]


def follow(before: Sequence[tuple[Opened, Named]]) -> None:
    """Where a rule or a replayed update has given a row's file another name, the content comes back under that."""
    for opened, names in before:
        now = _named_rows(opened)
        kept = set(now.values())
        renamed = {name: now[row] for row, name in names.items() if row in now and name not in kept}
        if renamed:
            found = [replace(each, name=renamed.get(each.name, each.name)) for each in pointers_in(opened.diffs)]
            opened.diffs = [*without_pointers(opened.diffs), *batches_of(found)]


def _named_rows(opened: Opened) -> Named:
    return {(batch.model, key, column.name): name for batch in opened.diffs for column, name, key in mentions(batch)}


def _leads_to_files(batch: DiffBatch) -> bool:
    return batch.operation is Operation.FILE and bool(batch.rows)


# Revealing


@dataclass
class Incoming:
    """The files of the rows that a reveal is about to bring back, and what is there under their names."""

    found: dict[Locator, Presence] = field(default_factory=dict)
    #: What leads to them, by the locator of the bag.
    pointers: dict[Locator, list[Pointer]] = field(default_factory=dict)
    #: Names under which somebody else has another file, by model and field.
    taken: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def in_the_way_of(self, batch: DiffBatch, rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Row]]:
        """Rows that cannot come back because of a file, each once, by the field that names it."""
        found: dict[str, list[Row]] = {}
        for row in rows if self.taken else ():
            for name, value in zip(names, row, strict=False):
                if value in self.taken.get((batch.model, name), ()):
                    found.setdefault(name, []).append(row)
                    break
        return found


def look(bags: Sequence[Opened], *, using: str) -> Incoming:
    """Verify the sealed content that goes with the records of these bags, and see what is there already.

    Raises:
        BagError: a bag of it was deleted, changed, moved or forged.
        StorageFailed: a storage cannot be read.
    """
    incoming = Incoming()
    incoming.pointers = {opened.locator: list(pointers_in(opened.diffs)) for opened in bags}
    pointers = [pointer for found in incoming.pointers.values() for pointer in found]
    taken = set()
    for pointer, sealed in zip(
        pointers, filecontent.opened([each.content for each in pointers], using=using), strict=True
    ):
        sealed.verify()
        if pointer.column is not None:
            what = f"a {pointer.column.model._meta.label_lower}, field {pointer.column.name},"
            content = pointer.content
            there = filestorage.presence(pointer.column.storage, pointer.name, content.size, content.digest, what=what)
            incoming.found[content.locator] = there
            if there is Presence.OTHER:
                taken.add(pointer.key)
    for batch in [batch for opened in bags for batch in opened.diffs] if taken else ():
        for column, name, _ in mentions(batch):
            if name_of(column, name) in taken:
                incoming.taken.setdefault((batch.model, column.name), set()).add(name)
    return incoming


def settle(
    revealed: Sequence[tuple[Opened, Sequence[DiffBatch]]], others: Sequence[Opened], incoming: Incoming, *, using: str
) -> list[list[DiffBatch]]:
    """Say of each pointer of the revealed bags whether it stays, moves to another bag, or its file is written.

    ``revealed`` are bags with the records that remain in them; ``others`` the principal's other bags, into which records may have
    moved, and from which some may have gone. Returns the pointers that remain in each of ``revealed``. What nobody needs any more is
    erased.
    """
    pointers = [incoming.pointers[opened.locator] for opened, _ in revealed]
    own = [opened for opened in others if not opened.shared]
    lost = [pointer for opened in own if opened.changed for pointer in _pruned(opened)]
    if not any(pointers) and not lost:
        return [[] for _ in revealed]
    named = still_named({each.key for found in pointers for each in found if each.key is not None}, using=using)
    elsewhere = [(opened, _named_by(opened), {each.key for each in pointers_in(opened.diffs)}) for opened in own]
    staying: list[list[Pointer]] = []
    written: list[Pointer] = []
    for (opened, remaining), found in zip(revealed, pointers, strict=True):
        needed = names_in(remaining)
        staying.append([])
        for pointer in found:
            stays = pointer.key in needed or _stuck(opened, pointer)
            if not (stays and opened.shared):
                _move(pointer, elsewhere, using=using)
            back = pointer.key in named and incoming.found.get(pointer.content.locator) in (
                Presence.SAME,
                Presence.MISSING,
            )
            if back:
                written.append(pointer)
            if stays:
                staying[-1].append(pointer)
            elif not back:
                lost.append(pointer)
    alive = {each.content.locator for found in staying for each in found}
    alive |= {each.content.locator for opened in own for each in pointers_in(opened.diffs)}
    tasks = [
        each.task(
            free=incoming.found[each.content.locator] is Presence.MISSING, erase=each.content.locator not in alive
        )
        for each in written
    ]
    filetasks.schedule(tasks, using=using)
    alive |= {each.content.locator for each in written}
    filecontent.erase([each.content for each in lost if each.content.locator not in alive], using=using)
    return [batches_of(found) for found in staying]


def contents_of(opened: Opened, *, using: str) -> Iterator[SealedFile]:
    """The sealed files to which the records of a bag lead."""
    return filecontent.opened([pointer.content for pointer in pointers_in(opened.diffs)], using=using)


def _named_by(opened: Opened) -> set[Name]:
    return names_in(opened.diffs)


def _stuck(opened: Opened, pointer: Pointer) -> bool:
    """Whether a record that could not be brought forward, and of which nothing else is known, may name the file."""
    return any(pointer.name in row for stuck in opened.stuck for row in stuck.batch.rows)


def _pruned(opened: Opened) -> list[Pointer]:
    """Take out of a bag that was rewritten what leads to files of rows that are not in it any more."""
    found = list(pointers_in(opened.diffs))
    needed = _named_by(opened) if found else set()
    gone = [each for each in found if each.key not in needed and not _stuck(opened, each)]
    if gone:
        kept = [each for each in found if each not in gone]
        opened.diffs = [*without_pointers(opened.diffs), *batches_of(kept)]
    return gone


def _move(pointer: Pointer, elsewhere: Sequence[tuple[Opened, set[Name], set[Name | None]]], *, using: str) -> None:
    """Into bags that name the file and have no content for it: a record has moved there, or found none when it was made."""
    for opened, needed, known in elsewhere:
        if pointer.key in needed and pointer.key not in known:
            opened.diffs += batches_of([pointer])
            opened.changed = True
            known.add(pointer.key)
            store.postpone_bags(pointer.content.indexes, expires_on=opened.expires_on, using=using)
