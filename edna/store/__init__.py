"""The only reader and writer of edna's tables.

Bytes in, bytes out: this module seals and opens nothing and knows no disguise, no spec and no application model. It tags
entries as it writes them, and says of each that it reads whether its tag is right (`tags`). Every function takes the database alias;
writers expect to run inside the caller's transaction, so that bags change together with the application's rows (nothing lost). The
number of statements never depends on the number of rows. A little long: these are the tables that every disguise and reveal writes
together; what has tables of its own has a module of its own beside this one.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Final, NamedTuple

from django.db import IntegrityError
from django.db.models import Exists, Q, QuerySet
from django.db.models.functions import Length

from edna import shards
from edna.db import rows
from edna.db.cursors import connection_of
from edna.db.rows import Row, table_of
from edna.db.short_values import label_number, label_of, number_of, short_reference, whole_reference
from edna.errors import EntryForged, PrincipalAlreadyRegistered
from edna.models import (
    Bag,
    FileTask,
    KeySlot,
    PrincipalEntry,
    Replay,
    SessionLink,
    random_primary_key,
)
from edna.store.tags import Tags, entry_data, entry_tags

_ENTRIES: Final = table_of(PrincipalEntry)
_BAGS: Final = table_of(Bag)
_LINKS: Final = table_of(SessionLink)
_REPLAYS: Final = table_of(Replay)
_FILES: Final = table_of(FileTask)
#: Where sessions are linked to principals.
LINKED: Final = (_LINKS, "owner_tag")
#: In place of the tag of whom a session belonged to, who is gone: it has still to be ended where the transaction did not reach.
ENDING: Final = bytes(32)
ENTRY_COLUMNS: Final = (
    "id",
    "public_key",
    "model",
    "reference",
    "natural",
    "locators",
    "last_seen_on",
    "expires_on",
    "tag",
    "encapsulation_key",
    "under_way",
)
#: What each new entry has: under way is nothing yet.
_NEW: Final = ENTRY_COLUMNS[:-1]
_CHANGING: Final = ENTRY_COLUMNS[2:-2]
#: In an entry that is to be written: what was under way is not any more.
NOTHING_UNDER_WAY: Final = b""


class Entry(NamedTuple):
    """A principal's row: ``reference`` is None once the principal has been removed, and only then ``expires_on`` may be set.

    ``sound`` says that its tag was right when it was read, or that it names nobody and needs none. It stays what it was when the entry
    changes: a wrong tag is not replaced by a right one, nor taken away with whom it names. One is made for each row that is read.
    """

    id: int
    public_key: bytes
    model: str
    reference: str | None
    natural: bool
    locators: bytes
    last_seen_on: datetime.date | None
    expires_on: datetime.date | None = None
    sound: bool = True
    #: The other half of a public key of the hybrid kind.
    encapsulation_key: bytes | None = None
    #: Of somebody who is there, and is being disguised in chunks: under which receipt, sealed.
    under_way: bytes | None = None

    @property
    def attached(self) -> bool:
        return self.reference is not None

    def detached(self, *, expires_on: datetime.date | None) -> Entry:
        """Without whose key it was: the principal's row is gone. Kept until the last that is sealed to it expires."""
        if not self.attached:
            return self.kept_until(expires_on)
        # The rest goes too: how many people have left, and not pseudoprincipals, is nobody's business.
        nothing = None if self.under_way is None else NOTHING_UNDER_WAY
        return self._replace(
            model="", reference=None, natural=False, last_seen_on=None, expires_on=expires_on, under_way=nothing
        )

    def kept_until(self, expires_on: datetime.date | None) -> Entry:
        """Of a removed principal: kept at least as long as what is listed for it now."""
        later = later_bucket(self.expires_on, expires_on)
        return self if self.attached or later == self.expires_on else self._replace(expires_on=later)


def later_bucket(one: datetime.date | None, other: datetime.date | None) -> datetime.date | None:
    """The one that comes later; None never comes."""
    return None if one is None or other is None else max(one, other)


def entries_of(found: Iterable[Row], *, using: str) -> list[Entry]:
    """Of rows with `ENTRY_COLUMNS`."""
    tags, database = entry_tags(), shards.named(using)
    return [_entry(row, tags, database) for row in found]


