"""Who may disguise when: in the order and the number that a variant asks for, and never in the baseline.

By a clock of the test's own: on a busy machine nobody is in time.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator

import gevent
import gevent.event
import pytest

from loadtest import turns as module
from loadtest.people import Account
from loadtest.turns import Over, Turns

pytestmark = pytest.mark.long

PEOPLE = [Account(f"person{number}", "", 1) for number in range(5)]
SHORT = 0.02
PATIENT_SECONDS = 10


class Clock:
    """Time passes when nobody has anything to do but to wait for it; and as long as somebody lets it."""

    spawn = staticmethod(gevent.spawn)

    def __init__(self) -> None:
        self.now = 0.0
        self._waiting: list[tuple[float, int, gevent.event.Event]] = []
        self._order = itertools.count()

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        woken = gevent.event.Event()
        heapq.heappush(self._waiting, (self.now + seconds, next(self._order), woken))
        woken.wait()

    def pass_until(self, condition: Callable[[], object], *, within: float = PATIENT_SECONDS) -> None:
        end = self.now + within
        gevent.idle()
        while not condition():
            assert self._waiting, "nobody waits for a time"
            self.now, _, woken = heapq.heappop(self._waiting)
            assert self.now <= end, f"not within {within} seconds"
            woken.set()
            gevent.idle()

    def pass_(self, seconds: float) -> None:
        over = gevent.spawn(self.sleep, seconds)
        self.pass_until(over.ready, within=seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for name in ("time", "gevent"):
        monkeypatch.setattr(module, name, made)
    return made


class Crowd:
    """Users who wait for turns, and take as long for each as ``seconds`` says."""

    def __init__(self, turns: Turns, clock: Clock, users: int) -> None:
        self.turns, self.clock, self.seconds = turns, clock, SHORT
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
                self.clock.sleep(self.seconds)
                self._in_turn.remove(account.name)
                self.had.append(account.name)


@pytest.fixture
def crowd(clock: Clock) -> Iterator[Crowd]:
    crowd = Crowd(Turns(seed=1), clock, users=4)
    gevent.idle()
    yield crowd
    crowd.turns.close()
    gevent.killall(crowd.greenlets)


def waited(crowd: Crowd, seconds: float) -> bool:
    waiting = gevent.spawn(crowd.turns.wait_until_idle, seconds)
    crowd.clock.pass_until(waiting.ready, within=seconds + 1)  # it looks now and then
    return bool(waiting.get())


def test_nobody_begins_before_it_opens(crowd: Crowd) -> None:
    crowd.clock.pass_(5 * SHORT)
    assert crowd.had == []


def test_looping_turns_follow_each_other_and_no_more_at_a_time_than_asked_for(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=2)
    crowd.clock.pass_until(lambda: len(crowd.had) > 10)
    assert crowd.most == 2
    assert len(set(crowd.had)) > 2, "drawn by lot"


def test_never_two_are_the_same_person(crowd: Crowd) -> None:
    """The crowd asserts it; there are more disguisers than people."""
    crowd.turns.open(PEOPLE[:1], disguisers=4)
    crowd.clock.pass_until(lambda: len(crowd.had) > 3)
    assert crowd.most == 1


def test_after_closing_nobody_begins_and_those_who_have_begun_end(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=4)
    crowd.clock.pass_until(lambda: crowd.turns.busy == 4)
    crowd.turns.close()
    assert waited(crowd, PATIENT_SECONDS)
    had = len(crowd.had)
    assert had >= 4
    crowd.clock.pass_(5 * SHORT)
    assert len(crowd.had) == had


def test_after_the_end_nobody_waits_any_more(crowd: Crowd) -> None:
    """Else a load would have to kill its users, and what they have asked for would be done without them."""
    crowd.turns.open(PEOPLE, disguisers=1)
    crowd.clock.pass_until(lambda: crowd.turns.busy)
    crowd.turns.end()
    crowd.clock.pass_until(lambda: all(greenlet.ready() for greenlet in crowd.greenlets))
    assert {type(greenlet.exception) for greenlet in crowd.greenlets} == {Over}


def test_waiting_has_an_end(crowd: Crowd) -> None:
    crowd.seconds = PATIENT_SECONDS
    crowd.turns.open(PEOPLE, disguisers=1)
    crowd.clock.pass_until(lambda: crowd.turns.busy)
    assert not waited(crowd, SHORT)


def test_paced_turns_begin_one_an_interval(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=4, interval_seconds=20 * SHORT)
    crowd.clock.pass_until(lambda: len(crowd.had) >= 3)
    assert crowd.most == 1, "each is done long before the next one"
    assert crowd.turns.late == 0


def test_paced_turns_that_find_nobody_free_are_late_and_still_come(crowd: Crowd) -> None:
    crowd.seconds = 10 * SHORT
    crowd.turns.open(PEOPLE, disguisers=1, interval_seconds=4 * SHORT)
    crowd.clock.pass_until(lambda: len(crowd.had) >= 3)
    assert crowd.turns.late > 0
    assert crowd.most == 1


def test_one_turn_and_no_more(crowd: Crowd) -> None:
    crowd.turns.open(PEOPLE, disguisers=2, once=True)
    assert waited(crowd, PATIENT_SECONDS)
    crowd.clock.pass_(5 * SHORT)
    assert len(crowd.had) == 1


def test_whoever_fails_in_a_turn_has_no_other(clock: Clock) -> None:
    turns = Turns(seed=1)
    turns.open(PEOPLE[:2], disguisers=2)
    failed, had = [], []

    def go_on() -> None:
        while True:
            try:
                with turns.turn() as account:
                    clock.sleep(SHORT)
                    if not failed:
                        failed.append(account.name)
                        raise RuntimeError
                    had.append(account.name)
            except RuntimeError:
                pass

    greenlets = [gevent.spawn(go_on) for _ in range(2)]
    clock.pass_until(lambda: len(had) > 5)
    gevent.killall(greenlets)
    assert failed[0] not in had


def test_there_must_be_somebody() -> None:
    with pytest.raises(ValueError, match="nobody"):
        Turns().open([], disguisers=1)
