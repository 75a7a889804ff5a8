"""Vouches for entries, jobs and items that are there: gives them a tag under the server's first key.

Guarantees: a row whose tag is wrong gets a right one only where that was asked for; nobody else's tag changes; what was vouched for is
noted in the audit trail. In pages, while the site goes on. Does not know whether a row is right: whoever asks says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final

from edna import conf, registry
from edna import store as rows
from edna.crypto.keys import PublicKey
from edna.custody.base import KINDS, VERSION, stored_tag
from edna.db import transactions
from edna.engine.books import acts, beside
from edna.engine.books.beside import KeyStatistic
from edna.engine.files import file_tasks
from edna.engine.forwarding import replay_log
from edna.store import inspection, serverkeys
from edna.store import vouching as store
from edna.store.vouching import ALONE as ALONE
from edna.store.vouching import Found, Tagged

_FILES: Final = ("waiting file", "waiting files")
_REPLAYS: Final = ("logged update", "logged updates")
_SLOTS: Final = ("key slot", "key slots")
#: What was looked at, and how many so far.
Progress = Callable[[str, int], None]


@dataclass
class Vouched:
    """By kind of row, and what people call it. What is ``wrong`` was vouched for if that was asked for, and is else as it was."""

    as_they_are: bool
    #: The former alias of whose rows was asked for, or `ALONE`.
    formerly: str | None = None
    found: dict[str, Found] = field(default_factory=dict)
    words: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def wrong(self) -> int:
        return sum(each.wrong for each in self.found.values())

    @property
    def elsewhere(self) -> int:
        return sum(each.elsewhere for each in self.found.values())

    @property
    def left(self) -> int:
        """How many have no right tag, and were left as they are."""
        return 0 if self.as_they_are else self.wrong - sum(each.vouched for each in self.found.values())

    @property
    def tagged(self) -> int:
        return sum(each.tagged for each in self.found.values())

    def looked_at(self, kind: str) -> int:
        return self.found[kind].looked_at if kind in self.found else 0

    def as_dict(self) -> dict[str, object]:
        kinds = {kind: asdict(found) for kind, found in self.found.items()}
        return {"as_they_are": self.as_they_are, "tagged": self.tagged, "wrong": self.wrong, **kinds}


def vouch(
    *,
    as_they_are: bool = False,
    entry: int | None = None,
    job: int | None = None,
    formerly: str | None = None,
    operator: str = "",
    progress: Progress | None = None,
) -> Vouched:
    """Tag anew what is tagged under an older key of the server; ``as_they_are``, also what has no right tag.

    All rows, and what other applications keep under an older key and need nobody for; or one entry, or one job with its list. With
    ``formerly``, an alias or `ALONE`, also those that carry the right tag of that database, or of when the site had one alone.

    Raises:
        ServerKeyUnknown: the database does not know the server's first key.
    """
    using, done = registry.database(), Vouched(as_they_are, formerly)
    serverkeys.require(using=using)
    for tagged in _wanted(entry, job):
        found = done.found[tagged.kind] = Found()
        for page in store.pages(tagged, using=using):
            found.add(transactions.run(partial(_tag, tagged, page, as_they_are, using, formerly), using=using))
            if progress is not None:
                progress(tagged.kind, found.looked_at)
    if entry is None and job is None:
        for kept in (kept for further in beside.further() for kept in further.renew(using=using)):
            done.found[kept.kind], done.words[kept.kind] = kept.found, kept.words
    if formerly is not None:
        done.found |= {
            "replays": transactions.run(partial(_move_replays, formerly or None, using), using=using),
            "files": transactions.run(partial(_move_files, formerly or None, using), using=using),
        }
    # Also where there was nothing: what the trail has from there counts then.
    if done.tagged or formerly is not None:
        counts: dict[str, int | str] = {kind: found.tagged for kind, found in done.found.items()}
        if formerly is not None:
            counts[store.FORMERLY] = formerly or store.ONE_ALONE
        acts.add("vouch", operator=operator, disguise="", **counts, wrong=done.wrong - done.left)
    return done


def begin(*, using: str) -> list[str]:
    """At the end of a `migrate`: tag what is in the tables to which it has just added tags. What to tell whoever runs it.

    Once, all or nothing, and noted in the audit trail. Of nothing else: whoever writes to the database can have a migration run again.
    So not in a table that had tags before, and nowhere if anything here has a right one or the trail says that edna has vouched.
    """
    new = store.take_new_columns(using=using)
    if using != registry.database():
        return []
    told = []
    if new and serverkeys.may_seal(using=using) and not beside.kept().has_vouched() and not _any_right(using=using):
        counts = transactions.run(partial(_tag_first, new, using), using=using)
        told += [f"  edna vouches for {in_words(counts)} as they are now."] if any(counts.values()) else []
    untagged = in_words({tagged.kind: store.untagged(tagged, using=using) for tagged in _wanted_at_migrate()})
    if untagged:
        told.append(
            f"  Without a tag: {untagged}. edna vouches for nothing here: what was written before there were tags gets them in the migrate "
            "that adds them, once, under a key that the database knows. Nothing is sealed to these rows, and they are not done. Somebody "
            "may have written them past edna: see manage.py edna_verify. If you know that they are right as they are, because that "
            "migrate was interrupted or ran under another key: manage.py edna_vouch --as-they-are."
        )
    return told


def _tag_first(new: Collection[str], using: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for tagged in _wanted_at_migrate():
        if tagged.model._meta.db_table in new:
            pages = store.pages(tagged, with_tag=False, using=using)
            counts[tagged.kind] = sum(store.tag(tagged, page, wrong_too=True, using=using).tagged for page in pages)
    if any(counts.values()):
        acts.add("vouch", operator="", disguise="", **counts, wrong=sum(counts.values()), by="migrate")
    return counts


def _any_right(*, using: str) -> bool:
    return any(verdict for tagged in _wanted_at_migrate() for verdict in store.verdicts(tagged, using=using))


def count(*, using: str) -> list[KeyStatistic]:
    """What needs a former key of the server (``older``), or none that is configured (``wrong``): rows that can be vouched for, file tasks,
    key slots, and what other applications keep."""
    files = Found()
    for page in inspection.pending_files(using=using):
        for task in page:
            files.looked_at += 1
            ours = file_tasks.is_ours(task, using=using)
            files.older += ours and not file_tasks.is_under_first_key(task, using=using)
            files.wrong += not ours
    return [
        *(KeyStatistic(tagged.kind, tagged.words, store.count(tagged, using=using)) for tagged in _wanted()),
        KeyStatistic("files", _FILES, files),
        KeyStatistic("slots", _SLOTS, _slots(using=using), by_owner=True),
        *(kept for further in beside.further() for kept in further.kept(using=using)),
    ]


def _slots(*, using: str) -> Found:
    """A slot's tag says under which key it was made, to who knows whose it is. One of version 1 does not say it: it may need any."""
    found, peppers = Found(), conf.mac_keys()
    for whole in inspection.slot_versions(using=using):
        found.looked_at += len(whole)
        former = sum(first != bytes([VERSION]) for _, first in whole)
        found.older += former if len(peppers) > 1 else 0
        found.wrong += len(whole) - (former if len(peppers) > 1 else 0)
    pages = [inspection.keys_of_people(using=using), *(each.slot_keys(using=using) for each in beside.further())]
    for page in (page for each in pages for page in each):
        tags = {tag: place for key in page for tag, place in _tags_of_slots(key, peppers)}
        for told in inspection.slot_versions(tags, using=using):
            for tag in (tag for tag, first in told if first == bytes([VERSION])):
                found.older += tags[tag] > 0
                found.wrong -= 1
    return found


