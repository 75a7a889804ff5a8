"""Walks the store and says what is not as edna wrote it, and what work has been left.

Guarantees: repairs nothing; what it says names numbers of edna's own rows, never a person, value, key or locator. In pages: a page costs
as many statements, however much is in it. Without a key it sees lengths and structure, and the MACs of what is the server's own;
with a person's key it opens all that is theirs and verifies each MAC.
Does not know what is missing altogether: a bag that somebody deleted is missed by its owner's key alone.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from typing import Any, Final

from edna import clock, policy_seals, registry, serverkeys, store
from edna.crypto.keys import KEY_BYTES, PublicKey, SecretKey
from edna.crypto.sealing import BEGINNING_BYTES, check_container
from edna.custody.base import WRAPPED_BYTES
from edna.db import transactions
from edna.engine.bags.capability import Unlocked
from edna.engine.bags.reader import Everything, read_all
from edna.engine.books import beside
from edna.engine.files import file_tasks
from edna.engine.forwarding import replay_log
from edna.engine.graph.references import without_row
from edna.engine.pseudoprincipals import orphans
from edna.engine.surroundings.files import contents_of
from edna.errors import BagError, EntryForged, KeyMalformed, PrincipalNotRegistered, WrongKey
from edna.operations import audit, jobs
from edna.operations.retention import expiry
from edna.operations.store import jobs as store_jobs
from edna.operations.store import residue as left_over
from edna.operations.store import retention
from edna.operations.store.runs import last_runs, note_run
from edna.operations.upkeep import residue
from edna.operations.upkeep.findings import MOST_NAMED, Severity, Verified
from edna.records.locator import HYBRID_LOCATOR_BYTES, SEALED_LOCATOR_BYTES, BagKind
from edna.store import inspection, vouching
from edna.store.inspection import SeenBag, SeenEntry

#: When files that wait were first seen waiting: the tasks themselves have no time.
_FILES: Final = "verify: files that wait"

Progress = Callable[[str, int], None]


def verify(*, secret_key: SecretKey | None = None, progress: Progress | None = None) -> Verified:
    """Look at everything; with ``secret_key``, of a person or of a device of theirs, at all that they can open, too.
    ``progress(what, count)`` after each page.

    Raises:
        PrincipalNotRegistered: the key is nobody's.
    """
    using, found = registry.database(), Verified()
    walker = _Walker(found, progress, using)
    keys = serverkeys.standing(using=using)
    found.find("server_key", [serverkeys.digits(keys.configured[0])] if keys.refusal else [])
    found.find("server_key_missing", list(map(serverkeys.digits, keys.missing)))
    walker.entries()
    walker.principals()
    walker.slots()
    walker.bags()
    walker.logs()
    walker.files()
    for model, columns in inspection.UNIQUE:
        found.find("duplicate", inspection.duplicates(model, columns, most=MOST_NAMED, using=using))
    found.find("audit", list(audit.verify()))
    forged = walker.jobs()
    found.find("job_waiting", [job for job in jobs.waiting() if job not in forged])
    walker.further()
    left = left_over.without_job(using=using)
    found.find("residue", [], count=left)
    found.find("hold_misplaced", retention.misplaced_holds(using=using))
    # By a day: what is due today, tonight's run will erase.
    yesterday = clock.today() - datetime.timedelta(days=1)
    for bucket in expiry.due(today=yesterday):
        if bucket.held is None and bucket.bags:
            found.find("expiry_overdue", [str(bucket.expires_on)], count=bucket.bags)
    if secret_key is not None:
        walker.person(secret_key)
    counts = {severity.value: found.how_many(severity) for severity in Severity}
    note_run("verify", {**found.seen, **counts}, using=using)
    return found


class _Walker:
    def __init__(self, found: Verified, progress: Progress | None, using: str) -> None:
        self._found, self._progress, self._using = found, progress, using

    def _pages(self, what: str, pages: Iterator[list[Any]]) -> Iterator[list[Any]]:
        for page in pages:
            yield page
            self._found.count(what, len(page))
            if self._progress is not None:
                self._progress(what, self._found.seen[what])

    def entries(self) -> None:
        models = {model._meta.label_lower: model for model in registry.principal_models()}
        for page in self._pages("entries", inspection.entries(using=self._using)):
            for kind, wrong in _ENTRY_RULES.items():
                self._found.find(kind, [entry.id for entry in page if wrong(entry)])
            there = [entry for entry in page if entry.reference is not None]
            self._found.find("entry_model", [entry.id for entry in there if entry.model not in models])
            for label, model in models.items():
                # What is not ours is left as it is by whoever would settle it: it is named above.
                ids = {entry.reference: entry.id for entry in there if entry.model == label and entry.sound}
                gone = without_row(model, list(ids), using=self._using) if ids else []
                self._found.find("entry_without_row", [ids[reference] for reference in gone])

    def jobs(self) -> set[int]:
        """The jobs that are not ours."""
        wrong: dict[str, list[int]] = {}
        for what, kind, tagged in (
            ("jobs", "job", store_jobs.tagged_jobs()),
            ("job items", "job_item", store_jobs.tagged_items()),
        ):
            wrong[kind] = []
            for page in self._pages(what, vouching.checked(tagged, using=self._using)):
                found = [pk for pk, sound in page if not sound]
                self._found.find(kind, found)
                wrong[kind] += found
        return set(wrong["job"])

    def further(self) -> None:
        """Tables of optional applications."""
        for tables in beside.further():
            for tagged in tables.tagged():
                for page in self._pages(tagged.words[1], vouching.checked(tagged, using=self._using)):
                    self._found.find(tagged.kind, [pk for pk, sound in page if not sound])
            for checked in tables.checked(using=self._using):
                self._found.count(checked.words, checked.count)
                for kind, ids in checked.wrong.items():
                    self._found.find(kind, list(ids))
            self._found.find("set_back", list(tables.set_back(audit.details_of, using=self._using)))

    def principals(self) -> None:
        for model in registry.principal_models():
            for page in orphans.without_entry(model, using=self._using):
                # The number of the row: it is nobody's, and how else would it be found.
                self._found.find("row_without_entry", list(page))
            kind = "orphan" if orphans.may_be_swept(model, made_by_hand=False, using=self._using) else "orphan_kept"
            self._found.find(kind, list(residue.orphaned(model)))

    def slots(self) -> None:
        for page in self._pages("slots", inspection.slots(using=self._using)):
            right = (KEY_BYTES, KEY_BYTES, WRAPPED_BYTES)
            self._found.find("slot", [pk for pk, *lengths in page if tuple(lengths) != right])

    def bags(self) -> None:
        for page in self._pages("bags", inspection.bags(beginning=BEGINNING_BYTES, using=self._using)):
            for kind, wrong in _BAG_RULES.items():
                self._found.find(kind, [bag.id for bag in page if wrong(bag)])

    def logs(self) -> None:
        for page in self._pages("replays", inspection.replays(using=self._using)):
            self._found.find(
                "replay", [pk for pk, sealed in page if not replay_log.verifies(sealed, using=self._using)]
            )

    def files(self) -> None:
        before = next((run.counts for run in last_runs(using=self._using) if run.name == _FILES), {})
        today = clock.today().toordinal()
        waiting: dict[str, int] = {}
        for page in self._pages("file tasks", inspection.pending_files(using=self._using)):
            forged = [task.id for task in page if not file_tasks.is_ours(task, using=self._using)]
            self._found.find("file_task", forged)
            waiting |= {str(task.id): before.get(str(task.id), today) for task in page}
        self._found.find("file_task_old", [int(pk) for pk, since in waiting.items() if since < today])
        if waiting or before:
            note_run(_FILES, waiting, using=self._using)

    def person(self, secret_key: SecretKey) -> None:
        """Everything that this key opens."""
        unlocked = Unlocked(secret_key, using=self._using)
        try:
            try:
                unlocked.entry()
            except PrincipalNotRegistered:
                # It may be the key of a device, which leads to theirs.
                other = beside.opened_otherwise(secret_key)
                if other is None:
                    raise
                unlocked = other
            everything = transactions.run(lambda: read_all(unlocked), using=self._using)
        except EntryForged:
            # Their entry, or one of those they speak for: nothing is opened through it. One that was vouched for by mistake has its tag.
            if all(each.kind not in ("entry_tag", "entry_of_another") for each in self._found.findings):
                self._found.find("person_damaged", [], count=1)
            return
        finally:
            unlocked.close()
        self._found.count("disguises of the person", sum(not opened.shared for opened in everything.opened))
        self._found.count("bags of the person", sum(len(opened.indexes) for opened in everything.opened))
        self._found.count("voices of the person", len(everything.holders) - 1)
        for locator, error in everything.refused.items():
            kind = "person_foreign" if isinstance(error, WrongKey) else "person_damaged"
            places = [locator.index(each, sequence) for each in BagKind for sequence in range(_SEGMENTS_NAMED)]
            self._found.find(kind, store.numbers_there(places, using=self._using))
        self._found.find("person_nothing", [], count=len(_nothing_under(everything)))
        self._files_of(everything)

    def _files_of(self, everything: Everything) -> None:
        day = clock.today()
        for opened in everything.opened:
            due = opened.expires_on is not None and opened.expires_on <= day
            for sealed in contents_of(opened, using=self._using):
                self._found.count("files of the person", 1)
                try:
                    sealed.verify()
                except BagError:
                    places = sealed.content.indexes
                    # Of one that is missing altogether there is nothing to name.
                    ids = store.numbers_there(places, using=self._using)
                    if not due:
                        self._found.find("person_file", list(ids), count=max(1, len(ids)))


#: Of a large bag that does not open, so many parts of each kind are named.
_SEGMENTS_NAMED: Final = 16


def _nothing_under(everything: Everything) -> set[Any]:
    listed = {locator for holder in everything.holders.values() for locator in holder.items}
    return listed - {opened.locator for opened in everything.opened} - set(everything.refused)


def _no_container(bag: SeenBag) -> bool:
    if bag.beginning[:1] == policy_seals.FIRST_BYTE:
        return not policy_seals.is_sound(bag.beginning, length=bag.bytes)
    try:
        check_container(bag.beginning, length=bag.bytes)
    except BagError:
        return True
    return False


def _says_too_much(entry: SeenEntry) -> bool:
    said = (entry.natural, entry.model, entry.last_seen_on, entry.has_tag, entry.is_under_way)
    return entry.reference is None and any(said)


def _is_no_key(raw: Any) -> bool:
    try:
        PublicKey(raw)
    except KeyMalformed:
        return True
    return False


_ENTRY_RULES: Final[dict[str, Callable[[SeenEntry], bool]]] = {
    "entry_key": lambda entry: len(entry.public_key) != KEY_BYTES,
    # Of whoever is there, the tag is over the number, too.
    "entry_number": lambda entry: (
        entry.reference is None and len(entry.public_key) == KEY_BYTES and entry.id != entry.number
    ),
    "entry_key_useless": lambda entry: len(entry.public_key) == KEY_BYTES and _is_no_key(entry.public_key),
    "entry_list": lambda entry: (
        entry.locators_bytes % (SEALED_LOCATOR_BYTES if entry.encapsulation_key is None else HYBRID_LOCATOR_BYTES) != 0
    ),
    "entry_detached": _says_too_much,
    "entry_tag": lambda entry: not entry.sound and not entry.is_of_another and not _is_no_key(entry.public_key),
    "entry_of_another": lambda entry: entry.is_of_another,
    "entry_dated": lambda entry: entry.reference is not None and entry.expires_on is not None,
}

_BAG_RULES: Final[dict[str, Callable[[SeenBag], bool]]] = {
    "bag_index": lambda bag: bag.index_bytes != KEY_BYTES or bag.id != bag.number,
    "bag_container": _no_container,
    "bag_bucket": lambda bag: bag.expires_on is not None and bag.expires_on.day != 1,
}
