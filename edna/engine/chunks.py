"""Large disguises in chunks: each an atomic disguise of some of the rows, with bags under a locator of its own.

The locators follow from that of the receipt, which is the first chunk's; all are listed for the principal. Invariants: a row is
in one chunk with all that the disguise does to it, so that a chunk is undone without the earlier ones; what refers to a row is
disguised before it, and what leads a step to its rows after the step; the principal's own row is in the last chunk. Chunks are
revealed from the last to the first, and none is erased before a later one, so that the numbers of those left have no gaps.

Splitting holds the primary keys of all rows in memory, and the rows of one chunk. A little long: how chunks are cut decides how
they are undone.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import Any

from django.db import IntegrityError
from django.db.models import Model
from django.utils import timezone

from edna import conf, coverage, registry, store
from edna.db import transactions
from edna.db.rows import Row, table_of
from edna.engine.bags.capability import Unlocked, listed_locators, open_bags
from edna.engine.bags.chain import Chunk, chunks_of
from edna.engine.books.expiry_dates import nothing_kept
from edna.engine.disguising import execute as disguising
from edna.engine.graph import families
from edna.engine.graph.ordering import relations_to
from edna.engine.graph.outcome import Outcome, in_rows
from edna.engine.graph.references import key_of
from edna.engine.layers.returning import Overrides
from edna.engine.planning import plan as planning
from edna.engine.planning.scope import Scope
from edna.engine.planning.selection import Selection
from edna.engine.planning.statements import CompiledStep, compiled_disguise, owner_keys
from edna.engine.planning.steps import Plan, Target
from edna.engine.revealing import reveal as revealing
from edna.errors import BagError, PrincipalNotRegistered, ReceiptUnknown, RevealRefused
from edna.records.bag import BagKind
from edna.records.locator import Locator, Receipt
from edna.spec import ALL, Decorrelate, Disguise, Remove

#: Of some tables, the rows that a chunk is about, by their keys.
Part = dict[type[Model], Collection[Row]]

#: Databases take a bounded number of parameters in one statement.
_MOST_KEYS = 10_000
#: How often the rows are read anew because the database has refused a chunk.
_ATTEMPTS = 4


# Disguising


def disguise(cls: type[Disguise], target: Target, *, params: Mapping[str, Any], using: str) -> Receipt:
    """Disguise one principal chunk by chunk. ``target`` stays what it was: whom earlier chunks make is not disguised by later ones.

    If it is interrupted, the chunks that are done stay, and can be revealed; doing it again disguises what is left. Should somebody
    reveal it in the meantime, the rest gets a receipt of its own.

    Raises:
        django.db.IntegrityError: the database refused a chunk several times, with rows read anew each time.
    """
    work = _Disguising(cls, target, params, using)
    for attempt in range(_ATTEMPTS):
        try:
            for part in split(cls, target, params=params, using=using):
                work.do(part)
            break
        except IntegrityError:
            # Somebody has added a row meanwhile that refers to one of the chunk: it comes before the others the next time.
            if attempt + 1 == _ATTEMPTS:
                raise
    return work.finish()


@dataclass
class _Disguising:
    """How far a disguise has come."""

    cls: type[Disguise]
    target: Target
    params: Mapping[str, Any]
    using: str
    locator: Locator = field(default_factory=Locator.new)
    number: int = 0
    finished: dict[type[Model], set[Row]] = field(default_factory=dict)

    def do(self, part: Part) -> None:
        """One chunk, if it still has rows."""
        done = transactions.run(lambda: self._do(part), using=self.using)
        for table, keys in part.items():
            self.finished.setdefault(table, set()).update(keys)
        self.number += done

    def _do(self, part: Part) -> bool:
        prepared = self._plan(part)
        if prepared.rows:
            self._execute(prepared, more_to_come=True)
        return bool(prepared.rows)

    def finish(self) -> Receipt:
        """The last chunk: everything that is left, with what was added meanwhile."""
        transactions.run(lambda: self._execute(self._plan(None)), using=self.using)
        return Receipt(self.cls.name, self.locator)

    def _plan(self, part: Part | None) -> Plan:
        target = _locked(self.target, registry.principal_model_for(self.cls), using=self.using)
        return planning.build(
            Scope(self.cls, [target], params=self.params, using=self.using, lock=True),
            part=None if part is None else {table: _limit(table, keys) for table, keys in part.items()},
            finished=self.finished,
        )

    def _execute(self, plan: Plan, *, more_to_come: bool = False) -> None:
        if self.number and not _is_stored(self.locator.chunk(self.number - 1), using=self.using):
            self.locator, self.number = Locator.new(), 0  # somebody has revealed it in the meantime
        locator = self.locator.chunk(self.number)
        disguising.execute(plan, now=timezone.now(), using=self.using, locators=[locator], more_to_come=more_to_come)


def _limit(table: type[Model], keys: Collection[Row]) -> list[Any] | None:
    """The values to which a statement's primary key is limited; None where it cannot be, and all rows are in one chunk."""
    return [key for (key,) in keys] if len(table_of(table).key) == 1 and not families.links_of(table) else None


