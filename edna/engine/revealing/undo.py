"""Puts old values back, where the disguised ones still stand.

Invariant (nothing overwritten): what changed since stays, no constraint is broken, no reference dangles. What is in the way of one row
holds back that row only. Knows records and tables; knows no keys or bags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from edna import json_keys
from edna.db import rows as raw
from edna.db.rows import Row, Table
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.outcome import Reason
from edna.engine.layers.terms_of_return import Overrides
from edna.engine.revealing.constraints import (
    overridden,
    refusal,
    refuses_at_once,
    taken,
    with_references,
    write_back,
)
from edna.engine.revealing.progress import Progress, hold
from edna.engine.surroundings.current_rows import changed_rows, left_standing, same_values
from edna.records.diff import Changed, Modified


def undo(batch: Changed, progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Put the old values of a modification or decorrelation back, where the new ones still stand.

    What a later disguise of the same principal lies on is folded into its record instead.
    """
    batch = _not_under_others(batch, progress, overrides=overrides)
    for part in progress.fold(batch):
        if progress.folding:
            part = progress.folding.moves.located(part)
        for own in _of_those_there(part, progress):
            put_back(own, progress, overrides=overrides, using=using)


def _not_under_others(batch: Changed, progress: Progress, *, overrides: Overrides) -> Changed:
    """Without what another owner's disguise lies over, or what was changed for others as well who are away: not even into a later disguise
    of the same person, which may lie over that, or knows nothing of them."""
    others = progress.others
    if not others or not isinstance(batch, Modified):
        return batch
    keys = others.under_others(batch)
    if others.changed_for_others:
        changed = replace(batch, rows=changed_rows(batch))
        removed = progress.folding.removed_rows(changed) if progress.folding else set()
        keys |= others.left_together(changed, removed=removed)
    if not keys:
        return batch
    common = [name for name in batch.columns if name in others.common_columns(batch)]
    rows = changed_rows(batch.only(keys))
    hold(progress, _with(batch, common), _with(replace(batch, rows=rows), common).rows, others.why_away, common[0])
    rest = [name for name in batch.columns if name not in common]
    if rest:
        undo(_with(batch.only(keys), rest), progress, overrides=overrides, using=others.using)
    return batch.without(keys)


def _of_those_there(batch: Changed, progress: Progress) -> Iterator[Changed]:
    """The batch without what other owners have under disguise: what is common to them, and what is the person's own."""
    others = progress.others
    common = others.common_columns(batch) if others and isinstance(batch, Modified) else set()
    if not others or not common or not isinstance(batch, Modified):
        yield batch
        return
    if common != {*batch.columns}:
        yield _with(batch, [name for name in batch.columns if name not in common])
        batch = _with(batch, [name for name in batch.columns if name in common])
    away = others.away(replace(batch, rows=changed_rows(batch)))
    hold(progress, batch, away, others.why_away, batch.columns[0])
    yield batch.without({tuple(row[: len(batch.key)]) for row in away}) if away else batch


def _with(batch: Modified, columns: Sequence[str]) -> Modified:
    """The batch with some of its columns."""
    places = [batch.columns.index(name) for name in columns]
    rows = [
        [
            *row[: len(batch.key)],
            *(batch.old(row)[place] for place in places),
            *(batch.new(row)[place] for place in places),
        ]
        for row in batch.rows
    ]
    return replace(batch, columns=tuple(columns), rows=rows)


def put_back(batch: Changed, progress: Progress, *, overrides: Overrides, using: str) -> None:
    table = table_by_label(batch.model)
    if table is None or table.unknown(batch.columns):
        hold(progress, batch, batch.rows, Reason.SCHEMA_CHANGED, None)
        return
    width = len(batch.key)
    # What a disguise left as it was has nothing to bring back, whatever somebody else has made of it since: row by row here, and
    # column by column below.
    rows = changed_rows(batch)
    current = progress.current_rows.read(batch, table, [tuple(row[:width]) for row in rows], using=using)
    if len(current) < len(rows) and batch.key_columns():
        rows = _followed(batch, table, rows, current, progress, using=using)
    free = _standing(batch, rows, current, progress, overrides=overrides, using=using)
    back = _written(batch, table, free, progress, overrides=overrides, using=using)
    end = width + len(batch.columns)
    progress.current_rows.wrote(batch, [row[:end] for row in back])
    progress.news.note_undone(batch, table, [row[:end] for row in back])
    if progress.folding:
        progress.folding.moves.put_back(batch, back)


