"""The key pool: pairs made ahead of time, each handed out once, in the memory of one process only."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

import edna
from apps.websubmit.models import User
from edna import keypool, store
from edna.crypto.keys import SecretKey, generate_key_pairs
from edna.engine.surroundings import recreate
from edna.errors import PrincipalAlreadyRegistered
from edna.keypool import THREAD, KeyPool, PoolStatistics
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.support import ANONYMISE_ALL, answer_everything, enrol, in_another_process, make_course, nothing_changes
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = pytest.mark.long


@pytest.fixture
def sized(settings: Any) -> Any:
    def resize(size: int, low_water: int | None = None) -> KeyPool:
        settings.EDNA = {**settings.EDNA, "KEY_POOL_SIZE": size, "KEY_POOL_LOW_WATER": low_water}
        return KeyPool()

    return resize


def settled(pool: KeyPool, depth: int) -> bool:
    return bool(eventually(lambda: pool.depth >= depth))


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
    waiting = raw(list(pool._stock.keys))
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

    before = raw(list(keypool.pool._stock.keys))
    assert in_another_process(child) == 0
    os.close(sender)
    depth, _, key = os.read(receiver, 200).decode().partition(" ")
    os.close(receiver)
    assert depth == "0"
    assert SecretKey.parse(key).expose() not in before


def test_a_fork_in_the_middle_of_a_refill_does_not_hang() -> None:
    """The child gets a lock of its own, whoever held the parent's."""
    with keypool.pool._stock.lock:
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
    assert "redacted" in repr(pool._stock.keys)
    assert pool._stock.keys[0].expose().hex() not in repr((vars(pool), vars(pool._stock)))


# How full it is


def test_it_is_refilled_at_the_low_water_mark_and_not_before(sized: Any) -> None:
    pool = sized(20, 3)
    pool.refill()
    pool.take(16)
    assert pool.depth == 4
    assert not pool._stock.refilling
    pool.take(1)
    assert settled(pool, 20)


def refills() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def test_it_says_what_it_has_done(sized: Any) -> None:
    pool = sized(10, 2)
    assert pool.statistics() == PoolStatistics(
        depth=0, size=10, low_water=2, taken=0, drained=0, refilled=0, refill_seconds=0.0
    )
    pool.refill()
    pool.take(4)
    found = pool.statistics()
    assert (found.depth, found.taken, found.drained, found.refilled) == (6, 4, 0, 10)
    assert found.refill_seconds > 0
    pool.take(9)
    assert settled(pool, 10)
    found = pool.statistics()
    assert (found.taken, found.drained, found.refilled) == (13, 3, 20)


def test_a_worker_can_fill_it_before_anybody_asks(sized: Any) -> None:
    pool = sized(30)
    pool.start()
    pool.start()
    assert settled(pool, 30)
    assert pool.statistics().taken == 0
    pool.start()
    assert pool.statistics().refilled == 30


def test_it_never_grows_beyond_its_size(sized: Any) -> None:
    """Several who fill it at once."""
    pool = sized(40)
    threads = [threading.Thread(target=pool.refill) for _ in range(6)]
    for thread in (*threads, threading.Thread(target=pool.start)):
        thread.start()
    for thread in threads:
        thread.join()
    assert settled(pool, 40)
    assert pool.depth == pool.statistics().refilled == 40


# Drained, and nobody waits


@pytest.fixture
def stuck(monkeypatch: Any) -> Any:
    """The background thread is in the middle of its work, and stays there until told to go on: two events."""
    for thread in refills():  # of a test before this one
        thread.join(WAIT_SECONDS)
    reached, go_on = threading.Event(), threading.Event()
    generate = keypool.generate_key_pairs

    def generate_or_wait(count: int, *, hybrid: bool) -> list[SecretKey]:
        if threading.current_thread().name == THREAD:
            reached.set()
            assert go_on.wait(WAIT_SECONDS)
        return generate(count, hybrid=hybrid)

    monkeypatch.setattr(keypool, "generate_key_pairs", generate_or_wait)
    yield reached, go_on
    go_on.set()
    for thread in refills():
        thread.join(WAIT_SECONDS)


def test_whoever_takes_does_not_wait_for_the_refill(sized: Any, stuck: tuple[threading.Event, threading.Event]) -> None:
    pool, (reached, _) = sized(20), stuck
    first = pool.take(2)
    assert reached.wait(WAIT_SECONDS), "the refill is at work, and does not come to an end"
    keys = first + pool.take(50) + pool.take(1)
    assert len(raw(keys)) == 53
    assert pool.depth == 0
    assert pool.statistics().drained == 53
    assert len(refills()) == 1, "one is enough"


