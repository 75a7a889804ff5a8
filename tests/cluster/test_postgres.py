"""PostgreSQL behind a pooler, behind a proxy that cuts connections, with a standby that takes over, and with a replica that is late."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from apps.websubmit.models import User
from benchmarks.kit.servers import Server, private_postgres
from benchmarks.kit.servers.clusters import Standby, private_pgbouncer, private_proxy, private_standby
from edna.operations import jobs
from tests.cluster import OPERATIONS_HERE
from tests.cluster.runners import runner
from tests.cluster.traffic import Traffic
from tests.faults.conftest import POST
from tests.faults.operations import Operation
from tests.faults.runs import Run
from tests.installed import installed, registered
from tests.support import ANONYMISE_ALL, on_server
from tests.waiting import WAIT_SECONDS, at_once, eventually
from tests.workers.scene import finished, halfway, report

pytestmark = [pytest.mark.slow, pytest.mark.only_on("postgresql"), pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def primary(django_db_setup: None, django_db_blocker: Any) -> Iterator[Server]:
    with private_postgres(to_be_killed=True) as server, django_db_blocker.unblock(), on_server(server.url):
        call_command("migrate", verbosity=0)
        with installed(POST, principals=["post.citizen"]):
            yield server


@pytest.fixture
def site(primary: Server, transactional_db: None, tmp_path: Path, settings: Any) -> Iterator[Server]:
    settings.MEDIA_ROOT = tmp_path
    with registered(POST):
        yield primary
    connections.close_all()
    call_command("flush", verbosity=0, interactive=False)


@pytest.mark.parametrize("operation", OPERATIONS_HERE, ids=str)
def test_each_transaction_has_another_connection(operation: Operation, site: Server) -> None:
    """PgBouncer in transaction mode: whatever a connection was told before is not true of the next one."""
    with private_pgbouncer(site) as bouncer, on_server(bouncer.url):
        assert len({_connection_of_the_pool() for _ in at_once(*[_hold_one] * 3)}) > 1
        run = Run(operation)
        run.work()
        run.check_end()


def test_what_is_read_part_by_part_takes_no_cursor_of_the_server(site: Server) -> None:
    """A cursor that outlives its transaction is another connection's by then: Django makes none where the settings say so."""
    no_cursors = patch.dict(connection.settings_dict, {"DISABLE_SERVER_SIDE_CURSORS": True})
    with private_pgbouncer(site) as bouncer, on_server(bouncer.url), no_cursors:
        traffic = Traffic(people=3)
        job = jobs.start(ANONYMISE_ALL, principals=User.objects.filter(is_anon=False)).id
        call_command("edna_run", verbosity=0)
        assert report(job).done == 3
        call_command("edna_verify", verbosity=0)
        assert traffic.everybody_gets_everything_back()


def _hold_one() -> None:
    """Longer than the others take to ask for one."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.1)")


def _connection_of_the_pool() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@pytest.mark.cluster
def test_many_share_few_connections(site: Server) -> None:
    with private_pgbouncer(site, connections=2) as bouncer, on_server(bouncer.url):
        traffic = Traffic(people=3)
        traffic.flows(writers=6, seconds=5)
        assert min(traffic.acts[f"{act}: done"] for act in ("leave", "come_back", "anonymise")) > 0
        assert traffic.everybody_gets_everything_back()


@pytest.mark.cluster
def test_connections_are_cut_again_and_again(site: Server) -> None:
    with private_proxy(site) as proxy, on_server(proxy.url):
        traffic = Traffic(people=3)

        def cut() -> None:
            for _ in range(10):
                traffic.goes_on()
                proxy.cut()

        traffic.flows(writers=4, meanwhile=cut)
        assert any("OperationalError" in act for act in traffic.acts)
        assert traffic.everybody_gets_everything_back()


@pytest.mark.cluster
def test_a_standby_takes_over_in_the_middle_of_a_job(site: Server, tmp_path: Path) -> None:
    """What was committed is there, for the standby had to have it first; who was in the middle is done once more, by the same runners."""
    with ExitStack() as stack:
        stack.callback(_alone_again, site)
        standby = stack.enter_context(private_standby(site))
        with on_server(site.url):
            _tell("ALTER SYSTEM SET synchronous_standby_names = '*'")
            eventually(_has_a_synchronous_standby)
        proxy = stack.enter_context(private_proxy(site, standby))
        stack.enter_context(on_server(proxy.url))
        traffic = Traffic(people=150)
        for number in range(2):
            stack.enter_context(runner(tmp_path / str(number), proxy.url))
        job = jobs.start(ANONYMISE_ALL, concurrency=2).id
        halfway(job)
        site.kill()
        standby.promote()
        proxy.turn_to_the_second()
        connection.close()
        finished(job, within=WAIT_SECONDS)
        assert (report(job).done, report(job).failures) == (150, {})
        assert User.objects.filter(is_anon=True).count() == 2 * 150
        assert [len(person.history()) for person in traffic.people] == [1] * 150
        assert traffic.everybody_gets_everything_back()


def _alone_again(server: Server) -> None:
    server.stop()
    server.start()
    with on_server(server.url):
        _tell("ALTER SYSTEM RESET synchronous_standby_names")


def _has_a_synchronous_standby() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM pg_stat_replication WHERE sync_state = 'sync'")
        return bool(cursor.fetchone()[0])


@pytest.fixture
def late_replica(site: Server, settings: Any) -> Iterator[Standby]:
    """What is read goes to a replica that shows nothing of what is written from now on, while `LateReads.active`."""
    with private_standby(site) as standby:
        standby.pause()
        connections.databases["replica"] = {**connections["default"].settings_dict, "HOST": str(standby.directory)}
        settings.DATABASE_ROUTERS = ["tests.cluster.test_postgres.LateReads"]
        yield standby
        connections["replica"].close()
        del connections["replica"], connections.databases["replica"]


class LateReads:
    active = False

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "replica" if self.active else None

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "default"

    def allow_relation(self, first: Any, second: Any, **hints: Any) -> bool:
        return True


@contextmanager
def reading_late() -> Iterator[None]:
    LateReads.active = True
    connections["replica"].connect()  # itself: pytest lets nobody else connect to what is not the test's own
    try:
        yield
    finally:
        LateReads.active = False


@pytest.mark.parametrize("operation", OPERATIONS_HERE, ids=str)
def test_what_decides_something_is_read_where_it_is_written(operation: Operation, late_replica: Standby) -> None:
    run = Run(operation)
    with reading_late():
        assert not User.objects.exists()
        with CaptureQueriesContext(connections["replica"]) as asked:
            run.work()
    assert list(asked) == []
    run.check_end()


def _tell(setting: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(setting)
        cursor.execute("SELECT pg_reload_conf()")
