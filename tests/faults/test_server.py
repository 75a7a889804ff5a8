"""The database server, or the connection to it, goes away in the middle, at every step there is: an error for the caller, and
nothing was changed; what was committed is there when the server is back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from benchmarks.kit.servers import Server, private_mariadb, private_postgres
from tests.faults.conftest import POST
from tests.faults.operations import DEEP, TELLING, Operation
from tests.faults.runs import Run
from tests.faults.states import State
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, watched
from tests.installed import installed
from tests.support import on_server
from tests.waiting import session_of, until_gone

pytestmark = [
    pytest.mark.slow,
    pytest.mark.only_on("mysql", "postgresql"),
    pytest.mark.usefixtures("applications"),
    pytest.mark.django_db(transaction=True),
]


@pytest.fixture(scope="module")
def own_server(django_db_setup: None, django_db_blocker: Any) -> Iterator[Server]:
    """A server that only this module uses, in place of the one that all others do."""
    make = private_mariadb if connection.vendor == "mysql" else private_postgres
    with make(to_be_killed=True) as server, django_db_blocker.unblock(), on_server(server.url):
        call_command("migrate", verbosity=0)
        yield server


@pytest.fixture(scope="module")
def post_tables(own_server: Server, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock(), installed(POST, principals=["post.citizen"]):
        yield


def every_step(
    operation: Operation,
    strike: Callable[[], None],
    recover: Callable[[], None],
    *,
    at: Callable[[], AbstractContextManager[object]] = nullcontext,
    stride: int = 1,
) -> list[str]:
    """Strike at one step of the operation after the other; the steps. ``at`` chooses a server to work on. We look without it."""
    run = Run(operation)
    struck: list[str] = []
    for number in range(0, MOST_STEPS, stride):
        committed, before = False, len(struck)

        def reached(at: int, name: str, this: int = number) -> None:
            nonlocal committed
            if at <= this:
                committed = committed or name == AFTER_COMMIT
            if at == this:
                struck.append(name)
                strike()

        with at(), watched(reached):
            refused = run.refused()
        if len(struck) == before:
            break
        # MariaDB is told one more thing after a COMMIT, and what fails then cannot be undone: it is done, all of it.
        assert committed is (refused is None) or (committed and connection.vendor == "mysql"), struck
        recover()
        if committed or operation.resumable:
            connection.close()  # it is dead, and Django notices that within a transaction only: as at the end of a request
            assert run.check_interrupted() or not committed, struck
        else:
            assert State.now() == run.before, struck
    run.check_end()
    return struck


def lose_the_connection() -> None:
    """As an administrator, or something between here and the server, would end it."""
    session = session_of(connection)
    assert session is not None
    with closing(connection.copy()) as other, other.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(%s)" if connection.vendor == "postgresql" else "KILL CONNECTION %s", [session]
        )
    until_gone(session)


@pytest.mark.parametrize("operation", TELLING, ids=str)
def test_the_connection_is_lost(operation: Operation) -> None:
    """The next statement after the error has a connection again."""
    steps = every_step(operation, lose_the_connection, lambda: None)
    assert AFTER_COMMIT in steps


#: Restarting takes its time.
RESTARTED = [each for each in TELLING if DEEP or each.name in ("reveal in part", "remove shared rows as the last")]


@pytest.mark.parametrize("operation", RESTARTED, ids=str)
def test_the_server_is_killed(operation: Operation, own_server: Server) -> None:
    steps = every_step(operation, own_server.kill, own_server.start)
    assert AFTER_COMMIT in steps
