"""Files that are yet to be deleted or written: noted in the transaction of the disguise or reveal, done once it is committed.

Storages take part in no transaction, so what is to be done is a row until it is done. Whatever kills the process in between,
`finish` takes it up again, in this process or another one. Invariants: only the very content that was sealed is deleted, and
only while no row names the file; nothing is written over what somebody else has put there (nothing overwritten); two processes at work
on one task do no harm, because each holds the row that the other one needs. Of several databases a task counts in
the one in which it was noted: a file that is back there has no row elsewhere. Names of files are in no message.
"""

from __future__ import annotations

import functools
import hmac
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from django.core.files.storage import Storage
from django.db import DatabaseError, transaction
from django.db.models import FileField

from edna import conf, registry, shards, store
from edna.crypto.keys import derive, fingerprint
from edna.db import transactions
from edna.engine.files import sealed_content, stored_files
from edna.engine.files.fields import Name, field_of, name_of, still_named
from edna.engine.files.sealed_content import Content, NameTaken, SealedFile
from edna.engine.files.stored_files import Presence
from edna.errors import BagError, StorageFailed
from edna.records import values
from edna.records.locator import Locator
from edna.signals import Announcement, file_deleted, file_written
from edna.store import PendingFile, serverkeys

logger = logging.getLogger("edna")

#: Of one transaction: as many as one disguise of an ordinary person has.
_TASKS_AT_ONCE: Final = 1_000
#: What a crash has left elsewhere is taken along, but not so much that somebody's request would wait for it.
_OLD_TASKS: Final = 20


@dataclass(frozen=True)
class Left:
    """A task that could not be finished: the field, "delete" or "write", and why not."""

    field: str
    action: str
    reason: str


@dataclass
class FinishedFiles:
    """What finishing did. ``dropped`` counts tasks with nothing to do any more: a row names the file again, or none does."""

    deleted: int = 0
    written: int = 0
    dropped: int = 0
    left: list[Left] = field(default_factory=list)

    def add(self, other: FinishedFiles) -> None:
        self.deleted += other.deleted
        self.written += other.written
        self.dropped += other.dropped
        self.left += other.left

    def as_dict(self) -> dict[str, Any]:
        left = [{"field": each.field, "action": each.action, "reason": each.reason} for each in self.left]
        return {"deleted": self.deleted, "written": self.written, "dropped": self.dropped, "left": left}


def schedule(tasks: Sequence[PendingFile], *, using: str) -> None:
    """Note the tasks in this transaction, and do them when it has committed."""
    if tasks:
        mac = _maker(using=using)
        store.add_file_tasks([replace(task, mac=mac(task)) for task in tasks], using=using)
        # Robust: the caller holds the outcome of what is done, and must not lose it to a storage that does not answer.
        transaction.on_commit(
            functools.partial(_finish_quietly, [task.id for task in tasks], using=using), using=using, robust=True
        )


def _finish_quietly(ids: Sequence[int], *, using: str) -> None:
    _quietly(
        lambda: [*ids, *(old for old in store.file_task_ids(using=using, most=_OLD_TASKS) if old not in ids)],
        using=using,
    )


def finish_left(*, using: str) -> None:
    """All that waits, whoever has left it. One statement where nothing does; a storage that fails fails nobody."""
    _quietly(lambda: store.file_task_ids(using=using), using=using)


def _quietly(ids: Callable[[], Iterable[int]], *, using: str) -> None:
    try:
        done = finish(ids(), using=using)
    except Exception as error:
        # After the commit nothing may fail the caller, who holds a receipt. Not the error's own words: they may quote names.
        logger.error("Files could not be deleted or written (%s); run manage.py edna_files.", type(error).__name__)
        return
    if done.left:
        logger.warning(
            "%d file(s) could not be deleted or written; run manage.py edna_files to see why.", len(done.left)
        )


