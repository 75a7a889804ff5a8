"""What edna keeps of people beside their bags and entries, and forgets when their account goes: sessions, places on the lists of jobs,
and what schedules have told them.

One statement finds out whether there is anything; as a rule there is not. Inside the transaction in which the accounts go.
"""

from __future__ import annotations

from collections.abc import Sequence

from edna.db.rows import any_rows
from edna.engine.books import job_lists, notices, sessions
from edna.store import LINKED, Entry, dormancy, jobs

#: Of more people than that it is not asked first.
_MOST_ASKED = 1_000


def forget(entries: Sequence[Entry], *, using: str) -> None:
    """``entries`` are of one model, as they were before they were detached."""
    gone = [entry for entry in entries if entry.attached]
    # Of one that this site did not write, that it is a person's may have been changed.
    people = [entry for entry in gone if entry.natural or not entry.sound]
    if not gone:
        return
    tags = [tag for entry in people for tag in sessions.owner_tags(entry.model, str(entry.reference))]
    references = [str(entry.reference) for entry in gone]
    kept = [True, True, True]
    if len(gone) <= _MOST_ASKED:
        places = ((*LINKED, tags), (*jobs.LISTED, references), (*dormancy.TOLD, references if people else []))
        kept = any_rows(places, using=using)
    for forget_them, who, is_kept in zip(
        (sessions.end, job_lists.forget, notices.forget), (people, gone, people), kept, strict=True
    ):
        if is_kept:
            forget_them(who, using=using)
