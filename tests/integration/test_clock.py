"""At which moment something is done to a database: servers' clocks may differ, and be set back."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from edna import clock
from edna.clock import moment
from tests.installed import registering
from tests.support import server_clock_set
from tests.zoo.hamlet import Hamlet
from tests.zoo.histories import Walk
from tests.zoo.specs import hamlet as specs
from tests.zoo.tables import zoo_tables  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture
def another_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Begins anew: it knows nothing of what another one was told."""

    def begin() -> None:
        monkeypatch.setattr(clock, "_readings", {})
        monkeypatch.setattr(clock, "_last_microseconds", {})

    begin()
    return begin


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch, another_process: Callable[[], None]) -> list[float]:
    """What is added to the clock that is never set, and to the one that may be: time goes by."""
    added, monotonic, wall = [0.0, 0.0], time.monotonic, time.time
    monkeypatch.setattr("time.monotonic", lambda: monotonic() + added[0])
    monkeypatch.setattr("time.time", lambda: wall() + added[1])
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime.datetime.fromtimestamp(time.time(), datetime.UTC))
    return added


def test_moments_go_on_though_the_clock_is_set_back(another_process: Callable[[], None]) -> None:
    before = moment(using="default")
    with server_clock_set(-HOUR):
        during = [moment(using="default"), moment(using="default")]
    assert before < during[0] < during[1] < moment(using="default")


@pytest.mark.only_on("mysql", "postgresql")
@pytest.mark.parametrize("seconds", [-HOUR, HOUR])
def test_servers_whose_clocks_differ_agree(another_process: Callable[[], None], seconds: int) -> None:
    here = moment(using="default")
    another_process()
    with server_clock_set(seconds):
        there = moment(using="default")
    another_process()
    assert here < there < moment(using="default")


@pytest.mark.only_on("mysql", "postgresql")
def test_a_server_whose_clock_is_behind_changes_no_history(
    zoo_tables: Any,  # noqa: F811
    another_process: Callable[[], None],
) -> None:
    """Each act is done by a process on another server, whose clock is an hour further behind: what somebody else hides stays hidden."""

    @contextlib.contextmanager
    def elsewhere(number: int) -> Iterator[None]:
        another_process()
        with server_clock_set(-HOUR * number):
            yield

    with registering(*specs.ALL):
        hamlet = Hamlet()
        walk = Walk(hamlet, 3, short=3, one_in=1, beginning="2 hush; all hush; 2 reveals 1", around=elsewhere)
        walk.go()
        hamlet.end()
    assert walk.histories[3] == 1
    assert walk.differing == []


def test_a_moment_is_now_in_utc(another_process: Callable[[], None]) -> None:
    before, told, after = (datetime.datetime.now(datetime.UTC), moment(using="default"), clock.now())
    # Some way to the database and back.
    assert before - datetime.timedelta(seconds=1) < told < after + datetime.timedelta(seconds=1)
    assert told.tzinfo is datetime.UTC


def test_whoever_turns_djangos_clock_turns_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    long_ago = datetime.datetime(2020, 2, 29, 12, tzinfo=datetime.UTC)
    monkeypatch.setattr("django.utils.timezone.now", lambda: long_ago)
    assert [moment(using="default"), moment(using="default")] == [long_ago, long_ago]


@pytest.mark.only_on("mysql", "postgresql")
def test_the_database_is_asked_once_in_ten_minutes(counter: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_EXACT_SECONDS", 1.0)  # however busy the machine is
    with CaptureQueriesContext(connection) as asked:
        for added in (0.0, 0.0, 0.0, 601.0, 601.0):
            counter[:] = [added, added]
            moment(using="default")
    assert len(asked) == 2


@pytest.mark.only_on("mysql", "postgresql")
def test_it_is_asked_again_after_the_machine_was_stopped(counter: list[float]) -> None:
    """A machine that sleeps, or is moved: the clock that is never set stands still meanwhile, and the other one is set afterwards."""
    with CaptureQueriesContext(connection) as asked:
        first = moment(using="default")
        before = len(asked)
        counter[1] = 30.0
        assert moment(using="default") > first
    assert len(asked) > before > 0


@pytest.mark.only_on("mysql", "postgresql")
def test_the_fastest_of_slow_answers_counts(counter: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    delays = iter([0.5, 0.1, 0.3])

    def slow(execute: Any, *arguments: Any) -> Any:
        result = execute(*arguments)
        counter[:] = [added + next_delay for added, next_delay in zip(counter, [next(delays)] * 2, strict=True)]
        return result

    with connection.execute_wrapper(slow):
        reading = clock.ask(using="default")
    assert 0.1 <= reading.took < 0.3
    assert next(delays, None) is None
