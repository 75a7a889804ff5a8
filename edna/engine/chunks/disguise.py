"""Disguises one principal chunk by chunk, each in a transaction of its own.

Invariant: a chunk is whole or not there, and those that are there can be revealed, whatever happens to the rest.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from django.db import IntegrityError
from django.db.models import Model

from edna import conf, coverage, registry, store
from edna.db import transactions
from edna.db.cursors import connection_of
from edna.db.rows import Row
from edna.engine.books import under_way
from edna.engine.chunks import conditions
from edna.engine.chunks.parts import first_of, split
from edna.engine.disguising import execute as disguising
from edna.engine.planning import plan as planning
from edna.engine.planning.scope import Scope
from edna.engine.planning.steps import First, Part, Plan, Target
from edna.errors import PrincipalNotRegistered
from edna.records.chain import Chunk
from edna.records.locator import Locator, Receipt
from edna.spec import Disguise

Result = TypeVar("Result")

#: How often the rows are read anew because the database has refused a chunk.
_ATTEMPTS = 4


def disguise(
    cls: type[Disguise],
    target: Target,
    *,
    params: Mapping[str, Any],
    using: str,
    require: Callable[[], object] | None = None,
) -> Receipt:
    """Disguise one principal chunk by chunk. ``target`` stays what it was: whom earlier chunks make is not disguised by later ones.
    ``require`` is called once the first chunk has locked the account; what it raises, it raises before anything is done.

    If it is interrupted, the chunks that are done stay, and can be revealed; doing it again disguises what is left, under the same
    receipt. Should somebody reveal all of it in the meantime, the rest gets a receipt of its own.

    Raises:
        django.db.IntegrityError: the database refused a chunk several times, with rows read anew each time.
    """
    return _Disguising(cls, target, params, using, require).work()


def begin(scope: Scope, *, require: Callable[[], object] | None = None) -> Callable[[], Receipt] | None:
    """Do the first chunk in the caller's transaction, of rows of which `planning.build_within` has just found too many there; return what
    does the others. None if no chunk can begin with those: then nothing is done."""
    (target,) = scope.targets
    work = _Disguising(scope.disguise, target, scope.params, scope.using, require)
    return work.work if work.begin(scope) else None


class Overseer(Protocol):
    """Whoever has one of many disguised: asked within the transaction of each chunk, and free to break off before it."""

    def begins(self) -> bool:
        """Whether to go on, before the account is locked."""

    def goes_on(self) -> bool:
        """The same, once it is."""

    def ends(self) -> None:
        """The last chunk is about to be done."""

    def done(self, receipt: Receipt | None) -> None:
        """A chunk is done, and will be committed: the last one if there is a receipt."""

    def committed(self) -> None:
        """It is committed."""


def disguise_one_of_many(
    cls: type[Disguise],
    target: Target,
    overseer: Overseer,
    *,
    params: Mapping[str, Any],
    using: str,
) -> bool:
    """As `disguise`, as long as the overseer lets it go on; whether it has done all.

    Raises:
        django.db.IntegrityError: as `disguise`.
    """
    try:
        _Disguising(cls, target, params, using, overseer=overseer).work()
    except (_Pending, PrincipalNotRegistered):
        return False
    return True


def are_possible(cls: type[Disguise], *, using: str) -> bool:
    """Whether a disguise of many rows is to be cut. In mode client, chunks whose receipt nobody has got yet must not be there."""
    if (cls.locators or conf.locator_mode()) != "server" or inside_another_transaction(using):
        return False
    return conditions.are_lasting(cls)


def inside_another_transaction(using: str) -> bool:
    return connection_of(using).in_atomic_block


class _Pending(Exception):
    """The overseer does not let it go on: what is left is for another time."""


@dataclass
class _Disguising:
    """How far a disguise has come."""

    cls: type[Disguise]
    target: Target
    params: Mapping[str, Any]
    using: str
    require: Callable[[], object] | None = None
    overseer: Overseer | None = None
    #: The next one, as far as is known: another process may do the same.
    chunk: Chunk = field(default_factory=lambda: Chunk(Locator.new(), 0))
    finished: dict[type[Model], set[Row]] = field(default_factory=dict)
    #: What the next one is about, if the first one was done before it was known what the others are about.
    begun: Part | None = None
    #: If the last of the parts is the first rows of a table, how many at a time. What is left of them is for the last chunk.
    shared_with_last: Mapping[type[Model], int] = field(default_factory=dict)

    def begin(self, scope: Scope) -> bool:
        part = first_of(scope)
        if part:
            if self.require is not None:
                self.require()
            plan = planning.build(scope, part=part)
            self._execute(plan, more_to_come=True)
            self.chunk, self.begun = self.chunk.next, self._following(part, plan)
        return bool(part)

    def work(self) -> Receipt:
        for _ in range(_ATTEMPTS - 1):
            try:
                return self._all()
            except IntegrityError:
                # Somebody has added a row meanwhile that refers to one of the chunk: it comes before the others the next time.
                continue
        return self._all()

    def _all(self) -> Receipt:
        parts = split(self.cls, self.target, params=self.params, using=self.using, begun=self.begun)
        self.shared_with_last = {
            table: meant.number for part in parts[-1:] for table, meant in part.items() if isinstance(meant, First)
        }
        for part in parts:
            self._each(part)
        while left := self._finish():
            self._each(left)
        return Receipt(self.cls.name, self.chunk.first)

    def _each(self, part: Part) -> None:
        following: Part | None = part
        while following is not None:
            following = self.do(following)

    def do(self, part: Part) -> Part | None:
        """One chunk, if it still has rows; what another one of the same part is about, if there may be more."""
        plan = self._committed(lambda: self._do(part))
        if plan is None:
            return None
        if plan.does_anything:
            self.chunk = self.chunk.next
        for table, keys in part.items():
            if not isinstance(keys, First):
                # What a step about a child modifies may lie in the table of a parent, under the same key.
                for each in coverage.tables_of_object(table):
                    self.finished.setdefault(each, set()).update(keys)
        return self._following(part, plan)

    def _following(self, part: Part, plan: Plan) -> Part | None:
        for table, meant in part.items():
            if isinstance(meant, First) and len(keys := _keys_of(plan, table)) >= meant.number:
                return {table: First(meant.number, behind=self._last_in_order(keys))}
        return None

    def _last_in_order(self, keys: Sequence[Row]) -> int | None:
        """The last one, if the database goes by the primary key: it need not look once more at rows that earlier chunks took.

        InnoDB has those in its index until it has purged them. What PostgreSQL's planner takes instead may be slower.
        """
        single = len(keys[-1]) == 1 and type(keys[-1][0]) is int
        in_order = connection_of(self.using).vendor == "mysql" and all(map(operator.lt, keys, keys[1:]))
        return keys[-1][0] if single and in_order else None

    def _do(self, part: Part) -> Plan | None:
        """None if it is for the last chunk."""
        scope = self._scope()
        prepared = planning.build(scope, part=part, finished=self.finished)
        for table, meant in part.items():
            if isinstance(meant, First) and len(_keys_of(prepared, table)) < meant.number:
                if table in self.shared_with_last:
                    return None
                if meant.behind is not None:
                    # The index may be in another order than one chunk of it, and rows have come meanwhile.
                    prepared = planning.build(scope, part={table: First(meant.number)}, finished=self.finished)
        if prepared.does_anything:
            self._execute(prepared, more_to_come=True)
        return prepared

    def _finish(self) -> Part:
        """The last chunk: everything that is left, with what was added meanwhile.

        If that is more than a chunk takes of a table, nothing is done, and the answer is what another chunk is about.
        """

        def work() -> Part:
            prepared = planning.build(self._scope(), finished=self.finished, at_most=self.shared_with_last)
            for table, most in self.shared_with_last.items():
                if len(_keys_of(prepared, table)) > most:
                    return {table: First(most)}
            self._execute(prepared)
            return {}

        return self._committed(work)

    def _committed(self, work: Callable[[], Result]) -> Result:
        result = transactions.run(work, using=self.using)
        if self.overseer is not None:
            self.overseer.committed()
        return result

    def _scope(self) -> Scope:
        """Under the locks of whom it is for."""
        if self.overseer is not None and not self.overseer.begins():
            raise _Pending
        target = _locked(self.target, registry.principal_model_for(self.cls), using=self.using)
        if self.require is not None and not self.chunk.number:
            self.require()
        if self.overseer is not None and not self.overseer.goes_on():
            raise _Pending
        return Scope(self.cls, [target], params=self.params, using=self.using, lock=True)

    def _execute(self, plan: Plan, *, more_to_come: bool = False) -> None:
        noted = under_way.noted(plan.targets[0].entry, self.cls.name, self.params, using=self.using)
        if noted is not None or self.chunk.number:
            first, number = noted or self.chunk.first, self.chunk.number
            self.chunk = under_way.following(first, expected=number, using=self.using)
        if self.overseer is not None and not more_to_come:
            self.overseer.ends()
        [receipt] = disguising.execute(plan, using=self.using, chunks=[self.chunk], more_to_come=more_to_come)
        if self.overseer is not None:
            self.overseer.done(None if more_to_come else receipt)


def _keys_of(plan: Plan, table: type[Model]) -> list[Row]:
    return [key for step in plan.steps if step.table.model is table for key in step.primary_keys()]


def _locked(target: Target, model: type[Model], *, using: str) -> Target:
    entries = store.entries_by_public_key([entry.public_key for entry in target.owners], using=using, lock=True)
    by_id = {entry.id: entry for entry in entries if entry.attached}
    if target.entry.id not in by_id:
        raise PrincipalNotRegistered("The account was removed by another disguise meanwhile; reveal that one first.")
    owners = tuple(by_id[entry.id] for entry in target.owners if entry.id in by_id)
    now = replace(target, entry=by_id[target.entry.id], owners=owners)
    planning.lock_principals(model, [now], using=using)
    return now
