"""Brings rows back: inserts what was removed, and puts old values where the disguised ones still stand.

Invariant (nothing overwritten): what changed since stays, no constraint is broken, no reference dangles. What is in the way of one row
holds back that row, and those below it, only. Knows records and tables; knows no keys or bags.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import connections
from django.db.models import Model

from edna import signals
from edna.db import rows as raw
from edna.db.rows import Row, Table
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.ordering import against_order, deletion_order, relations_to
from edna.engine.graph.outcome import Reason, fits, write_what_fits
from edna.engine.graph.uniqueness import (
    deferrable_constraints,
    require_unique_now,
)
from edna.engine.layers.returning import Overrides
from edna.engine.revealing.constraints import (
    overridden,
    plain_refusals,
    refusal,
    refuses_at_once,
    with_references,
    write_back,
)
from edna.engine.revealing.current_rows import changes, left_standing, same_values
from edna.engine.revealing.progress import Progress, hold, note_absent
from edna.records.diff import Changed, Modified, Removed, RowBatch


def insert_removed(diffs: Sequence[RowBatch], progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Insert the removed rows, referred tables before the tables that refer to them."""
    removed: dict[type[Model], tuple[Table, list[RowBatch]]] = {}
    for batch in diffs:
        if isinstance(batch, Removed):
            table = table_by_label(batch.model)
            if table is None or set(batch.columns) != set(table.names):
                hold(progress, batch, batch.rows, Reason.SCHEMA_CHANGED, None)
            else:
                removed.setdefault(table.model, (table, []))[1].append(batch)
    order = deletion_order(list(removed))
    circular = against_order(order)
    inserted: list[_Inserted] = []
    for model in reversed(order):
        table, batches = removed[model]
        rows = [tuple(row) for batch in batches for row in batch.rows]
        merged = replace(batches[0], rows=rows)
        later = tuple(relation.field.name for relation in circular.get(model, ()))
        done = _insert(merged, table, progress, later=later, overrides=overrides, using=using)
        inserted.append(_Inserted(merged, table, later, done))
    if circular:
        _close_circles(inserted, progress, using=using)


def _insert(
    batch: RowBatch, table: Table, progress: Progress, *, later: Sequence[str], overrides: Overrides, using: str
) -> list[Row]:
    """Insert the rows that can be and return them; ``later`` are references to tables whose rows follow, in a circle of tables."""
    rows: list[Row] = list(batch.rows)  # type: ignore[arg-type]
    rows = with_references(batch, table, rows, batch.columns, progress, later=later, unread=True, using=using)
    links = () if connections[using].features.can_defer_constraint_checks else table.links_within
    empty = {batch.columns.index(name) for name in (*links, *(name for name in later if table.field(name).null))}
    linking = [batch.columns.index(name) for name in links]

    def key_of(row: Row) -> Row:
        return tuple(row[position] for position in keys)

    def write(part: Sequence[Row]) -> None:
        if empty:
            # Each row is checked at once, and what it refers to may come after it: such references follow below.
            part = [tuple(None if i in empty else value for i, value in enumerate(row)) for row in part]
        if connections[using].vendor == "postgresql" and not deferrable_constraints(table.model):
            there = raw.insert_free(table, batch.columns, part, using=using)
            taken.update({key_of(row) for row in part} - there)
        else:
            raw.insert(table, batch.columns, part, using=using)
        require_unique_now(table, using=using)

    #: Keys of rows that were not inserted although the statement went through.
    taken: set[Row] = set()
    keys = [batch.columns.index(name) for name in table.key_names]
    written = fits(write, rows, using=using)
    if not written and refuses_at_once(table, using=using):
        kept = with_references(batch, table, rows, batch.columns, progress, later=later, using=using)
        written = len(kept) < len(rows) and fits(write, kept, using=using)
        rows = kept
    refused = [row for row in rows if key_of(row) in taken] if written else rows
    reasons = plain_refusals(table, batch.columns, refused, using=using) if refused else {}
    unclear = [row for row in refused if key_of(row) not in reasons]
    if not written:
        taken.clear()
        bad = write_what_fits(write, unclear, using=using)
        unclear = bad + [row for row in unclear if key_of(row) in taken]
    refused = [row for row in refused if key_of(row) in reasons] + unclear
    gone = {key_of(row) for row in refused}
    done = [row for row in rows if key_of(row) not in gone] if gone else rows
    why: dict[tuple[Reason, str | None], list[Row]] = {}
    for row in refused:
        changed = overridden(table, batch.columns, row, overrides, using=using)
        taken.clear()
        if changed and not write_what_fits(write, [changed], using=using) and not taken:
            done.append(changed)
        else:
            reason = reasons.get(key_of(row)) or refusal(table, batch.columns, row, using=using)
            why.setdefault(reason, []).append(row)
    for (cause, name), held in why.items():
        hold(progress, batch, held, cause, name)
    if refused and table.links_within:
        # Somebody else's row may have the key of one that was refused: it is not the parent that is meant.
        note_absent(batch, progress, done=done)
        done = _without_orphans(batch, table, done, progress, later=later, using=using)
    linked = [row for row in done if any(row[position] is not None for position in linking)]
    if linked:
        parents = [tuple(row[position] for position in (*keys, *linking)) for row in linked]
        raw.update(table, links, parents, using=using)
    note_absent(batch, progress, done=done)
    _now_present(table, batch.columns, done, progress)
    progress.count_altered(batch, done)
    progress.news.note(signals.rows_restored, table, batch.columns, done)
    return done


