"""Jobs, and the principals who are still to do: two of the tables behind `edna.operations.jobs`; the third is in `jobrunners`.

Invariants: an item is deleted in the transaction that disguises its principal, and its runner counts it there, so that
done, skipped, failed and left always add up to the total; runners wait neither for each other's items nor for each other's
counts. Jobs and items are tagged as they are written, and each that is read says whether its tag is right (`tags`). Knows no disguise
and decides nothing: when a runner counts as dead, and what becomes of a job, is for the caller. A little long, for items and the counts of
their job change together.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db import connections
from django.db.models import Count, F, OuterRef, QuerySet, Subquery

from edna import shards
from edna.db import rows
from edna.db.rows import table_of
from edna.errors import JobForged
from edna.models import PrincipalEntry, random_primary_key
from edna.operations.models import Job, JobItem
from edna.operations.store.tags import item_data, item_tags, job_data, job_tags
from edna.store.vouching import Tagged

RUNNING: Final = Job.State.RUNNING.value
PAUSED: Final = Job.State.PAUSED.value
CANCELLED: Final = Job.State.CANCELLED.value
FINISHED: Final = Job.State.FINISHED.value

_ITEMS: Final = table_of(JobItem)
_ENTRIES: Final = table_of(PrincipalEntry)
#: Where lists name principals.
LISTED: Final = (_ITEMS, "reference")
_ITEMS_INDEX: Final = "edna_job_items"
_AT_ONCE: Final = 5_000
#: What the tag of a job is over.
TAGGED: Final = ("id", "disguise", "params", "everybody", "schedule", "operator", "state", "keep_no_way_back")

_JOB_ROWS: Final = """
SELECT edna_job.*, at_work.runners_done, at_work.runners_skipped, at_work.runners_seconds,
       at_work.runners_alive, at_work.pace_done, at_work.pace_seconds,
       (SELECT COUNT(*) FROM edna_jobitem WHERE edna_jobitem.job = edna_job.id AND edna_jobitem.state = %s) AS items_failed
FROM edna_job LEFT JOIN (
    SELECT job AS job_id, SUM(done) AS runners_done, SUM(skipped) AS runners_skipped, SUM(seconds) AS runners_seconds,
           SUM(CASE WHEN seen_at >= %s THEN 1 ELSE 0 END) AS runners_alive,
           SUM(CASE WHEN seen_at >= %s THEN done + skipped END) AS pace_done,
           SUM(CASE WHEN seen_at >= %s THEN seconds END) AS pace_seconds
    FROM edna_jobrunner GROUP BY job
) at_work ON at_work.job_id = edna_job.id
WHERE {conditions}
ORDER BY created_on DESC, state DESC, edna_job.id {limit}
"""


@dataclass(frozen=True, slots=True)
class TaggedJob:
    """What a job is to do. ``sound`` says that its tag was right when it was read."""

    id: int
    disguise: str
    params: dict[str, str]
    everybody: bool
    schedule: str
    operator: str
    state: str
    keep_no_way_back: bool
    sound: bool = True


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job at one moment. The counts are those of its runners, too; ``pace`` is principals a second of those at work now."""

    id: int
    disguise: str
    params: dict[str, str]
    everybody: bool
    schedule: str
    operator: str
    state: str
    keep_no_way_back: bool
    total: int
    left_out: int | None
    done: int
    skipped: int
    failed: int
    runners: int
    concurrency: int
    rate_per_second: float | None
    seconds: float
    pace: float | None
    created_on: datetime.date
    finished_on: datetime.date | None
    sound: bool


