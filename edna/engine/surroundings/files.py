"""Brings the content of files back with the rows that name them.

Invariants: a file that is somebody else's by now is not overwritten; content is erased only when no sealed record needs it any more.
The storages are written after the commit (`engine.files.file_tasks`). Knows opened records and bags; knows no plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from edna import store
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import Journal
from edna.engine.files import file_tasks, sealed_content, stored_files
from edna.engine.files.fields import Name, mentions, name_of, names_in, still_named
from edna.engine.files.pointers import Pointer, batches_of, leads_to_files, pointers_in, without_pointers
from edna.engine.files.sealed_content import SealedFile
from edna.engine.files.stored_files import Presence
from edna.records.diff import RowBatch
from edna.records.locator import Locator

#: What each row of a bag names, by model, key and field.
Named: TypeAlias = dict[tuple[str, Row, str], str]


def names_by_row(journal: Journal) -> list[tuple[Opened, Named]]:
    """Of the bags that lead to files."""
    bags = (journal.current, *journal.others)
    return [(opened, _named_rows(opened)) for opened in bags if any(map(leads_to_files, opened.diffs))]


def follow(before: Sequence[tuple[Opened, Named]]) -> None:
    """Where a rule or a replayed update has given a row's file another name, the content comes back under that."""
    for opened, names in before:
        now = _named_rows(opened)
        kept = set(now.values())
        renamed = {name: now[row] for row, name in names.items() if row in now and name not in kept}
        if renamed:
            found = [replace(each, name=renamed.get(each.name, each.name)) for each in pointers_in(opened.diffs)]
            opened.rename_files([*without_pointers(opened.diffs), *batches_of(found)])


def _named_rows(opened: Opened) -> Named:
    return {(batch.model, key, column.name): name for batch in opened.diffs for column, name, key in mentions(batch)}


@dataclass
class Incoming:
    """The files of the rows that a reveal is about to bring back, and what is there under their names."""

    found: dict[Locator, Presence] = field(default_factory=dict)
    #: What leads to them, by the locator of the bag.
    pointers: dict[Locator, list[Pointer]] = field(default_factory=dict)
    #: Names under which somebody else has another file, by model and field.
    taken: dict[tuple[str, str], set[str]] = field(default_factory=dict)

    def in_the_way_of(self, batch: RowBatch, rows: Sequence[Row], names: Sequence[str]) -> dict[str, list[Row]]:
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
        pointers, sealed_content.opened([each.content for each in pointers], using=using), strict=True
    ):
        sealed.verify()
        if pointer.column is not None:
            what = f"a {pointer.column.model._meta.label_lower}, field {pointer.column.name},"
            content = pointer.content
            there = stored_files.presence(pointer.column.storage, pointer.name, content.size, content.digest, what=what)
            incoming.found[content.locator] = there
            if there is Presence.OTHER:
                taken.add(pointer.key)
    for batch in [batch for opened in bags for batch in opened.diffs] if taken else ():
        for column, name, _ in mentions(batch):
            if name_of(column, name) in taken:
                incoming.taken.setdefault((batch.model, column.name), set()).add(name)
    return incoming


def settle(
    revealed: Sequence[tuple[Opened, Sequence[RowBatch]]], others: Sequence[Opened], incoming: Incoming, *, using: str
) -> list[list[RowBatch]]:
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
    file_tasks.schedule(tasks, using=using)
    alive |= {each.content.locator for each in written}
    sealed_content.erase([each.content for each in lost if each.content.locator not in alive], using=using)
    return [batches_of(found) for found in staying]


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
        opened.keep([*without_pointers(opened.diffs), *batches_of(kept)])
    return gone


def _move(pointer: Pointer, elsewhere: Sequence[tuple[Opened, set[Name], set[Name | None]]], *, using: str) -> None:
    """Into bags that name the file and have no content for it: a record has moved there, or found none when it was made."""
    for opened, needed, known in elsewhere:
        if pointer.key in needed and pointer.key not in known:
            opened.add(*batches_of([pointer]))
            known.add(pointer.key)
            store.postpone_bags(pointer.content.indexes, expires_on=opened.expires_on, using=using)


def contents_of(opened: Opened, *, using: str) -> Iterator[SealedFile]:
    """The sealed files to which the records of a bag lead."""
    return sealed_content.opened([pointer.content for pointer in pointers_in(opened.diffs)], using=using)
