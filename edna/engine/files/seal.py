"""Seals the content of files with the rows that name them.

A record that removes a row, or changes a column that names a file, is accompanied by a pointer (`engine.files.pointers`) to the
sealed content. Invariants: content that a sealed record names is sealed too, or in its storage (nothing lost); a file that any
row still names stays; where no file is in question, nothing is asked and nothing is done. The storages themselves are
touched after the commit only (`engine.files.file_tasks`), but for reading. Knows records; knows no plans, and opens no bags.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence

from django.db.models import FileField

from edna import store
from edna.engine.files import file_tasks, sealed_content, stored_files
from edna.engine.files.fields import Name, field_of, label_of, mentions, name_of, project_names, still_named
from edna.engine.files.pointers import Pointer, batches_of
from edna.engine.files.sealed_content import Content, DroppingSink, SealedFile, Sink
from edna.engine.files.stored_files import Missing
from edna.engine.graph.outcome import named
from edna.records.diff import RowBatch
from edna.store import PendingFile


def collect(
    bags: Sequence[Sequence[RowBatch]],
    *,
    unsealed: int = 0,
    now: datetime.datetime,
    expires_on: datetime.date | None,
    using: str,
) -> list[list[RowBatch]]:
    """Seal the files that the records of each bag name, and return the pointers that go with them. Those of the first ``unsealed`` bags
    are deleted without being sealed.

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
    sink, dropping = (kind(now=now, expires_on=expires_on, using=using) for kind in (Sink, DroppingSink))
    tasks: dict[Name, PendingFile] = {}
    pointers: list[list[Pointer]] = []
    for number, each in enumerate(wanted):
        pointers.append([])
        into = dropping if number < unsealed else sink
        for name, (column, what) in each.items():
            try:
                content, stored = _sealed(column, name[1], unwritten.get(name), into, what=what, using=using)
            except Missing:
                # The row goes all the same, and comes back as it was: without a file.
                continue
            if into is sink:
                pointers[-1].append(Pointer(column, name[1], content, (column.model._meta.label_lower, column.name)))
            if name not in staying and stored is not None:
                tasks[name] = PendingFile(label_of(column), name[1], *stored)
    sink.flush()
    # What was to be written for rows that have gone again is sealed anew above.
    obsolete = [task for name, task in unwritten.items() if name not in staying]
    if obsolete:
        store.delete_file_tasks([task.id for task in obsolete], using=using)
        sealed_content.erase([file_tasks.content_of(task) for task in obsolete if task.erase], using=using)
    file_tasks.schedule(list(tasks.values()), using=using)
    return [batches_of(each) for each in pointers]


def _files_of(batches: Iterable[RowBatch]) -> dict[Name, tuple[FileField, str]]:
    """The files that these records name, each once, with a field that names it and words for an error."""
    files: dict[Name, tuple[FileField, str]] = {}
    everybodys = None
    for batch in batches:
        for column, name, key in mentions(batch):
            everybodys = project_names() if everybodys is None else everybodys
            if name not in everybodys.get(column, ()):
                what = f"{batch.model} {named(key)}, field {column.name},"
                files.setdefault(name_of(column, name), (column, what))
    return files


def _unwritten(names: set[Name], *, using: str) -> dict[Name, PendingFile]:
    """Files of rows that came back, and that a crash has kept from being written: their content is still sealed."""
    unwritten = {}
    for task in store.file_tasks_by_name({name for _, name in names}, using=using):
        column = field_of(task.field)
        ours = task.locator is not None and file_tasks.is_ours(task, using=using)
        if ours and column is not None and name_of(column, task.name) in names:
            unwritten[name_of(column, task.name)] = task
    return unwritten


def _sealed(
    column: FileField, name: str, waiting: PendingFile | None, sink: Sink, *, what: str, using: str
) -> tuple[Content, tuple[int, bytes] | None]:
    """The sealed content of a file, and size and digest of what is stored if that may be deleted.

    Raises:
        Missing: there is no such file.
    """
    if waiting is None:
        content = sink.put(stored_files.stored_pieces(column.storage, name, what=what))
        return content, (content.size, content.digest)
    sealed = SealedFile(file_tasks.content_of(waiting), using=using)
    content = sink.put(sealed.pieces())
    return content, _measured_if_ours(column, name, sealed, what=what)


def _measured_if_ours(column: FileField, name: str, sealed: SealedFile, *, what: str) -> tuple[int, bytes] | None:
    """Size and digest of what is stored, if it is the content or an interrupted write of it; otherwise it is not to be deleted."""
    measured = stored_files.measure(column.storage, name, what=what)
    whole = measured == (sealed.content.size, sealed.content.digest)
    if measured is None or whole or sealed_content.holds_beginning(column.storage, name, sealed, what=what):
        return measured
    return None
