"""Tells the application which rows of which models a disguise or a reveal touched: once all is committed, or just before.

One signal for each model and kind, with primary keys only. What nobody listens to is neither collected nor computed. Keys are
collected raw while the work is done, and become Python values when they are sent: mostly when no lock is held any more.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.db import transaction
from django.db.models import Field, ForeignKey, Model

from edna import registry, shards, signals
from edna.db import rows as raw
from edna.db.rows import Row, Table, table_of
from edna.engine.planning.steps import Plan, PlannedStep
from edna.records.diff import Changed, Decorrelated, Modified, Removed
from edna.signals import Announcement
from edna.store import Entry

logger = logging.getLogger("edna")

_KINDS = {
    Removed: signals.rows_removed,
    Modified: signals.rows_changed,
    Decorrelated: signals.rows_changed,
}
#: Whoever listens to one of these has to be told which rows were touched.
_TOLD = (*dict.fromkeys(_KINDS.values()), signals.before_commit)


@dataclass
class News:
    """What there is to tell. The order of the signals is the order in which they were first noted."""

    #: Raw primary keys by signal and table; each once.
    touched: dict[tuple[int, Table], tuple[Announcement, dict[Row, None]]] = field(default_factory=dict)
    #: By table and foreign key, which rows those that are gone referred to, raw; each once.
    referred_to: dict[Table, dict[str, dict[Any, None]]] = field(default_factory=dict)

    def note(self, signal: Announcement, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Rows of ``table`` that hold the values of ``names``, the primary key's among them."""
        if _heard(signal, table.model) or _heard(signals.before_commit, table.model):
            _, keys = self.touched.setdefault((id(signal), table), (signal, {}))
            positions = [names.index(name) for name in table.key_names]
            keys |= dict.fromkeys(tuple(row[position] for position in positions) for row in rows)

    def note_parents(self, table: Table, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """What rows that are gone referred to, as far as ``names`` say it."""
        for name in parents(table) if rows else ():
            if name in names:
                position = names.index(name)
                found = self.referred_to.setdefault(table, {}).setdefault(name, {})
                found |= dict.fromkeys(row[position] for row in rows if row[position] is not None)

    def forget(self, signal: Announcement, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """What was noted of these rows has not come true after all."""
        _, keys = self.touched.get((id(signal), table), (signal, {}))
        if keys:
            positions = [names.index(name) for name in table.key_names]
            for row in rows:
                keys.pop(tuple(row[position] for position in positions), None)

    def note_undone(self, batch: Changed, table: Table, rows: Iterable[Sequence[Any]]) -> None:
        """Rows of a change that have their old values again: key and old values. The key may be one of them."""
        names = (*batch.key, *batch.columns)
        found = list(rows) if any(signal.receivers for signal in _TOLD) else []
        if set(batch.key).isdisjoint(batch.columns):
            self.note(signals.rows_changed, table, names, found)
            return
        # The same column twice: as the key that the row had under disguise, and as the old value.
        now = [dict(zip(names, row, strict=False)) for row in found]
        self.note(signals.rows_changed, table, batch.key, [[row[name] for name in batch.key] for row in now])
        self.note(signals.rows_removed, table, batch.key, [row[: len(batch.key)] for row in found])

    def send(self, name: str, *, using: str) -> None:
        """Ask those who complete the rows, here and now; send the rest once the transaction is committed, and not if it is not."""
        self._complete(name, using=using)
        found = [
            (signal, table, list(keys))
            for (_, table), (signal, keys) in self.touched.items()
            if keys and _heard(signal, table.model)
        ]
        if found:
            _after_commit(lambda: _send_rows(name, found, using=using), using=using)

    def _complete(self, name: str, *, using: str) -> None:
        """Not robust: whoever cannot make the rows whole refuses all of it."""
        together: dict[Table, dict[Row, None]] = {}
        for (_, table), (_, keys) in self.touched.items() if signals.before_commit.receivers else ():
            together.setdefault(table, {}).update(keys)
        for table, keys in together.items():
            if keys and _heard(signals.before_commit, table.model):
                told = tuple(_python_keys(table, list(keys), using=using))
                referred_to = {
                    column: tuple(raw.python_values(_target(table, column), values, using=using))
                    for column, values in self.referred_to.get(table, {}).items()
                }
                signals.before_commit.send(
                    sender=table.model, name=name, keys=told, referred_to=referred_to, using=using
                )


def parents(table: Table) -> list[str]:
    """The foreign keys of which a receiver learns where they led from rows that are gone, if there is one.

    None of a person: signals about rows do not say whose these were. None by another column than the primary key: that is content.
    """
    if not _heard(signals.before_commit, table.model):
        return []
    people = {table_of(model) for model in registry.principal_models()}
    links = [column for column in table.fields if isinstance(column, ForeignKey) and column.target_field.primary_key]
    return [link.name for link in links if table_of(link.related_model) not in people]


def _target(table: Table, name: str) -> Field[Any, Any]:
    return table.field(name).target_field  # type: ignore[attr-defined,no-any-return]  # of a foreign key


def _heard(signal: Announcement, model: type[Model]) -> bool:
    # The quick question first: usually nobody listens to anything.
    return bool(signal.receivers) and signal.has_listeners(model)


def disguised(plan: Plan, moved: Mapping[type[Model], Mapping[Row, Row]], *, whole: bool, using: str) -> None:
    """Tell what executing ``plan`` did, and if that was the ``whole`` disguise, to whom; ``moved`` are rows whose primary key it
    has changed, by the former one."""
    news = News()
    if any(signal.receivers for signal in _TOLD):
        gone = {step.table: set(_former_keys(step, moved)) for step in plan.removals}
        for step in plan.steps:
            # What others may bring back was changed before it went.
            if step.operation is not Removed and gone.get(step.table):
                step = step.only(lambda key, gone=gone[step.table]: key not in gone)  # type: ignore[misc]  # mypy cannot type a default of a lambda
            if step.operation in _KINDS and step.rows and not step.on_paper:
                _note(news, step, moved.get(step.table.model, {}))
    news.send(plan.disguise.name, using=using)
    if whole:
        people = [str(target.entry.reference) for target in plan.targets if target.entry.natural]
        _tell_whom(signals.disguised, plan.principal_model, plan.disguise.name, people, using=using)


def _note(news: News, step: PlannedStep, moved: Mapping[Row, Row]) -> None:
    table, keys = step.table, step.primary_keys()
    if step.operation is Removed:
        news.note(signals.rows_removed, table, table.key_names, _former_keys(step, {table.model: moved}))
        news.note_parents(table, step.columns, step.rows)
        return
    news.note(signals.rows_changed, table, table.key_names, [moved.get(key, key) for key in keys])
    news.note(signals.rows_removed, table, table.key_names, [key for key in keys if key in moved])


def _former_keys(removal: PlannedStep, moved: Mapping[type[Model], Mapping[Row, Row]]) -> list[Row]:
    """Records may name removed rows by a key that they have on paper only."""
    former = {new: old for old, new in moved.get(removal.table.model, {}).items()}
    return [former.get(key, key) for key in removal.primary_keys()]


def revealed(news: News, name: str, label: str, whose: Callable[[], Entry], *, whole: bool, using: str) -> None:
    """Tell what a reveal did, and, once the ``whole`` disguise is undone, for whom: nobody, if that person has no row (yet)."""
    news.send(name, using=using)
    if signals.revealed.receivers and whole:
        entry = whose()
        people = [str(entry.reference)] if entry.attached else []
        _tell_whom(signals.revealed, apps.get_model(label), name, people, using=using)


def _tell_whom(signal: Announcement, model: type[Model], name: str, people: Sequence[str], *, using: str) -> None:
    sender = table_of(model).model
    if signal.receivers and signal.has_listeners(sender):
        told = map(sender._meta.pk.to_python, people)
        _after_commit(lambda: _send(signal, sender, name, told, using=using), using=using)


def _after_commit(send: Callable[[], None], *, using: str) -> None:
    def told() -> None:
        with shards.at(using):  # it may be the caller's transaction that ends
            send()

    # Robust: a failure in here would be taken for one of the transaction, which is done, and be tried again.
    transaction.on_commit(told, using=using, robust=True)


def _send_rows(name: str, found: Sequence[tuple[Announcement, Table, list[Row]]], *, using: str) -> None:
    for signal, table, keys in found:
        _send(signal, table.model, name, _python_keys(table, keys, using=using), using=using)


def _python_keys(table: Table, keys: Sequence[Row], *, using: str) -> Iterable[Any]:
    """As instances have them."""
    columns = [
        raw.python_values(column, values, using=using)
        for column, values in zip(table.key, zip(*keys, strict=True), strict=True)
    ]
    return columns[0] if len(columns) == 1 else zip(*columns, strict=True)


def _send(signal: Announcement, sender: type[Model], name: str, keys: Iterable[Any], *, using: str) -> None:
    try:
        signal.send_robust(sender=sender, name=name, keys=tuple(keys), using=using)
    except Exception as error:
        # It is committed: a receiver, or what Django does around it, fails nobody. Not Django's own words, which are the error's.
        logger.error("A signal of edna could not be sent: %s.", type(error).__name__)
