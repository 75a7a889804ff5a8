"""A disguise that is written as code, step by step: for what no specification says, and for what is not in rows at all.

Each call does its work at once, in the transaction of the whole block, and remembers the records; at the end of the block they are
sealed as those of any disguise are, so that nothing of revealing is different. Invariants: what fails changes nothing; a session
takes nothing from other principals, neither their row nor their ownership; a row that is still referred to is not removed.
Statements depend on the calls and the tables, not on the rows of a call. Long because all that a session can do is here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from django.db import IntegrityError
from django.db.models import ForeignKey, Model

from edna import json_keys, registry, store
from edna.coverage import Relation, relations_to
from edna.db import rows as raw
from edna.db import transactions
from edna.db.rows import Row, Table, table_of
from edna.engine.by_hand.objects import Given, Objects, column_of, given, keys_in, plain, refresh
from edna.engine.disguising import execute as disguising
from edna.engine.disguising import row_changes
from edna.engine.disguising.record import Records, SharedRows, mention, record_removed
from edna.engine.disguising.row_changes import Moved
from edna.engine.graph.order import deletion_order
from edna.engine.graph.references import key_of, reference_of
from edna.engine.planning.mentions import mentioned_by
from edna.engine.planning.removals import emptied, with_families
from edna.engine.planning.steps import Plan, PlannedStep, Target
from edna.engine.pseudoprincipals import factory
from edna.engine.revealing import blobs
from edna.errors import ConstraintRefused, NotYours, SessionClosed, SpecError
from edna.records.diff import Decorrelated, Modified, Operation, Removed
from edna.records.locator import Receipt
from edna.records.speaksfor import SpeaksFor
from edna.registry import ByHand
from edna.spec import Decorrelate, Modify

Result = TypeVar("Result")


@dataclass
class _Done:
    """What the calls of a block have done so far."""

    records: Records = field(default_factory=Records)
    removals: list[PlannedStep] = field(default_factory=list)
    changes: list[PlannedStep] = field(default_factory=list)
    shared: list[SharedRows] = field(default_factory=list)
    #: The pseudoprincipals that were made: raw primary keys by reference.
    made: dict[str, Any] = field(default_factory=dict)

    def copy(self) -> _Done:
        records = Records(list(self.records.diffs), list(self.records.speaks_for))
        return _Done(records, list(self.removals), list(self.changes), list(self.shared), dict(self.made))


class Session:
    """What `edna.session` gives to its block. Rows may be given as objects, lists of objects, or querysets."""

    #: Set once the block has ended and its transaction is committed (or is a part of the caller's own).
    receipt: Receipt | None = None

    def __init__(self, disguise: type[ByHand], model: type[Model], target: Target, *, using: str) -> None:
        self._disguise = disguise
        self._model = model
        self._target = target
        self._using = using
        self._done = _Done()
        self._blobs: list[bytes] = []
        self._issued: Receipt | None = None
        self._open = True

    def __repr__(self) -> str:
        return f"<Session {self._disguise.name} {'open' if self._open else 'closed'}>"

    # What the application calls

    def remove(self, *objects: Objects) -> None:
        """Delete rows. References to them that are ``SET_NULL`` are emptied; rows with other references have to be removed in
        the same call, or before.

        Raises:
            ConstraintRefused: a row that stays refers to one of them.
            NotYours: one is the row of another principal.
        """
        given = self._given(objects)
        self._step(lambda: self._remove(given))

    def modify(self, objects: Objects, /, **values: Any) -> None:
        """Set columns to plain values or `edna.placeholders`. Objects that are given get the new values, too.

        Raises:
            ConstraintRefused: the database does not take the values.
            SpecError: there is no such column, or it cannot be set.
        """
        given = self._given([objects])
        self._step(lambda: self._modify(given, values))
        refresh(objects, values, {}, using=self._using)

    def decorrelate(self, objects: Objects, /, *owners: str, to: Model | None = None) -> None:
        """Re-point foreign keys from the principal to new pseudoprincipals, one for each row, or all to one that
        `new_pseudoprincipal` has made in this session.

        Raises:
            NotYours: one of the columns holds somebody else.
            SpecError: it is no foreign key to the principal model.
        """
        for owner in owners:
            given = self._given([objects])
            moved = self._step(lambda given=given, owner=owner: self._decorrelate(given, owner, to))  # type: ignore[misc]
            refresh(objects, [owner], moved, using=self._using)

    def new_pseudoprincipal(self) -> Model:
        """A new row of the principal model, for which the principal speaks, to own whatever the application gives it."""
        made = self._step(self._make)
        return self._model._base_manager.using(self._using).get(pk=reference_of(self._model, made))

    def save(self, blob: bytes | bytearray | memoryview) -> None:
        """Seal bytes, of any content and length, for the function that is registered with `edna.on_reveal`."""
        self._require_open()
        if not isinstance(blob, (bytes, bytearray, memoryview)):
            raise TypeError(f"save() takes bytes, not {type(blob).__name__}; encode it first, as JSON for example.")
        self._blobs.append(bytes(blob))

    # How it is done

    def finish(self) -> None:
        """Write the bags, at the end of the block."""
        if self._blobs:
            self._done.records.diffs.append(blobs.batch_of(self._disguise.name, self._blobs))
        self._read_entries_again()
        records, shared = [self._done.records], self._done.shared
        [self._issued] = disguising.finish(self._plan(), records, shared, {}, using=self._using)

    def _read_entries_again(self) -> None:
        """The block may have disguised or revealed something else meanwhile, and so changed the lists of those concerned."""
        concerned = [self._target.entry, *(entry for each in self._done.shared for entry in each.others)]
        keys = {entry.public_key for entry in concerned}
        now = {entry.id: entry for entry in store.entries_by_public_key(keys, using=self._using, lock=True)}
        if any(entry.id not in now or now[entry.id].reference != entry.reference for entry in concerned):
            raise SpecError(
                f"{self._disguise.name}: the block has removed, revealed or given a new key to somebody whom the session is about. "
                "Nothing was changed; do that before or after the session."
            )
        owners = tuple(now.get(entry.id, entry) for entry in self._target.owners)
        self._target = replace(self._target, entry=now[self._target.entry.id], owners=owners)
        self._done.shared = [
            replace(each, others=tuple(now[entry.id] for entry in each.others)) for each in self._done.shared
        ]

    def close(self, *, committed: bool) -> None:
        self._open = False
        self.receipt = self._issued if committed else None

    def _plan(self) -> Plan:
        removals, changes = tuple(self._done.removals), tuple(self._done.changes)
        return Plan(self._disguise, {}, self._model, (self._target,), removals, changes)

    def _require_open(self) -> None:
        if not self._open:
            raise SessionClosed("This session has ended: everything has to be done inside its `with` block.")

    def _step(self, work: Callable[[], Result]) -> Result:
        """One call's work, all of it or nothing."""
        self._require_open()
        before, self._done = self._done, self._done.copy()
        succeeded = False
        try:
            result = transactions.run(work, using=self._using)
            succeeded = True
            return result
        except IntegrityError:
            pass
        finally:
            if not succeeded:
                self._done = before
        # Outside of the handler: the database's words quote the values of rows, and end up in logs.
        raise refusal(self._disguise)

    def _remove(self, given: Given) -> None:
        removed: dict[type[Model], PlannedStep] = {}
        for model, keys in given.items():
            table = table_of(model)
            removed[model] = self._planned(Removed, table, table.names, keys)
        removed = with_families(removed, lock=True, using=self._using)
        for step in removed.values():
            self._require_own(step)
        for relation in [relation for model in removed for relation in relations_to(model)]:
            if relation.is_set_by_django:
                step = emptied(relation, removed, lock=True, using=self._using)
                self._modify_now(step)
                self._done.changes.append(step)
            elif relation.is_enforced:
                self._require_unused(relation, removed)
        steps = [removed[model] for model in deletion_order(list(removed))]
        plan = self._mentioning(steps)
        disguising.unlink(steps, using=self._using)
        for step in steps:
            raw.delete_each(step.table, step.primary_keys(), using=self._using)
            self._done.shared += record_removed(plan, step, [self._done.records])
        self._done.removals += steps

    def _mentioning(self, steps: Sequence[PlannedStep]) -> Plan:
        """With the pseudoprincipals of others that rows of ``steps`` mention."""
        own = dict.fromkeys(self._references() | set(self._done.made), 0)
        mentioned = mentioned_by(steps, own, model=self._model, lock=True, using=self._using)
        return replace(self._plan(), mentioned=mentioned)

    def _require_own(self, step: PlannedStep) -> None:
        """A principal's row is removed with their own key at hand, or by themselves: else nobody could bring it back to them."""
        principals = [table_of(model).model for model in registry.principal_models()]
        if step.table.model not in principals:
            return
        own = self._references() if step.table.model is table_of(self._model).model else set()
        if any(reference_of(step.table.model, key) not in own for (key,) in step.primary_keys()):
            raise NotYours(
                f"{self._disguise.name}: a row of {step.table.model._meta.label} to remove is another principal's; "
                "open a session of that principal for it."
            )

    def _require_unused(self, relation: Relation, removed: Mapping[type[Model], PlannedStep]) -> None:
        """The same words on every database, whether it would look now, at the end of the transaction, or cascade by itself."""
        step = removed[table_of(relation.target).model]
        position = step.columns.index(relation.field.target_field.name)
        values = [row[position] for row in step.rows if row[position] is not None]
        table = table_of(relation.model)
        referring = raw.read_where(table, table.key_names, relation.field.name, values, lock=False, using=self._using)
        going = set(removed[table.model].primary_keys()) if table.model in removed else set()
        if not going.issuperset(referring):
            raise ConstraintRefused(
                f"{self._disguise.name}: {relation.label} still refers to rows of {step.table.model._meta.label} to remove; "
                "remove or change those first, or in the same call. Nothing was changed by this call."
            )

    def _modify(self, given: Given, values: Mapping[str, Any]) -> None:
        for model, keys in given.items():
            by_table: dict[type[Model], dict[str, Any]] = {}
            for name, value in values.items():
                column = column_of(model, name)
                if column in table_of(column.model).key:
                    raise SpecError(f"{model._meta.label}.{name} is a primary key, which a session does not change.")
                said = name if json_keys.is_key(name) else column.name
                by_table.setdefault(column.model, {})[said] = plain(column, value)
            for owner, changed in by_table.items():
                table = table_of(owner)
                columns = (*table.key_names, *changed)
                there = keys_in(owner, model, keys, using=self._using)
                step = self._planned(Modified, table, columns, there, Modify(owner, set=changed))
                self._modify_now(step)
                self._done.shared += mention(self._mentioning([step]), step, [self._done.records])
                self._done.changes.append(step)

    def _modify_now(self, step: PlannedStep) -> None:
        change = functools.partial(row_changes.modify, step, [self._done.records], using=self._using)
        row_changes.at_once(change, using=self._using)

    def _decorrelate(self, given: Given, name: str, to: Model | None) -> Moved:
        """Return keys that this has changed, where the owner is a part of them."""
        moved: Moved = {}
        for model, keys in given.items():
            column = self._owner_column(model, name)
            table = table_of(column.model)
            columns = (*table.key_names, column.name)
            there = keys_in(column.model, model, keys, using=self._using)
            how = Decorrelate(table.model, column.name)
            step = self._planned(Decorrelated, table, columns, there, how)
            owners = self._owners(column, {row[-1] for row in step.rows})
            step.groups = [(owners[row[-1]], key) for row, key in zip(step.rows, step.primary_keys(), strict=True)]
            value = None if to is None else self._value_of(to, column)
            already = len(self._done.records.speaks_for)
            change = functools.partial(
                row_changes.decorrelate, self._plan(), step, [self._done.records], moved, using=self._using, to=value
            )
            row_changes.at_once(change, using=self._using)
            for voice in self._done.records.speaks_for[already:]:
                self._done.made[reference_of(self._model, voice.principal)] = voice.principal
            now = moved.get(table.model, {})
            width = len(table.key)
            self._done.changes.append(
                replace(step, rows=[(*now.get(row[:width], row[:width]), row[-1]) for row in step.rows])
            )
        return moved

    def _owners(self, column: ForeignKey[Any, Any], values: set[Any]) -> dict[Any, Any]:
        """The raw primary keys of those whom these values of ``column`` mean, who must all be this principal.

        Raises:
            NotYours: one is somebody else, or nobody.
        """
        owners = {value: value for value in values}
        if not column.target_field.primary_key:
            table, target = table_of(self._model), column.target_field.name
            names = (target, *table.key_names)
            owners = dict(raw.read_where(table, names, target, list(values), lock=False, using=self._using))
        mine = self._references() | set(self._done.made)
        if any(value is None or reference_of(self._model, owners.get(value)) not in mine for value in values):
            raise NotYours(
                f"{self._disguise.name}: {column.model._meta.label}.{column.name} of a row to decorrelate is not this "
                "principal. Pass unlocked= if it is one of their pseudoprincipals, and leave other rows out."
            )
        return owners

    def _make(self) -> Any:
        """One pseudoprincipal that stands for the principal; its raw primary key."""
        generator = registry.pseudoprincipal_for(self._disguise, self._model)
        [[made]] = factory.make(generator, self._model, [(1, None)], using=self._using)
        voice = SpeaksFor(made.key, made.secret_key.public_key, made.secret_key, self._own_key())
        self._done.records.speaks_for.append(voice)
        self._done.made[reference_of(self._model, made.key)] = made.key
        return made.key

    def _value_of(self, pseudoprincipal: Model, column: ForeignKey[Any, Any]) -> Any:
        """What ``column`` holds to refer to one that this session has made."""
        same_model = pseudoprincipal._meta.concrete_model is self._model._meta.concrete_model
        made = self._done.made.get(str(pseudoprincipal.pk)) if same_model else None
        if made is None:
            raise NotYours(
                f"{self._disguise.name}: decorrelate(to=...) takes what new_pseudoprincipal() of this session returned."
            )
        table = table_of(self._model)
        [(value,)] = self._read(table, (column.target_field.name,), [(made,)])
        return value

    def _owner_column(self, model: type[Model], name: str) -> ForeignKey[Any, Any]:
        column = column_of(model, name)
        principals = self._model._meta.concrete_model
        if isinstance(column, ForeignKey) and registry.owner_target(model, name)._meta.concrete_model is principals:
            return column
        raise SpecError(f"{model._meta.label}.{name} is no foreign key to {self._model._meta.label}.")

    def _own_key(self) -> Any:
        """As the database's driver reads it, which is how records compare it."""
        table = table_of(self._model)
        key = key_of(self._model, str(self._target.entry.reference), using=self._using)
        [(own,)] = self._read(table, table.key_names, [(key,)])
        return own

    def _given(self, objects: Iterable[Objects]) -> Given:
        self._require_open()
        return given(objects, using=self._using)

    def _planned(
        self,
        operation: Operation,
        table: Table,
        columns: tuple[str, ...],
        keys: Iterable[Row],
        transformation: Modify | Decorrelate | None = None,
    ) -> PlannedStep:
        # Nowhere else do rows get a name: error pages print variables.
        rows = self._read(table, columns, keys)
        return PlannedStep(operation, table, columns, transformation, rows, [0] * len(rows))

    def _read(self, table: Table, names: Sequence[str], keys: Iterable[Row]) -> list[Row]:
        """The rows, locked, in the order of their keys. Those that are gone meanwhile are left out, as `delete` leaves them out."""
        return raw.read(table, names, list(keys), lock=True, using=self._using)

    def _references(self) -> set[str]:
        """The principal, and with ``unlocked`` everyone they speak for."""
        return {str(entry.reference) for entry in self._target.owners if entry.attached}


def refusal(disguise: type[ByHand]) -> ConstraintRefused:
    return ConstraintRefused(
        f"The database refused {disguise.name}: one of its constraints would be broken, and nothing was changed. "
        "Remove or change what refers to a row before the row, and give unique columns unique values."
    )
