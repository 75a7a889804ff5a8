"""Brings sealed records forward to the tables of today: what migrations and logged updates did to the rows that were there.

Invariant: a record either arrives whole or not at all. What nothing can bring forward is *stuck*, in the form in which it was
sealed, so that a rule that is written later still fits. Records walk the history of their application a batch at a time, and
columns are renamed, added and dropped without touching the rows; only a rule of the application sees them one by one. Writes
nothing. A batch that has nothing to catch up with costs a dictionary look-up.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.apps import apps
from django.db import migrations
from django.db.models import CompositePrimaryKey, Model

from edna import recordmigrations
from edna.db import rows as raw
from edna.db.rows import Table, table_of
from edna.engine.forwarding import driver_values, table_history
from edna.engine.forwarding.batch import Column, Moving
from edna.engine.graph.outcome import Reason
from edna.records.diff import Changed, Decorrelated, Removed, RowBatch

_log = logging.getLogger("edna")


@dataclass(frozen=True)
class Stuck:
    """Records in the form in which they were sealed; ``field`` is the column that nothing can fill or place."""

    batch: RowBatch
    field: str | None
    reason: Reason = Reason.SCHEMA_CHANGED


@dataclass
class Forwarded:
    batches: list[RowBatch] = field(default_factory=list)
    stuck: list[Stuck] = field(default_factory=list)


class Follower:
    """What else happens to a batch on its way; see `engine.forwarding.replay_log`."""

    def concerns(self, batch: RowBatch) -> bool:
        return False

    def follow(self, moving: Moving, *, position: int) -> Iterator[tuple[int, str | None]]:
        """Change ``moving``, which has come to ``position`` of its history; yield rows that are stuck, by their source."""
        yield from ()


def bring_forward(batches: Sequence[RowBatch], *, using: str, follower: Follower | None = None) -> Forwarded:
    """The records of ``batches`` as the tables of today have them, in their order."""
    done = Forwarded()
    for batch in batches:
        if not isinstance(batch, Removed | Changed):
            done.batches.append(batch)
        elif batch.stamp == table_history.newest(batch.model.partition(".")[0]) and not (
            follower and follower.concerns(batch)
        ):
            _pass(batch, done)
        else:
            _Walk(batch, follower or Follower(), using=using).run(done)
    return done


def _pass(batch: Removed | Changed, done: Forwarded) -> None:
    """A record of today. Its columns may stand in another order than the model's, which no migration notes."""
    table = table_by_label(batch.model)
    if table is None:
        done.stuck.append(Stuck(batch, None))
    elif not isinstance(batch, Removed):
        unknown = table.unknown((*batch.columns, *batch.key))
        if unknown:
            done.stuck.append(Stuck(batch, unknown[0]))
        else:
            done.batches.append(batch)
    elif batch.columns == table.names:
        done.batches.append(batch)
    elif set(batch.columns) == set(table.names):
        moving = Moving.of(batch)
        moving.reorder(table.names)
        done.batches.append(replace(batch, columns=table.names, rows=moving.rows()))
    else:
        difference = [
            name for name in (*batch.columns, *table.names) if (name in batch.columns) != (name in table.names)
        ]
        done.stuck.append(Stuck(batch, difference[0]))


