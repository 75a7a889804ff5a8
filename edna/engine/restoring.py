"""Brings rows back: inserts what was removed, and puts old values where the disguised ones still stand.

Invariant (DESIGN 2.5): nothing that changed since is overwritten, no constraint is broken, no reference dangles. What is in the way
of one row holds back that row, and those below it, only. Knows records and tables; knows no keys or bags.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db import connections
from django.db.models import ForeignKey, Model

from edna import rows as raw
from edna.coverage import unique_groups
from edna.engine.conflicts import Held, Outcome, Reason, write_what_fits
from edna.engine.plan import deletion_order, relations_to
from edna.errors import InvalidParameters
from edna.records.diff import DiffBatch, Operation
from edna.rows import Row, Table, table_of

Overrides = Mapping[str, Any]


@dataclass
class Progress:
    """What has happened so far in one reveal."""

    outcome: Outcome = field(default_factory=Outcome)
    kept: list[DiffBatch] = field(default_factory=list)
    #: Values that this reveal has brought back, by the column that others refer to.
    present: dict[tuple[type[Model], str], set[Any]] = field(default_factory=dict)
    came_back: list[Any] = field(default_factory=list)
    #: Keys of removed rows that were held: a row that has the same key now is another one.
    absent: dict[tuple[type[Model], str], set[Any]] = field(default_factory=dict)


def insert_removed(diffs: Sequence[DiffBatch], progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Insert the removed rows, referred tables before the tables that refer to them."""
    removed: dict[type[Model], tuple[Table, list[DiffBatch]]] = {}
    for batch in diffs:
        if batch.operation is Operation.REMOVE:
            table = _table(batch)
            if table is None or set(batch.columns) != set(table.names):
                hold(progress, batch, batch.rows, Reason.SCHEMA_CHANGED, None)
            else:
                removed.setdefault(table.model, (table, []))[1].append(batch)
    for model in reversed(deletion_order(list(removed))):
        table, batches = removed[model]
        rows = [tuple(row) for batch in batches for row in batch.rows]
        merged = replace(batches[0], rows=rows)
        _insert(merged, table, progress, overrides=overrides, using=using)


def _insert(batch: DiffBatch, table: Table, progress: Progress, *, overrides: Overrides, using: str) -> None:
    rows: list[Row] = list(batch.rows)  # type: ignore[arg-type]
    rows = with_references(batch, table, rows, batch.columns, progress, using=using)
    links = () if connections[using].features.can_defer_constraint_checks else table.links_within
    linking = [batch.columns.index(name) for name in links]

    def write(part: Sequence[Row]) -> None:
        if linking:
            # Each row is checked at once, and its parent may come after it: references within the table follow below.
            part = [tuple(None if i in linking else value for i, value in enumerate(row)) for row in part]
        raw.insert(table, batch.columns, part, using=using)

    refused = write_what_fits(write, rows, using=using)
    done = [row for row in rows if row not in refused] if refused else rows
    for row in refused:
        changed = _overridden(table, batch.columns, row, overrides, using=using)
        if changed and not write_what_fits(write, [changed], using=using):
            done.append(changed)
        else:
            reason, name = refusal(table, batch.columns, row, using=using)
            hold(progress, batch, [row], reason, name)
    if refused and table.links_within:
        done = _without_orphans(batch, table, done, progress, using=using)
    linked = [row for row in done if any(row[position] is not None for position in linking)]
    keys = [batch.columns.index(name) for name in table.key_names]
    if linked:
        parents = [tuple(row[position] for position in (*keys, *linking)) for row in linked]
        raw.update(table, links, parents, using=using)
    kept = {tuple(row[position] for position in keys) for row in done}
    for name, position in zip(table.key_names, keys, strict=True):
        gone = {row[position] for row in batch.rows if tuple(row[p] for p in keys) not in kept}
        progress.absent.setdefault((table.model, name), set()).update(gone)
    _now_present(table, batch.columns, done, progress)
    progress.outcome.add(batch.model, len(done))


def _without_orphans(batch: DiffBatch, table: Table, done: list[Row], progress: Progress, *, using: str) -> list[Row]:
    """Of rows just inserted, take back those below a row of the same table that was refused."""
    keys = [batch.columns.index(name) for name in table.key_names]
    while True:
        kept = with_references(batch, table, list(done), batch.columns, progress, using=using)
        orphans = [row for row in done if row not in kept]
        if not orphans:
            return done
        raw.delete(table, [tuple(row[position] for position in keys) for row in orphans], using=using)
        done = kept


def undo(batch: DiffBatch, progress: Progress, *, overrides: Overrides, using: str) -> None:
    """Put the old values of a modification or decorrelation back, where the new ones still stand."""
    table = _table(batch)
    if table is None or not set(batch.columns) <= set(table.names):
        hold(progress, batch, batch.rows, Reason.SCHEMA_CHANGED, None)
        return
    width, count = len(batch.key), len(batch.columns)
    current = {
        tuple(row[:width]): row[width:]
        for row in raw.read(
            table, (*batch.key, *batch.columns), [tuple(row[:width]) for row in batch.rows], lock=True, using=using
        )
    }
    free: list[Row] = []
    for row in batch.rows:
        found = current.get(tuple(row[:width]))
        if found is None:
            hold(progress, batch, [row], Reason.ROW_MISSING, None)
            continue
        expected = row[width + count :]
        # Both sides as the driver reads them: the record was made from what the database answered.
        differing = [name for name, now, new in zip(batch.columns, found, expected, strict=True) if now != new]
        if differing:
            hold(progress, batch, [row], Reason.CHANGED, differing[0])
        else:
            free.append(tuple(row))
    names = (*batch.key, *batch.columns)
    free = with_references(batch, table, free, names, progress, using=using)
    back = {row[: width + count]: row for row in free}
    refused = write_what_fits(lambda part: raw.update(table, batch.columns, part, using=using), list(back), using=using)
    for row in refused:
        changed = _overridden(table, names, row, overrides, using=using)
        if changed and not write_what_fits(
            lambda part: raw.update(table, batch.columns, part, using=using), [changed], using=using
        ):
            continue
        reason, name = refusal(table, names, row, using=using, row_exists=True)
        hold(progress, batch, [back.pop(row)], reason, name)
    progress.outcome.add(batch.model, len(back))