def finish(ids: Iterable[int] | None = None, *, using: str) -> FinishedFiles:
    """Do what is to be done: all of it, or what these tasks say.

    Raises:
        ServerKeyUnknown: all of it, and no key of the server's is this site's: what it has noted would pass for forged.
    """
    if ids is None:
        serverkeys.require_any(using=using)
    wanted = list(store.file_task_ids(using=using) if ids is None else ids)
    done = FinishedFiles()
    for start in range(0, len(wanted), _TASKS_AT_ONCE):
        part = wanted[start : start + _TASKS_AT_ONCE]
        done.add(_finish(part, using=using))
    return done


def finish_everywhere() -> FinishedFiles:
    """As `finish`, all that is to be done in each of the databases."""
    done = FinishedFiles()
    for using in registry.databases():
        with shards.at(using):
            done.add(finish(using=using))
    return done


def _finish(ids: Sequence[int], *, using: str) -> FinishedFiles:
    # Looked at before anything is locked: reading files takes its time.
    presences = {
        task.id: _try(lambda task=task: _presence(task))
        for task in store.file_tasks(ids, using=using)
        if task.locator is None and is_ours(task, using=using)
    }
    return transactions.run(lambda: _Batch(ids, presences, using=using).run(), using=using)


def waited_for(*, using: str) -> set[bytes]:
    """The indexes of the content that is yet to be written: its row is back, and it is nowhere else."""
    tasks = store.file_tasks_with_content(using=using)
    return {index for task in tasks if is_ours(task, using=using) for index in content_of(task).indexes}


def is_ours(task: PendingFile, *, using: str) -> bool:
    """Whether this site noted the task, in this database. Anybody who writes to it could have a file written or deleted otherwise."""
    return is_of(task, shards.named(using))


def is_of(task: PendingFile, place: str | None) -> bool:
    """Whether this site noted the task in this one of several databases, or, None, while it had one."""
    return any(hmac.compare_digest(task.mac, mac) for mac in _macs(task, place))


def is_under_first_key(task: PendingFile, *, using: str) -> bool:
    """Whether it counts without any former key of the server."""
    return any(hmac.compare_digest(task.mac, mac) for mac in _macs(task, shards.named(using))[:1])


def moved(task: PendingFile, *, place: str | None, using: str) -> bytes | None:
    """The MAC in this database of a task that was noted in another place, an alias or None for a site with one; None of other tasks.

    Raises: ServerKeyUnknown
    """
    return _maker(using=using)(task) if is_of(task, place) else None


def _macs(task: PendingFile, database: str | None) -> list[bytes]:
    """Under each key of the server, the current one first."""
    return [_mac(task, key, database) for key in conf.mac_keys()]


def _maker(*, using: str) -> Callable[[PendingFile], bytes]:
    """What makes MACs under a key that the database knows: no frame that may raise has the key by name."""
    server_key, database = serverkeys.first_known(using=using), shards.named(using)
    return lambda task: _mac(task, server_key, database)


def _mac(task: PendingFile, server_key: bytes, database: str | None) -> bytes:
    said = [task.id, task.field, task.name, task.size, task.digest, task.locator, task.free, task.erase]
    data = values.encode(said if database is None else [*said, database])
    return derive(fingerprint(server_key, purpose=b"edna.file.task.k"), purpose=b"edna.file.task", data=data)


def _presence(task: PendingFile) -> Presence:
    return stored_files.presence(_storage(task), task.name, task.size, task.digest, what=task.field)


class _Unknown(Exception):
    """The field that the task names is no `FileField` of the project any more."""


def _field(task: PendingFile) -> FileField:
    field = field_of(task.field)
    if field is None:
        raise _Unknown
    return field


def _storage(task: PendingFile) -> Storage:
    return _field(task).storage


def _known(task: PendingFile) -> bool:
    return field_of(task.field) is not None


def _name(task: PendingFile) -> Name:
    return name_of(_field(task), task.name)


def _try(work: Any) -> Any:
    """What ``work`` returns, or its failure in a word; a failing storage keeps no other file waiting."""
    try:
        return work()
    except DatabaseError:
        raise  # the transaction is over
    except _Unknown:
        return "field_unknown"
    except NameTaken:
        return "name_taken"
    except BagError as error:
        return f"bag_unreadable ({type(error).__name__})"
    except StorageFailed:
        return "storage_failed"
    except Exception as error:  # each storage has errors of its own; the task stays, and is tried again
        return f"storage_failed ({type(error).__name__})"