def _entry(row: Row, tags: Tags, database: str | None) -> Entry:
    pk, public_key, number, short, natural, locators, last_seen_on, expires_on, tag, half, under_way = row
    key, is_natural, half = bytes(public_key), bool(natural), None if half is None else bytes(half)
    model, reference = label_of(number), None if short is None else whole_reference(short)
    under_way = None if under_way is None else bytes(under_way)
    sound = reference is None or tags.is_right(
        tag, entry_data(pk, key, model, reference, is_natural, half, database=database)
    )
    listed = bytes(locators)
    return Entry(pk, key, model, reference, is_natural, listed, last_seen_on, expires_on, sound, half, under_way)


def require_sound(entries: Iterable[Entry]) -> None:
    """Before anything is sealed to their keys, or written into them.

    Raises:
        EntryForged: one of them was not written by this site, or not as it is now.
    """
    for entry in entries:
        if not entry.sound:
            raise unsound(entry)


def unsound(entry: Entry) -> EntryForged:
    """What is to be said of it, by whoever does not raise it."""
    of_several = (
        " Where people are in several databases, a tag counts in one of them alone; if the site had one before, if an alias was changed, "
        'or if somebody was moved here: docs/howto-shards.md, "Whose tags count where".'
    )
    return EntryForged(
        f"Entry {entry.id}{shards.in_words()} does not carry this site's tag: whose key it is was changed past edna, or noted "
        'under a server key that is not in EDNA["MAC_KEYS"] now. Nothing was changed, and nothing is sealed to it. See '
        "manage.py edna_verify; put a missing key back behind the present one and run manage.py edna_vouch, or restore the row "
        f"from a backup. If you know that it is right as it is: manage.py edna_vouch --entry {entry.id}{shards.as_argument()}."
        f"{of_several if shards.in_words() else ''}"
    )


def _tagger(*, using: str) -> Callable[[Entry], bytes | None]:
    """What tags entries of this database. One that names nobody has no tag, and nothing is asked for it."""

    @functools.cache
    def place() -> tuple[Callable[[bytes], bytes], str | None]:
        return entry_tags().maker(using=using), shards.named(using)

    def tag(e: Entry) -> bytes | None:
        if e.reference is None:
            return None
        made, database = place()
        whose = (e.public_key, e.model, e.reference, e.natural, e.encapsulation_key)
        data = entry_data(e.id, *whose, database=database)
        return None if data is None else made(data)

    return tag


class NewEntry(NamedTuple):
    """Of somebody who is to get one; the last only if their key is of the hybrid kind."""

    public_key: bytes
    model: str
    reference: str
    natural: bool
    encapsulation_key: bytes | None = None


def add_entries(entries: Sequence[NewEntry], *, using: str) -> list[Entry]:
    """Add them, and return them in this order.

    Raises:
        PrincipalAlreadyRegistered: one of them, or its key, has an entry already.
    """
    new = _new_entries(entries)
    _insert_entries(new, using=using)
    return new


def add_free_entries(entries: Sequence[NewEntry], *, using: str) -> list[Entry | None]:
    """As `add_entries`, but None stands for what is left out because an entry has its public key already. The transaction goes on.

    Raises:
        PrincipalAlreadyRegistered: one of them has an entry already, unless it was left out.
    """
    new = _new_entries(entries)
    if connection_of(using).vendor == "postgresql":
        # It would not go on after a refusal, and a savepoint is a statement more.
        added = {key for (key,) in rows.insert_free(_ENTRIES, _NEW, _scattered(new, using=using), using=using)}
        return [entry if entry.id in added else None for entry in new]
    try:
        _insert_entries(new, using=using)
        return list(new)
    except PrincipalAlreadyRegistered:
        # MariaDB undoes that one statement, SQLite that one row: what was written before stands. Locked, to see it as it is now.
        keys = [entry.public_key for entry in new]
        there = {entry.public_key: entry for entry in entries_by_public_key(keys, using=using, lock=True)}
    _insert_entries([entry for entry in new if entry.public_key not in there], using=using)
    # Those of ours that were written before have our names.
    return [entry if _names(there.get(entry.public_key, entry)) == _names(entry) else None for entry in new]


def _names(entry: Entry) -> tuple[str, str | None]:
    return entry.model, entry.reference


def _new_entries(entries: Sequence[NewEntry]) -> list[Entry]:
    return [
        Entry(
            number_of(new.public_key),
            new.public_key,
            new.model,
            new.reference,
            new.natural,
            b"",
            None,
            encapsulation_key=new.encapsulation_key,
        )
        for new in entries
    ]


