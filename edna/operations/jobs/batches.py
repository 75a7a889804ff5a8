"""A batch of a job: some principals disguised in one transaction, in which they also leave the list of who is still to do.

Invariants: a principal is disguised and off the list, or neither. Who has too many rows for one transaction is disguised alone, in chunks,
and leaves the list with the last one: after a kill, whoever goes on does so under the same receipt. The number of statements
depends on the disguise's tables and chunks, not on principals or rows. Who is no longer there, has no key, or
has returned (of a schedule), is skipped; whom this site did not put on the list, is refused. Does not know what to do about
failures, nor when to go on: see `runner`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.db.models import Model

from edna import store
from edna.db import transactions
from edna.engine.books.measurements import measuring
from edna.engine.chunks import disguise as chunks
from edna.engine.chunks.everybody import plan_for_first
from edna.engine.disguising import execute as disguising
from edna.engine.graph.references import reference_of, without_row
from edna.engine.graph.staff import references as staff_of
from edna.engine.planning import plan as planning
from edna.engine.planning.steps import Target, Turns
from edna.operations import audit
from edna.operations.dormancy import dormant_batches
from edna.operations.store import jobs as store_jobs
from edna.operations.store.jobs import Item
from edna.records.locator import Receipt
from edna.spec import Disguise

logger = logging.getLogger("edna")


@dataclass(frozen=True)
class Work:
    """What a job is about, looked up once by each runner."""

    job: int
    disguise: type[Disguise]
    model: type[Model]
    params: Mapping[str, Any]
    everybody: bool
    schedule: str
    using: str
    keep_no_way_back: bool = False
    #: Of everybody, how many who run the site are not on the list.
    left_out: int = 0


@dataclass(frozen=True)
class Batch:
    """What came of a batch. ``found`` is how many were there to be taken, ``last`` the key of the last of them; ``cut`` says that
    they had too many rows for one transaction, so that some are left."""

    found: int = 0
    done: int = 0
    skipped: int = 0
    last: int = 0
    cut: bool = False
    #: One who has too many rows for a transaction, and is left.
    large: tuple[Item, Target] | None = None


def perform(
    work: Work,
    *,
    most: int,
    claimed: list[Item],
    count: Callable[[int, int], None],
    counted: Callable[[], None] = lambda: None,
    goes_on: Callable[[], bool] = lambda: True,
    after: int = 0,
    among: Sequence[int] | None = None,
) -> Batch:
    """Disguise up to ``most`` principals, of ``among`` these items or of those ``after`` one. ``count(done, skipped)`` is called in the
    same transaction, and in that of each chunk, after which it has ``counted``, and is asked whether it ``goes_on``; ``claimed`` becomes
    the items, so that they are known if this fails.

    Raises:
        DatabaseBusy, and whatever the disguise, the application or the database has against it. Nothing was changed then, but by
        chunks that were done before.
    """
    mails: list[tuple[Model, Receipt]] = []
    divisible = not work.keep_no_way_back and chunks.are_possible(work.disguise, using=work.using)

    def attempt() -> Batch:
        mails.clear()
        claimed[:] = store_jobs.claim(work.job, most=most, after=after, among=among, using=work.using)
        if forged := [item.id for item in claimed if not item.sound]:
            return _refuse(work, forged)
        if not claimed:
            return Batch()
        return _disguise(work, claimed, count=count, mails=mails, divisible=divisible)

    with measuring("batch", work.disguise.name):
        batch = transactions.run(attempt, using=work.using)
        if batch.large is not None:
            batch = _disguise_large(_Large(work, *batch.large, count, counted, goes_on, mails), claimed)
    if mails:
        _send(work.schedule, mails)
    return batch


def _refuse(work: Work, forged: Sequence[int]) -> Batch:
    """These alone: the others are taken the next time. They stay on the list, as evidence, and are not taken again."""
    store_jobs.refuse_items(forged, using=work.using)
    audit.note("items_refused", operator="", disguise=work.disguise.name, job=work.job, items=len(forged))
    return Batch(found=len(forged))


def _disguise(
    work: Work,
    items: Sequence[Item],
    *,
    count: Callable[[int, int], None],
    mails: list[tuple[Model, Receipt]],
    divisible: bool,
) -> Batch:
    using, model = work.using, work.model
    label = model._meta.label_lower
    entries = store.entries_by_reference(label, [item.reference for item in items], using=using, lock=True)
    ask_turns = partial(_turns, work) if work.everybody else None
    targets = [Target(entry, (entry,), ask_turns=ask_turns) for entry in entries]
    planning.lock_principals(model, targets, using=using)
    # After the locks: whoever has paused or cancelled the job meanwhile can rely on it.
    if store_jobs.state_of(work.job, using=using) != store_jobs.RUNNING:
        return Batch()
    meant = _still_meant(work, [str(entry.reference) for entry in entries])
    targets = [target for target in targets if target.entry.reference in meant]
    people = _rows_of_people(work, meant) if work.schedule else {}
    plan = plan_for_first(work.disguise, targets, params=work.params, divisible=divisible, using=using)
    if plan is None and targets:
        item = next(item for item in items if item.reference == targets[0].entry.reference)
        return Batch(found=1, last=item.id, large=(item, targets[0]))
    done = {str(target.entry.reference) for target in plan.targets} if plan else set()
    waiting = meant - done
    over = [item for item in items if item.reference not in waiting]
    # Before the disguise, which takes whoever it removes from all lists, and would count them as skipped.
    store_jobs.delete_items([item.id for item in over], using=using)
    if plan is not None:
        receipts = disguising.execute(plan, using=using, for_good=work.keep_no_way_back)
        for target, receipt in zip(plan.targets, receipts, strict=not work.keep_no_way_back):
            if str(target.entry.reference) in people:
                mails.append((people[str(target.entry.reference)], receipt))
    if work.schedule and done:
        dormant_batches.disguised(work.schedule, done, using=using)
    count(len(done), len(over) - len(done))
    return Batch(
        found=len(items),
        done=len(done),
        skipped=len(over) - len(done),
        last=items[-1].id,
        cut=bool(waiting),
    )


def _still_meant(work: Work, references: Sequence[str]) -> set[str]:
    """Those who have a key, a row, and, if it is for a schedule, have not returned."""
    meant = set(references) - set(without_row(work.model, references, using=work.using))
    if work.schedule and meant:
        meant &= dormant_batches.still_dormant(work.schedule, meant, using=work.using)
    return meant


def _turns(work: Work, people: Set[str], pseudoprincipals: Set[str]) -> Turns:
    """Who is not on the list any more may have been disguised, or never was there. Whoever is of the staff now was left out."""
    asked = people | pseudoprincipals
    gone = asked - store_jobs.listed(work.job, asked, using=work.using) if asked else asked
    staff = staff_of(work.model, using=work.using) if work.left_out and not gone.isdisjoint(people) else frozenset()
    return Turns(may_have_been=gone - staff)


def _rows_of_people(work: Work, references: set[str]) -> dict[str, Model]:
    """As they are now, for the mail: their address may be among what goes."""
    key = work.model._meta.pk
    found = work.model._base_manager.using(work.using).in_bulk(list(map(key.to_python, references)))
    return {reference_of(work.model, pk): person for pk, person in found.items()}


# One who has too many rows for a transaction


@dataclass
class _Large:
    """Oversees the chunks of one principal: claims the item anew for each, and takes it off the list with the last."""

    work: Work
    item: Item
    target: Target
    count: Callable[[int, int], None]
    counted: Callable[[], None]
    may_go_on: Callable[[], bool]
    mails: list[tuple[Model, Receipt]]
    person: dict[str, Model] = field(default_factory=dict)
    has_counted: bool = False

    def begins(self) -> bool:
        if not self.may_go_on():
            return False
        # Another runner may have got it between two chunks, and goes on with the next one.
        claimed = store_jobs.claim(self.work.job, most=1, among=[self.item.id], using=self.work.using)
        return any(item.sound for item in claimed)

    def goes_on(self) -> bool:
        if store_jobs.state_of(self.work.job, using=self.work.using) != store_jobs.RUNNING:
            return False
        return bool(_still_meant(self.work, [self.item.reference]))

    def ends(self) -> None:
        self.person = _rows_of_people(self.work, {self.item.reference}) if self.work.schedule else {}
        store_jobs.delete_items([self.item.id], using=self.work.using)

    def done(self, receipt: Receipt | None) -> None:
        if receipt is not None:
            self.mails[:] = [(person, receipt) for person in self.person.values()]
            if self.work.schedule:
                dormant_batches.disguised(self.work.schedule, [self.item.reference], using=self.work.using)
        self.count(int(receipt is not None), 0)
        self.has_counted = True

    def committed(self) -> None:
        if self.has_counted:
            self.counted()
            self.has_counted = False


def _disguise_large(large: _Large, claimed: list[Item]) -> Batch:
    work, item = large.work, large.item
    claimed[:] = [item]
    done = chunks.disguise_one_of_many(
        work.disguise,
        large.target,
        large,
        params=work.params,
        using=work.using,
    )
    return Batch(found=1, done=int(done), last=item.id)


def _send(schedule: str, mails: list[tuple[Model, Receipt]]) -> None:
    try:
        dormant_batches.after_commit(schedule, mails)
    except Exception as error:
        # It is committed, and password or recovery code bring the data back: a mail fails nobody. Not the error's words, which
        # may be an address.
        logger.error("Mails of schedule %s could not be sent: %s.", schedule, type(error).__name__)
