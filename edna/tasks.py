"""Celery's tasks: jobs, schedules and upkeep, for a site that has workers. The only module that imports Celery.

Guarantees: a message holds the number of a job or nothing at all, a task returns nothing, and no error leaves it; so the broker, the
results and Celery's own log have nothing to tell. What a job is and how far it has come is in the database. A message only says
that there may be something to do, so that it does no harm to lose one, to deliver it twice, or late: `resume_jobs`, sent by Celery's
beat, makes up for it.

Does not know what a job does (`edna.operations.jobs`). The operations are imported when a task runs: settings import this module
for `BEAT_SCHEDULE`, when there are no models yet.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Final, TypeVar

from celery import current_app, shared_task
from celery.schedules import crontab
from celery.signals import worker_process_init, worker_ready
from django.db import close_old_connections
from kombu.exceptions import ChannelError

from edna import logs, policy_seals, signals
from edna.policy_seals import Standing

__all__ = ["BEAT_SCHEDULE", "broker_reachable", "connect", "queued", "workers_alive", "workers_standing"]

Answer = TypeVar("Answer")

#: How long a task works on a job before others in the queue get their turn.
SLICE_SECONDS: Final = 30.0
#: How often beat looks for jobs that nobody works on.
TICK_SECONDS: Final = 30.0
#: How long whoever starts a job waits for a broker that does not answer.
BROKER_SECONDS: Final = 2.0

_HOUR: Final = 3600.0
#: What a worker is asked by its name, beside its queue.
_STANDING: Final = "edna_standing"
# Celery itself tries nothing again: it would keep the error's words in the message. The limits are there to be none: one that a
# project sets for tasks of its own would be raised in the middle of a batch, and be taken for a failure of its principals.
_QUIET: Final[dict[str, Any]] = {
    "ignore_result": True,
    "max_retries": 0,
    "serializer": "json",
    "time_limit": 24 * _HOUR,
    "soft_time_limit": 24 * _HOUR,
}

#: For a project's `CELERY_BEAT_SCHEDULE`. A message that no worker has taken when the next one is due is dropped.
BEAT_SCHEDULE: Final[dict[str, dict[str, Any]]] = {
    name: {"task": name, "schedule": schedule, "options": {"expires": expires_seconds}}
    for name, schedule, expires_seconds in (
        ("edna.resume_jobs", TICK_SECONDS, TICK_SECONDS),
        ("edna.run_schedules", crontab(minute="7"), _HOUR),
        ("edna.finish_files", crontab(minute="37"), _HOUR),
        ("edna.maintain", crontab(hour="3", minute="47"), 12 * _HOUR),
        ("edna.scrub", crontab(day_of_week="sun", hour="4", minute="17"), 12 * _HOUR),
    )
}


def connect() -> None:
    """Send jobs to the workers as soon as they are there. Called once the applications are loaded, if `JOB_RUNNER` says so."""
    from edna.operations.upkeep import health

    signals.job_ready.connect(_job_ready, dispatch_uid="edna.tasks")
    worker_process_init.connect(_worker_process_begins, dispatch_uid="edna.tasks")
    worker_ready.connect(_worker_is_ready, dispatch_uid="edna.tasks")
    health.ask_workers_with(workers_alive)
    health.ask_standings_with(workers_standing)


def _worker_process_begins(**_: Any) -> None:
    from edna.operations import keypool

    keypool.warm()


def _worker_is_ready(**_: Any) -> None:
    # Here, since a process that is no worker has no use for it.
    from celery.worker.control import inspect_command

    inspect_command(name=_STANDING)(_stands)


def _stands(state: Any, **_: Any) -> dict[str, Any]:
    """How this worker stands: asked of its first process, which attests with what its others have to show."""
    found = policy_seals.standing()
    return asdict(found) if found else {}


# Jobs


def _job_ready(*, job: int, **_: Any) -> None:
    """A job wants runners. If the broker is away it is started all the same, and `resume_jobs` sends it later."""
    from edna.operations import jobs

    with _quietly("broker_away", job=job):
        _send(job, messages=jobs.report(job).concurrency)


# A worker that is killed gives its message back: it is taken from the queue only when its work is done.
@shared_task(name="edna.run_job", acks_late=True, reject_on_worker_lost=True, **_QUIET)
def run_job(job_id: int) -> None:
    """Work on a job for a while, and ask for another turn if something is left."""
    from edna.operations import jobs

    with _quietly("runner_stopped", job=job_id):
        began = time.monotonic()
        jobs.run(job_id, seconds=SLICE_SECONDS)
        # One that came back early had nothing to do, or found runners enough.
        if time.monotonic() - began >= SLICE_SECONDS and job_id in jobs.waiting():
            _send(job_id, messages=1)


@shared_task(name="edna.resume_jobs", **_QUIET)
def resume_jobs() -> None:
    """Send out every job that could use another runner: its message was lost, the broker was, or a worker has died."""
    from edna.operations import jobs

    with _quietly("task_stopped", task="resume_jobs"):
        for job_id in jobs.waiting():
            report = jobs.report(job_id)
            _send(job_id, messages=max(1, report.concurrency - report.runners), expires_seconds=TICK_SECONDS)


def _send(job_id: int, *, messages: int, expires_seconds: float | None = None) -> None:
    with _broker() as connection:
        for _ in range(messages):
            run_job.apply_async((job_id,), connection=connection, retry=False, expires=expires_seconds)


# What recurs. Each of these may run twice at once, or be stopped at any moment.


@shared_task(name="edna.run_schedules", **_QUIET)
def run_schedules() -> None:
    """Find who has been away for long, warn them, and start the jobs that are due."""
    from edna.operations.schedules import rounds

    with _quietly("task_stopped", task="run_schedules"):
        rounds.run_schedules()


@shared_task(name="edna.finish_files", **_QUIET)
def finish_files() -> None:
    """Delete and write the files that a crash has left."""
    from edna import api

    with _quietly("task_stopped", task="finish_files"):
        api.finish_files()


@shared_task(name="edna.maintain", **_QUIET)
def maintain() -> None:
    """Erase what has expired, and sweep up what belongs to nobody any more. What fails keeps nothing else from being done."""
    from edna import registry, shards
    from edna.operations.retention import expiry
    from edna.operations.upkeep import residue

    for alias in registry.databases():
        with _quietly("task_stopped", task="expire"), shards.at(alias):
            expiry.expire()
        with _quietly("task_stopped", task="sweep"), shards.at(alias):
            residue.sweep()


@shared_task(name="edna.scrub", **_QUIET)
def scrub() -> None:
    """Let nothing but their values tell which rows were written together, as far as no table of the application has to be locked for it."""
    from edna import registry, shards
    from edna.operations.upkeep import scrubbing

    for alias in registry.databases():
        with _quietly("task_stopped", task="scrub"), shards.at(alias):
            scrubbing.scrub(rebuild_application=False)


# Whether anybody works, for whoever watches


def broker_reachable() -> bool:
    """Whether the broker answers, which it is given a few seconds to do."""
    return queued() is not None


def workers_alive(*, timeout_seconds: float = 1.0) -> int | None:
    """How many workers answer within that time, all of which it takes; None if the broker does not."""
    return _asked(lambda broker: len(current_app.control.ping(timeout=timeout_seconds, connection=broker)))


def workers_standing(*, timeout_seconds: float = 1.0) -> dict[str, Standing]:
    """By name, how the workers stand to policies that answer within that time; none if the broker does not."""
    told = _asked(
        lambda broker: current_app.control.broadcast(_STANDING, reply=True, timeout=timeout_seconds, connection=broker)
    )
    found: dict[str, Standing] = {}
    for name, said in (pair for each in told or [] for pair in each.items()):
        # One of an earlier release, or without policies, says something else.
        with contextlib.suppress(TypeError):
            lists = {key: tuple(said[key]) for key in ("lacks", "epochs") if key in said}
            found[name] = Standing(**{**said, **lists})
    return found


def queued() -> int | None:
    """How many messages wait in the queue that jobs are sent to, other tasks' among them; None if the broker does not answer."""

    def count(broker: Any) -> int:
        queue = current_app.amqp.router.route({}, run_job.name)["queue"].name
        try:
            return int(broker.default_channel.queue_declare(queue=queue, passive=True).message_count)
        except ChannelError:
            return 0  # Redis has no empty queues

    return _asked(count)


def _asked(ask: Callable[[Any], Answer]) -> Answer | None:
    """What comes of it over a connection to the broker; None if that does not answer, with whatever error its client has for it."""
    try:
        with _broker() as connection:
            return ask(connection)
    except Exception:
        return None


@contextlib.contextmanager
def _broker() -> Iterator[Any]:
    """A connection that gives up soon: Celery's own would wait for a lost broker for good, and whoever starts a job with it."""
    options = {"max_retries": 1, "interval_start": 0.1, "interval_max": 0.1}
    connection = current_app.connection_for_write(connect_timeout=BROKER_SECONDS)
    if connection.transport.driver_type == "redis":
        options |= {"socket_connect_timeout": BROKER_SECONDS, "socket_timeout": BROKER_SECONDS}
    connection.transport_options = {**connection.transport_options, **options}
    with connection:
        yield connection


@contextlib.contextmanager
def _quietly(event: str, **about: int | str) -> Iterator[None]:
    """Log which error it was, and not what it says: Celery would log its words and a traceback, and both may quote rows."""
    try:
        yield
    except Exception as error:
        logs.event(event, level=logging.ERROR, area="tasks", **about, error=type(error).__name__)
        close_old_connections()  # the next task must not find one that the database server has left