def _is_stored(locator: Locator, *, using: str) -> bool:
    places = [locator.index(kind, 0) for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR)]
    return bool(store.bags_by_index(places, using=using))


def _locked(target: Target, model: type[Model], *, using: str) -> Target:
    entries = store.entries_by_public_key([entry.public_key for entry in target.owners], using=using, lock=True)
    by_id = {entry.id: entry for entry in entries if entry.attached}
    if target.entry.id not in by_id:
        raise PrincipalNotRegistered("The account was removed by another disguise meanwhile; reveal that one first.")
    owners = tuple(by_id[entry.id] for entry in target.owners if entry.id in by_id)
    now = replace(target, entry=by_id[target.entry.id], owners=owners)
    planning.lock_principals(model, [now], using=using)
    return now


# Splitting


def split(cls: type[Disguise], target: Target, *, params: Mapping[str, Any], using: str) -> list[Part]:
    """What each chunk but the last is about, in their order. The last one is about the principal's own row, and all that is left."""
    model = registry.principal_model_for(cls)
    owners = [key_of(model, str(entry.reference), using=using) for entry in target.owners if entry.attached]
    most = min(conf.chunk_rows(), _MOST_KEYS)
    parts: list[Part] = [{}]
    rows = 0
    for unit in _units(compiled_disguise(cls, using=using).steps):
        if table_of(model).model in unit.tables:
            break
        scan = _Scan(cls, params, owners, using)
        for step in unit.steps:
            scan.look(step)
        pieces = scan.pieces(most) if unit.divisible else [scan.found]
        for piece in pieces:
            size = sum(map(len, piece.values()))
            if rows and rows + size > most:
                parts.append({})
                rows = 0
            for table in unit.tables:
                parts[-1][table] = [*parts[-1].get(table, ()), *piece.get(table, ())]
            rows += size
    return parts


@dataclass(frozen=True)
class _Unit:
    """Tables of which one chunk must be about all rows, unless it is ``divisible``: then a single table."""

    tables: tuple[type[Model], ...]
    steps: tuple[CompiledStep, ...]
    divisible: bool


def _units(steps: Sequence[CompiledStep]) -> Iterator[_Unit]:
    """The disguise's tables in the order in which they can lose rows one chunk after the other."""
    by_table: dict[type[Model], list[CompiledStep]] = {}
    for step in steps:
        by_table.setdefault(step.node, []).append(step)
    before: dict[type[Model], set[type[Model]]] = {table: set() for table in by_table}  # what must come earlier
    own_joins: set[type[Model]] = set()
    names = {table._meta.db_table: table for table in by_table}
    for table, found in by_table.items():
        before[table] |= {other for part in coverage.tables_of_object(table) for other in _referring(part)}
        before[table] |= {other for other in by_table if coverage.generic_keys(other)}
        before[table] |= {link.other.model for link in families.links_of(table)}
        before[table] &= by_table.keys() - {table}
        for step in found:
            read = step.selection.tables if step.selection else ()
            for other in {names[name] for name in read if name in names} - {table}:
                before[other].add(table)
            if read.count(table._meta.db_table) > 1:
                own_joins.add(table)
    together = _circles(before)
    order = TopologicalSorter(
        {unit: {together[other] for table in unit for other in before[table]} - {unit} for unit in together.values()}
    )
    for unit in order.static_order():
        found = [step for table in unit for step in by_table[table]]
        yield _Unit(unit, tuple(found), len(unit) == 1 and unit[0] not in own_joins and _divisible(unit[0], found))


def _referring(table: type[Model]) -> set[type[Model]]:
    return {table_of(relation.model).model for relation in relations_to(table)}


def _circles(before: Mapping[type[Model], set[type[Model]]]) -> dict[type[Model], tuple[type[Model], ...]]:
    """For each table, it and those that must come both before and after it."""
    reached = {table: set(others) for table, others in before.items()}
    for middle in before:
        for table in before:
            if middle in reached[table]:
                reached[table] |= reached[middle]
    return {
        table: tuple(
            other for other in before if other is table or (other in reached[table] and table in reached[other])
        )
        for table in before
    }


def _divisible(table: type[Model], steps: Sequence[CompiledStep]) -> bool:
    """Whether some of its rows can be disguised without the others."""
    groupings = [
        step.transformation.group_by
        for step in steps
        if isinstance(step.transformation, Decorrelate) and step.transformation.group_by
    ]
    removed = any(isinstance(step.transformation, Remove) for step in steps)
    tree = table in _referring(table)
    return (
        len(table_of(table).key) == 1
        and not families.links_of(table)
        and not (removed and tree)
        and len(groupings) <= 1
        and ALL not in groupings
    )