def test_a_process_that_is_forked_during_a_refill_has_one_of_its_own(
    sized: Any, monkeypatch: Any, stuck: tuple[threading.Event, threading.Event]
) -> None:
    """The parent's thread does not exist in the child, and must not be waited for."""
    pool, (reached, go_on) = sized(20), stuck
    os.register_at_fork(after_in_child=pool.wipe)
    pool.take(1)
    assert reached.wait(WAIT_SECONDS)

    def child() -> None:
        found = pool.statistics()
        assert (found.depth, found.taken, found.drained, found.refilled) == (0, 0, 0, 0)
        go_on.set()
        pool.take(1)
        assert settled(pool, 20)

    assert in_another_process(child) == 0


def test_without_threads_it_goes_on_without_a_refill(sized: Any, monkeypatch: Any) -> None:
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = sized(5)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none_left)
        assert len(raw(pool.take(7))) == 7
    pool.take(1)
    assert settled(pool, 5), "tried again at the next occasion"


def test_a_refill_that_fails_is_tried_again(sized: Any, monkeypatch: Any) -> None:
    pool = sized(5)
    monkeypatch.setattr(threading, "excepthook", lambda *_: None)
    with monkeypatch.context() as patched:
        patched.setattr(keypool.KeyPool, "_add_some", lambda *_: 1 / 0)
        pool.start()
        for thread in refills():
            thread.join(WAIT_SECONDS)
    assert len(pool.take(1)) == 1
    assert settled(pool, 5)


# In memory only


def test_the_pool_cannot_be_written_down(sized: Any) -> None:
    pool = sized(3)
    pool.refill()
    for what in (pool, pool._stock.keys, list(pool._stock.keys)):
        with pytest.raises(TypeError):
            pickle.dumps(what)


def test_filling_it_opens_no_file() -> None:
    """The audit hook sees each file, socket and process that Python opens."""
    program = """
import sys
from django.conf import settings
settings.configure(EDNA={"KEY_POOL_SIZE": 50})
from edna.keypool import pool
pool.take(1)
seen = []
watched = {"open", "os", "socket", "subprocess", "tempfile"}
sys.addaudithook(lambda event, args: seen.append(event) if event.split(".")[0] in watched else None)
pool.refill(); pool.take(60); pool.refill()
print(seen)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# A fork that Python does not see


def forked_by_the_system(work: str, *, before: str = "", after: str = "") -> str:
    """What the child of libc's own `fork` prints, in a process of its own: none of Python's hooks runs, as under uWSGI."""
    program = f"""
import ctypes, os, sys, threading, time
from django.conf import settings
settings.configure(EDNA={{"KEY_POOL_SIZE": 20}})
from edna import keypool
from edna.keypool import THREAD, pool
def keys(): return {{key.expose() for key in pool.take(20)}}
pool.refill()
receiver, sender = os.pipe()
{before}
child = ctypes.PyDLL(None).fork()
if child == 0:
    try:
        os.write(sender, repr({work}).encode())
    except BaseException as error:
        os.write(sender, repr(error).encode())
    finally:
        os._exit(0)
os.close(sender)
{after}
own = keys()
with open(receiver, "rb") as said:
    theirs = eval(said.read())
os.waitpid(child, 0)
print(own & theirs if isinstance(theirs, set) else theirs)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WAIT_SECONDS)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.once
def test_a_fork_that_python_does_not_see_shares_no_key() -> None:
    assert forked_by_the_system("keys()") == "set()"


@pytest.mark.once
def test_after_such_a_fork_nothing_inherited_is_left_or_counted() -> None:
    assert forked_by_the_system("(pool.depth, pool.statistics().refilled)") == "(0, 0)"
    assert forked_by_the_system("(pool.refill(), pool.depth, pool.statistics().refilled)") == "(None, 20, 20)"


@pytest.mark.once
def test_after_such_a_fork_a_held_lock_is_not_waited_for() -> None:
    """Nobody in the child will ever let go of it."""
    before, after = "lock = pool._stock.lock; lock.acquire()", "lock.release()"
    assert forked_by_the_system("keys()", before=before, after=after) == "set()"


