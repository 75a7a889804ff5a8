"""A database server and a Redis that are these tests' own, since they are killed; workers; and members on a site."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.db import connection

from benchmarks.kit.servers import Server, private_mariadb, private_postgres, private_redis
from edna import signals, tasks
from tests.support import on_server
from tests.thorough import thorough
from tests.workers.crew import Crew, Listener

pytest_collection_modifyitems = thorough(__file__)


@pytest.fixture(scope="session")
def database_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[Server]:
    make = private_mariadb if connection.vendor == "mysql" else private_postgres
    with make(to_be_killed=True) as server, django_db_blocker.unblock():
        with on_server(server.url):
            call_command("migrate", verbosity=0)
        yield server


@pytest.fixture
def database(database_server: Server, django_db_blocker: Any) -> Iterator[Server]:
    """This process uses that server, too. Empty again at the end."""
    with django_db_blocker.unblock(), on_server(database_server.url):
        yield database_server
        call_command("flush", verbosity=0, interactive=False)


@pytest.fixture
def redis() -> Iterator[Server]:
    with private_redis() as server:
        yield server


@pytest.fixture
def listener(redis: Server) -> Iterator[Listener]:
    listener = Listener(redis.directory / "socket")
    yield listener
    listener.close()


@pytest.fixture
def sending(redis: Server) -> Iterator[Celery]:
    """What starts a job here sends it to that Redis, as a web process would."""
    app = Celery("tests", broker=redis.url, set_as_current=True)
    tasks.connect()
    yield app
    signals.job_ready.disconnect(dispatch_uid="edna.tasks")
    app.close()


@pytest.fixture
def crew(database: Server, redis: Server, tmp_path: Path) -> Iterator[Crew]:
    crew = Crew(tmp_path / "crew", database=database.url, broker=redis.url)
    (tmp_path / "crew").mkdir()
    yield crew
    crew.go()
