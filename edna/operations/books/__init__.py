"""What the engine's transactions do to the tables of operations: `edna.engine.books.beside` calls it."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from django.db.models import Exists, Model

from edna import conf
from edna.engine.books import beside
from edna.engine.books.beside import Beside, Trace
from edna.engine.planning.steps import Plan
from edna.operations import audit
from edna.operations.books import job_lists, ledger, notices
from edna.operations.models import AuditEntry, LedgerEntry, LegalHold
from edna.operations.store import dormancy, jobs, retention
from edna.operations.store import ledger as ledger_store
from edna.store import Entry
from edna.store.vouching import Tagged

__all__ = ["connect"]


class Operations(Beside):
    def traces(self, gone: Sequence[Entry], people: Sequence[Entry], *, using: str) -> list[Trace]:
        references = [str(entry.reference) for entry in gone]
        return [
            Trace(*jobs.LISTED, references, lambda: job_lists.forget(gone, using=using)),
            Trace(*dormancy.TOLD, references if people else [], lambda: notices.forget(people, using=using)),
        ]

    def note_disguise(self, plan: Plan, *, now: datetime.datetime, for_good: bool, using: str) -> None:
        ledger.note(plan, now=now, for_good=for_good, using=using)

    def strikes(self) -> bool:
        return conf.ledger()

    def strike_disguise(self, model: str, reference: str, subject: bytes, *, using: str) -> None:
        ledger.strike(model, reference, subject, using=using)

    def seen_on_return(self, model: str) -> datetime.date | None:
        return notices.seen_on_return(model)

    def spread_hold(
        self, source: datetime.date | None, others: Collection[datetime.date | None], *, using: str
    ) -> None:
        retention.spread_hold(source, others, using=using)

    def held_among(self, buckets: Collection[datetime.date], *, using: str) -> set[datetime.date]:
        return retention.held_among(buckets, using=using)

    def lock_unheld(self, bucket: datetime.date, *, using: str) -> bool:
        return retention.lock_bucket(bucket, using=using)

    def anything_held(self) -> Exists | None:
        return Exists(LegalHold.objects.all())

    def under_a_key(self) -> Sequence[type[Model]]:
        return AuditEntry, LedgerEntry

    def tagged(self, *, job: int | None = None) -> Sequence[Tagged]:
        return jobs.tagged_jobs(job=job), jobs.tagged_items(job=job)

    def verdicts(self, *, most: int, using: str) -> Iterator[Iterator[bool]]:
        yield audit.newest_verify(most=most)
        pages = ledger_store.pages(using=using)
        yield islice((ledger.is_ours(index, sealed) for page in pages for _, index, sealed in page), most)

    def has_vouched(self) -> bool:
        return audit.is_noted("vouch")


def connect() -> None:
    """Have the engine keep these books. Calling it again changes nothing."""
    beside.connect(Operations())