def _standing(
    batch: Changed,
    rows: Sequence[Sequence[Any]],
    current: Mapping[Row, Row],
    progress: Progress,
    *,
    overrides: Overrides,
    using: str,
) -> list[Row]:
    """The rows in which the disguised values still stand. The others go into records that turn out to lie on top, or are held."""
    width, end = len(batch.key), len(batch.key) + len(batch.columns)
    overlaid = progress.folding.overlaid(batch) if progress.folding else progress.covered.get(batch.model, {})
    documents = json_keys.any_of(batch.columns)
    free: list[Row] = []
    for row in rows:
        key = tuple(row[:width])
        found = current.get(key)
        if found == tuple(row[end:]) and key not in overlaid:  # as nearly all of them are
            free.append(tuple(row))
            continue
        if found is None and progress.is_mentioned(batch, new=batch.new(row)):
            # Whoever brings the row back finds there who it was.
            progress.outcome.waiting.add(batch.model, progress.former(batch.model, [key]))
            continue
        if found is None:
            for part in progress.fold(replace(batch, rows=[row]), at_any_time=True):
                hold(progress, part, part.rows, Reason.ROW_MISSING, None)
            continue
        old, new = batch.old(row), batch.new(row)
        # Both sides as the driver reads them: the record was made from what the database answered.
        places = [place for place, (now, disguised) in enumerate(zip(found, new, strict=True)) if now != disguised]
        if documents:
            places = [
                place for place in places if not json_keys.same_value(batch.columns[place], found[place], new[place])
            ]
        left = {place for place in places if same_values([old[place]], [new[place]])}
        differing = [batch.columns[place] for place in places if place not in left]
        if differing:
            now_there = dict(zip(batch.columns, found, strict=True))
            _look_for_layer(
                replace(batch, rows=[row]), differing, now_there, progress, overrides=overrides, using=using
            )
        elif key in overlaid:
            hold(progress, batch, [row], Reason.CHANGED, overlaid[key])
        else:
            free.append(left_standing(row, found, left, width=width, count=len(batch.columns)))
    return free


def _look_for_layer(
    batch: Changed,
    differing: Sequence[str],
    found: Mapping[str, Any],
    progress: Progress,
    *,
    overrides: Overrides,
    using: str,
) -> None:
    """What differs may be another disguise of the same principal, whatever the clocks say; then the rest stands as it was left."""
    for part in progress.fold(batch, at_any_time=True, found=found):
        still = next((name for name in differing if name in part.columns), None)
        if still is None:
            put_back(part, progress, overrides=overrides, using=using)
        else:
            [key], [row] = part.primary_keys(), part.rows
            others, left = progress.others, part.new(row)[part.columns.index(still)]
            waits = others and others.waits_on_top(part.model, key, still, left=left, found=found[still])
            hold(progress, part, part.rows, Reason.OWNER_AWAY if waits else Reason.CHANGED, still)


def _written(
    batch: Changed, table: Table, free: list[Row], progress: Progress, *, overrides: Overrides, using: str
) -> list[Row]:
    """Write the old values of these rows, or the caller's instead, and hold what the database refuses; return the records of the others."""
    width = len(batch.key)
    end = width + len(batch.columns)
    names = (*batch.key, *batch.columns)
    # The row is there, and so is what its key refers to.
    there = [name for name in batch.key if name not in batch.columns]
    rehearsed = progress.rehearsed
    free = with_references(batch, table, free, names, progress, later=there, unread=not rehearsed, using=using)
    # By the key alone: values may be lists.
    back = {row[:width]: row for row in free}
    write = taken if rehearsed else write_back
    refused = write(table, batch.columns, [row[:end] for row in back.values()], using=using)
    if refused and not rehearsed and refuses_at_once(table, using=using):
        unclear = [back.pop(row[:width]) for row in refused]
        unclear = with_references(batch, table, unclear, names, progress, later=there, using=using)
        refused = [row[:end] for row in unclear]
        back |= {row[:width]: row for row in unclear}
    for row in refused:
        changed = overridden(table, names, row, overrides, using=using, row_exists=True)
        if changed and not write_back(table, batch.columns, [changed], using=using):
            progress.current_rows.forget(batch.model)
            continue
        reason, name = refusal(table, names, row, using=using, row_exists=True)
        hold(progress, batch, [back.pop(row[:width])], reason, name)
    return list(back.values())


def _followed(
    batch: Changed,
    table: Table,
    rows: list[Sequence[Any]],
    current: dict[Row, Row],
    progress: Progress,
    *,
    using: str,
) -> list[Sequence[Any]]:
    """The rows of a change of keys, with the keys under which they are now if another owner's disguise has changed those, too.

    Such a row is known by the pseudoprincipal, if that has no other one. ``current`` gets what was found.
    """
    width, count = len(batch.key), len(batch.columns)
    place, position = next(iter(batch.key_columns().items()))
    name = batch.columns[position]
    lost = Counter(row[width + count + position] for row in rows if tuple(row[:width]) not in current)
    names = (*batch.key, *batch.columns)
    unique = [value for value, n in lost.items() if n == 1]
    there = raw.read_where(table, names, name, unique, lock=progress.current_rows.lock, using=using)
    several = Counter(row[place] for row in there)
    now = {row[place]: row for row in there if several[row[place]] == 1 and row[:width] not in current}
    followed: list[Sequence[Any]] = []
    for row in rows:
        found = now.get(row[width + count + position]) if tuple(row[:width]) not in current else None
        if found is not None:
            current[found[:width]] = found[width:]
            if progress.folding:
                progress.folding.moves.found(batch.model, tuple(row[:width]), now=found[:width])
            row = (*found[:width], *row[width:])
        followed.append(row)
    return followed
