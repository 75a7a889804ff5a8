"""Numbers for Prometheus; the only module that imports its client (the extra ``metrics``).

Two kinds: counters and histograms that this process adds to whenever `signals` say that something was done or asked for, in the
client's own registry, beside the application's; and gauges that are read from the tables when somebody asks, with a fixed number of
statements, and only for edna's own page. Invariant: a label is the name of a disguise, a class of errors, a reason, a state, a day of
expiry: nothing that grows with users, and nothing about any of them. Works in the client's multiprocess mode, too (docs/operations.md).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from django.db import Error
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from edna import signals
from edna.operations.upkeep import figures

CONTENT_TYPE: Final[str] = CONTENT_TYPE_LATEST

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
#: How long the sizes of the bags are taken for true: to read them is the one thing here that takes longer with more rows.
_STORAGE_SECONDS: Final = 300

OPERATIONS: Final = Counter(
    "edna_operations", "Disguises, reveals and batches of jobs, by outcome.", ("operation", "disguise", "result")
)
SECONDS: Final = Histogram(
    "edna_operation_seconds", "How long they took, refused ones too.", ("operation", "disguise"), buckets=_SECONDS
)
PRINCIPALS: Final = Counter("edna_principals", "For how many people they were done.", ("operation", "disguise"))
ROWS: Final = Counter("edna_rows", "Rows that were disguised or restored.", ("operation", "disguise"))
HELD: Final = Counter("edna_held_rows", "Records that a reveal had to leave sealed, by reason.", ("reason",))
REQUESTS: Final = Counter("edna_requests", "Requests that the rate limit is for, by what became of them.", ("result",))
POOL_KEYS: Final = Gauge("edna_key_pool_keys", "Key pairs that are ready.", multiprocess_mode="livesum")
POOL_SIZE: Final = Gauge("edna_key_pool_size", "Key pairs of a full pool.", multiprocess_mode="livesum")
POOL_MADE: Final = Counter(
    "edna_key_pool_made", "Key pairs made: in the background, or inline, while somebody waited.", ("how",)
)

_process = os.getpid()
_pool_lock = threading.Lock()
_pool_counted = {"background": 0, "inline": 0}


def connect() -> None:
    """Count from now on, in this process."""
    signals.measured.connect(_measured, dispatch_uid="edna.metrics")
    signals.request_counted.connect(_request_counted, dispatch_uid="edna.metrics")


def disconnect() -> None:
    signals.measured.disconnect(dispatch_uid="edna.metrics")
    signals.request_counted.disconnect(dispatch_uid="edna.metrics")


def _request_counted(*, result: str, **_: Any) -> None:
    REQUESTS.labels(result).inc()


def _measured(
    *,
    operation: str,
    name: str,
    seconds: float,
    principals: int,
    rows: int,
    held: Mapping[str, int],
    error: str,
    **_: Any,
) -> None:
    OPERATIONS.labels(operation, name, error or "done").inc()
    SECONDS.labels(operation, name).observe(seconds)
    if principals:
        PRINCIPALS.labels(operation, name).inc(principals)
    if rows:
        ROWS.labels(operation, name).inc(rows)
    for reason, number in held.items():
        HELD.labels(reason).inc(number)
    _look_at_pool()


def _look_at_pool() -> None:
    """What the key pool of this process says: after each operation, and when somebody asks."""
    if _process != os.getpid():
        _forked()  # by the system, and Python was not told
    pool = figures.key_pool()
    POOL_KEYS.set(pool.depth)
    POOL_SIZE.set(pool.size)
    with _pool_lock:
        for how, number in (("background", pool.refilled), ("inline", pool.inline)):
            before = _pool_counted[how]
            POOL_MADE.labels(how).inc(number - before if number >= before else number)  # the pool has begun anew
            _pool_counted[how] = number


def _forked() -> None:
    global _pool_lock, _process
    _process = os.getpid()
    _pool_lock = threading.Lock()
    _pool_counted.update(background=0, inline=0)


os.register_at_fork(after_in_child=_forked)


def page() -> bytes:
    """All of edna's metrics in Prometheus' text format; those of other processes among them in multiprocess mode."""
    _look_at_pool()
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(_Page(registry))


class _Page(CollectorRegistry):
    """What edna counts, of all that is in a registry, and what it reads."""

    def __init__(self, counted: Collector) -> None:
        super().__init__()
        self._counted = counted

    def collect(self) -> Iterable[Metric]:
        yield from (metric for metric in self._counted.collect() if metric.name.startswith("edna_"))
        yield from TABLES.collect()


class Tables(Collector):
    """Gauges that are read from the database, in six statements; every five minutes a few more."""

    def __init__(self) -> None:
        self._storage: list[figures.Bucket] = []
        self._read_at: float | None = None

    def collect(self) -> Iterator[Metric]:
        try:
            gauges = list(self._read())
        except Error:
            # What was counted is worth having while the database is away.
            gauges = []
        yield _gauge(
            "edna_tables_up", "Whether the gauges below could be read from the database.", None, {"": bool(gauges)}
        )
        yield from gauges

    def _read(self) -> Iterator[Metric]:
        queue = figures.queue()
        yield _gauge("edna_jobs", "Jobs by state.", "state", queue.jobs)
        left = {"left": queue.left, "failed": queue.failed}
        yield _gauge("edna_job_items", "Principals that jobs have left to do, or have failed at.", "state", left)
        yield _gauge("edna_job_runners", "Runners at work.", None, {"": queue.runners})
        yield _gauge("edna_file_tasks", "Files yet to be deleted or written.", None, {"": figures.pending_files()})
        ended = {name: run.finished_at for name, run in figures.recurring().items()}
        yield _gauge(
            "edna_last_run_timestamp_seconds",
            "When a recurring task was last done.",
            "task",
            {name: at.timestamp() for name, at in ended.items() if at is not None},
        )
        storage = {str(bucket.expires_on or "never"): bucket for bucket in self._buckets()}
        yield _gauge("edna_bags", "Bags by the day of expiry.", "expires", {day: b.bags for day, b in storage.items()})
        sizes = {day: bucket.bytes for day, bucket in storage.items()}
        yield _gauge("edna_bag_bytes", "Bytes of bags by the day of expiry.", "expires", sizes)

    def _buckets(self) -> list[figures.Bucket]:
        now = time.monotonic()
        if self._read_at is None or now - self._read_at > _STORAGE_SECONDS:
            self._storage, self._read_at = figures.storage(), now
        return self._storage

    def forget(self) -> None:
        self._read_at = None


TABLES: Final = Tables()


def _gauge(name: str, documentation: str, label: str | None, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, documentation, labels=None if label is None else [label])
    for value, number in values.items():
        family.add_metric([] if label is None else [value], number)
    return family