def _tags_of_slots(key: PublicKey, peppers: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Of all slots that a key may have, each with the place of its server key in the list."""
    for place, pepper in enumerate(peppers):
        yield from ((stored_tag(key, kind=kind, pepper=pepper), place) for kind in KINDS)


def some_of_one_database(*, using: str) -> bool:
    """Whether entries that are there were tagged while the site had one database, and nobody has vouched for them since; of a few, in one
    statement or two. Never where the site has one."""
    return store.any_tagged_alone(store.entries(), using=using)


def in_words(numbers: Mapping[str, int], words: Mapping[str, tuple[str, str]] | None = None) -> str:
    """ "3 public keys and 1 job", of what there is any."""
    words = words or known_words()
    parts = [f"{number:,} {words[kind][number > 1]}" for kind, number in numbers.items() if number]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def known_words() -> dict[str, tuple[str, str]]:
    """Of each kind of thing, one and several of it."""
    return {"files": _FILES, "replays": _REPLAYS, **{tagged.kind: tagged.words for tagged in _wanted()}}


def _wanted(entry: int | None = None, job: int | None = None) -> list[Tagged]:
    """All tables whose rows have tags; or those of one entry, or of one job."""
    if entry is not None:
        return [store.entries(entry=entry)]
    if job is not None:
        return list(beside.kept().tagged(job=job))
    return [*_wanted_at_migrate(), *(each for further in beside.further() for each in further.tagged())]


def _wanted_at_migrate() -> list[Tagged]:
    """Those of them that were there before rows had tags; others may have no table yet."""
    return [store.entries(), *beside.kept().tagged()]


def _move_replays(place: str | None, using: str) -> Found:
    """What was logged in another place, as of this database."""
    found, new = Found(), []
    for pk, sealed in (each for page in inspection.replays(using=using) for each in page):
        found.looked_at += 1
        if not replay_log.verifies(sealed, using=using):
            found.wrong += 1
            if (moved := replay_log.moved(sealed, place=place, using=using)) is not None:
                new.append((pk, moved))
    return _moved(found, new, rows.replace_replays, using)


def _move_files(place: str | None, using: str) -> Found:
    """Files that wait, likewise."""
    found, new = Found(), []
    for task in (each for page in inspection.pending_files(using=using) for each in page):
        found.looked_at += 1
        if not file_tasks.is_ours(task, using=using):
            found.wrong += 1
            if (mac := file_tasks.moved(task, place=place, using=using)) is not None:
                new.append((task.id, mac))
    return _moved(found, new, rows.replace_file_macs, using)


def _moved(found: Found, new: list[tuple[int, bytes]], write: Callable[..., None], using: str) -> Found:
    found.elsewhere = found.tagged = found.vouched = len(new)
    if new:
        write(new, using=using)
    return found


def _tag(tagged: Tagged, page: list[int], as_they_are: bool, using: str, formerly: str | None) -> Found:
    return store.tag(tagged, page, wrong_too=as_they_are, using=using, formerly=formerly)
