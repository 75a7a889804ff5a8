"""What edna keeps of people beside their bags and entries, and forgets when their account goes: sessions, and what others keep (`beside`).

One statement finds out whether there is anything; as a rule there is not. Inside the transaction in which the accounts go.
"""

from __future__ import annotations

from collections.abc import Sequence

from edna.db.rows import any_rows
from edna.engine.books import beside, sessions
from edna.engine.books.beside import Trace
from edna.store import LINKED, Entry

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
    ours = Trace(*LINKED, tags, lambda: sessions.end(people, using=using))
    traces = [ours, *beside.kept().traces(gone, people, using=using)]
    kept = [True] * len(traces)
    if len(gone) <= _MOST_ASKED:
        kept = any_rows([(trace.table, trace.column, trace.values) for trace in traces], using=using)
    for trace, is_kept in zip(traces, kept, strict=True):
        if is_kept:
            trace.forget()
