"""Celery's tasks, called in this process, and what they send to a real Redis. Real workers are in `tests.workers`."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import redis
from celery import Celery
from celery.signals import worker_process_init
from django.db import transaction

from benchmarks.kit.servers import Server, private_redis
from edna import keypool, signals, tasks
from edna.operations import jobs
from edna.operations.jobs import JobState
from edna.operations.retention import expiry
from edna.operations.store.runs import last_runs
from edna.operations.upkeep import residue, scrubbing
from tests.support import ANONYMISE_ALL, answer_everything, enrol, enrol_many, make_course

# Slow for the sake of `make test-quick`, which has no Redis.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once, pytest.mark.slow]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with private_redis() as server:
        yield server


@pytest.fixture
def broker(server: Server) -> Iterator[redis.Redis]:
    """What starts a job in this process sends it there."""
    client = redis.Redis(unix_socket_path=str(server.directory / "socket"))
    client.flushall()
    app = Celery("tests", broker=server.url, set_as_current=True)
    tasks.connect()
    yield client
    signals.job_ready.disconnect(dispatch_uid="edna.tasks")
    worker_process_init.disconnect(dispatch_uid="edna.tasks")
    app.close()


@pytest.fixture
def course(db: None) -> None:
    make_course()
    answer_everything(*enrol_many(4))


def messages(broker: redis.Redis) -> list[dict[str, Any]]:
    return [json.loads(message) for message in broker.lrange("celery", 0, -1)]


def sent(broker: redis.Redis) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """Task and arguments of each message that waits."""
    found = []
    for message in messages(broker):
        arguments, keywords, _ = json.loads(base64.b64decode(message["body"]))
        found.append((message["headers"]["task"], arguments, keywords))
    return found


def test_a_job_is_sent_to_as_many_workers_as_may_work_on_it_and_says_nothing_but_its_number(
    broker: redis.Redis, course: None
) -> None:
    report = jobs.start(ANONYMISE_ALL, concurrency=3, operator="the operator")
    assert sent(broker) == [("edna.run_job", [report.id], {})] * 3
    assert tasks.queued() == 3
    assert b"operator" not in repr(messages(broker)).encode()


def test_a_job_is_sent_once_it_is_committed(broker: redis.Redis, course: None) -> None:
    with transaction.atomic():
        jobs.start(ANONYMISE_ALL)
        assert sent(broker) == []
        transaction.set_rollback(True)
    assert sent(broker) == []


def test_a_start_neither_fails_nor_waits_for_a_broker_that_is_away(
    server: Server, broker: redis.Redis, course: None, caplog: pytest.LogCaptureFixture
) -> None:
    server.kill()
    try:
        report = jobs.start(ANONYMISE_ALL, concurrency=2)
        assert (tasks.queued(), tasks.workers_alive(), tasks.broker_reachable()) == (None, None, False)
    finally:
        server.start()
    assert report.state is JobState.RUNNING
    [line] = [record.getMessage() for record in caplog.records if record.name == "edna.tasks"]
    assert line == f"broker_away job={report.id} error=OperationalError"
    assert (tasks.queued(), tasks.workers_alive(), tasks.broker_reachable()) == (0, 0, True)
    tasks.resume_jobs()
    assert sent(broker) == [("edna.run_job", [report.id], {})] * 2


def test_what_beat_sends_is_dropped_if_nobody_takes_it(broker: redis.Redis, course: None) -> None:
    jobs.start(ANONYMISE_ALL, concurrency=1)
    tasks.resume_jobs()
    started, resumed = sorted(messages(broker), key=lambda message: bool(message["headers"]["expires"]))
    assert started["headers"]["expires"] is None
    assert resumed["headers"]["expires"] is not None
    assert all("expires" in entry["options"] for entry in tasks.BEAT_SCHEDULE.values())


def test_a_job_is_worked_on_until_nothing_is_left(broker: redis.Redis, course: None) -> None:
    report = jobs.start(ANONYMISE_ALL, concurrency=1)
    broker.flushall()
    tasks.run_job(report.id)
    assert jobs.report(report.id).state is JobState.FINISHED
    tasks.run_job(report.id)  # delivered twice
    tasks.resume_jobs()
    assert jobs.report(report.id).done == 4
    assert sent(broker) == []


def test_a_task_whose_time_is_up_asks_for_another_turn(
    broker: redis.Redis, course: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = jobs.start(ANONYMISE_ALL)
    broker.flushall()
    monkeypatch.setattr(tasks, "SLICE_SECONDS", 0.0)
    tasks.run_job(report.id)
    assert sent(broker) == [("edna.run_job", [report.id], {})]
    broker.flushall()
    jobs.pause(report.id)
    tasks.run_job(report.id)
    tasks.resume_jobs()
    assert sent(broker) == []


def test_what_goes_wrong_is_logged_without_its_words(
    broker: redis.Redis, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("bea@example.org is in the way")

    tasks.run_job(123)
    monkeypatch.setattr(jobs, "run", fails)
    tasks.run_job(124)
    monkeypatch.setattr(jobs, "waiting", fails)
    tasks.resume_jobs()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == [
        "runner_stopped job=123 error=JobUnknown",
        "runner_stopped job=124 error=ValueError",
        "task_stopped task=resume_jobs error=ValueError",
    ]
    assert not any(record.exc_info for record in caplog.records)
    assert "bea@example.org" not in caplog.text


def test_what_fails_in_the_night_keeps_nothing_else_from_being_done(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> None:
        raise ValueError("no")

    tasks.maintain()
    assert {run.name for run in last_runs(using="default")} >= {"expire", "sweep"}
    monkeypatch.setattr(expiry, "expire", fails)
    swept = []
    monkeypatch.setattr(residue, "sweep", lambda: swept.append(True))
    tasks.maintain()
    assert swept == [True]
    assert "task_stopped task=expire error=ValueError" in caplog.text


def test_everything_that_recurs_is_a_task_and_can_be_done() -> None:
    enrol()
    for entry in tasks.BEAT_SCHEDULE.values():
        getattr(tasks, entry["task"].removeprefix("edna."))()
    names = {run.name for run in last_runs(using="default")}
    assert {"expire", "sweep", "schedules", scrubbing.NAME} <= names


def test_a_worker_process_fills_its_pool(broker: redis.Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = []
    monkeypatch.setattr(keypool.pool, "start", lambda: begun.append(True))
    worker_process_init.send(sender=None)
    assert begun == [True]
