"""Vouches for entries, jobs and items that are there: gives them a tag under the server's first key.

Guarantees: a row whose tag is wrong gets a right one only where that was asked for; nobody else's tag changes; what was vouched for is
noted in the audit trail. In pages, while the site goes on. Does not know whether a row is right: whoever asks says so.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final

from edna import registry
from edna.db import transactions
from edna.engine.files import file_tasks
from edna.operations import audit
from edna.store import inspection, serverkeys
from edna.store import vouching as store
from edna.store.vouching import Found, Tagged

#: What was looked at, one and several of it.
_WORDS: Final = {
    "entries": ("public key", "public keys"),
    "jobs": ("job", "jobs"),
    "items": ("person on lists of jobs", "people on lists of jobs"),
    "files": ("waiting file", "waiting files"),
}
#: What was looked at, and how many so far.
Progress = Callable[[str, int], None]


@dataclass
class Vouched:
    """By kind of row. What is ``wrong`` was vouched for if that was asked for, and is else as it was."""

    as_they_are: bool
    found: dict[str, Found] = field(default_factory=dict)

    @property
    def wrong(self) -> int:
        return sum(each.wrong for each in self.found.values())

    @property
    def tagged(self) -> int:
        return sum(each.tagged for each in self.found.values())

    def as_dict(self) -> dict[str, object]:
        kinds = {kind: asdict(found) for kind, found in self.found.items()}
        return {"as_they_are": self.as_they_are, "tagged": self.tagged, "wrong": self.wrong, **kinds}


def vouch(
    *,
    as_they_are: bool = False,
    entry: int | None = None,
    job: int | None = None,
    operator: str = "",
    progress: Progress | None = None,
) -> Vouched:
    """Tag anew what is tagged under an older key of the server; ``as_they_are``, also what has no right tag.

    All rows, or one entry, or one job with its list.

    Raises:
        ServerKeyUnknown: the database does not know the server's first key.
    """
    using, done = registry.database(), Vouched(as_they_are)
    serverkeys.require(using=using)
    for kind, tagged, ids in _wanted(entry, job):
        found = done.found[kind] = Found()
        for page in store.pages(tagged, ids=ids, using=using):
            found.add(transactions.run(partial(_tag, tagged, page, as_they_are, using), using=using))
            if progress is not None:
                progress(kind, found.looked_at)
    if done.tagged:
        counts: dict[str, int] = {kind: found.tagged for kind, found in done.found.items()}
        wrong = done.wrong if as_they_are else 0
        audit.note("vouch", operator=operator, disguise="", **counts, wrong=wrong)
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
    if new and serverkeys.may_seal(using=using) and not audit.is_noted("vouch") and not _any_right(using=using):
        counts = transactions.run(partial(_tag_first, new, using), using=using)
        told += [f"  edna vouches for {in_words(counts)} as they are now."] if any(counts.values()) else []
    untagged = in_words({kind: store.untagged(tagged, using=using) for kind, tagged, _ in _wanted(None, None)})
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
    for kind, tagged, _ in _wanted(None, None):
        if tagged.model._meta.label_lower in new:
            pages = store.pages(tagged, with_tag=False, using=using)
            counts[kind] = sum(store.tag(tagged, page, wrong_too=True, using=using).tagged for page in pages)
    if any(counts.values()):
        audit.note("vouch", operator="", disguise="", **counts, wrong=sum(counts.values()), by="migrate")
    return counts


def _any_right(*, using: str) -> bool:
    return any(verdict for _, tagged, _ in _wanted(None, None) for verdict in store.verdicts(tagged, using=using))


def count(*, using: str) -> dict[str, Found]:
    """What needs a former key of the server (``older``), or has no right tag (``wrong``): rows that can be vouched for, and file tasks."""
    found = {kind: store.count(tagged, using=using) for kind, tagged, _ in _wanted(None, None)}
    files = found["files"] = Found()
    for page in inspection.pending_files(using=using):
        for task in page:
            files.looked_at += 1
            files.older += file_tasks.is_ours(task) and not file_tasks.is_under_first_key(task)
            files.wrong += not file_tasks.is_ours(task)
    return found


def in_words(numbers: Mapping[str, int]) -> str:
    """ "3 public keys and 1 job", of what there is any."""
    parts = [f"{number:,} {_WORDS[kind][number > 1]}" for kind, number in numbers.items() if number]
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _wanted(entry: int | None, job: int | None) -> Iterator[tuple[str, Tagged, Collection[int] | None]]:
    if job is None:
        yield "entries", store.entries(), None if entry is None else [entry]
    if entry is None:
        yield "jobs", store.jobs(), None if job is None else [job]
        yield "items", store.items(job=job), None


def _tag(tagged: Tagged, page: list[int], as_they_are: bool, using: str) -> Found:
    return store.tag(tagged, page, wrong_too=as_they_are, using=using)
