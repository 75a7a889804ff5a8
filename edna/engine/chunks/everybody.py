"""Disguises everybody who owns a row that a disguise means: all in one transaction, or some hundreds in each.

Invariants: who takes part is decided once, at the beginning; whom the disguise makes is not disguised by it. In parts, somebody is
disguised as a whole or not at all, but for whoever has more rows than a chunk: they go alone, chunk by chunk. Of those who wait, their
references alone are in memory. The number of statements depends on parts and tables, not on rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from edna import conf, registry, rows_of_others, store
from edna.db import transactions
from edna.engine.books import under_way
from edna.engine.chunks import disguise as chunks
from edna.engine.disguising import execute as disguising
from edna.engine.graph.references import without_row
from edna.engine.planning import plan as planning
from edna.engine.planning.scope import Scope
from edna.engine.planning.steps import Plan, Target, Turns
from edna.records.locator import Receipt
from edna.spec import Disguise

#: Principals that are taken at once: enough to make statements cheap, few enough to fit memory.
_AT_ONCE: Final = 500

Item = TypeVar("Item")
Params = Mapping[str, Any]
#: Called after each part: how many are disguised, of how many.
Progress = Callable[[int, int], None]
#: Gets the receipts of each part, before it is committed.
HandOver = Callable[[Sequence[Receipt]], None]


def disguise_in_one(
    cls: type[Disguise], references: Sequence[str], *, params: Params, progress: Progress | None, using: str
) -> list[Receipt]:
    """In the caller's transaction. All are planned together where a later part would no longer find what an earlier one has changed."""
    model = registry.principal_model_for(cls)
    receipts: list[Receipt] = []
    everybody = frozenset(references)
    done: set[str] = set()

    def ask_turns(people: Set[str], pseudoprincipals: Set[str]) -> Turns:
        # Others are made by nobody else in one transaction.
        return Turns(was=((people | pseudoprincipals) & done) | (pseudoprincipals - everybody))

    together = bool(rows_of_others.readings(cls))
    for part in _batched(references, len(references) if together else _AT_ONCE):
        # Read anew: an earlier batch may have put something into their lists.
        targets = [
            Target(entry, (entry,), ask_turns=ask_turns)
            for entry in store.entries_by_reference(model._meta.label_lower, part, lock=True, using=using)
        ]
        planning.lock_principals(model, targets, using=using)
        scope = Scope(cls, targets, params=params, using=using, lock=True)
        receipts += disguising.execute(planning.build(scope), using=using)
        done.update(part)
        if progress is not None:
            progress(len(receipts), len(references))
    return receipts


def disguise_in_parts(
    cls: type[Disguise],
    references: Sequence[str],
    *,
    params: Params,
    progress: Progress | None,
    hand_over: HandOver | None,
    using: str,
) -> list[Receipt]:
    """Each part in a transaction of its own. Who has lost their row or their key meanwhile is left out. Returns the receipts that were not
    handed over: those of parts that are committed, for a part whose commit was refused is done again, and has others."""
    divisible = chunks.are_possible(cls, using=using)
    work = _Parts(cls, params, hand_over, using, divisible=divisible, everybody=frozenset(references))
    receipts: list[Receipt] = []
    done, size = 0, _AT_ONCE
    for batch in _batched(references, _AT_ONCE):
        waiting = batch
        while waiting:
            some = waiting[:size]
            part = transactions.run(partial(work.first_of, some), using=using)
            if part.large is not None:
                part = work.large(part.large)
            if hand_over is None:
                receipts += part.receipts
            work.done.update(part.over - part.left)
            # As many as fit are tried at once, and not everybody again.
            size = max(1, part.done) if part.over < {*some} else min(size * 2, _AT_ONCE)
            waiting, done = [each for each in waiting if each not in part.over], done + part.done
            if progress is not None:
                progress(done, len(references))
    return receipts


@dataclass(frozen=True)
class _Part:
    """Who is ``over``, and how many of them are disguised; or, alone, who is too ``large`` for one transaction. ``receipts`` lead to all
    that was done, be it a part of what somebody has who is gone."""

    over: Set[str]
    done: int = 0
    large: Target | None = None
    receipts: Sequence[Receipt] = ()
    #: Of those who are over, who is not disguised: they have lost their row or their key, or somebody else has removed them.
    left: Set[str] = frozenset()