@dataclass
class _Inserted:
    """Rows that are back, and by which of their columns they refer to rows that came after them."""

    batch: RowBatch
    table: Table
    later: tuple[str, ...]
    done: list[Row]


def _close_circles(inserted: Sequence[_Inserted], progress: Progress, *, using: str) -> None:
    """Check the references that had to wait, and fill those that were left empty.

    A row whose reference may be empty stays without it, and the reference stays sealed; any other row is taken back.
    """
    required = any(not each.table.field(name).null for each in inserted for name in each.later)
    while required and any(_took_back(each, progress, using=using) for each in inserted):
        pass  # those that refer to what was taken back are next
    for each in inserted:
        keys = [each.batch.columns.index(name) for name in each.table.key_names]
        for name in (name for name in each.later if each.table.field(name).null):
            position = each.batch.columns.index(name)
            links = [
                (*(row[key] for key in keys), row[position], None) for row in each.done if row[position] is not None
            ]
            link = Modified(each.batch.model, each.batch.stamp, each.batch.key, (name,), links)
            names = (*each.table.key_names, name)
            fitting = with_references(link, each.table, links, names, progress, using=using)
            for row in write_back(each.table, (name,), [row[:-1] for row in fitting], using=using):
                hold(progress, link, [(*row, None)], *refusal(each.table, names, row, using=using, row_exists=True))


def _took_back(each: _Inserted, progress: Progress, *, using: str) -> bool:
    """Delete the inserted rows whose references lead nowhere after all; whether there were any."""
    optional = [name for name in each.later if each.table.field(name).null]
    kept = with_references(
        each.batch, each.table, list(each.done), each.batch.columns, progress, later=optional, using=using
    )
    orphans = [row for row in each.done if row not in kept]
    if not orphans:
        return False
    keys = [each.batch.columns.index(name) for name in each.table.key_names]
    raw.delete(each.table, [tuple(row[key] for key in keys) for row in orphans], using=using)
    progress.seen.clear()
    each.done = kept
    for position, name in enumerate(each.batch.columns):
        gone = {row[position] for row in orphans} - {row[position] for row in kept}
        if (each.table.model, name) in progress.present:
            progress.present[each.table.model, name] -= gone
            progress.absent.setdefault((each.table.model, name), set()).update(gone)
    if len(keys) == 1:
        lost = {(each.table.model, row[keys[0]]) for row in orphans}
        progress.came_back = [back for back in progress.came_back if back not in lost]
    progress.news.forget(signals.rows_restored, each.table, each.batch.columns, orphans)
    progress.count_altered(each.batch, orphans, by=-1)
    return True


def _without_orphans(
    batch: RowBatch, table: Table, done: list[Row], progress: Progress, *, later: Sequence[str], using: str
) -> list[Row]:
    """Of rows just inserted, take back those below a row of the same table that was refused."""
    keys = [batch.columns.index(name) for name in table.key_names]
    while True:
        kept = with_references(batch, table, list(done), batch.columns, progress, later=later, using=using)
        orphans = [row for row in done if row not in kept]
        if not orphans:
            return done
        raw.delete(table, [tuple(row[position] for position in keys) for row in orphans], using=using)
        progress.seen.clear()
        done = kept


