"""What a disguise puts on record: each target's own records, and rows and mentions that it shares with others.

Invariant: every row that a step changed or removed is in the records of its target, or in a shared bag at which they point. Knows
steps and records; reads and writes no tables.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edna.db.rows import Row
from edna.engine.forwarding import table_history
from edna.engine.planning import mentions
from edna.engine.planning.shares import Share
from edna.engine.planning.steps import Owner, Plan, PlannedStep
from edna.names_left import takes_out
from edna.records.diff import Modified, Owners, Removed, RowBatch, Shares
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor
from edna.store import Entry


@dataclass
class Records:
    """What one target's bags will hold."""

    diffs: list[RowBatch] = field(default_factory=list)
    speaks_for: list[SpeaksFor] = field(default_factory=list)


@dataclass(frozen=True)
class SharedRows:
    """What goes into one shared bag, listed for each of the ``others``: removed rows that the same people own, or a mention."""

    locator: Locator
    batches: tuple[RowBatch, ...]
    others: tuple[Entry, ...]
    #: Whether it says in whose lists it is: those of people, which must not grow for ever.
    says_where: bool = False
    #: Whether a change that the others made in the same moment lies over it.
    beneath: bool = False


def record_removed(
    plan: Plan, step: PlannedStep, records: list[Records], *, for_good: bool = False
) -> list[SharedRows]:
    """What a removal puts on record; ``for_good``, for the other owners of its rows alone."""
    shared: list[SharedRows] = []
    if step.shares:
        shared += share(plan, step, records)
        step = step.only(lambda key: key not in step.shares)
    # A mention is followed by whom it is for, when the row comes back.
    shared += [] if for_good else mention(plan, step, records)
    shared += tell_owners(plan, step, records)
    record(step, step.columns, step.rows, records)
    return shared


def mention(plan: Plan, step: PlannedStep, records: list[Records]) -> list[SharedRows]:
    """Mentions of pseudoprincipals of others in rows that one target owns alone; the target's records point at them."""
    places = mentions.places_in(step) if plan.mentioned else []
    by_target: dict[int, list[Row]] = {}
    for row, target in zip(step.rows, step.targets, strict=True) if places else ():
        by_target.setdefault(target, []).append(row)
    shared = []
    for target, rows in by_target.items():
        own = {entry.id for entry in plan.targets[target].owners}
        pointer, notes = _notes(rows, places, plan.mentioned, own=own, label=step.table.label)
        shared += notes
        records[target].diffs += pointer
    return shared


def _notes(
    rows: Sequence[Row],
    places: mentions.Places,
    mentioned: Mapping[mentions.Name, Entry],
    *,
    own: Collection[int],
    label: str,
) -> tuple[list[RowBatch], list[SharedRows]]:
    notes = [
        SharedRows(locator, (batch,), (entry,))
        for locator, batch, entry in mentions.note(rows, places, mentioned, own=own)
    ]
    return [mentions.pointer([each.locator for each in notes], label=label)] if notes else [], notes


def share(plan: Plan, step: PlannedStep, records: list[Records]) -> list[SharedRows]:
    """Rows of ``step`` that others own too, as they are recorded, by who they are; each target's records point at them."""
    together: dict[tuple[Any, ...], list[Row]] = {}
    owners: dict[tuple[Any, ...], Share] = {}
    voices: dict[tuple[Any, ...], list[Entry]] = {}
    for key, row in zip(step.primary_keys(), step.rows, strict=True):
        if key in step.shares:
            share = step.shares[key]
            who = (share.targets, tuple(sorted(entry.id for entry in share.others)))
            owners.setdefault(who, share)
            together.setdefault(who, []).append(row)
            voices.setdefault(who, []).extend(share.voices)
    shared = []
    pointers: dict[int, list[tuple[bytes, int]]] = {}
    for who, rows in together.items():
        locator = Locator.new()
        own = {entry.id for entry in owners[who].others}
        own |= {entry.id for target in owners[who].targets for entry in plan.targets[target].owners}
        pointer, notes = _notes(rows, mentions.places_in(step), plan.mentioned, own=own, label=step.table.label)
        columns = step.columns if step.operation is Removed else step.columns[len(step.table.key) :]
        batches = (batch_of(step, columns, rows), *pointer)
        shared += [SharedRows(locator, batches, (*owners[who].others, *voices[who])), *notes]
        for target in owners[who].targets:
            pointers.setdefault(target, []).append((locator.expose(), len(rows)))
    for target, leading in pointers.items():
        label = step.table.label
        records[target].diffs.append(Shares.of(label, leading))
    return shared


