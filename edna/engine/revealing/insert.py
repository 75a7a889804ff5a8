"""Inserts what was removed, referred tables before those that refer to them.

Invariant (nothing overwritten): no constraint is broken, no reference dangles. What is in the way of one row holds back that row, and
those below it, only. Knows records and tables; knows no keys or bags.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Model

from edna import signals
from edna.coverage import relations_to
from edna.db import rows as raw
from edna.db.cursors import connection_of
from edna.db.rows import Row, Table
from edna.engine.forwarding.walk import table_by_label
from edna.engine.graph.order import against_order, deletion_order
from edna.engine.graph.outcome import Reason, fits, write_what_fits
from edna.engine.graph.uniqueness import deferrable_constraints, require_unique_now
from edna.engine.layers.terms_of_return import Overrides
from edna.engine.revealing.constraints import (
    further_refusals,
    overridden,
    plain_refusals,
    refusal,
    refuses_at_once,
    with_references,
    write_back,
)
from edna.engine.revealing.progress import Progress, hold, note_absent
from edna.records.diff import Modified, Removed, RowBatch, values_at


def insert_removed(diffs: Sequence[RowBatch], progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Insert the removed rows, referred tables before the tables that refer to them."""
    removed: dict[type[Model], tuple[Table, list[Removed]]] = {}
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
        done = _RowsToInsert(merged, table, progress, later=later, overrides=overrides, using=using).run()
        inserted.append(_Inserted(merged, table, later, done))
    if circular and not progress.rehearsed:
        _close_circles(inserted, progress, using=using)