def _scattered(new: Iterable[Entry], *, using: str) -> list[Row]:
    """In an order that says nothing. Not that of their numbers: InnoDB takes a few that ascend for a sequence, and leaves its pages
    emptier behind them."""
    tag = _tagger(using=using)
    return [
        (
            e.id,
            e.public_key,
            label_number(e.model),
            _short(e),
            e.natural,
            e.locators,
            None,
            None,
            tag(e),
            e.encapsulation_key,
        )
        # By what the number does not tell.
        for e in sorted(new, key=lambda entry: entry.public_key[8:])
    ]


def _short(entry: Entry) -> bytes | None:
    return None if entry.reference is None else short_reference(entry.reference)


def _insert_entries(new: Sequence[Entry], *, using: str) -> None:
    try:
        rows.insert(_ENTRIES, _NEW, _scattered(new, using=using), using=using)
    except IntegrityError as error:
        raise PrincipalAlreadyRegistered(
            f"A {new[0].model} or its public key is registered already; register each principal once, with a key of its own."
        ) from error


def entries_by_reference(model: str, references: Iterable[str], *, using: str, lock: bool = False) -> list[Entry]:
    return entries_of(_named(model, references, ENTRY_COLUMNS, lock=lock, using=using), using=using)


def _named(model: str, references: Iterable[str], names: Sequence[str], *, lock: bool, using: str) -> list[Row]:
    wanted = [short_reference(reference) for reference in dict.fromkeys(references)]
    # Of this model alone: a lock must not wait for somebody of another model who has the same number.
    also = ("model", label_number(model))
    return rows.read_where(_ENTRIES, names, "reference", wanted, lock=lock, using=using, also=also)


def references_there(model: str, references: Iterable[str], *, lock: bool = False, using: str) -> set[str]:
    """Those that have an entry. Reads no more of the entries than that: their lists may be long."""
    found = _named(model, references, ("reference",), lock=lock, using=using)
    return {whole_reference(short) for (short,) in found}


def entries_by_public_key(public_keys: Iterable[bytes], *, using: str, lock: bool = False) -> list[Entry]:
    wanted = {bytes(public_key) for public_key in public_keys}
    numbers = list({number_of(public_key) for public_key in wanted})
    found = rows.read_where(_ENTRIES, ENTRY_COLUMNS, "id", numbers, lock=lock, using=using)
    return [entry for entry in entries_of(found, using=using) if entry.public_key in wanted]


def is_pseudoprincipal(model: str, reference: str, *, using: str) -> bool:
    return any(not entry.natural for entry in entries_by_reference(model, [reference], using=using))


def save_entries(entries: Sequence[Entry], *, using: str) -> None:
    """Write what can change of an entry: whose it is, its list of sealed locators, how long it is kept, and what is under way.

    Raises:
        EntryForged: one of them was not written by this site; it gets no tag.
    """
    require_sound(entries)
    tag = _tagger(using=using)
    changed: dict[tuple[bool, bool], list[Row]] = {}
    for e in entries:
        whose = (label_number(e.model), _short(e), e.natural)
        row = (e.id, *whose, e.locators, e.last_seen_on, e.expires_on, tag(e))
        concerned = e.under_way is not None
        # As a rule there are a few with a list, and perhaps many without, for each of which little has to be written.
        part = changed.setdefault((concerned, bool(e.locators)), [])
        part.append((*row, e.under_way or None) if concerned else row)
    for (concerned, _), part in sorted(changed.items(), reverse=True):
        rows.update(_ENTRIES, (*_CHANGING, "under_way") if concerned else _CHANGING, part, using=using)


def save_free_entries(entries: Sequence[Entry], *, using: str) -> bool:
    """As `save_entries`, unless another entry has the reference of one of them: then it is to be written again. The transaction goes on.

    False at once where it would not go on after a refusal: there one looks first, as a savepoint is two statements.

    Raises:
        EntryForged
    """
    if connection_of(using).vendor == "postgresql":
        return False
    try:
        save_entries(entries, using=using)
    except IntegrityError:
        return False
    return True


