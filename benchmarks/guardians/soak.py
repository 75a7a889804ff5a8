"""Evaluate without a pause while guardians restart by their schedule, and get new shares: ``python -m benchmarks.guardians.soak``.

In each slot of the schedule those guardians are stopped whose turn it is, and started again before it ends. Meanwhile one sweep follows the
other: whoever has missed one is repaired and refreshed with the others. At the end it says how many evaluations there were and how many
failed, how few guardians were ever up, and how long any of them ran without a restart. Exit status 1: something failed, fewer than needed
were up, or one ran for too long.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.guardians.ring import Ring, ring_of
from benchmarks.timing import say
from edna.custody.guardians import quorum
from edna.custody.guardians.envelope import Envelope
from edna.custody.guardians.schedule import GuardianSchedule
from edna.custody.guardians.sweep import Sweep
from edna.errors import CustodyError, QuorumUnavailable

_SECRET = bytes(range(32))
#: Between two sweeps.
_PAUSE_SECONDS = 2.0


@dataclass
class Soaked:
    """What has come of it."""

    evaluations: int = 0
    failures: list[str] = field(default_factory=list)
    fewest_up: int = 255
    restarts: int = 0
    longest_run_seconds: float = 0.0
    refreshes: int = 0
    repairs: int = 0

    def is_right(self, *, threshold: int, attack_seconds: float) -> bool:
        return not self.failures and self.fewest_up >= threshold and self.longest_run_seconds <= attack_seconds


class Soak:
    """One soak of a ring."""

    def __init__(self, ring: Ring, envelope: Envelope, plan: GuardianSchedule) -> None:
        self._ring, self._envelope, self._plan = ring, envelope, plan
        self._over = threading.Event()
        #: A request that begins while guardians change could be known to fewer than are needed: those before are not up yet, those after
        #: are down already. Whoever asks then asks once more.
        self._asking = threading.Lock()
        self._began = time.time()
        self._started = dict.fromkeys(ring.ports, self._began)
        self.soaked = Soaked()

    def run(self, seconds: float, *, boot_seconds: float) -> Soaked:
        """`boot_seconds` before its slot ends a guardian is started again."""
        others = [threading.Thread(target=work) for work in (self._evaluate, self._count, self._sweep)]
        for each in others:
            each.start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                self._slot(boot_seconds)
        finally:
            self._over.set()
            for each in others:
                each.join()
        now = time.time()
        for started in self._started.values():
            self._note_run(now - started)
        return self.soaked

    def _slot(self, boot_seconds: float) -> None:
        now = time.time()
        down = self._plan.down(now)
        with self._asking:
            for number in down:
                self._note_run(time.time() - self._started[number])
                self._ring.stop(number)
        left = self._plan.restart_seconds - now % self._plan.restart_seconds
        time.sleep(max(now + left - boot_seconds - time.time(), 0.0))
        for number in down:
            self._ring.start(number)
        for number in down:
            self._ring.wait(number)
            self._started[number] = time.time()
            self.soaked.restarts += 1
        time.sleep(max(now + left - time.time(), 0.0))

    def _sweep(self) -> None:
        """Those that are down, or are stopped meanwhile, miss one, and are repaired by the next."""
        while not self._over.is_set():
            with suppress(QuorumUnavailable):
                swept = Sweep(roster=self._ring.roster, transport=self._ring.transport).run()
                self.soaked.refreshes += swept.refreshed
                self.soaked.repairs += sum(swept.repaired.values())
            self._over.wait(_PAUSE_SECONDS)

    def _evaluate(self) -> None:
        while not self._over.is_set():
            recovery = quorum.Recovery(self._envelope, roster=self._ring.roster, transport=self._ring.transport)
            self._ask(recovery)
            for _ in range(50):
                if self._over.is_set():
                    return
                try:
                    right = recovery.finish() == _SECRET
                    self.soaked.evaluations += 1
                except CustodyError as error:
                    right = False
                    self.soaked.failures.append(str(error))
                if not right:
                    # Whoever was down when the request was made does not know it.
                    self._ask(recovery)

    def _ask(self, recovery: quorum.Recovery) -> None:
        with self._asking:
            recovery.open()

    def _count(self) -> None:
        while not self._over.is_set():
            up = sum(self._ring.answers(number) for number in self._ring.ports)
            self.soaked.fewest_up = min(self.soaked.fewest_up, up)
            self._over.wait(0.2)

    def _note_run(self, seconds: float) -> None:
        self.soaked.longest_run_seconds = max(self.soaked.longest_run_seconds, seconds)


def soak(folder: Path, plan: GuardianSchedule, *, seconds: float, boot_seconds: float) -> Soaked:
    with ring_of(folder, count=plan.count, threshold=plan.threshold, plan=plan) as ring:
        enrolled = quorum.enrol(_SECRET, roster=ring.roster, transport=ring.transport, contact="x")
        return Soak(ring, enrolled.envelope, plan).run(seconds, boot_seconds=boot_seconds)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.guardians.soak", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=300, help="(default: %(default)s)")
    parser.add_argument("--count", type=int, default=18, help="guardians (default: %(default)s)")
    parser.add_argument("--threshold", type=int, default=6, help="how many are needed (default: %(default)s)")
    parser.add_argument(
        "--attack-seconds", type=int, default=60, help="each restarts once in this time (default: %(default)s)"
    )
    parser.add_argument("--restart-seconds", type=int, default=10, help="the length of a slot (default: %(default)s)")
    parser.add_argument(
        "--boot-seconds",
        type=float,
        default=4,
        help="so long before the end of its slot one is started (default: %(default)s)",
    )
    given = parser.parse_args(arguments)
    plan = GuardianSchedule(given.count, given.threshold, given.attack_seconds, given.restart_seconds)
    say(
        f"{given.threshold} of {given.count} guardians, {plan.at_once} restarting at any time, for {given.seconds:.0f} s"
    )
    with tempfile.TemporaryDirectory(prefix="edna-guardians-") as folder:
        soaked = soak(Path(folder), plan, seconds=given.seconds, boot_seconds=given.boot_seconds)
    print(f"{soaked.evaluations:,} evaluations, {len(soaked.failures)} failures")
    print(f"fewest guardians up: {soaked.fewest_up} of {plan.count}, {plan.threshold} are needed")
    print(f"{soaked.restarts} restarts; no guardian ran longer than {soaked.longest_run_seconds:.1f} s without one")
    print(f"{soaked.refreshes} refreshes, {soaked.repairs} repairs")
    for each in soaked.failures[:10]:
        print(f"  {each}")
    return 0 if soaked.is_right(threshold=plan.threshold, attack_seconds=plan.attack_seconds) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
