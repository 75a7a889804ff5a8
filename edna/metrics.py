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

from edna import conf, registry, shards, signals
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


#: Name, documentation, label, and numbers by its value.
_Look = tuple[str, str, str | None, Mapping[str, float]]


class Tables(Collector):
    """Gauges that are read from the database, in six statements; every five minutes a few more. Of several databases each by its name."""

    def __init__(self) -> None:
        self._storage: dict[str, tuple[float, list[figures.Bucket]]] = {}

    def collect(self) -> Iterator[Metric]:
        databases = registry.databases()
        labels = ["database"] if conf.databases() else []
        families: dict[str, GaugeMetricFamily] = {}
        for alias in databases:
            with shards.at(alias):
                try:
                    looks = list(self._look(alias))
                except Error:
                    # What was counted is worth having while the database is away.
                    looks = []
            up = "Whether the gauges below could be read from the database."
            for name, words, label, numbers in [("edna_tables_up", up, None, {"": bool(looks)}), *looks]:
                own = labels if label is None else [*labels, label]
                family = families.setdefault(name, GaugeMetricFamily(name, words, labels=own or None))
                for value, number in numbers.items():
                    family.add_metric([*([alias] if labels else []), *([] if label is None else [value])], number)
        yield from families.values()

    def _look(self, alias: str) -> Iterator[_Look]:
        queue = figures.queue()
        yield "edna_jobs", "Jobs by state.", "state", queue.jobs
        left = {"left": queue.left, "failed": queue.failed}
        yield "edna_job_items", "Principals that jobs have left to do, or have failed at.", "state", left
        yield "edna_job_runners", "Runners at work.", None, {"": queue.runners}
        yield "edna_file_tasks", "Files yet to be deleted or written.", None, {"": figures.pending_files()}
        ended = {name: run.finished_at for name, run in figures.recurring().items()}
        at = {name: moment.timestamp() for name, moment in ended.items() if moment is not None}
        yield "edna_last_run_timestamp_seconds", "When a recurring task was last done.", "task", at
        storage = {str(bucket.expires_on or "never"): bucket for bucket in self._buckets(alias)}
        yield "edna_bags", "Bags by the day of expiry.", "expires", {day: b.bags for day, b in storage.items()}
        yield (
            "edna_bag_bytes",
            "Bytes of bags by the day of expiry.",
            "expires",
            {d: b.bytes for d, b in storage.items()},
        )

    def _buckets(self, alias: str) -> list[figures.Bucket]:
        now = time.monotonic()
        read_at, found = self._storage.get(alias, (None, []))
        if read_at is None or now - read_at > _STORAGE_SECONDS:
            found = figures.storage()
            self._storage[alias] = now, found
        return found

    def forget(self) -> None:
        self._storage.clear()


TABLES: Final = Tables()