def undo(batch: Changed, progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Put the old values of a modification or decorrelation back, where the new ones still stand.

    What a later disguise of the same principal lies on is folded into its record instead.
    """
    for part in progress.fold(batch):
        if progress.folding:
            part = progress.folding.moves.located(part)
        _undo(part, progress, overrides=overrides, using=using)


def _undo(batch: Changed, progress: Progress, *, overrides: Overrides, using: str) -> None:
    table = table_by_label(batch.model)
    if table is None or not set(batch.columns) <= set(table.names):
        hold(progress, batch, batch.rows, Reason.SCHEMA_CHANGED, None)
        return
    width, count = len(batch.key), len(batch.columns)
    # What a disguise left as it was has nothing to bring back, whatever somebody else has made of it since: row by row here, and
    # column by column below.
    rows = [row for row in batch.rows if changes(batch, row)]
    current = progress.standing.read(batch, table, [tuple(row[:width]) for row in rows], using=using)
    if len(current) < len(rows) and batch.key_columns():
        rows = _followed(batch, table, rows, current, progress, using=using)
    overlaid = progress.folding.overlaid(batch) if progress.folding else {}
    free: list[Row] = []
    for row in rows:
        found = current.get(tuple(row[:width]))
        if found is None:
            for part in progress.fold(replace(batch, rows=[row]), at_any_time=True):
                hold(progress, part, part.rows, Reason.ROW_MISSING, None)
            continue
        expected = row[width + count :]
        # Both sides as the driver reads them: the record was made from what the database answered.
        places = [place for place, (now, new) in enumerate(zip(found, expected, strict=True)) if now != new]
        left = {place for place in places if same_values(row[width + place : width + place + 1], [expected[place]])}
        differing = [batch.columns[place] for place in places if place not in left]
        if differing:
            for part in progress.fold(replace(batch, rows=[row]), at_any_time=True):
                still = next((name for name in differing if name in part.columns), None)
                if still is None:
                    # What had changed was another disguise of the same principal; the rest stands as it was left.
                    _undo(part, progress, overrides=overrides, using=using)
                else:
                    hold(progress, part, part.rows, Reason.CHANGED, still)
        elif tuple(row[:width]) in overlaid:
            hold(progress, batch, [row], Reason.CHANGED, overlaid[tuple(row[:width])])
        else:
            free.append(left_standing(row, found, left, width=width, count=count))
    names = (*batch.key, *batch.columns)
    # The row is there, and so is what its key refers to.
    there = [name for name in batch.key if name not in batch.columns]
    free = with_references(batch, table, free, names, progress, later=there, unread=True, using=using)
    back = {row[: width + count]: row for row in free}
    refused = write_back(table, batch.columns, list(back), using=using)
    if refused and refuses_at_once(table, using=using):
        unclear = [back.pop(row) for row in refused]
        unclear = with_references(batch, table, unclear, names, progress, later=there, using=using)
        refused = [row[: width + count] for row in unclear]
        back |= dict(zip(refused, unclear, strict=True))
    for row in refused:
        changed = overridden(table, names, row, overrides, using=using)
        if changed and not write_back(table, batch.columns, [changed], using=using):
            progress.standing.forget(batch.model)
            continue
        reason, name = refusal(table, names, row, using=using, row_exists=True)
        hold(progress, batch, [back.pop(row)], reason, name)
    progress.standing.wrote(batch, back)
    progress.news.note_undone(batch, table, back)
    if progress.folding:
        progress.folding.moves.put_back(batch, list(back.values()))


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
    there = raw.read_where(table, names, name, [value for value, n in lost.items() if n == 1], lock=True, using=using)
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


def _now_present(table: Table, names: Sequence[str], rows: Sequence[Row], progress: Progress) -> None:
    for relation_field in {relation.field.target_field.name for relation in relations_to(table.model)} | set(
        table.key_names
    ):
        position = names.index(relation_field)
        progress.present.setdefault((table.model, relation_field), set()).update(row[position] for row in rows)
    if len(table.key) == 1:
        position = names.index(table.key[0].name)
        progress.came_back += [(table.model, row[position]) for row in rows]