@dataclass(frozen=True)
class _Parts:
    cls: type[Disguise]
    params: Params
    hand_over: HandOver | None
    using: str
    divisible: bool
    everybody: frozenset[str]
    #: References of those whose turn was.
    done: set[str] = field(default_factory=set)

    def first_of(self, references: Sequence[str]) -> _Part:
        """Those at the beginning who have no more rows together than a chunk. In the caller's transaction."""
        model = registry.principal_model_for(self.cls)
        entries = store.entries_by_reference(model._meta.label_lower, references, lock=True, using=self.using)
        targets = [Target(entry, (entry,), ask_turns=self._turns) for entry in entries]
        planning.lock_principals(model, targets, using=self.using)
        gone = set(without_row(model, [str(entry.reference) for entry in entries], using=self.using))
        targets = [target for target in targets if target.entry.reference not in gone]
        if not targets:
            return _Part(set(references), left=set(references))
        plan = plan_for_first(self.cls, targets, params=self.params, divisible=self.divisible, using=self.using)
        if plan is None:
            return _Part(set(), large=targets[0])
        receipts = disguising.execute(plan, using=self.using)
        if self.hand_over is not None:
            self.hand_over(receipts)
        waiting = {str(target.entry.reference) for target in targets[len(receipts) :]}
        there = {str(target.entry.reference) for target in targets}
        return _Part(set(references) - waiting, done=len(receipts), receipts=receipts, left=set(references) - there)

    def _turns(self, people: Set[str], pseudoprincipals: Set[str]) -> Turns:
        """Who was no pseudoprincipal at the beginning was made by this, or by somebody who has left by themselves."""
        return Turns((people | pseudoprincipals) & self.done, pseudoprincipals - self.everybody)

    def large(self, target: Target) -> _Part:
        """One who has more rows, chunk by chunk. Whoever makes a new key between two of them is still the same."""
        label, reference = target.entry.model, str(target.entry.reference)
        chunk_by_chunk = _Chunked(self.cls, label, reference, self.params, self.hand_over, self.using)
        while True:
            done = chunks.disguise_one_of_many(self.cls, target, chunk_by_chunk, params=self.params, using=self.using)
            now = [] if done else store.entries_by_reference(label, [reference], using=self.using)
            if not now or now[0].public_key == target.entry.public_key:
                # Somebody else may have removed the account since; what was done of it has its receipt.
                left = set() if done else {reference}
                return _Part({reference}, done=int(done), receipts=chunk_by_chunk.handed_over, left=left)
            target = replace(target, entry=now[0], owners=(now[0],))


@dataclass
class _Chunked:
    """Oversees the chunks of one person: their receipt is handed over in the transaction of the first one, since that one stays, whatever
    becomes of the others. Another one follows if the chunks do not stay under one."""

    cls: type[Disguise]
    label: str
    reference: str
    params: Params
    hand_over: HandOver | None
    using: str
    handed_over: list[Receipt] = field(default_factory=list)
    #: In the transaction that is not committed yet.
    now: Receipt | None = None

    def begins(self) -> bool:
        self.now = None
        return True

    def goes_on(self) -> bool:
        return True

    def ends(self) -> None:
        pass

    def done(self, receipt: Receipt | None) -> None:
        receipt = receipt or self._under_way()
        if receipt is None or receipt in self.handed_over:
            return
        self.now = receipt
        if self.hand_over is not None:
            self.hand_over([receipt])

    def committed(self) -> None:
        if self.now is not None:
            self.handed_over.append(self.now)
            self.now = None

    def _under_way(self) -> Receipt | None:
        [entry] = store.entries_by_reference(self.label, [self.reference], using=self.using)
        first = under_way.noted(entry, self.cls.name, self.params, using=self.using)
        return None if first is None else Receipt(self.cls.name, first)


def plan_for_first(
    cls: type[Disguise], targets: Sequence[Target], *, params: Params, divisible: bool, using: str
) -> Plan | None:
    """For as many of the targets as have no more rows than a chunk, and for the first of them at least; None if there is none, or if
    that one has more, and is ``divisible``."""
    while targets:
        scope = Scope(cls, targets, params=params, using=using, lock=True)
        bounded = len(targets) > 1 or (divisible and targets[0].entry.natural)
        plan = planning.build_within(scope, most=conf.chunk_rows() if bounded else None)
        if plan is not None:
            return plan
        targets = targets[: len(targets) // 2]
    return None


def _batched(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size or 1):
        yield items[start : start + size]