class _Walk:
    """One batch on its way; rules may make several of it."""

    def __init__(self, batch: Removed | Changed, follower: Follower, *, using: str) -> None:
        self.batch = batch
        self.follower = follower
        self.using = using
        #: Why a row of ``batch`` cannot be brought forward, by its number.
        self.stuck: dict[int, tuple[str | None, Reason]] = {}

    def run(self, done: Forwarded) -> None:
        label = self.batch.model.partition(".")[0]
        start = table_history.history(label).after.get(self.batch.stamp)
        moving = Moving.of(self.batch)
        if start is None and not self._fits_exactly():
            self._hold(moving, None)
        arrived = list(self._arrivals(moving, start)) if len(self.stuck) < len(self.batch.rows) else []
        for fields in dict.fromkeys(self.stuck.values()):
            rows = [row for number, row in enumerate(self.batch.rows) if self.stuck.get(number) == fields]
            done.stuck.append(Stuck(replace(self.batch, rows=rows), *fields))
        for batch, sources in arrived:
            if self.stuck:
                # What one row became arrives together or stays sealed together.
                rows = [row for row, source in zip(batch.rows, sources, strict=True) if source not in self.stuck]
                batch = replace(batch, rows=rows)
            if batch.rows:
                done.batches.append(batch)

    def _fits_exactly(self) -> bool:
        table = table_by_label(self.batch.model)
        if table is None:
            return False
        if isinstance(self.batch, Removed):
            return set(self.batch.columns) == set(table.names)
        return not table.unknown(self.batch.columns) and self.batch.key == table.key_names

    def _arrivals(self, moving: Moving, start: int | None) -> Iterator[tuple[RowBatch, Sequence[int]]]:
        end = table_history.history(moving.app_label).end
        pending = [(moving, end if start is None else start)]
        while pending:
            moving, position = pending.pop()
            history = table_history.history(moving.app_label)
            self._follow(moving, position)
            while position < history.end:
                step = history.steps[position]
                rules = recordmigrations.rules_for(step.app_label, step.name)
                if any(rule.concerns(moving.model) for rule in rules):
                    moving.passed[step.app_label] = position + 1
                    made = self._apply(rules, moving)
                    # In their order: what comes first is taken first from the end of the list.
                    for each in reversed(made):
                        pending.append((each, self._after(each, step, position, bool(rules))))
                    break
                self._take(step, moving, ruled=bool(rules))
                position += 1
                self._follow(moving, position)
            else:
                yield from self._arrive(moving)

    def _after(self, moving: Moving, step: table_history.Step, position: int, ruled: bool) -> int:
        """Where a record that a rule has returned goes on: behind that migration, or at the same time in another application."""
        if moving.app_label != step.app_label:
            reached = table_history.reached(moving.app_label, by=(step.app_label, step.name))
            return max(reached, moving.passed.get(moving.app_label, 0))
        self._take(step, moving, ruled=ruled)
        return position + 1

    def _follow(self, moving: Moving, position: int) -> None:
        for source, name in self.follower.follow(moving, position=position):
            self.stuck.setdefault(source, (name, Reason.SCHEMA_CHANGED))

    # What Django's operations say

    def _take(self, step: table_history.Step, moving: Moving, *, ruled: bool) -> None:
        for operation in step.operations:
            if isinstance(operation, table_history.Opaque) and ruled:
                moving.added.clear()  # whatever the code filled, the rule has filled as well
            elif isinstance(operation, table_history.Opaque):
                self._unknown(operation, moving)
            elif isinstance(operation, migrations.RenameModel):
                moving.rename_model(operation.old_name_lower, to=operation.new_name_lower)
            elif isinstance(operation, migrations.DeleteModel):
                if moving.model == f"{step.app_label}.{operation.name_lower}":
                    self._hold(moving, None)
            elif isinstance(operation, migrations.RenameField):
                names = (operation.old_name, operation.new_name)
                moving.rename_field(operation.model_name_lower, *names)
            elif getattr(operation, "model_name_lower", None) == moving.model.partition(".")[2]:
                self._take_column(operation, moving)
            elif (
                isinstance(operation, migrations.AlterOrderWithRespectTo)
                and moving.model == f"{step.app_label}.{operation.name_lower}"
                and operation.order_with_respect_to
                and moving.column("_order") is None
            ):
                moving.add("_order", lambda: 0)

    def _take_column(self, operation: Any, moving: Moving) -> None:
        name = getattr(operation, "name", "")
        if isinstance(operation, migrations.AddField):
            if _is_stored(operation.field) and moving.column(name) is None:
                moving.added.append(name)
                maker = driver_values.default_maker(operation.field, using=self.using) if moving.removed else None
                if maker is not None:
                    moving.add(name, maker)
        elif isinstance(operation, migrations.RemoveField):
            if moving.has(name) and moving.unknown:
                self._hold(moving, name)  # some code may have taken it elsewhere before
            moving.drop(name)
            if name in moving.added:
                moving.added.remove(name)
        elif isinstance(operation, migrations.AlterField):
            column = moving.column(name)
            if column is not None and not operation.field.null and name not in moving.key:
                column.instead_of_null = driver_values.default_maker(operation.field, using=self.using)

    def _unknown(self, operation: table_history.Opaque, moving: Moving) -> None:
        moving.unknown = True
        if moving.added and moving.operation is not Decorrelated and operation.may_concern(moving.model):
            self._hold(moving, moving.added[0])  # the code may have filled it

    # What the application's rules say

    def _apply(self, rules: Sequence[recordmigrations.Rule], moving: Moving) -> list[Moving]:
        made: dict[Any, Moving] = {}
        for source, record in moving.records():
            records = [record]
            try:
                for rule in rules:
                    returned = [(rule.apply(each) if rule.concerns(each.model) else [each]) for each in records]
                    records = [each for part in returned for each in part]
                rows = [Moving.place(each, moving) for each in records]
            except Exception as error:  # a rule is the application's code; where it fails, its record waits
                self._failed(moving.model, source, error)
                continue
            for signature, empty, row in rows:
                target = made.setdefault(signature, empty)
                target.stored.append(row)
                target.sources.append(source)
        return list(made.values())

    def _failed(self, model: str, source: int, error: Exception) -> None:
        # Its text may be the application's, or quote a value: neither belongs into a log.
        name = type(error).__name__
        _log.error("A record migration for %s raised %s; the record stays sealed.", model, name)
        self.stuck.setdefault(source, (None, Reason.SCHEMA_CHANGED))

    # Arriving

    def _arrive(self, moving: Moving) -> Iterator[tuple[RowBatch, Sequence[int]]]:
        table = table_by_label(moving.model)
        if table is None:
            self._hold(moving, None)
            return
        # Columns that migrations have removed are gone by now: this one is nobody's, and may be a rule's mistake.
        unknown = table.unknown(column.name for column in moving.columns)
        if unknown:
            self._hold(moving, unknown[0])
            return
        columns = list(moving.columns)
        if moving.removed:
            columns, missing = [], []
            for name in table.names:
                column = moving.column(name)
                if column is None:
                    maker = self._default(table, name)
                    missing += [name] if maker is None else []
                    column = Column(name, None, maker)
                columns.append(column)
            if missing:
                self._hold(moving, missing[0])
                return
        elif not columns:
            return  # nothing of it is left to undo
        moving.columns = columns
        moving.prepare({column.name: table.field(column.name) for column in columns}, using=self.using)
        stamp = table_history.newest(moving.app_label)
        key = table.key_names if moving.removed else moving.key
        # Lists: what lies on top of each other in several bags is put together in place.
        rows = [row if isinstance(row, list) else list(row) for row in self._rows(moving)]
        batch = moving.operation(table.label, stamp, key, tuple(column.name for column in columns), rows)
        if batch.key == table.key_names:
            yield batch, moving.sources
        elif len(batch.key) == 1 and batch.key[0] in table.names:
            yield self._found_by_column(batch, moving, table)
        else:
            self._hold(moving, batch.key[0])

    def _rows(self, moving: Moving) -> list[Sequence[Any]]:
        try:
            return moving.rows()
        except Exception:
            # A rule has set a value that the column cannot have, in some of the rows; a field may refuse it with any error.
            whole, moving.stored, sources, moving.sources = moving.stored, [], moving.sources, []
        for source, row in zip(sources, whole, strict=True):
            try:
                replace(moving, stored=[row], sources=[source]).rows()
            except Exception as error:  # this is one of those rows
                self._failed(moving.model, source, error)
            else:
                moving.stored.append(row)
                moving.sources.append(source)
        return moving.rows()

    def _default(self, table: Table, name: str) -> driver_values.Maker | None:
        column = table.field(name)
        return (
            (lambda: None)
            if driver_values.is_automatic(column)
            else driver_values.default_maker(column, using=self.using)
        )

    def _found_by_column(self, batch: RowBatch, moving: Moving, table: Table) -> tuple[RowBatch, Sequence[int]]:
        """A change of a row that the rule names by another column than the primary key: which row that is now."""
        name = batch.key[0]
        wanted = list({row[0] for row in batch.rows})
        there = raw.read_where(table, (name, *table.key_names), name, wanted, lock=False, using=self.using)
        keys = {row[0]: row[1:] for row in there}
        several = {row[0] for row in there if keys[row[0]] != row[1:]}
        rows: list[list[Any]] = []
        sources = []
        for source, row in zip(moving.sources, batch.rows, strict=True):
            if row[0] in keys and row[0] not in several:
                rows.append([*keys[row[0]], *row[1:]])
                sources.append(source)
            else:
                reason = Reason.SCHEMA_CHANGED if row[0] in several else Reason.ROW_MISSING
                self.stuck.setdefault(source, (name, reason))
        return replace(batch, key=table.key_names, rows=rows), sources

    def _hold(self, moving: Moving, name: str | None) -> None:
        for source in moving.sources:
            self.stuck.setdefault(source, (name, Reason.SCHEMA_CHANGED))


def _is_stored(column: Any) -> bool:
    return not (column.many_to_many or column.generated or isinstance(column, CompositePrimaryKey))


def table_by_label(label: str) -> Table | None:
    try:
        model: type[Model] = apps.get_model(label)
    except (LookupError, ValueError):
        return None
    return table_of(model)
