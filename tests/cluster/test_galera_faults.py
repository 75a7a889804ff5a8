"""The faults, against two nodes of a Galera cluster: whoever is at work on one dies, or loses it, and we look and go on at the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from benchmarks.kit.servers.clusters import Node
from tests.cluster.faults import CUT_OFF, ERRORS, FAULTS, KILLED, strike, until_over, while_committing
from tests.cluster.nodes import all_return, on_nodes, until_they_agree
from tests.faults.operations import TELLING, Operation
from tests.faults.runs import Run
from tests.faults.steps import AFTER_COMMIT
from tests.faults.test_jobs import Attack, kill_at_every_step_of_a_batch, small_batches  # noqa: F401 - a fixture
from tests.faults.test_kill import kill_at_every_step
from tests.faults.test_server import RESTARTED, every_step, lose_the_connection
from tests.support import ANONYMISE_ALL, DELETE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.cluster,
    pytest.mark.only_on("mysql"),
    pytest.mark.django_db(transaction=True),
]
#: Where a node is lost each time.
STRIDE = 9

Count = Callable[[str, object], None]


@dataclass
class Two:
    """One node is worked on, the others hold what it does."""

    nodes: list[Node]
    here: Node = field(init=False)

    def __post_init__(self) -> None:
        self.here = self.nodes[0]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """On the one, which is back by then."""
        all_return(self.nodes)
        with on_nodes([self.here]):
            yield

    def strike(self, how: str) -> None:
        strike(self.here, how)
        until_over(self.here, how, None)

    def go_on(self) -> None:
        until_they_agree(self.nodes)


@pytest.fixture
def two(on_galera: list[Node]) -> Iterator[Two]:
    """We look at the second; the third is there so that two are more than half."""
    with on_nodes(on_galera[1:2]):
        yield Two(on_galera)
        all_return(on_galera)


@pytest.mark.parametrize("operation", TELLING, ids=str)
def test_a_process_is_killed_at_one_and_others_go_on_at_another(
    operation: Operation, two: Two, record_property: Count
) -> None:
    record_property("processes were killed", len(kill_at_every_step(Run(operation), at=two.at_work)))


@pytest.mark.parametrize("operation", TELLING, ids=str)
def test_the_connection_to_one_is_lost_and_others_go_on_at_another(
    operation: Operation, two: Two, record_property: Count
) -> None:
    steps = every_step(operation, lose_the_connection, lambda: None, at=two.at_work)
    assert AFTER_COMMIT in steps
    record_property("connections were broken", len(steps))


@pytest.mark.parametrize("how", [KILLED, CUT_OFF])
@pytest.mark.parametrize("operation", RESTARTED, ids=str)
def test_a_node_is_lost_and_others_go_on_at_another(
    operation: Operation, how: str, two: Two, record_property: Count
) -> None:
    """Before any statement and any commit: nothing was done."""
    steps = every_step(operation, lambda: two.strike(how), two.go_on, at=two.at_work, stride=STRIDE)
    assert steps
    record_property(f"nodes were {how} at a step", len(steps))


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("operation", TELLING, ids=str)
def test_a_node_is_lost_while_it_commits(operation: Operation, how: str, two: Two, record_property: Count) -> None:
    """Whoever was at work knows neither that it is done nor that it is not. All of it is, or nothing."""
    run, struck = Run(operation), list[str]()
    while not struck:  # the others may have been missed before it came to that
        refused = None
        with two.at_work(), while_committing(two.nodes, two.here, how) as struck:
            try:
                run.work()
            except ERRORS as error:
                refused = error
        two.go_on()
        done = run.check_interrupted()
        assert done or refused is not None
    record_property(f"commits, {how}: {'done' if done else 'not done'}", 1)
    run.work()
    run.check_end()


@pytest.mark.parametrize("disguise", [ANONYMISE_ALL, DELETE])
@pytest.mark.usefixtures("small_batches")
def test_who_works_on_a_job_is_killed_at_one_and_the_job_goes_on_at_another(
    disguise: str, two: Two, record_property: Count
) -> None:
    record_property(
        "runners were killed", len(kill_at_every_step_of_a_batch(Attack(disguise, number=2), at=two.at_work))
    )