class _RowsToInsert:
    """The removed rows of one table on their way back; ``later`` are references to tables whose rows follow, in a circle of tables."""

    def __init__(
        self,
        batch: Removed,
        table: Table,
        progress: Progress,
        *,
        later: Sequence[str],
        overrides: Overrides,
        using: str,
    ) -> None:
        self.batch = batch
        self.table = table
        self.progress = progress
        self.later = later
        self.overrides = overrides
        self.using = using
        self.columns = batch.columns
        self.keys = [batch.columns.index(name) for name in table.key_names]
        #: References within the table that the database checks at once: what a row refers to may come after it.
        self.links = () if connection_of(using).features.can_defer_constraint_checks else table.links_within
        empty = (*self.links, *(name for name in later if table.field(name).null))
        self.empty = {batch.columns.index(name) for name in empty}
        #: Keys of rows that were not inserted although the statement went through.
        self.taken: set[Row] = set()

    def run(self) -> list[Row]:
        """Insert the rows that can be, and return them."""
        rows: list[Row] = list(self.batch.rows)  # type: ignore[arg-type]  # tuples: `insert_removed` has made them
        if self.progress.rehearsed:
            return self._rehearse(rows)
        rows = self._referring(rows, unread=True)
        written = self._fit(rows)
        if not written and refuses_at_once(self.table, using=self.using):
            kept = self._referring(rows)
            written = kept != rows and self._fit(kept)
            rows = kept
        refused = [row for row in rows if self.taken and self._key(row) in self.taken] if written else rows
        reasons = plain_refusals(self.table, self.columns, refused, using=self.using) if refused else {}
        refused = self._try_singly(refused, reasons, written=written)
        gone = {self._key(row) for row in refused}
        done = [row for row in rows if self._key(row) not in gone] if gone else rows
        done += self._with_callers_values(refused, reasons)
        if refused and self.table.links_within:
            # Somebody else's row may have the key of one that was refused: it is not the parent that is meant.
            note_absent(self.batch, self.progress, done=done)
            done = self._without_orphans(done)
        self._fill_links(done)
        self._note(done)
        return done

    def _rehearse(self, rows: list[Row]) -> list[Row]:
        """The rows that could be inserted, as far as reading tells: a constraint of the database's own it does not."""
        rows = self._referring(rows)
        reasons = plain_refusals(self.table, self.columns, rows, using=self.using) if rows else {}
        free = [row for row in rows if self._key(row) not in reasons]
        reasons |= further_refusals(self.table, self.columns, free, using=self.using)
        for key, (reason, name) in reasons.items():
            hold(self.progress, self.batch, [row for row in rows if self._key(row) == key], reason, name)
        done = [row for row in rows if self._key(row) not in reasons]
        if reasons and self.table.links_within:
            note_absent(self.batch, self.progress, done=done)
            done = self._referring(done)
        self._note(done)
        self.progress.current_rows.suppose(self.batch.model, self.columns, self.table.key_names, done)
        return done

    def _key(self, row: Row) -> Row:
        return tuple(row[position] for position in self.keys)

    def _referring(self, rows: list[Row], *, unread: bool = False) -> list[Row]:
        return with_references(
            self.batch,
            self.table,
            rows,
            self.columns,
            self.progress,
            later=self.later,
            unread=unread,
            may_empty=True,
            using=self.using,
        )

    def _fit(self, rows: Sequence[Row]) -> bool:
        undoes = self._leaves_what_is_taken and raw.can_send_savepoints(rows, using=self.using)
        return fits(functools.partial(self._write, with_savepoint=undoes), rows, using=self.using, undoes=undoes)

    @functools.cached_property
    def _leaves_what_is_taken(self) -> bool:
        if connection_of(self.using).vendor != "postgresql" or deferrable_constraints(self.table.model):
            return False
        # What others have made may defer a constraint, or have a rule, of which the model says nothing.
        return bool(self.table.model._meta.managed) or raw.can_leave_taken(self.table, using=self.using)

    def _write(self, part: Sequence[Row], *, with_savepoint: bool = False) -> None:
        if self.empty:
            # Each row is checked at once, and what it refers to may come after it: such references follow below.
            part = [tuple(None if i in self.empty else value for i, value in enumerate(row)) for row in part]
        if self._leaves_what_is_taken:
            there = raw.insert_free(self.table, self.columns, part, using=self.using, with_savepoint=with_savepoint)
            self.taken.update({self._key(row) for row in part} - there)
        else:
            raw.insert(self.table, self.columns, part, using=self.using)
        require_unique_now(self.table, using=self.using)

    def _try_singly(self, refused: list[Row], reasons: Mapping[Row, object], *, written: bool) -> list[Row]:
        """Of what was refused together: insert what nothing speaks against, and return what is refused by itself."""
        unclear = [row for row in refused if self._key(row) not in reasons]
        clear = [row for row in refused if self._key(row) in reasons]
        if not written:
            self.taken.clear()
            bad = write_what_fits(self._write, unclear, using=self.using)
            unclear = bad + [row for row in unclear if self._key(row) in self.taken]
        return clear + unclear

    def _with_callers_values(
        self, refused: Collection[Row], reasons: Mapping[Row, tuple[Reason, str | None]]
    ) -> list[Row]:
        """Insert what the caller has other values for, and return it; hold the rest."""
        done: list[Row] = []
        why: dict[tuple[Reason, str | None], list[Row]] = {}
        for row in refused:
            changed = overridden(self.table, self.columns, row, self.overrides, using=self.using)
            self.taken.clear()
            if changed and not write_what_fits(self._write, [changed], using=self.using) and not self.taken:
                done.append(changed)
            else:
                reason = reasons.get(self._key(row)) or refusal(self.table, self.columns, row, using=self.using)
                why.setdefault(reason, []).append(row)
        for (cause, name), held in why.items():
            hold(self.progress, self.batch, held, cause, name)
        return done

    def _without_orphans(self, done: list[Row]) -> list[Row]:
        """Of rows just inserted, take back those below a row of the same table that was refused."""
        while True:
            kept = self._referring(list(done))
            orphans = [row for row in done if row not in kept]
            if not orphans:
                return done
            raw.delete(self.table, [self._key(row) for row in orphans], using=self.using)
            self.progress.seen.clear()
            done = kept

    def _fill_links(self, done: Sequence[Row]) -> None:
        """Give the rows the references within the table that were left empty."""
        linking = [self.columns.index(name) for name in self.links]
        linked = [row for row in done if any(row[position] is not None for position in linking)] if linking else []
        if linked:
            raw.update(self.table, self.links, values_at([*self.keys, *linking], linked), using=self.using)

    def _note(self, done: Sequence[Row]) -> None:
        note_absent(self.batch, self.progress, done=done)
        self._note_present(done)
        self.progress.count_altered(self.batch, done)
        self.progress.news.note(signals.rows_restored, self.table, self.columns, done)

    def _note_present(self, done: Sequence[Row]) -> None:
        referred = {relation.field.target_field.name for relation in relations_to(self.table.model)}
        for name in referred | set(self.table.key_names):
            position = self.columns.index(name)
            self.progress.present.setdefault((self.table.model, name), set()).update([row[position] for row in done])
        if len(self.keys) == 1:
            self.progress.came_back += [(self.table.model, row[self.keys[0]]) for row in done]


@dataclass
class _Inserted:
    """Rows that are back, and by which of their columns they refer to rows that came after them."""

    batch: Removed
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
