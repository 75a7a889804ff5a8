"""What a reveal does with mentions: sealed notes of who a pseudoprincipal of somebody else is now, or what stands beside them
(`engine.planning.mentions`).

Invariant: as long as a sealed record names somebody by a mention, its bag points at it, whichever bag it has moved to.
Knows opened records; reads and writes no tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.reader import Journal
from edna.engine.planning.mentions import Name, Places, named_columns, pointer, principal_columns
from edna.records.diff import Mentions, Modified, Removed, RowBatch, Shares
from edna.records.locator import Locator


def _places(batch: RowBatch) -> Places:
    """Where old values of a record name principals, or what stands beside them."""
    if not isinstance(batch, Removed | Modified):
        return []
    known = named_columns().get(batch.model, {})
    return [(batch.old_from + position, known[name]) for position, name in enumerate(batch.columns) if name in known]


def named(batches: Iterable[RowBatch]) -> set[Name]:
    return {(label, row[position]) for batch in batches for position, label in _places(batch) for row in batch.rows}


def resolve(journal: Journal, coming: Sequence[Opened]) -> list[Opened]:
    """Let the records that are revealed name what became of those they mention; return the mentions that this used."""
    wanted = {locator for opened in (journal.current, *coming) for locator in opened.pointers}
    used = [opened for opened in journal.others if opened.is_mention and opened.locator in wanted]
    now: dict[str, dict[Any, Any]] = {}
    for mention in (mention for opened in used for mention in opened.mentions):
        now.setdefault(mention.model, {}).update(mention.names())
    for opened in (journal.current, *coming) if now else ():
        for batch in opened.diffs:
            for position, label in _places(batch):
                opened.substitute(batch, position, now.get(label, {}))
    return used


def followed(journal: Journal, policies: Mapping[str, str]) -> set[tuple[str, str, Any]]:
    """The principals' own pseudoprincipals whom other people's records name, by model and column of whatever may name them; but for
    relations that the reference ``policies`` do not restore."""
    known_names = {name for opened in journal.others if opened.is_mention for name in names(opened)}
    if not known_names:
        return set()
    return {
        (table, column, key)
        for table, columns in principal_columns().items()
        for column, label in columns.items()
        for known, key in known_names
        if known == label and policies.get(f"{table}.{column}", "restore") == "restore"
    }


def names(opened: Opened) -> set[Name]:
    """Whom a mention names now."""
    return {(batch.model, now) for batch in opened.mentions for now in batch.names().values()}


def follow(opened: Opened, owners: Mapping[Any, Any], *, label: str) -> None:
    """A mention of a pseudoprincipal of this model that goes, or of what stands beside one, names what takes its place from now on."""
    for batch in opened.mentions:
        if batch.model == label:
            opened.substitute(batch, Mentions.NOW, owners)


def finish(journal: Journal, used: Sequence[Opened], coming: Sequence[Opened], kept: Sequence[RowBatch]) -> None:
    """Forget the mentions whose records are revealed. Those that a held record needs stay, under the name that it has by now; what
    has moved into another bag takes the way to them along, and the revealed bag forgets it."""
    if not used:
        return
    own = named(kept)
    pointing = [(named(opened.diffs), set(opened.pointers)) for opened in coming]
    # What is stuck was not brought up to date, and its columns cannot be told.
    stuck = {
        value
        for opened in (journal.current, *coming)
        for each in opened.stuck
        for row in each.batch.rows
        for value in row
        if not isinstance(value, list | dict)
    }
    elsewhere = [
        (opened, named(opened.diffs), set(opened.pointers))
        for opened in journal.others
        if opened.changed and not opened.shared
    ]
    for mention in used:
        rows = []
        label = mention.diffs[0].model
        # Others may name the same person by their own name, and need no mention for that.
        needed = own.union(*(names for names, known in pointing if mention.locator in known))
        for key, now in (row for batch in mention.diffs for row in batch.rows):
            waiting = [(opened, known) for opened, names, known in elsewhere if (label, now) in names]
            for opened, known in waiting:
                if mention.locator not in known:
                    known.add(mention.locator)
                    naming = next(batch.model for batch in opened.diffs if (label, now) in named([batch]))
                    opened.add(pointer([mention.locator], label=naming))
            rows += [(key, now)] if key in stuck else []
            rows += [(now, now)] if waiting or (label, now) in needed else []
        if not any((label, now) in own or key in stuck for key, now in rows):
            _forget_pointer(journal.current, mention.locator)
        mention.keep([replace(mention.diffs[0], rows=list(dict.fromkeys(rows)))])


def _forget_pointer(opened: Opened, locator: Locator) -> None:
    for batch in opened.diffs:
        if isinstance(batch, Shares):
            opened.exchange(batch, batch.without({(locator.expose(),)}))
