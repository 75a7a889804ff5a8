"""A job over 1,500 members, of which something is killed ten times. Everybody is disguised exactly once, and everybody gets
everything back.

EDNA_TEST_PEOPLE is another number of members: `make test-deep` takes 16,000, the size of the published site.
"""

from __future__ import annotations

import os
import random
import time

import pytest
from celery import Celery

from benchmarks.kit.servers import Server
from tests.workers.crew import Crew
from tests.workers.scene import Scene, finished, halfway

PEOPLE = int(os.environ.get("EDNA_TEST_PEOPLE", "1500"))
SECONDS = 30
WITHIN = 1_800
KILLED = ["a worker"] * 5 + ["a process"] * 3 + ["Redis"] * 2


@pytest.mark.slow
@pytest.mark.only_on("mysql")
def test_killed_ten_times_everybody_is_disguised_once_and_comes_back(
    crew: Crew, sending: Celery, redis: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    began = time.monotonic()

    def say(what: str) -> None:
        with capsys.disabled():
            print(f"\n[{time.monotonic() - began:5.0f} s] {what}", end="", flush=True)

    scene = Scene(PEOPLE)
    say(f"{PEOPLE} members, {sum(sum(each.values()) for each in scene.rows.values())} rows")
    crew.batch = 50
    crew.hire(3)
    # It is not over before all are killed, however quick the machine.
    job = scene.start(concurrency=4, rate_per_second=PEOPLE / SECONDS)
    victims = random.sample(KILLED, len(KILLED))
    for share, victim in zip(sorted(random.uniform(0.02, 0.8) for _ in victims), victims, strict=True):
        halfway(job, share)
        time.sleep(random.random() / 10)
        say(f"{victim} is killed at {share:.0%}")
        crew.strike(victim, redis)
    finished(job, within=WITHIN)
    say("finished")
    scene.everybody_is_disguised_once(job)
    crew.go()
    say("reveals begin")
    scene.reveal_everything()
    say("everything is as it was")