def with_references(
    batch: DiffBatch, table: Table, rows: list[Row], names: Sequence[str], progress: Progress, *, using: str
) -> list[Row]:
    """The rows whose foreign keys, as far as ``names`` has them, will point at something. The others are held."""
    before = len(rows)
    for position, name in enumerate(names):
        column = table.field(name)
        if not rows or not isinstance(column, ForeignKey) or not getattr(column, "db_constraint", True):
            continue
        target = table_of(column.related_model)
        refers_to = column.target_field.name
        while True:
            known = progress.present.get((target.model, refers_to), set())
            if target.model is table.model and refers_to in names:
                known = known | {row[names.index(refers_to)] for row in rows}
            wanted = {row[position] for row in rows if row[position] is not None} - known
            found = raw.read_where(target, (refers_to,), refers_to, list(wanted), lock=False, using=using)
            missing = wanted - {value for (value,) in found} | wanted & progress.absent.get(
                (target.model, refers_to), set()
            )
            if not missing:
                break
            # A row of a tree that is held holds back those below it: look again without it.
            hold(progress, batch, [row for row in rows if row[position] in missing], Reason.REFERENCE_MISSING, name)
            rows = [row for row in rows if row[position] not in missing]
    if len(rows) < before and table.links_within:
        # One that a later column held back may be the parent of one that an earlier column let pass.
        return with_references(batch, table, rows, names, progress, using=using)
    return rows


def refusal(
    table: Table, names: Sequence[str], row: Row, *, using: str, row_exists: bool = False
) -> tuple[Reason, str | None]:
    """Why the database refused this row."""
    value = dict(zip(names, row, strict=False))
    key = tuple(value[name] for name in table.key_names)
    if row_exists:
        # Columns that stay as they are can be part of a constraint too.
        for current in raw.read(table, table.names, [key], lock=False, using=using):
            value = dict(zip(table.names, current, strict=True)) | value
    if not row_exists and raw.read(table, table.key_names, [key], lock=False, using=using):
        return Reason.ROW_EXISTS, None
    for group in unique_groups(table.model):
        if all(value.get(name) is not None for name in group):
            rows = raw.read_where(
                table, (*table.key_names, *group), group[0], [value[group[0]]], lock=False, using=using
            )
            width = len(table.key)
            wanted = [value[name] for name in group]
            if any(list(other[width:]) == wanted and other[:width] != key for other in rows):
                return Reason.UNIQUE_TAKEN, group[0] if len(group) == 1 else group[-1]
    return Reason.CONSTRAINT, None


def _overridden(table: Table, names: Sequence[str], row: Row, overrides: Overrides, *, using: str) -> Row | None:
    """The row with the caller's values for taken columns (``{"shop.user.email": ...}``); None where there are none.

    Only columns that must be unique can be overridden, and never a key or a reference: a way round a collision, not a way to
    come back as somebody else.

    Raises:
        InvalidParameters: the value does not pass the field's own validation.
    """
    values = {name.lower(): value for name, value in overrides.items()}
    unique = {name for group in unique_groups(table.model) for name in group}
    changed = list(row)
    for position, name in enumerate(names):
        column, full = table.field(name), f"{table.label}.{name}".lower()
        if full in values and name in unique and name not in table.key_names and not column.is_relation:
            try:
                value = column.clean(values[full], None)
                changed[position] = column.get_db_prep_save(value, connections[using])
            except (ValidationError, ValueError, TypeError):
                value = None
            if value is None:
                raise InvalidParameters(f"overrides: the value for {table.label}.{name} is not valid; choose another.")
    return tuple(changed) if changed != list(row) else None


def hold(progress: Progress, batch: DiffBatch, rows: Iterable[Sequence[Any]], reason: Reason, name: str | None) -> None:
    held = [tuple(row) for row in rows]
    progress.kept.append(replace(batch, rows=held))
    positions = (
        [batch.columns.index(column) for column in batch.key]
        if batch.operation is Operation.REMOVE
        else range(len(batch.key))
    )
    for row in held:
        key = tuple(row[position] for position in positions)
        progress.outcome.held.append(Held(batch.model, key[0] if len(key) == 1 else key, reason, name))


def _now_present(table: Table, names: Sequence[str], rows: Sequence[Row], progress: Progress) -> None:
    for relation_field in {relation.field.target_field.name for relation in relations_to(table.model)} | set(
        table.key_names
    ):
        position = names.index(relation_field)
        progress.present.setdefault((table.model, relation_field), set()).update(row[position] for row in rows)
    if len(table.key) == 1:
        position = names.index(table.key[0].name)
        progress.came_back += [(table.model, row[position]) for row in rows]


def _table(batch: DiffBatch) -> Table | None:
    try:
        model: type[Model] = apps.get_model(batch.model)
        return table_of(model)
    except (LookupError, FieldDoesNotExist):
        return None