@dataclass
class _Scan:
    """The primary keys of a unit's rows, and which of them get one pseudoprincipal together."""

    cls: type[Disguise]
    params: Mapping[str, Any]
    owners: Sequence[Any]
    using: str
    #: By table, keys with the group that gets one pseudoprincipal, or None.
    found: dict[type[Model], dict[Row, Any]] = field(default_factory=dict)

    def look(self, step: CompiledStep) -> None:
        transformation = step.transformation
        paths = owner_keys(transformation, registry.principal_model_for(self.cls))
        grouped = isinstance(transformation, Decorrelate) and transformation.group_by
        groups = (*paths, *transformation.group_paths) if isinstance(transformation, Decorrelate) and grouped else ()
        names = table_of(step.node).key_names
        selection = Selection.compile(
            transformation.model, [*names, *groups], owners=paths, where=transformation.where, using=self.using
        )
        known = self.found.setdefault(step.node, {})
        for row in selection.run(owners=self.owners, params=self.params, using=self.using) if selection else ():
            key, group = row[: len(names)], row[len(names) :]
            if group or key not in known:
                known[key] = group or None

    def pieces(self, most: int) -> Iterator[dict[type[Model], list[Row]]]:
        """Of a divisible unit, pieces of at most so many rows, but for groups that are larger; an empty one if there are none."""
        ((table, found),) = self.found.items()
        groups: dict[Any, list[Row]] = {}
        for key, group in found.items():
            groups.setdefault((key, None) if group is None else (None, group), []).append(key)
        piece: list[Row] = []
        for keys in groups.values():
            if piece and len(piece) + len(keys) > most:
                yield {table: piece}
                piece = []
            piece += keys
        yield {table: piece}


# Revealing


def reveal(
    receipt: Receipt, unlocked: Unlocked, *, overrides: Overrides, allow_partial: bool, separately: bool
) -> Outcome:
    """Undo the chunks of a disguise, from the last to the first; each ``separately`` in a transaction, or all in the caller's.

    If it is interrupted, what is back is back, and the same receipt leads to the rest. A chunk of which no bag is there any more
    (it has expired, say) does not keep the others from coming back.

    Raises:
        BagError: a bag of one of the chunks does not open; that is looked at first, before anything is changed.
        RevealRefused: something is held and ``allow_partial`` is off.
    """
    for number in _chunks_left(receipt, unlocked):
        _require_openable(receipt.locator.chunk(number), unlocked)
    outcome = Outcome()
    found = 0
    # What had moved into a late chunk, because of one row that it needs, may have waited for one of an early chunk, too.
    for attempt in itertools.count():
        again = Outcome()
        numbers = _chunks_left(receipt, unlocked)
        for number in reversed(numbers):
            chunk = Chunk(receipt.locator, number, tell=not attempt and number == numbers[0])
            with contextlib.suppress(ReceiptUnknown):  # it has expired
                again.include(_reveal_chunk(receipt, chunk, unlocked, overrides=overrides, separately=separately))
                found += 1
        if not found:
            raise nothing_kept(receipt.disguise)
        outcome.forget_held()
        outcome.include(again)
        if not again.held or not (again.restored or again.deferred):
            break
    if outcome.held and not allow_partial:
        raise RevealRefused(
            f"{in_rows(outcome.rows_held)} of {receipt.disguise} cannot be revealed now, so none was; "
            "see the outcome for the reasons.",
            outcome=outcome,
        )
    return outcome


def _reveal_chunk(
    receipt: Receipt, chunk: Chunk, unlocked: Unlocked, *, overrides: Overrides, separately: bool
) -> Outcome:
    def work() -> Outcome:
        outcome = revealing.reveal(receipt, unlocked, overrides=overrides, allow_partial=True, chunk=chunk)
        assert outcome is not None
        return outcome

    return transactions.run(work, using=unlocked.using) if separately else work()


def _chunks_left(receipt: Receipt, unlocked: Unlocked) -> list[int]:
    listed = {locator for _, locator in listed_locators(unlocked.entry(), unlocked.secret_key)}
    return chunks_of(receipt.locator, listed) if receipt.locator in listed else []


def _require_openable(locator: Locator, unlocked: Unlocked) -> None:
    for kind in (BagKind.DIFF, BagKind.SPEAKS_FOR):
        for _, bag in open_bags({locator: [unlocked.secret_key]}, kind, using=unlocked.using, due=set(), expired=set()):
            if isinstance(bag, BagError):
                raise bag
