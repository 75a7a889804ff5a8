"""The rate limit by itself: how many requests a window lets in, and what becomes of a request that was counted. The clock is the test's."""

from __future__ import annotations

import logging
import math
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import BaseCache, caches
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured

from benchmarks.kit.servers import Server, private_redis
from config import cache as cache_urls
from edna import signals, throttle
from edna.errors import ConfigurationError, TooBusy
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.long

LOCAL = {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": "throttle"}
BROKEN = f"{__name__}.Broken"
RUBBISH = f"{__name__}.Rubbish"


class Broken(BaseCache):
    """A server that has gone away."""

    asked = 0

    def __init__(self, location: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(self, *_: Any, **__: Any) -> bool:
        Broken.asked += 1
        raise ConnectionError("redis://:password@cache.example.org does not answer")


class Rubbish(LocMemCache):
    """What answers is no cache of ours."""

    answer: Any = None

    def incr(self, *_: Any, **__: Any) -> Any:
        return self.answer


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(throttle, "_now", made)
    return made


@pytest.fixture(autouse=True)
def _cache(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.CACHES = {"default": LOCAL}
    caches["default"].clear()
    monkeypatch.setattr(throttle, "_ask_again_at", 0.0)
    yield
    settings.CACHES = {"default": LOCAL}
    caches["default"].clear()


@pytest.fixture
def rate(settings: Any, clock: Clock) -> Any:
    def limit(per_second: Any, **more: Any) -> None:
        settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": per_second, **more}

    return limit


@contextmanager
def request() -> Iterator[throttle.Asking]:
    asking = throttle.Asking()
    outer = throttle.current.set(asking)
    try:
        yield asking
    finally:
        throttle.current.reset(outer)


def ask() -> int | None:
    """One request: None if it was let in, otherwise in how many seconds to come back."""
    with request():
        try:
            throttle.admit()
        except TooBusy as refusal:
            return refusal.retry_after_seconds
    return None


def let_in(requests: int) -> int:
    return [ask() for _ in range(requests)].count(None)


def counted() -> list[str]:
    heard: list[str] = []

    def hear(*, result: str, **_: Any) -> None:
        heard.append(result)

    signals.request_counted.connect(hear, dispatch_uid=__name__, weak=False)
    return heard


@pytest.fixture
def results() -> Iterator[list[str]]:
    yield counted()
    signals.request_counted.disconnect(dispatch_uid=__name__)


class TestWindows:
    def test_without_a_limit_nothing_is_counted(self, rate: Any, results: list[str]) -> None:
        rate(None)
        assert let_in(100) == 100
        assert results == []
        assert caches["default"]._cache == {}

    @pytest.mark.parametrize(
        ("per_second", "seconds", "expected"),
        [
            (3, 1, [3, 3, 3, 3]),
            (2.5, 1, [3, 2, 3, 2]),
            (1, 1, [1, 1, 1, 1]),
            (0.25, 4, [1, 1, 1, 1]),
            (1 / 3, 3, [1, 1, 1, 1]),
        ],
    )
    def test_each_lets_in_its_share(
        self, rate: Any, clock: Clock, per_second: float, seconds: float, expected: list[int]
    ) -> None:
        rate(per_second)
        let_in(20)  # takes what the quiet time before has left
        found = []
        for _ in expected:
            clock.now += seconds
            found.append(let_in(20))
        assert found == expected

    def test_who_is_refused_takes_nothing_from_later_ones(self, rate: Any, clock: Clock) -> None:
        rate(2)
        let_in(500)
        clock.now += 1
        assert let_in(2) == 2
        clock.now += 1
        assert let_in(2) == 2

    def test_after_a_quiet_moment_twice_as_many(self, rate: Any, clock: Clock) -> None:
        """But no more, however long it was; and what was left once is not left again."""
        rate(4)
        let_in(20)
        clock.now += 3600
        assert let_in(20) == 8
        clock.now += 1
        assert let_in(20) == 4

    def test_what_a_window_has_left(self, rate: Any, clock: Clock) -> None:
        rate(4)
        let_in(20)
        clock.now += 1
        assert let_in(1) == 1
        clock.now += 1
        assert let_in(20) == 4 + 3

    @pytest.mark.parametrize(
        ("per_second", "into", "seconds"), [(2, 0.0, 1), (2, 0.9, 1), (0.1, 0.0, 10), (0.1, 7.5, 3)]
    )
    def test_the_first_who_is_refused_is_told_when_the_next_begins(
        self, rate: Any, clock: Clock, per_second: float, into: float, seconds: int
    ) -> None:
        rate(per_second)
        clock.now += into
        refusals = [ask() for _ in range(5)]
        assert next(filter(None, refusals)) == seconds
        clock.now += seconds
        assert ask() is None

    def test_the_refused_are_told_to_come_one_after_the_other(self, rate: Any, clock: Clock) -> None:
        """Whoever does as told is let in then, however many were refused at once."""
        rate(2)
        told = [seconds for seconds in (ask() for _ in range(4 + 20)) if seconds]
        assert told == [1 + place // 2 for place in range(20)]
        began = clock.now
        for seconds in told:
            clock.now = began + seconds
            assert ask() is None

    def test_nobody_is_told_to_come_much_later(self, rate: Any, clock: Clock) -> None:
        for per_second, longest in ((2, 61), (0.01, 100)):
            rate(per_second)
            caches["default"].clear()
            assert max(filter(None, (ask() for _ in range(500)))) == longest

    def test_a_key_says_when_and_nothing_else(self, rate: Any, clock: Clock) -> None:
        rate(1)
        let_in(3)
        window = math.floor(clock.now)
        assert list(caches["default"]._cache) == [f":1:edna:requests:{window}"]

    def test_another_cache(self, rate: Any, settings: Any) -> None:
        settings.CACHES = {"default": {"BACKEND": BROKEN}, "shared": LOCAL}
        rate(1, REQUEST_RATE_CACHE="shared")
        assert let_in(5) == 2

    @pytest.mark.parametrize(
        "wrong",
        [
            {"REQUEST_RATE_PER_SECOND": 0},
            {"REQUEST_RATE_PER_SECOND": -1},
            {"REQUEST_RATE_PER_SECOND": "2"},
            {"REQUEST_RATE_PER_SECOND": True},
            {"REQUEST_RATE_PER_SECOND": math.inf},
            {"REQUEST_RATE_PER_SECOND": 10**400},
            {"REQUEST_RATE_PER_SECOND": math.nan},
            {"REQUEST_RATE_PER_SECOND": 1, "REQUEST_RATE_CACHE": "elsewhere"},
            {"REQUEST_RATE_PER_SECOND": 1, "REQUEST_RATE_CACHE": None},
        ],
    )
    def test_a_wrong_setting_is_named(self, settings: Any, wrong: dict[str, Any]) -> None:
        settings.EDNA = {**settings.EDNA, **wrong}
        with pytest.raises(ConfigurationError, match=list(wrong)[-1]):
            ask()


class TestRequest:
    def test_outside_of_one_nothing_is_limited(self, rate: Any, results: list[str]) -> None:
        rate(0.001)
        for _ in range(10):
            throttle.admit()
        assert results == []

    def test_it_is_counted_once(self, rate: Any, results: list[str]) -> None:
        rate(1)
        with request() as asking:
            for _ in range(10):
                throttle.admit()
        assert asking.admitted
        assert not asking.refused
        assert results == ["admitted"]

    def test_refused_it_stays_refused(self, rate: Any, clock: Clock, results: list[str]) -> None:
        rate(1)
        let_in(2)
        with request() as asking:
            for _ in range(3):
                with pytest.raises(TooBusy, match=r"Nothing was changed; try again in 1 second\."):
                    throttle.admit()
                clock.now += 10
        assert asking.refused
        assert asking.used
        assert results == ["admitted", "admitted", "refused"]

    def test_the_log_says_no_more_than_that(self, rate: Any, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO, logger="edna")
        rate(0.1)
        let_in(3)
        assert [record.getMessage() for record in caplog.records] == ["request_refused retry_after_seconds=10"]


class TestCache:
    """One that does not count must not keep anybody from leaving."""

    def test_away(self, rate: Any, settings: Any, results: list[str], caplog: pytest.LogCaptureFixture) -> None:
        settings.CACHES = {"default": {"BACKEND": BROKEN}}
        rate(0.001)
        Broken.asked = 0
        assert let_in(10) == 10
        assert results == ["uncounted"] * 10
        assert Broken.asked == 1  # and then left alone
        assert [record.getMessage() for record in caplog.records] == ["requests_not_counted error=ConnectionError"]

    def test_back_again(self, rate: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        settings.CACHES = {"default": {"BACKEND": BROKEN}}
        rate(0.001)
        assert let_in(5) == 5
        settings.CACHES = {"default": LOCAL}
        assert let_in(5) == 5
        monkeypatch.setattr(throttle, "_ask_again_at", throttle.time.monotonic())
        assert let_in(5) == 2

    def test_dummy(self, rate: Any, settings: Any, results: list[str]) -> None:
        settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
        rate(0.001)
        assert let_in(3) == 3
        assert results == ["uncounted"] * 3

    @pytest.mark.parametrize("answer", [None, "7", b"7", math.nan, math.inf])
    def test_rubbish(
        self, rate: Any, settings: Any, results: list[str], monkeypatch: pytest.MonkeyPatch, answer: Any
    ) -> None:
        settings.CACHES = {"default": {"BACKEND": RUBBISH}}
        monkeypatch.setattr(Rubbish, "answer", answer)
        rate(0.001)
        assert let_in(3) == 3
        assert results == ["uncounted"] * 3


@pytest.fixture(scope="module")
def redis() -> Iterator[Server]:
    with private_redis() as server:
        yield server


class TestRedis:
    @pytest.fixture
    def shared(self, redis: Server, settings: Any) -> Server:
        settings.CACHES = {"default": cache_urls.from_url(redis.url)}
        caches["default"].clear()
        return redis

    def test_eight_processes_together_let_in_no_more(self, rate: Any, clock: Clock, shared: Server) -> None:
        rate(5)
        fork = multiprocessing.get_context("fork")
        barrier, numbers = fork.Barrier(8), fork.Queue()

        def work() -> None:
            found = []
            for _ in range(3):
                barrier.wait(WAIT_SECONDS)
                clock.now += 1
                found.append(let_in(25))
            numbers.put(found)

        children = [fork.Process(target=work) for _ in range(8)]
        for child in children:
            child.start()
        found = [numbers.get(timeout=WAIT_SECONDS) for _ in children]
        for child in children:
            child.join()
        assert [sum(window) for window in zip(*found, strict=True)] == [10, 5, 5]

    def test_keys_go_by_themselves(self, rate: Any, clock: Clock, shared: Server) -> None:
        rate(0.1)
        let_in(3)
        client = caches["default"]._cache.get_client()
        (key,) = client.keys()
        assert key == f"edna-samples:1:edna:requests:{math.floor(clock.now / 10)}".encode()
        assert 60 < client.ttl(key) <= 80

    def test_killed_in_the_middle(self, rate: Any, results: list[str], settings: Any) -> None:
        with private_redis() as server:
            settings.CACHES = {"default": cache_urls.from_url(server.url)}
            rate(0.001)
            assert let_in(4) == 2
            server.kill()
            assert let_in(4) == 4
        assert results == [*["admitted"] * 2, *["refused"] * 2, *["uncounted"] * 4]


@pytest.mark.parametrize(
    ("url", "location"),
    [
        ("redis://:p%40ss@cache.example:6380/2", "redis://:p%40ss@cache.example:6380/2"),
        ("rediss://cache.example", "rediss://cache.example"),
        ("unix:///run/redis/socket?db=1", "unix:///run/redis/socket?db=1"),
        ("redis+socket:///run/redis/socket", "unix:///run/redis/socket"),
    ],
)
def test_cache_url(url: str, location: str) -> None:
    assert cache_urls.from_url(url)["LOCATION"] == location


@pytest.mark.parametrize("url", ["memcached://x", "redis://", "unix://host/x", "nonsense:secret"])
def test_cache_url_that_names_none_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refusal:
        cache_urls.from_url(url)
    assert "secret" not in str(refusal.value)