def tell_owners(plan: Plan, step: PlannedStep, records: list[Records]) -> list[SharedRows]:
    """Who owns rows of ``step`` beside their targets, in the records of these; and for those who are to be told of it, that a disguise lies
    over the rows: without a value, so that nobody learns any."""
    if not step.owned:
        return []
    table, stamp = step.table, table_history.newest(step.table.model._meta.app_label)
    owners: dict[int, list[Row]] = {}
    told: dict[tuple[int, bool, tuple[int, ...]], tuple[list[Row], tuple[Entry, ...]]] = {}
    telling = [owner for owned in step.owned.values() for owner in owned if owner.told or owner.shares_change]
    names = sorted({name for owner in telling for name in owner.columns})
    nothing = (None,) * 2 * len(names)
    for key, target in zip(step.primary_keys(), step.targets, strict=True):
        owned = step.owned.get(key, ())
        removing = {each.target: each.entry for each in owned if each.removes_too and each.target is not None}
        if any(owner.entry.natural and not owner.mine for owner in owned):
            rows = [
                (*key, owner.path, str(owner.entry.reference), owner.entry.public_key, _columns_of(owner))
                for owner in owned
                if owner.entry.natural
            ]
            # Whose bag says so is asked by their browser for what others have handed to them.
            for each in (target, *sorted(removing)):
                owners.setdefault(each, []).extend(rows)
        telling_of_removal = _removing(removing, plan.targets[target].entry)
        for maker, beneath, whom in (*_telling(owned, target, plan.disguise, table.model), *telling_of_removal):
            group = maker, beneath, tuple(sorted(whom))
            told.setdefault(group, ([], tuple(whom.values())))[0].append((*key, *nothing))
    for target, rows in owners.items():
        records[target].diffs.append(Owners.of(table.label, stamp, table.key_names, rows))
    shared = []
    for (target, beneath, _), (rows, entries) in told.items():
        over = Modified(table.label, stamp, table.key_names, tuple(names), rows)
        shared.append(SharedRows(Locator.new(), (over,), entries, says_where=True, beneath=beneath))
        records[target].diffs.append(Shares.of(table.label, [(shared[-1].locator.expose(), 0)]))
    return shared


def _telling(
    owned: Sequence[Owner], target: int, disguise: Any, model: Any
) -> Iterator[tuple[int, bool, dict[int, Entry]]]:
    """Which targets tell of the change of one row, whether it lies beneath one of their own, and whom they tell."""
    # Each for whom the change is made tells of it: it lies over the row until the last of them is back.
    makers = {target, *(each.target for each in owned if each.shares_change and each.target is not None)}
    # Whoever stands there for somebody may have it under an earlier disguise of theirs, whoever the change is made for.
    standing_in = {each.entry.id: each.entry for each in owned if each.mine and not each.entry.natural}
    taken_out = {each.target for each in owned if each.shares_change and takes_out(disguise, model, each.path)}
    for beneath in (False, True):
        others = {each.entry.id: each.entry for each in owned if each.told and each.on_top is beneath}
        for maker in sorted(makers):
            whom = others | standing_in if beneath and maker in taken_out else others
            if whom:
                yield maker, beneath, whom


def _removing(removing: Mapping[int, Entry], mine: Entry) -> Iterator[tuple[int, bool, dict[int, Entry]]]:
    """The same of a row that goes for one target: each for whom it would have gone as well tells all the others."""
    for maker in sorted(removing):
        yield maker, False, {mine.id: mine} | {e.id: e for target, e in removing.items() if target != maker}


def _columns_of(owner: Owner) -> str:
    """With an empty name before those of a change that was made for them as well."""
    return ",".join(("", *owner.columns) if owner.shares_change else owner.columns)


def record(step: PlannedStep, columns: Sequence[str], rows: Sequence[Row], records: list[Records]) -> None:
    by_target: dict[int, list[Row]] = {0: list(rows)} if len(records) == 1 and rows else {}
    for row, target in zip(rows, step.targets, strict=True) if len(records) > 1 else ():
        by_target.setdefault(target, []).append(row)
    for target, own in by_target.items():
        records[target].diffs.append(batch_of(step, columns, own))


def batch_of(step: PlannedStep, columns: Sequence[str], rows: Sequence[Row]) -> RowBatch:
    table = step.table
    stamp = table_history.newest(table.model._meta.app_label)
    return step.operation(table.label, stamp, table.key_names, tuple(columns), rows)
