"""One load on a site that is there: ``python -m loadtest.driver ORDER.json OUTPUT``, a process of its own since Locust patches it.

Disguisers alone first (what a pair takes of the processors when nobody else is there), then normal users, a warm-up, and baseline and
variants in turns. What it writes: ``samples.jsonl.gz``, ``phases.json``, ``driver.json``. It judges nothing but what must never happen
(`loadtest.browser.Load.wrong`).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import gevent
from gevent.event import Event
from gevent.hub import Hub
from locust.env import Environment

from loadtest import samples
from loadtest.browser import Load, Unexpected
from loadtest.disguisers import Disguiser, Steered
from loadtest.people import People
from loadtest.samples import ALONE, BASELINE, Phase
from loadtest.scenarios import Variant
from loadtest.turns import Turns

ROOT = Path(__file__).resolve().parents[1]
SPAWN_PER_SECOND = 25.0
#: How long those who are in a turn when a phase ends may take: a whole conference, with workers that are busy otherwise.
_END_SECONDS = 1300.0
_ALIVE_SECONDS = 1.0
#: How long a request may take that is under way at the end.
_LAST_ANSWER_SECONDS = 60.0
#: How much longer disguisers may be alone, until there are enough pairs.
_MORE_SECONDS, _LOOK_SECONDS = 60.0, 0.1


@dataclass(frozen=True)
class Order:
    """What is to be done. ``alone_seconds`` 0: not without normal users; otherwise until there were ``alone_pairs``. No ``variants``: one
    phase of the baseline."""

    app: str
    host: str
    people: str
    users: int
    seed: int
    warm_seconds: float
    seconds: float
    rounds: int
    gap_seconds: float
    alone_seconds: float
    alone_pairs: int
    by_password: bool
    #: Of the site's processes, for what its operator does.
    environment: dict[str, str]
    variants: tuple[Variant, ...]

    @classmethod
    def read(cls, path: Path) -> Order:
        found = json.loads(path.read_text())
        return cls(variants=tuple(Variant(**variant) for variant in found.pop("variants")), **found)


class Driver:
    """The users, and the phases they go through."""

    def __init__(self, order: Order) -> None:
        random.seed(order.seed)
        self.order = order
        self.load = Load(People.read(Path(order.people)), by_password=order.by_password)
        self.phases: list[Phase] = []
        self.late: dict[str, int] = {}
        users: dict[str, Any] = import_module(f"loadtest.{order.app}").USERS
        self._disguisers = self._classes(users)
        self._parked = [one for one in self._disguisers.values() if not issubclass(one, Steered)]
        # What is under way at the end is waited for: the site would do it later, under the eyes of the next load.
        self.environment = Environment(
            user_classes=[*users["normal"], *self._parked], host=order.host, stop_timeout=_LAST_ANSWER_SECONDS
        )
        self.environment.load = self.load  # type: ignore[attr-defined]
        self.environment.events.user_error.add_listener(self._failed)
        self._started = Event()
        self.environment.events.spawning_complete.add_listener(lambda **details: self._started.set())
        self.runner = self.environment.create_local_runner()

    def _classes(self, users: dict[str, Any]) -> dict[str, type[Disguiser]]:
        """By what they do; as many of each kind of disguiser as any variant wants."""
        wanted: dict[str, int] = {}
        for variant in self.order.variants:
            wanted[variant.what] = max(variant.disguisers, wanted.get(variant.what, 0))
            self.load.turns[variant.what] = Turns(seed=self.order.seed)
        for what, count in wanted.items():
            users[what].what, users[what].fixed_count = what, count
        return {what: users[what] for what in wanted}

    def _failed(self, exception: Exception, **details: object) -> None:
        if isinstance(exception, Unexpected):
            self.load.wrong.append(str(exception))
        else:
            self.load.wrong.append(f"{type(exception).__name__} in {type(details['user_instance']).__name__}")
            traceback.print_exception(exception)

    def run(self) -> None:
        """Locust starts users of a fixed number first: so the disguisers are there, and wait, before anybody else."""
        parked = sum(one.fixed_count for one in self._parked)
        if parked and self.order.alone_seconds:
            self._have(parked)
            alone = [one for one in self.order.variants if self._disguisers[one.what] in self._parked]
            self._warm_up(alone)
            for variant in alone:
                self._alone(variant)
        everybody = parked + self.order.users
        self._have(everybody)
        gevent.sleep(self.order.warm_seconds)
        self._rounds()
        if self.runner.user_count != everybody:
            self.load.wrong.append(f"{everybody - self.runner.user_count} users have ended before the end")
        self._bring_back()
        for turns in self.load.turns.values():
            turns.end()
        self.runner.quit()

    def _alone(self, variant: Variant) -> None:
        """What a pair takes is the same at any pace; one after the other, so that there are enough of them."""
        looping = replace(variant, interval_seconds=None, disguisers=1) if variant.interval_seconds else variant
        turns, label = self.load.turns[variant.what], f"{ALONE}{variant.label}"
        least = turns.done + self.order.alone_pairs
        self._turns(looping, label, 1, self.order.alone_seconds, enough=lambda: turns.done >= least)
        gevent.sleep(self.order.gap_seconds)

    def _warm_up(self, variants: Sequence[Variant]) -> None:
        """The first disguises of a site take longer; what takes a whole turn is long enough for that to be lost in it."""
        for what in dict.fromkeys(variant.what for variant in variants if not variant.once):
            variant = next(one for one in variants if one.what == what)
            turns = self.load.turns[what]
            turns.open(self.load.people.disguisers[variant.size], disguisers=variant.disguisers)
            gevent.sleep(self.order.warm_seconds)
            turns.close()
            turns.wait_until_idle(_END_SECONDS)

    def _have(self, users: int) -> None:
        """Returns when so many have been started; who could not begin has told so."""
        self._started.clear()
        self.runner.start(users, spawn_rate=SPAWN_PER_SECOND)
        self._started.wait()

    def _rounds(self) -> None:
        for number in range(1, self.order.rounds + 1):
            for variant in self.order.variants:
                self._baseline(number)
                self._variant(variant, variant.label, number, variant.seconds or self.order.seconds)
        # Each variant has a baseline before and one after it.
        self._baseline(self.order.rounds + 1)

    def _baseline(self, number: int) -> None:
        with self._phase(BASELINE, number):
            gevent.sleep(self.order.seconds)

    def _variant(self, variant: Variant, label: str, number: int, seconds: float) -> None:
        one = self._disguisers[variant.what]
        if issubclass(one, Steered):
            with self._phase(label, number):
                one.begin(self.load, self._manage)
                gevent.sleep(seconds)
            one.end(self.load, self._manage)
        else:
            self._turns(variant, label, number, seconds)
        gevent.sleep(self.order.gap_seconds)

    def _turns(
        self, variant: Variant, label: str, number: int, seconds: float, *, enough: Callable[[], bool] | None = None
    ) -> None:
        turns = self.load.turns[variant.what]
        accounts = self.load.people.disguisers[variant.size]
        before = turns.late
        turns.open(
            accounts,
            disguisers=variant.disguisers,
            interval_seconds=variant.interval_seconds,
            once=variant.once,
        )
        if not variant.once:
            # That all come through the door in the same moment is our doing: what is measured is how they go on.
            gevent.sleep(self.order.gap_seconds)
        with self._phase(label, number):
            if variant.once:
                turns.wait_until_idle(_END_SECONDS)
            else:
                gevent.sleep(seconds)
                until = time.monotonic() + _MORE_SECONDS
                while enough and not enough() and time.monotonic() < until:
                    gevent.sleep(_LOOK_SECONDS)
        turns.close()
        self.late[label] = self.late.get(label, 0) + turns.late - before
        idle = turns.wait_until_idle(_END_SECONDS)
        if not idle:
            self.load.wrong.append(f"{label}: somebody was still at it after {_END_SECONDS:.0f} s")

    @contextmanager
    def _phase(self, label: str, number: int) -> Iterator[None]:
        print(f"  {label}, round {number}", flush=True)
        began = time.time()
        yield
        self.phases.append(Phase(label, number, began, time.time()))

    def _bring_back(self) -> None:
        for one in self._disguisers.values():
            if issubclass(one, Steered):
                one.over(self.load, self._manage)
            one(self.environment).bring_back()

    def _manage(self, *arguments: str) -> str:
        """What the site's operator does; the users go on meanwhile."""
        command = [sys.executable, "manage.py", *arguments]
        environment = {**os.environ, **self.order.environment}
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"manage.py {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def write(self, output: Path) -> None:
        samples.write(output / "samples.jsonl.gz", self.load.samples)
        (output / "phases.json").write_text(json.dumps(self.phases))
        told = {"wrong": self.load.wrong, "away": len(self.load.away), "late": self.late, "notes": []}
        (output / "driver.json").write_text(json.dumps(told, indent=1))


def _end_with(parent: int) -> None:
    """Whoever started this may be killed: nobody would stop the load."""
    while os.getppid() == parent:
        gevent.sleep(_ALIVE_SECONDS)
    os._exit(1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.driver")
    parser.add_argument("order", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    # What is unexpected stands in what this writes, once; as tracebacks it would hide everything else.
    logging.getLogger("locust").setLevel(logging.CRITICAL)
    Hub.NOT_ERROR = (*Hub.NOT_ERROR, Unexpected)
    gevent.spawn(_end_with, os.getppid())
    driver = Driver(Order.read(arguments.order))
    try:
        driver.run()
    finally:
        driver.write(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
