"""What waits for other owners is handed to them: it moves into a shared bag that is listed for each of them.

What is held because another owner is away, or because the row or what it refers to went with somebody else, comes back with whoever comes
back last: they find the bag by their own key. Invariant (nothing lost): what nobody can be handed stays where it is. Knows who owns the
rows and who of them is there (`owners`); reads entries, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.db.models import FileField

from edna import store
from edna.db.rows import Row
from edna.engine.bags.opened_bag import Opened
from edna.engine.bags.openers import recipient_of
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.outcome import Reason
from edna.engine.surroundings.owners import Others
from edna.records.diff import Listed, Modified, Removed, RowBatch, Shares
from edna.records.locator import Locator, seal_locator
from edna.store import Entry

#: What keeps back a row that comes back by itself when somebody else does.
WAITS: frozenset[Reason] = frozenset({Reason.OWNER_AWAY, Reason.ROW_MISSING, Reason.REFERENCE_MISSING})


def can_wait(others: Others, batch: RowBatch, key: Row, reason: Reason, name: str | None) -> bool:
    """Whether a row that is held for this comes back with somebody else, who then has to have the record."""
    if reason not in WAITS or not isinstance(batch, Removed | Modified):
        return False
    needs = [need for need in others.needs.get((batch.model, key), ()) if need.public_key not in others.mine]
    if reason is Reason.REFERENCE_MISSING:
        # What the row refers to went with somebody to whom it leads.
        needs = [need for need in needs if need.path.partition("__")[0] == name]
    if not any(isinstance(batch, Removed) or not need.columns or need.columns & {*batch.columns} for need in needs):
        return False
    table = table_by_label(batch.model)
    return table is not None and not any(isinstance(table.field(name), FileField) for name in batch.columns)


def hand_over(
    others: Others, waiting: Sequence[RowBatch], entries: dict[bytes, Entry]
) -> tuple[list[Opened], list[RowBatch]]:
    """Shared bags with what is ``waiting``, listed for the other owners of the rows, and what nobody can be handed. The entries
    whose lists have grown are among ``entries`` then."""
    together: dict[tuple[bytes, ...], list[RowBatch]] = {}
    kept: list[RowBatch] = []
    found = _found(others, waiting)
    for batch in waiting:
        by_whom: dict[tuple[bytes, ...], list[Sequence[Any]]] = {}
        for key, row in zip(batch.primary_keys(), batch.rows, strict=True):
            whom = {entry.public_key for entry in _recipients(others, (batch.model, key), found)}
            by_whom.setdefault(tuple(sorted(whom)), []).append(row)
        for whose, rows in by_whom.items():
            (together.setdefault(whose, []) if whose else kept).append(replace(batch, rows=rows))
    bags = []
    known = {entry.public_key: entry for entry in found.values()}
    for whose, batches in together.items():
        opened = _bag(others, batches)
        bags.append(opened)
        items: list[tuple[bytes, bytes]] = []
        for public_key in whose:
            entry = entries.get(public_key, known[public_key])
            item = seal_locator(opened.locator, recipient=recipient_of(entry))
            items.append((public_key, item))
            longer = entry._replace(locators=entry.locators + item)
            entries[public_key] = longer if entry.attached else longer.kept_until(opened.expires_on)
        opened.add(Listed.of(items))
    return bags, kept


def _bag(others: Others, batches: Sequence[RowBatch]) -> Opened:
    current = others.journal.current
    opened = Opened(Locator.new(), [replace(current.head, batches=())], holder=None, expires_on=current.expires_on)
    opened.add(*batches)
    keys = {(batch.model, key) for batch in batches for key in batch.primary_keys()}
    for owners in current.owners:
        mine = {key for model, key in keys if model == owners.model}
        opened.add(owners.only(mine))
    # A row that several records are about is one row.
    rows: dict[str, set[Row]] = {}
    for model, key in keys:
        rows.setdefault(model, set()).add(key)
    current.add(*(Shares.of(model, [(opened.locator.expose(), len(rows[model]))]) for model in sorted(rows)))
    others.journal.others.append(opened)
    return opened


def _found(others: Others, waiting: Sequence[RowBatch]) -> dict[str | bytes, Entry]:
    """The entries of all whom the rows need: by public key; by reference those whom a row names now, or who have a new key."""
    needed = [
        need for batch in waiting for key in batch.primary_keys() for need in others.needs.get((batch.model, key), ())
    ]
    strangers = {need.public_key: need for need in needed if need.public_key not in others.mine}
    if not strangers:
        return {}
    found: dict[str | bytes, Entry] = {
        entry.public_key: entry for entry in store.entries_by_public_key(strangers, using=others.using, lock=True)
    }
    missing = {need.reference for need in needed if need.public_key in strangers and need.public_key not in found}
    named = {
        reference for named in others.standing.named.values() for reference in named.values() if reference
    } & others.standing.entries.keys()
    if missing or named:
        label = others.model._meta.label_lower
        for entry in store.entries_by_reference(label, missing | named, using=others.using, lock=True):
            found[str(entry.reference)] = entry
    return found


def _recipients(others: Others, row: tuple[str, Row], found: Mapping[str | bytes, Entry]) -> Iterator[Entry]:
    for need in others.needs.get(row, ()):
        if need.public_key in others.mine:
            continue
        now = others.standing.named.get(row, {}).get(need.at)
        stands_for = found.get(now) if now else None
        if stands_for is not None and not stands_for.natural and stands_for.public_key not in others.mine:
            yield stands_for
        entry = found.get(need.public_key) or found.get(need.reference)
        if entry is not None and (stands_for is None or entry.attached):
            yield entry