def replace_keys(entries: Sequence[Entry], *, using: str) -> None:
    """Write the public keys of entries, their lists of sealed locators, and what is under way. They have other numbers then.

    Raises:
        EntryForged: one of them was not written by this site; it gets no tag.
        PrincipalAlreadyRegistered: one of the keys is somebody else's.
    """
    require_sound(entries)
    tag = _tagger(using=using)
    columns = ("id", "public_key", "locators", "tag", "encapsulation_key", "under_way")
    renumbered = [(e.id, e._replace(id=number_of(e.public_key))) for e in entries]
    changed = [
        (former, e.id, e.public_key, e.locators, tag(e), e.encapsulation_key, e.under_way or None)
        for former, e in renumbered
    ]
    try:
        rows.update(_ENTRIES, columns, changed, using=using)
    except IntegrityError as error:
        raise PrincipalAlreadyRegistered("This public key is registered already; take one of your own.") from error


def delete_entries(entries: Sequence[Entry], *, using: str) -> None:
    """
    Raises:
        EntryForged: one of them was not written by this site; it stays, as evidence.
    """
    require_sound(entries)
    rows.delete(_ENTRIES, [(entry.id,) for entry in entries], using=using)


def touch_entry(model: str, reference: str, *, today: datetime.date, using: str) -> None:
    """Note that a principal was active today; writes at most once a day."""
    query = PrincipalEntry.objects.using(using).filter(model=model, reference=reference)
    query.exclude(last_seen_on=today).update(last_seen_on=today)


# Bags


def add_bags(bags: Sequence[tuple[bytes, bytes]], *, expires_on: datetime.date | None, using: str) -> None:
    new = [(number_of(index), index, sealed, expires_on) for index, sealed in bags]
    # The order in which rows of one disguise are written must not say which belong together.
    new.sort(key=lambda row: row[1][8:])
    rows.insert(_BAGS, ("id", "index", "sealed", "expires_on"), new, using=using)


def bags_by_index(indexes: Iterable[bytes], *, using: str) -> dict[bytes, bytes]:
    return {index: bag.sealed for index, bag in stored_bags(indexes, using=using).items()}


@dataclass(frozen=True, slots=True)
class StoredBag:
    """Sealed bytes, and the bucket in which they expire."""

    sealed: bytes = dataclass_field(repr=False)
    expires_on: datetime.date | None

    def is_due(self, today: datetime.date) -> bool:
        return self.expires_on is not None and self.expires_on <= today


def stored_bags(indexes: Iterable[bytes], *, using: str, lock: bool = False) -> dict[bytes, StoredBag]:
    found = _bags(indexes, ("index", "sealed", "expires_on"), lock=lock, using=using)
    return {bytes(index): StoredBag(bytes(sealed), expires_on) for index, sealed, expires_on in found}


def _bags(indexes: Iterable[bytes], names: Sequence[str], *, lock: bool = False, using: str) -> list[Row]:
    """The named columns, the index first, of those that are there."""
    wanted = set(indexes)
    found = rows.read_where(_BAGS, names, "id", [number_of(index) for index in wanted], lock=lock, using=using)
    return [row for row in found if bytes(row[0]) in wanted]


def sizes_of_bags(indexes: Iterable[bytes], *, using: str) -> dict[bytes, int]:
    """How many sealed bytes there are under each of these; of those that are there."""
    wanted = set(indexes)
    found = Bag.objects.using(using).filter(id__in=[number_of(index) for index in wanted]).order_by("id")
    sizes = found.values_list("index", Length("sealed"))
    return {bytes(index): size for index, size in sizes if bytes(index) in wanted}


def indexes_there(indexes: Iterable[bytes], *, using: str) -> set[bytes]:
    """Under which of these there is a bag."""
    return {bytes(index) for (index,) in _bags(indexes, ("index",), using=using)}


def numbers_there(indexes: Iterable[bytes], *, using: str) -> list[int]:
    """The numbers of bags under these."""
    return [number_of(index) for index in sorted(indexes_there(indexes, using=using), key=number_of)]


def replace_bags(bags: Sequence[tuple[bytes, bytes]], *, using: str) -> None:
    """Put other sealed bytes into the places of stored bags, which keep their dates of expiry."""
    sealed = dict(bags)
    found = indexes_there(sealed, using=using)
    if found:
        rows.update(_BAGS, ("sealed",), sorted((number_of(index), sealed[index]) for index in found), using=using)


def delete_bags(indexes: Sequence[bytes], *, using: str) -> None:
    rows.delete_where(_BAGS, "id", [number_of(index) for index in indexes], using=using)


