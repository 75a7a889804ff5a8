"""The key pool: pairs made ahead of time, each handed out once, in the memory of one process only."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from edna import keypool
from edna.crypto.keys import SecretKey
from edna.keypool import KeyPool
from tests.support import in_another_process


@pytest.fixture
def sized(settings: Any) -> Any:
    def resize(size: int) -> KeyPool:
        settings.EDNA = {**settings.EDNA, "KEY_POOL_SIZE": size}
        return KeyPool()

    return resize


def settled(pool: KeyPool, depth: int) -> bool:
    deadline = time.monotonic() + 10
    while pool.depth < depth and time.monotonic() < deadline:
        time.sleep(0.01)
    return pool.depth >= depth


def raw(keys: list[SecretKey]) -> set[bytes]:
    return {key.expose() for key in keys}


def test_a_new_pool_is_empty_and_hands_out_at_once(sized: Any) -> None:
    """Nothing waits: what is missing is generated on the spot."""
    pool = sized(4)
    assert pool.depth == 0
    keys = pool.take(10)
    assert len(raw(keys)) == 10
    assert all(bytes(key.public_key) for key in keys)


def test_it_fills_up_to_its_size(sized: Any) -> None:
    pool = sized(12)
    pool.refill()
    assert pool.depth == 12
    pool.refill()
    assert pool.depth == 12


def test_it_refills_itself_in_the_background_when_low(sized: Any) -> None:
    pool = sized(20)
    pool.refill()
    pool.take(8)
    assert pool.depth == 12, "still more than half full"
    pool.take(5)
    assert settled(pool, 20)


def test_what_is_there_is_used_first(sized: Any) -> None:
    pool = sized(6)
    pool.refill()
    waiting = raw(list(pool._keys))
    assert raw(pool.take(4)) < waiting
    pool.take(0)


def test_no_key_is_handed_out_twice(sized: Any) -> None:
    """Many threads at once, while the pool refills."""
    pool = sized(50)
    taken: list[list[SecretKey]] = []

    def take() -> None:
        for number in range(40):
            taken.append(pool.take(number % 5))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = [key for part in taken for key in part]
    assert len(raw(keys)) == len(keys) == 8 * 80


def test_a_forked_process_starts_with_an_empty_pool() -> None:
    """Two processes that hand out the same key would let one pseudoprincipal open another's bags."""
    keypool.pool.refill()
    assert keypool.pool.depth > 0
    receiver, sender = os.pipe()

    def child() -> None:
        os.write(sender, f"{keypool.pool.depth} {keypool.pool.take(1)[0].expose_text()}".encode())

    before = raw(list(keypool.pool._keys))
    assert in_another_process(child) == 0
    os.close(sender)
    depth, _, key = os.read(receiver, 200).decode().partition(" ")
    os.close(receiver)
    assert depth == "0"
    assert SecretKey.parse(key).expose() not in before


def test_a_fork_in_the_middle_of_a_refill_does_not_hang() -> None:
    """The child gets a lock of its own, whoever held the parent's."""
    with keypool.pool._lock:
        assert in_another_process(lambda: keypool.pool.take(3)) == 0


def test_a_smaller_pool_after_a_reload_does_no_harm(sized: Any) -> None:
    pool = sized(10)
    pool.refill()
    other = sized(1)
    assert other.depth == 0
    assert len(pool.take(12)) == 12


def test_the_pool_shows_no_keys(sized: Any) -> None:
    pool = sized(2)
    pool.refill()
    assert "redacted" in repr(pool._keys)
    assert pool._keys[0].expose().hex() not in repr(vars(pool))
