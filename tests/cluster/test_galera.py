"""Several MariaDBs that all may be written to (Galera): what one of them commits is there on the others, or is refused as a whole."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection
from hypothesis import Phase
from hypothesis import settings as Profile
from hypothesis.stateful import run_state_machine_as_test

from apps.websubmit.models import User
from benchmarks.kit.servers.clusters import Node
from edna.operations import jobs
from edna.testing import Dump, application_dump
from tests.cluster import OPERATIONS_HERE
from tests.cluster.nodes import on_nodes
from tests.cluster.runners import runner
from tests.cluster.stories import told_on
from tests.cluster.traffic import Traffic
from tests.faults.operations import Operation
from tests.faults.runs import Run
from tests.properties.test_zoo_model import HABITATS, Lending, by_hand, profile  # noqa: F401 - a fixture
from tests.support import ANONYMISE_ALL, DELETE
from tests.waiting import WAIT_SECONDS, eventually
from tests.workers.scene import finished, halfway, report
from tests.zoo.machine import Habitat
from tests.zoo.migrations import history  # noqa: F401 - a fixture
from tests.zoo.tables import zoo  # noqa: F401 - a fixture

HABITATS_HERE = [each if each is Lending else pytest.param(each, marks=pytest.mark.cluster) for each in HABITATS]
#: In `make test` no node is lost: that takes its seconds.
STORIES, STEPS, MOST_LOST = (4, 14, 2) if os.environ.get("EDNA_CLUSTER") else (2, 8, 0)

pytestmark = [pytest.mark.slow, pytest.mark.only_on("mysql"), pytest.mark.django_db(transaction=True)]


def test_each_connection_goes_to_another_node(on_galera: list[Node]) -> None:
    """What the tests below rely on."""
    seen = set()
    for _ in on_galera:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@wsrep_node_name")
            seen.add(cursor.fetchone())
    assert len(seen) == len(on_galera)


def test_every_table_has_the_primary_key_that_certification_takes(on_galera: list[Node]) -> None:
    """Rows without one cannot be told apart by the nodes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name FROM information_schema.tables AS t WHERE table_schema = DATABASE() AND NOT EXISTS"
            " (SELECT * FROM information_schema.table_constraints AS c WHERE c.table_schema = t.table_schema"
            " AND c.table_name = t.table_name AND c.constraint_type = 'PRIMARY KEY')"
        )
        assert cursor.fetchall() == ()


@pytest.mark.parametrize("operation", OPERATIONS_HERE, ids=str)
def test_prepared_on_one_node_done_on_the_next_and_looked_at_on_another(
    operation: Operation, on_galera: list[Node]
) -> None:
    run = Run(operation)
    connection.close()
    run.work()
    connection.close()
    run.check_end()


def test_several_nodes_write_about_the_same_people_at_once_and_nothing_is_lost(on_galera: list[Node]) -> None:
    """Locks are a node's own: what two of them did to the same rows is found out when they commit, and one of them does it again."""
    traffic = Traffic(people=2)
    traffic.flows(writers=6, seconds=4)
    assert min(traffic.acts[f"{act}: done"] for act in ("leave", "come_back", "anonymise")) > 0
    assert not any("OperationalError" in act for act in traffic.acts)
    assert traffic.everybody_gets_everything_back()


@pytest.mark.cluster
def test_nodes_are_killed_while_all_are_written_to(on_galera: list[Node]) -> None:
    """Who was at work on one gets an error; the others go on, and it learns what they did when it is back."""
    traffic = Traffic(people=3)

    def strike() -> None:
        for node in on_galera[1:]:
            traffic.goes_on()
            node.kill()
            traffic.goes_on()
            node.start()
        traffic.goes_on()

    traffic.flows(writers=4, meanwhile=strike)
    assert traffic.everybody_gets_everything_back()
    assert [_dump_on(node) == traffic.origin for node in on_galera] == [True, True, True]


@pytest.mark.parametrize("habitat", HABITATS_HERE, ids=lambda cls: cls.__name__.lower())
@pytest.mark.usefixtures("zoo", "history", "by_hand")
def test_stories_of_the_zoo_go_from_node_to_node(
    habitat: type[Habitat],
    galera: list[Node],
    tmp_path: Path,
    settings: Any,
    record_property: Callable[[str, object], None],
) -> None:
    """Each act is done on one and looked at on the next. Some are lost, at any moment, and come back; then all have the same."""
    settings.MEDIA_ROOT = tmp_path
    counted: Counter[str] = Counter()
    with on_nodes(galera) as balancer:
        machine = told_on(balancer, habitat, most_lost=MOST_LOST, counted=counted)
        told = Profile(
            profile(habitat, STORIES, steps=STEPS), phases=[Phase.generate]
        )  # shorter ones would take their minutes
        try:
            run_state_machine_as_test(machine, settings=told)
        finally:
            for what, number in counted.items():
                record_property(what, number)


def _dump_on(node: Node) -> Dump:
    with on_nodes([node]):
        return application_dump()


@pytest.mark.cluster
def test_a_node_that_is_cut_off_refuses_and_the_others_go_on(on_galera: list[Node]) -> None:
    traffic = Traffic(people=2)
    bea, carl = traffic.people
    alone = on_galera[2]
    alone.isolate()
    eventually(lambda: "non-Primary" in alone.ask("SHOW STATUS LIKE 'wsrep_cluster_status'"))
    with on_nodes([alone]), pytest.raises(OperationalError):
        bea.disguise(DELETE)
    with on_nodes(on_galera[:2]):
        receipt = carl.disguise(DELETE)
    alone.isolate(isolated=False)
    eventually(alone.is_synced)
    with on_nodes([alone]):
        assert [entry.receipt for entry in carl.history()] == [receipt]
        assert bea.history() == []
    assert traffic.everybody_gets_everything_back()


@pytest.mark.cluster
def test_runners_on_all_nodes_disguise_everybody_once(on_galera: list[Node], tmp_path: Path) -> None:
    """One of the nodes is killed in the middle; its runner waits until it is back."""
    traffic = Traffic(people=150)
    with ExitStack() as stack:
        for number, node in enumerate(on_galera):
            stack.enter_context(runner(tmp_path / str(number), node.url))
        job = jobs.start(ANONYMISE_ALL, concurrency=3).id
        halfway(job)
        on_galera[1].kill()
        connection.close()
        halfway(job, 0.6)
        on_galera[1].start()
        finished(job, within=WAIT_SECONDS)
    assert (report(job).done, report(job).failures) == (150, {})
    # Of each student's answers those of one lecture have one author: 2 for everybody, and none to whom nothing is left.
    assert User.objects.filter(is_anon=True).count() == 2 * 150
    assert [len(person.history()) for person in traffic.people] == [1] * 150
    assert traffic.everybody_gets_everything_back()