class _Batch:
    """Some tasks in one transaction, which holds their rows from the first statement to the last."""

    def __init__(self, ids: Sequence[int], presences: dict[int, Presence | str], *, using: str) -> None:
        self._ids, self._presences, self._using = ids, presences, using
        self._done: list[PendingFile] = []
        self._result = FinishedFiles()

    def run(self) -> FinishedFiles:
        stored = list(store.file_tasks(self._ids, using=self._using, lock=True))
        ours = {task.id for task in stored if is_ours(task, using=self._using)}
        tasks = [task for task in stored if task.id in ours]
        forged = [task for task in stored if task.id not in ours]
        self._result.left += [Left(task.field, "write" if task.locator else "delete", "forged") for task in forged]
        writes = [task for task in tasks if task.locator is not None]
        named = still_named({_name(task) for task in tasks if _known(task)}, using=self._using)
        self._done += self._called_off(writes, named, but=tasks)
        for task in tasks:
            if task.locator is None:
                self._settle(task, "delete", lambda task=task: self._delete(task, named))
        self._write_all(writes, named)
        if self._done:
            store.delete_file_tasks([task.id for task in self._done], using=self._using)
            sealed_content.erase([content_of(task) for task in self._done if task.erase], using=self._using)
        return self._result

    def _called_off(
        self, writes: Sequence[PendingFile], named: set[Name], *, but: Sequence[PendingFile]
    ) -> list[PendingFile]:
        """Deletions of files that are back. Whoever is at one now is waited for: what they delete is written again."""
        if not writes:
            return []
        tasks = store.file_tasks_by_name({task.name for task in writes}, using=self._using)
        deletions = [task for task in tasks if task.locator is None and task not in but]
        ours = [task for task in deletions if is_ours(task, using=self._using)]
        return [task for task in ours if _known(task) and _name(task) in named]

    def _settle(self, task: PendingFile, action: str, work: Any) -> None:
        failure = _try(work)
        if failure is None:
            self._done.append(task)
        else:
            self._result.left.append(Left(task.field, action, failure))

    def _delete(self, task: PendingFile, named: set[Name]) -> str | None:
        presence = self._presences[task.id]
        if isinstance(presence, str):
            return presence
        if presence is Presence.SAME and _name(task) not in named:
            # First: if the process dies in between, they are told again, and what they keep of the file does not outlive it.
            _tell(file_deleted, task)
            _storage(task).delete(task.name)
            self._result.deleted += 1
        else:
            # A row names the file, it is gone, or it is another one by now: nobody's but theirs who put it there.
            self._result.dropped += 1
        return None

    def _write_all(self, tasks: Sequence[PendingFile], named: set[Name]) -> None:
        wanted = []
        for task in tasks:
            if _known(task) and _name(task) not in named:
                # The row has gone again: nobody would ever look for the file.
                self._done.append(task)
                self._result.dropped += 1
            else:
                wanted.append(task)
        contents = sealed_content.opened([content_of(task) for task in wanted], using=self._using)
        for task, sealed in zip(wanted, contents, strict=True):
            self._settle(task, "write", lambda task=task, sealed=sealed: self._write(task, sealed))

    def _write(self, task: PendingFile, sealed: SealedFile) -> str | None:
        storage = _storage(task)
        presence = _presence(task)
        if presence is Presence.OTHER:
            if not (task.free and sealed_content.holds_beginning(storage, task.name, sealed, what=task.field)):
                return "name_taken"
            storage.delete(task.name)
        if presence is not Presence.SAME:
            sealed_content.save(storage, task.name, sealed)
        _tell(file_written, task)
        self._result.written += 1
        return None


def _tell(signal: Announcement, task: PendingFile) -> None:
    field = _field(task)
    signal.send_robust(sender=field.model, field=field.name, file_name=task.name)


def content_of(task: PendingFile) -> Content:
    """What is to be written."""
    assert task.locator is not None
    return Content(Locator(task.locator), task.size, task.digest)
