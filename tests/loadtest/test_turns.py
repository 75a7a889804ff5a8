"""Who may disguise when: in the order and the number that a variant asks for, and never in the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import gevent
import pytest

from loadtest.people import Account
from loadtest.turns import Turns

pytestmark = pytest.mark.long

PEOPLE = [Account(f"person{number}", "", 1) for number in range(5)]
SHORT = 0.02
PATIENT_SECONDS = 10


class Crowd:
    """Users who wait for turns, and take as long for each as ``seconds`` says."""

    def __init__(self, turns: Turns, users: int) -> None:
        self.turns, self.seconds = turns, SHORT
        self.had: list[str] = []
        self.most = 0
        self._in_turn: list[str] = []
        self.greenlets = [gevent.spawn(self._go_on) for _ in range(users)]

    def _go_on(self) -> None:
        while True:
            with self.turns.turn() as account:
                assert account.name not in self._in_turn
                self._in_turn.append(account.name)
                self.most = max(self.most, len(self._in_turn))
                gevent.sleep(self.seconds)
                self._in_turn.remove(account.name)
                self.had.append(account.name)


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    crowd = Crowd(Turns(seed=1), users=4)
    gevent.sleep(0)
    yield crowd
    crowd.turns.close()
    gevent.killall(crowd.greenlets)


def eventually(condition: Callable[[], object]) -> None:
    with gevent.Timeout(PATIENT_SECONDS):
        while not condition():
            gevent.sleep(SHORT / 2)


def test_nobody_begins_before_it_opens(crowd: Crowd) -> None:
    gevent.sleep(5 * SHORT)
    assert crowd.had == []


def test_looping_turns_follow_each_other_and_no_more_at_a_time_than_asked_for(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=2)
    eventually(lambda: len(crowd.had) > 10)
    assert crowd.most == 2
    assert len(set(crowd.had)) > 2, "drawn by lot"


def test_never_two_are_the_same_person(crowd: Crowd) -> None:
    """The crowd asserts it; there are more disguisers than people."""
    crowd.turns.open(PEOPLE[:1], disguisers=4)
    eventually(lambda: len(crowd.had) > 3)
    assert crowd.most == 1


def test_after_closing_nobody_begins_and_those_who_have_begun_end(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=4)
    eventually(lambda: crowd.turns.busy == 4)
    crowd.turns.close()
    assert crowd.turns.wait_until_idle(PATIENT_SECONDS)
    had = len(crowd.had)
    assert had >= 4
    gevent.sleep(5 * SHORT)
    assert len(crowd.had) == had


def test_waiting_has_an_end(crowd: Crowd) -> None:
    crowd.seconds = PATIENT_SECONDS
    crowd.turns.open(PEOPLE, disguisers=1)
    eventually(lambda: crowd.turns.busy)
    assert not crowd.turns.wait_until_idle(SHORT)


def test_paced_turns_begin_one_an_interval(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=4, interval_seconds=20 * SHORT)
    eventually(lambda: len(crowd.had) >= 3)
    assert crowd.most == 1, "each is done long before the next one"
    assert crowd.turns.late == 0


def test_paced_turns_that_find_nobody_free_are_late_and_still_come(crowd: Crowd) -> None:
    crowd.seconds = 10 * SHORT
    crowd.turns.open(PEOPLE, disguisers=1, interval_seconds=4 * SHORT)
    eventually(lambda: len(crowd.had) >= 3)
    assert crowd.turns.late > 0
    assert crowd.most == 1


def test_one_turn_and_no_more(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=2, once=True)
    assert crowd.turns.wait_until_idle(PATIENT_SECONDS)
    gevent.sleep(5 * SHORT)
    assert len(crowd.had) == 1


def test_whoever_fails_in_a_turn_has_no_other() -> None:
    turns = Turns(seed=1)
    turns.open(PEOPLE[:2], disguisers=2)
    failed, had = [], []

    def go_on() -> None:
        while True:
            try:
                with turns.turn() as account:
                    gevent.sleep(SHORT)
                    if not failed:
                        failed.append(account.name)
                        raise RuntimeError
                    had.append(account.name)
            except RuntimeError:
                pass

    greenlets = [gevent.spawn(go_on) for _ in range(2)]
    eventually(lambda: len(had) > 5)
    gevent.killall(greenlets)
    assert failed[0] not in had


def test_there_must_be_somebody() -> None:
    with pytest.raises(ValueError, match="nobody"):
        Turns().open([], disguisers=1)