@dataclass(frozen=True, slots=True)
class Item:
    """``sound`` says that its tag was right when it was read."""

    id: int
    reference: str
    attempts: int
    sound: bool


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item somewhere, and the disguise of its job."""

    id: int
    job: int
    disguise: str


def tagged_jobs(*, job: int | None = None) -> Tagged:
    """All, or one of them."""
    among = () if job is None else (("id", job),)
    return Tagged("jobs", ("job", "jobs"), Job, TAGGED, job_tags, job_data, among, is_placed=True)


def tagged_items(*, job: int | None = None) -> Tagged:
    """Those of all jobs, or of one."""
    among = () if job is None else (("job", job),)
    words = ("person on lists of jobs", "people on lists of jobs")
    return Tagged("items", words, JobItem, ("id", "job", "reference"), item_tags, item_data, among)


# Jobs


def add_job(
    *,
    disguise: str,
    params: Mapping[str, str],
    everybody: bool,
    schedule: str,
    operator: str,
    concurrency: int,
    rate_per_second: float | None,
    left_out: int | None,
    keep_no_way_back: bool,
    today: datetime.date,
    job: int | None = None,
    using: str,
) -> TaggedJob:
    """
    Raises:
        django.db.IntegrityError: there is a job of this number.
    """
    key = job or random_primary_key()
    made = TaggedJob(key, disguise, dict(params), everybody, schedule, operator, RUNNING, keep_no_way_back)
    Job.objects.using(using).create(
        **{name: getattr(made, name) for name in TAGGED},
        total=0,
        left_out=left_out,
        concurrency=concurrency,
        rate_per_second=rate_per_second,
        created_on=today,
        tag=_tag(made, using=using),
    )
    return made


def job_rows(
    *,
    alive_since: datetime.datetime,
    using: str,
    job: int | None = None,
    states: Sequence[str] | None = None,
    operator: str | None = None,
    most: int | None = None,
) -> list[JobRow]:
    """Jobs as they are at one moment, in one statement; the newest first, by the day, and of one day the unfinished."""
    if job is not None and not -(2**63) <= job < 2**63:
        return []  # an address may have any number; a driver would refuse it
    # As text: a runner looks after each batch, and compiling this query of Django's takes ten times as long as the database does.
    conditions: list[str] = ["1 = 1"]
    given: list[object] = []
    if job is not None:
        conditions.append("edna_job.id = %s")
        given.append(job)
    if states is not None:
        conditions.append(f"state IN ({', '.join(['%s'] * len(states))})")
        given += map(str, states)
    if operator is not None:
        conditions.append("operator = %s")
        given.append(operator)
    alive = connections[using].ops.adapt_datetimefield_value(alive_since)
    text = _JOB_ROWS.format(conditions=" AND ".join(conditions), limit="" if most is None else f"LIMIT {most:d}")
    found = Job.objects.using(using).raw(text, [JobItem.State.FAILED.value, alive, alive, alive, *given])
    return [_job_row(each, using=using) for each in found]


def _job_row(job: Any, *, using: str) -> JobRow:
    return JobRow(
        id=job.pk,
        disguise=job.disguise,
        params=job.params,
        everybody=job.everybody,
        schedule=job.schedule,
        operator=job.operator,
        state=job.state,
        keep_no_way_back=job.keep_no_way_back,
        total=job.total,
        left_out=job.left_out,
        done=job.done + int(job.runners_done or 0),
        skipped=job.skipped + int(job.runners_skipped or 0),
        failed=job.items_failed,
        runners=int(job.runners_alive or 0),
        concurrency=job.concurrency,
        # What is not above 0 was not written here.
        rate_per_second=job.rate_per_second if job.rate_per_second and job.rate_per_second > 0 else None,
        seconds=job.seconds + (job.runners_seconds or 0),
        # Each of several runners counts its part of the time, so that the sum is what a clock would have shown.
        pace=int(job.pace_done) / job.pace_seconds if job.pace_done and job.pace_seconds else None,
        created_on=job.created_on,
        finished_on=job.finished_on,
        sound=_tagged([getattr(job, name) for name in (*TAGGED, "tag")], using=using).sound,
    )


def _tag(job: TaggedJob, *, using: str) -> bytes:
    data = job_data(*[getattr(job, name) for name in TAGGED], database=shards.named(using))
    assert data is not None  # its parameters are texts: it is new, or was tagged before
    return job_tags().maker(using=using)(data)


def _tagged(row: Sequence[Any], *, using: str) -> TaggedJob:
    *said, tag = row
    sound = job_tags().is_right(tag, job_data(*said, database=shards.named(using)))
    return replace(TaggedJob(*said), sound=sound)


def lock_job(job: int, *, using: str) -> TaggedJob | None:
    """Let nobody else change this job until the transaction ends; None if there is no such job."""
    query = Job.objects.using(using).filter(pk=job)
    if connections[using].vendor == "sqlite":
        _take_the_file(using=using)
    else:
        query = query.select_for_update()
    row = query.values_list(*TAGGED, "tag").first()
    return None if row is None else _tagged(row, using=using)


def state_of(job: int, *, using: str) -> str | None:
    """None, too, if its tag is wrong."""
    row = Job.objects.using(using).filter(pk=job).values_list(*TAGGED, "tag").first()
    found = None if row is None else _tagged(row, using=using)
    return found.state if found is not None and found.sound else None


def forged_among(states: Sequence[str], *, using: str) -> list[int]:
    """Jobs in one of these states whose tag is wrong."""
    found = Job.objects.using(using).filter(state__in=states).order_by("id").values_list(*TAGGED, "tag")
    return [job.id for job in (_tagged(row, using=using) for row in found) if not job.sound]


def save_job(job: TaggedJob, *, using: str, state: str, **columns: Any) -> None:
    """
    Raises:
        JobForged: it was not written by this site; it gets no tag.
    """
    require_sound(job)
    changed = replace(job, state=state)
    Job.objects.using(using).filter(pk=job.id).update(state=state, tag=_tag(changed, using=using), **columns)


def require_sound(job: TaggedJob | JobRow) -> None:
    """
    Raises:
        JobForged: it was not written by this site, or not as it is now.
    """
    if not job.sound:
        raise JobForged(
            f"Job {job.id} does not carry this site's tag: it was written or changed past edna, or noted under a server key that is "
            'not in EDNA["MAC_KEYS"] now. It is not run, and stays as evidence. See manage.py edna_verify; put a missing key back, or '
            "find out who wrote to the table. If you know that it is right as it is: "
            f"manage.py edna_vouch --job {job.id}{shards.as_argument()}."
        )


def add_to_job(job: int, *, skipped: int, using: str) -> None:
    Job.objects.using(using).filter(pk=job).update(skipped=F("skipped") + skipped)


def jobs_in(states: Sequence[str], *, using: str) -> list[int]:
    return list(Job.objects.using(using).filter(state__in=states).order_by("id").values_list("id", flat=True))


def _take_the_file(*, using: str) -> None:
    """SQLite has nothing to lock a row with: a statement that could write takes the lock of the whole file."""
    Job.objects.using(using).filter(id=0).update(total=0)


# Items


def add_items(job: int, references: Sequence[str], *, using: str) -> int:
    """Note whom a job is about, each once; how many there are.

    In the order of random keys, which says nothing, and lets the indexes of a long list grow at one end.
    """
    listed = sorted(zip((random_primary_key() for _ in references), references, strict=False))
    made = item_tags().maker(using=using)
    for start in range(0, len(listed), _AT_ONCE):
        part = listed[start : start + _AT_ONCE]
        new = [
            (pk, job, reference, JobItem.State.PENDING.value, "", 0, made(item_data(pk, job, reference)))
            for pk, reference in part
        ]
        rows.insert(_ITEMS, ("id", "job", "reference", "state", "reason", "attempts", "tag"), new, using=using)
    return len(listed)


def claim(job: int, *, most: int, after: int = 0, among: Sequence[int] | None = None, using: str) -> list[Item]:
    """Items that are to be done, locked until the transaction ends, and that no other runner has locked; by their keys.

    ``after`` is a key to go on from; ``among`` limits them to some. Without ``SKIP LOCKED`` it waits for other runners.
    """
    connection = connections[using]
    if connection.vendor == "sqlite":
        _take_the_file(using=using)
    names = ("id", "reference", "attempts", "tag")
    pending = {"job": job, "state": JobItem.State.PENDING.value}
    if among is None:
        found = rows.take(_ITEMS, names, pending, index=_ITEMS_INDEX, after=after, most=most, using=using)
        return _items(job, found)
    query = JobItem.objects.using(using).filter(**pending, id__in=list(among))
    if connection.vendor != "sqlite":
        query = query.select_for_update(skip_locked=connection.features.has_select_for_update_skip_locked)
    return _items(job, query.order_by("id").values_list(*names)[:most])


def _items(job: int, found: Iterable[Sequence[Any]]) -> list[Item]:
    tags = item_tags()
    return [
        Item(pk, reference, attempts, tags.is_right(tag, item_data(pk, job, reference)))
        for pk, reference, attempts, tag in found
    ]


def refuse_items(ids: Sequence[int], *, using: str) -> None:
    """That these have failed for good because their tags are wrong."""
    query = JobItem.objects.using(using).filter(pk__in=list(ids))
    query.update(attempts=F("attempts") + 1, reason=JobForged.__name__, state=JobItem.State.FAILED)


def any_pending(job: int, *, using: str) -> bool:
    return JobItem.objects.using(using).filter(job=job, state=JobItem.State.PENDING).exists()


def delete_items(ids: Sequence[int], *, using: str) -> None:
    rows.delete(_ITEMS, [(pk,) for pk in ids], using=using)


def delete_known_items(ids: Sequence[int], *, using: str) -> int:
    """Those of them that are still there; how many."""
    return _delete(JobItem.objects.using(using).filter(pk__in=list(ids)))


def note_failure(item: int, *, reason: str, for_good: bool, using: str) -> None:
    """That an item could not be done: it is tried again later, or has failed ``for_good``. Nothing, if it was done after all."""
    query = JobItem.objects.using(using).filter(pk=item, state=JobItem.State.PENDING)
    attempts: Any = F("attempts") + 1
    if for_good:
        query.update(attempts=attempts, reason=reason, state=JobItem.State.FAILED)
    else:
        query.update(attempts=attempts, reason=reason)


def failures(jobs: Sequence[int], *, using: str) -> dict[int, dict[str, int]]:
    """How many items of each job have failed, by reason."""
    found: dict[int, dict[str, int]] = {job: {} for job in jobs}
    if jobs:
        query = JobItem.objects.using(using).filter(job__in=list(jobs), state=JobItem.State.FAILED).order_by()
        for job, reason, count in query.values_list("job", "reason").annotate(count=Count("id")):
            found[job][reason] = count
    return found


def failed_to_pending(job: int, *, using: str) -> int:
    query = JobItem.objects.using(using).filter(job=job, state=JobItem.State.FAILED)
    return query.update(state=JobItem.State.PENDING, attempts=0, reason="")


def delete_failed(job: int, *, using: str) -> int:
    """How many there were."""
    return _delete(JobItem.objects.using(using).filter(job=job, state=JobItem.State.FAILED))


def delete_some_items(job: int, *, using: str) -> int:
    """A bounded number of them: of a million, nobody should have to wait for all. How many."""
    query = JobItem.objects.using(using).filter(job=job)
    ids = list(query.order_by("job", "state", "id").values_list("id", flat=True)[:_AT_ONCE])
    delete_items(ids, using=using)
    return len(ids)


def items_after(after: int, *, most: int, using: str) -> list[tuple[int, int, str]]:
    """(id, job, reference) of items in the order of their keys."""
    query = JobItem.objects.using(using).filter(id__gt=after).order_by("id")
    return list(query.values_list("id", "job", "reference")[:most])


def listed(job: int, references: Collection[str], *, using: str) -> set[str]:
    """Of these principals, who is on the job's list."""
    query = JobItem.objects.using(using).filter(job=job, reference__in=list(references))
    return set(query.values_list("reference", flat=True))


def items_of(references: Sequence[str], *, using: str) -> list[ListedItem]:
    """Items of these principals, and of those of other models whose keys are the same; but for what runners have locked."""
    query = JobItem.objects.using(using).filter(reference__in=list(references))
    query = query.annotate(disguise=Subquery(Job.objects.filter(pk=OuterRef("job")).values("disguise")))
    if connections[using].features.has_select_for_update_skip_locked:
        query = query.select_for_update(skip_locked=True)
    return [ListedItem(*row) for row in query.order_by("id").values_list("id", "job", "disguise")]


def skip(items: Sequence[tuple[int, int]], *, using: str) -> None:
    """Take items (id, job) from the lists of their jobs, which count them as skipped."""
    delete_items([item for item, _ in items], using=using)
    for job, count in sorted(Counter(job for _, job in items).items()):
        add_to_job(job, skipped=count, using=using)


def _delete(query: QuerySet[Any]) -> int:
    return query._raw_delete(query.db)  # nothing refers to them: no collecting, no signals
