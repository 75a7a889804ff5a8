"""The process is killed at every step there is: the data is there, or a bag that opens (nothing lost)."""

from __future__ import annotations

import multiprocessing
import random
import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from django.db import connection, connections, transaction

import edna
from apps.websubmit.models import User
from tests.faults.operations import (
    DEEP,
    HERE,
    OPERATIONS,
    Operation,
    Scene,
    everything_comes_back,
    lecture,
    letters,
    with_newcomer,
)
from tests.faults.post.specs import Leave
from tests.faults.runs import Run
from tests.faults.states import Snapshot, State
from tests.faults.steps import AFTER_COMMIT, MOST_STEPS, killed_at, steps_to_die_at, watched
from tests.support import DELETE, in_another_process
from tests.waiting import WAIT_SECONDS, until_waiting

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("applications"), pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("operation", HERE, ids=str)
def test_killed_at_every_step(operation: Operation) -> None:
    kill_at_every_step(Run(operation))


#: In a deep run at every one.
STRIDE = 1 if DEEP else 3


def kill_at_every_step(run: Run, *, at: Callable[[], AbstractContextManager[object]] = nullcontext) -> list[str]:
    """The steps. The errors of `test_errors` come before each statement. ``at`` chooses a server for the process that is killed; we look
    without it."""
    killed: list[str] = []
    steps = steps_to_die_at(run.work, stride=STRIDE)
    run.again()
    for number in steps:
        with at():
            killed.append(killed_at(number, run.work) or "")
        run.check_interrupted()
    assert {"COMMIT", AFTER_COMMIT} <= set(killed)
    return killed


class LeaveByReceipt(Leave):
    """The server keeps no way to its bags: whoever loses the receipt, loses the data."""

    name = "post.leave-by-receipt"
    locators = "client"


def test_a_receipt_is_handed_over_before_the_commit(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is returned once, and then by nobody, is put away within the caller's transaction."""
    drawer = tmp_path_factory.mktemp("drawer") / "receipt"

    def leave(scene: Scene, unlocked: edna.Unlocked) -> None:
        with transaction.atomic():
            drawer.write_text(str(edna.disguise(LeaveByReceipt.name, scene.actor.user)))

    def come_back(scene: Scene) -> None:
        receipt = drawer.read_text()
        with scene.actor.unlock(receipts=[receipt]) as unlocked:
            assert edna.reveal(receipt, unlocked).complete
        everything_comes_back(scene)

    edna.register(LeaveByReceipt)
    try:
        kill_at_every_step(Run(Operation("leave by receipt", letters, leave, come_back)))
    finally:
        edna.unregister(LeaveByReceipt)


def test_a_key_is_handed_over_before_the_commit(tmp_path_factory: pytest.TempPathFactory) -> None:
    drawer = tmp_path_factory.mktemp("drawer") / "code"

    def register(scene: Scene, unlocked: edna.Unlocked) -> None:
        with transaction.atomic():
            drawer.write_text(str(edna.register_principal(scene.newcomer).recovery_code))

    def unlock(scene: Scene) -> None:
        with edna.unlock(recovery_code=drawer.read_text()) as unlocked:
            assert edna.history(unlocked) == []

    kill_at_every_step(Run(Operation("register", with_newcomer, register, unlock)))


def test_a_disguise_in_chunks_goes_on_wherever_it_was_killed(settings: Any) -> None:
    """Done again, it has one receipt, and that one brings back what was done before and after."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
    scene = lecture()
    actor, prepared = scene.actor, Snapshot()
    committed: set[int] = set()

    def leave() -> None:
        edna.disguise(DELETE, actor.user)

    # Between two chunks, and at every few steps within them: of those the database undoes the same each time.
    for number in range(0, MOST_STEPS, 1 if DEEP else 5):
        if killed_at(number, leave) is None:
            break
        before = [entry.receipt for entry in actor.history()]
        if User.objects.filter(pk=actor.user.pk).exists():
            leave()
        [entry] = actor.history()
        assert before in ([], [entry.receipt])
        committed.add(len(before))
        assert actor.reveal(entry.receipt).complete
        assert actor.history() == []
        assert State.now() == scene.origin
        prepared.restore()
    else:
        pytest.fail("it goes on and on")
    assert committed == {0, 1}


def test_killed_at_any_moment() -> None:
    """Not before a step but wherever the process happens to be, in the middle of a statement or of a commit."""
    run = Run(next(each for each in OPERATIONS if each.name == "reveal shared rows as the first"))
    began = time.monotonic()
    assert in_another_process(run.work) == 0
    whole = time.monotonic() - began
    run.again()
    for _ in range(300 if DEEP else 15):
        in_another_process(run.work, killed_after=random.uniform(0, 1.2 * whole))
        run.check_interrupted()


def test_a_killed_process_keeps_nobody_waiting() -> None:
    """Its locks go with it."""
    run = Run(next(each for each in OPERATIONS if each.name == "disguise"))
    results = []

    def other() -> None:
        results.append(edna.disguise(DELETE, run.scene.actor.user))
        connections.close_all()

    waiting, committing = threading.Thread(target=other), multiprocessing.Event()

    def hang_before_the_commit() -> None:
        def reached(number: int, name: str) -> None:
            if name == "COMMIT":
                committing.set()
                time.sleep(WAIT_SECONDS)

        with watched(reached):
            run.work()

    def until_the_other_waits() -> None:
        assert committing.wait(WAIT_SECONDS)
        waiting.start()
        if connection.vendor != "sqlite":  # which has one lock, and cannot tell who waits for it
            until_waiting()

    assert (
        in_another_process(hang_before_the_commit, killed_after=0, meanwhile=until_the_other_waits) == -signal.SIGKILL
    )
    waiting.join(WAIT_SECONDS)
    assert len(results) == 1
    run.check_end()