def postpone_bags(indexes: Sequence[bytes], *, expires_on: datetime.date | None, using: str) -> None:
    """Let these bags live at least as long; None is for ever."""
    bags = Bag.objects.using(using).filter(id__in=[number_of(index) for index in indexes])
    bags = bags.filter(expires_on__isnull=False) if expires_on is None else bags.filter(expires_on__lt=expires_on)
    bags.update(expires_on=expires_on)


def expiry_bucket(today: datetime.date, *, retention_days: int | None) -> datetime.date | None:
    """The first day of the month after a bag's last day: coarse, so that it tells no dates of disguises."""
    if retention_days is None:
        return None
    last = today + datetime.timedelta(days=retention_days)
    return datetime.date(last.year + last.month // 12, last.month % 12 + 1, 1)


# Key slots


def add_slots(slots: Sequence[tuple[bytes, bytes, bytes]], *, using: str) -> None:
    """Add (slot id, tag, wrapped key) slots, also where there are others of the same id: nobody is to learn that."""
    new = [KeySlot(slot_id=slot_id, tag=tag, wrapped=wrapped) for slot_id, tag, wrapped in slots]
    # By the random key: the order of writing must not say which kind a slot is of.
    new.sort(key=lambda slot: slot.id)
    KeySlot.objects.using(using).bulk_create(new)


def find_slots(candidates: Sequence[bytes], *, using: str) -> list[tuple[bytes, bytes, bytes]]:
    """All slots under one of these ids: one person's, but for people who chose the same identifier and password."""
    found = KeySlot.objects.using(using).filter(slot_id__in=list(candidates)).order_by("id")
    return [(slot_id, tag, bytes(wrapped)) for slot_id, tag, wrapped in found.values_list("slot_id", "tag", "wrapped")]


def slot_tags_there(tags: Iterable[bytes], *, using: str) -> set[bytes]:
    """With which of these there is a slot."""
    return set(KeySlot.objects.using(using).filter(tag__in=list(tags)).values_list("tag", flat=True))


def replace_slot(former: tuple[bytes, bytes], *, slot_id: bytes, tag: bytes, wrapped: bytes, using: str) -> None:
    """Put another into the place of the slot of that (slot id, tag), unless that has been replaced or deleted meanwhile."""
    there = KeySlot.objects.using(using).filter(slot_id=former[0], tag=former[1])
    there.update(slot_id=slot_id, tag=tag, wrapped=wrapped)


def retag_slots(former: bytes, tag: bytes, *, using: str) -> None:
    KeySlot.objects.using(using).filter(tag=former).update(tag=tag)


def delete_slots_by_tag(tags: Collection[bytes], *, using: str) -> None:
    KeySlot.objects.using(using).filter(tag__in=list(tags)).delete()


# Sessions


def link_session(owner_tag: bytes, session_key: str, *, using: str) -> None:
    """In one statement, whether the session is noted already or not: every login of every principal does this."""
    targeted = connection_of(using).features.supports_update_conflicts_with_target
    SessionLink.objects.using(using).bulk_create(
        [SessionLink(owner_tag=owner_tag, session_key=session_key)],
        update_conflicts=True,
        update_fields=["owner_tag"],
        unique_fields=["session_key"] if targeted else None,
    )


def unlink_session(session_key: str, *, using: str) -> None:
    SessionLink.objects.using(using).filter(session_key=session_key).delete()


def sessions_of(owner_tags: Sequence[bytes], *, using: str) -> list[str]:
    found = rows.read_where(_LINKS, ("session_key",), "owner_tag", owner_tags, lock=False, using=using)
    return [session_key for (session_key,) in found]


def let_sessions_end(owner_tags: Sequence[bytes], *, using: str) -> None:
    """Note that they are to end, and no longer whose they are."""
    found = rows.read_where(_LINKS, ("id",), "owner_tag", owner_tags, lock=False, using=using)
    if found:
        rows.update(_LINKS, ("owner_tag",), [(pk, ENDING) for (pk,) in found], using=using)


def sessions_to_end(*, using: str) -> list[str]:
    return sessions_of([ENDING], using=using)


def unlink_sessions(session_keys: Sequence[str], *, using: str) -> None:
    rows.delete_where(_LINKS, "session_key", session_keys, using=using)


def unlink_sessions_of(owner_tags: Sequence[bytes], *, using: str) -> None:
    rows.delete_where(_LINKS, "owner_tag", owner_tags, using=using)


# The log of replayed updates


def add_replay(sealed: bytes, *, logged_on: datetime.date, using: str) -> None:
    Replay.objects.using(using).create(logged_on=logged_on, sealed=sealed)


def replace_replays(sealed: Sequence[tuple[int, bytes]], *, using: str) -> None:
    """By their numbers."""
    rows.update(_REPLAYS, ("sealed",), list(sealed), using=using)


def replays_since(day: datetime.date, *, using: str) -> list[bytes]:
    # By each reveal: compiling a query of Django's takes as long as the database does.
    least = connection_of(using).ops.adapt_datefield_value(day)
    return [bytes(sealed) for (sealed,) in rows.read_from(_REPLAYS, ("sealed",), "logged_on", least, using=using)]


def delete_replays_before(day: datetime.date, *, unless: Exists | None, using: str) -> None:
    # While anything is held beyond its day, updates are that it may still miss.
    free = Q() if unless is None else Q(~unless)
    Replay.objects.using(using).filter(free, logged_on__lt=day).delete()


# Files that are yet to be deleted or written


@dataclass(frozen=True, slots=True)
class PendingFile:
    """What is to be done about one file. ``field`` is "app.model.field", which knows the storage.

    With a ``locator``, the content under it is to be written, and erased from there if ``erase`` says so; ``free`` says that the name
    was, so that a beginning of the content found under it is an interrupted write of ours.
    """

    field: str
    name: str = dataclass_field(repr=False)
    size: int
    digest: bytes = dataclass_field(repr=False)
    locator: bytes | None = dataclass_field(default=None, repr=False)
    free: bool = False
    erase: bool = False
    id: int = dataclass_field(default_factory=random_primary_key)
    mac: bytes = dataclass_field(default=b"", repr=False)


_FILE_COLUMNS: Final = ("id", "field", "name", "size", "digest", "locator", "free", "erase", "mac")


def add_file_tasks(tasks: Sequence[PendingFile], *, using: str) -> None:
    new = sorted((t.id, t.field, t.name, t.size, t.digest, t.locator, t.free, t.erase, t.mac) for t in tasks)
    rows.insert(_FILES, _FILE_COLUMNS, new, using=using)


def replace_file_macs(macs: Sequence[tuple[int, bytes]], *, using: str) -> None:
    """By their numbers."""
    rows.update(_FILES, ("mac",), list(macs), using=using)


def file_task_ids(*, using: str, most: int | None = None) -> list[int]:
    return list(FileTask.objects.using(using).order_by("id").values_list("id", flat=True)[:most])


def file_tasks(ids: Iterable[int], *, using: str, lock: bool = False) -> list[PendingFile]:
    """With ``lock``, those that no other process is at work on."""
    return _file_tasks(FileTask.objects.using(using).filter(id__in=list(ids)), lock=lock, skip=True, using=using)


def file_tasks_with_content(*, using: str) -> list[PendingFile]:
    return _file_tasks(FileTask.objects.using(using).exclude(locator=None), lock=False, skip=False, using=using)


def file_tasks_by_name(names: Iterable[str], *, using: str) -> list[PendingFile]:
    """Locked; waits for a process that is at work on one of them."""
    wanted = set(names)
    tasks = FileTask.objects.using(using)
    # Compared here too: to some collations two names are one. Locked by key: a search would wait for rows of other names.
    found = [pk for pk, name in tasks.filter(name__in=wanted).values_list("id", "name") if name in wanted]
    return _file_tasks(tasks.filter(id__in=found), lock=True, skip=False, using=using) if found else []


def _file_tasks(query: QuerySet[FileTask], *, lock: bool, skip: bool, using: str) -> list[PendingFile]:
    if lock and connection_of(using).vendor == "sqlite":
        # Nothing to lock a row with: a statement that could write takes the lock of the whole file.
        FileTask.objects.using(using).filter(id=0).update(free=False)
    elif lock:
        skip = skip and connection_of(using).features.has_select_for_update_skip_locked
        query = query.select_for_update(skip_locked=skip)
    return [
        PendingFile(t.field, t.name, t.size, t.digest, t.locator, t.free, t.erase, t.id, t.mac)
        for t in query.order_by("id")
    ]


def delete_file_tasks(ids: Iterable[int], *, using: str) -> None:
    rows.delete(_FILES, [(pk,) for pk in ids], using=using)