@pytest.mark.once
def test_after_such_a_fork_the_refill_begins_anew() -> None:
    """The parent's is in the middle of its work, in a thread that the child does not have."""
    before = """
generate, reached, go_on = keypool.generate_key_pairs, threading.Event(), threading.Event()
def stuck(count, *, hybrid):
    if threading.current_thread().name == THREAD and os.getpid() == parent:
        reached.set()
        go_on.wait(100)
    return generate(count, hybrid=hybrid)
parent = os.getpid()
keypool.generate_key_pairs = stuck
pool.take(15)
assert reached.wait(100)
def refilled():
    pool.start()
    until = time.monotonic() + 100
    while pool.depth < 20 and time.monotonic() < until:
        time.sleep(0.01)
    return pool.depth
"""
    assert forked_by_the_system("refilled()", before=before, after="go_on.set()") == "20"


# A key that somebody has already


@pytest.fixture
def taken(monkeypatch: Any) -> Iterator[Callable[[int], set[bytes]]]:
    """Fills the pool with key pairs that have entries already, as if another process had handed them out."""
    monkeypatch.setattr(KeyPool, "start", lambda pool: None)

    def put(count: int) -> set[bytes]:
        keys = generate_key_pairs(count)
        entries = [
            store.NewEntry(bytes(key.public_key), "websubmit.user", f"somebody {number}", False)
            for number, key in enumerate(keys)
        ]
        store.add_entries(entries, using="default")
        keypool.pool.wipe()
        keypool.pool._stock.keys.extend(keys)
        return {bytes(key.public_key) for key in keys}

    yield put
    keypool.pool.wipe()


@pytest.mark.django_db
@first_everywhere("number", [1, 3, 4, 7])
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "in somebody's transaction"])
def test_a_disguise_draws_again_where_a_key_is_taken(taken: Any, *, number: int, nested: bool) -> None:
    make_course()
    bea = enrol()
    answer_everything(bea, enrol())
    before = application_dump()
    theirs = taken(number)
    with transaction.atomic() if nested else contextlib.nullcontext():
        receipt = bea.disguise(ANONYMISE_ALL)
    assert bea.texts() == {}
    entries = store.entries_by_public_key(theirs, using="default")
    assert {entry.reference for entry in entries} == {f"somebody {each}" for each in range(number)}
    assert bea.reveal(receipt).complete
    assert application_dump() == before


@pytest.mark.django_db
@first_everywhere("number", [1, 3, 4])
@pytest.mark.parametrize("nested", [False, True], ids=["alone", "in somebody's transaction"])
def test_a_rotation_draws_again_where_a_key_is_taken(taken: Any, *, number: int, nested: bool) -> None:
    make_course()
    bea = enrol()
    answer_everything(bea, enrol())
    before = application_dump()
    receipt = bea.disguise(ANONYMISE_ALL)
    theirs = taken(number)
    with transaction.atomic() if nested else contextlib.nullcontext(), bea.unlock() as unlocked:
        made = edna.rotate(unlocked)
    entries = store.entries_by_public_key(theirs, using="default")
    assert {entry.reference for entry in entries} == {f"somebody {each}" for each in range(number)}
    with edna.unlock(secret_key=made.secret_key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    assert application_dump() == before


@pytest.mark.django_db
def test_a_rotation_to_somebody_s_key_is_refused_as_before(taken: Any) -> None:
    """Drawing others does not help."""
    make_course()
    bea, carl = enrol(), enrol()
    with nothing_changes(), bea.unlock() as unlocked, pytest.raises(PrincipalAlreadyRegistered):
        edna.rotate(unlocked, public_key=carl.secret_key.public_key)


@pytest.mark.django_db
def test_who_is_made_again_draws_again_where_a_key_is_taken(taken: Any) -> None:
    taken(2)
    recreate.add_voiceless(User, [-5, -6, -7], using="default")
    entries = store.entries_by_reference("websubmit.user", ["-5", "-6", "-7"], using="default")
    assert len({entry.public_key for entry in entries}) == 3


@pytest.mark.django_db
def test_whom_an_entry_is_for_is_not_drawn_again(taken: Any) -> None:
    """Another key does not help where the row has an entry."""
    bea = enrol()
    taken(1)
    with pytest.raises(PrincipalAlreadyRegistered, match=r"websubmit\.user"), transaction.atomic():
        recreate.add_voiceless(User, [-5, bea.user.pk], using="default")
