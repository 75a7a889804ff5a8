"""One scenario on a stage that is set: each of its sites at each of its levels, with the machine watched and the data compared.

Knows no Locust and no Django: the load and what opens the database are processes of their own.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from benchmarks.kit.machine import processor
from loadtest.calibration import Calibration
from loadtest.machine import Machine
from loadtest.people import People
from loadtest.samples import Phase
from loadtest.scenarios import LEVELS, Scenario, Site, Variant
from loadtest.stage import CELERY_PROCESSES, THREADS, WORKERS, LoadFailed, Running, Stage

STOP_SECONDS = 20
_CALIBRATION_WARM_SECONDS, _CALIBRATION_SECONDS = 3.0, 6.0
DRIVERS: Final = {"MariaDB": "mysqlclient", "PostgreSQL": "psycopg"}
_SERVERS: Final = {
    "MariaDB": "private, data in memory if there is room, 256 MB buffer pool, no binary log",
    "PostgreSQL": "private, data in memory if there is room, 256 MB shared buffers, a commit waits for no disk, vacuums by itself",
}


@dataclass(frozen=True)
class Settings:
    """How long, how often, how much. ``users``: so many normal users, instead of as many as the level takes."""

    seconds: float = 20.0
    rounds: int = 2
    warm_seconds: float = 5.0
    gap_seconds: float = 2.0
    alone_seconds: float = 10.0
    alone_pairs: int = 6
    seed: int = 1
    quick: bool = False
    users: int | None = None


#: To see that everything works: what is measured says nothing.
QUICK: Final = Settings(
    seconds=3.0, rounds=1, warm_seconds=1.0, gap_seconds=0.5, alone_seconds=2.0, alone_pairs=1, quick=True, users=6
)


class Run:
    """A scenario, its output, and what came of it."""

    def __init__(
        self, scenario: Scenario, stage: Stage, output: Path, settings: Settings, *, levels: Sequence[str]
    ) -> None:
        self.scenario, self.stage, self.output, self.settings, self.levels = scenario, stage, output, settings, levels
        self._parts: list[dict[str, Any]] = []
        self._began = time.time()
        self._database = ""
        output.mkdir(parents=True, exist_ok=True)
        for name in ("run.json", "summary.json", "report.html"):
            (output / name).unlink(missing_ok=True)  # of an earlier run: if this one breaks off, there is none

    def run(self) -> None:
        for site in self.scenario.sites:
            with self.stage.site(site) as running:
                try:
                    # Another site may take more of the machine for the same users; the baseline of each is at the level.
                    calibration = Calibration(partial(self._busy, running, site))
                    for level in self.levels:
                        self._part(site, running, level, calibration)
                finally:
                    (self.output / f"{_slug(site.label)}.log").write_text(running.logs())
        self._write()

    def _part(self, site: Site, running: Running, level: str, calibration: Calibration) -> None:
        directory = self.output / f"{_slug(site.label)}-{level}"
        directory.mkdir(exist_ok=True)
        notes = []
        users = self.settings.users
        if users is None:
            users = calibration.users_for(LEVELS[level])
            notes.append(f"{users} users take {calibration.tried[users]:.0%} of the processors without disguisers")
        print(f"{self.scenario.name}, {site.label}, {level} load: {users} users", flush=True)
        self.stage.keep()
        self._drive(running, directory, users=users, site=site, settings=self.settings, variants=self.scenario.variants)
        self.stage.compare(directory / "integrity.json")
        self._parts.append(
            {
                "directory": directory.name,
                "site": site.label,
                "level": level,
                "users": users,
                "target": LEVELS[level],
                "notes": notes,
            }
        )

    def _busy(self, running: Running, site: Site, users: int) -> float:
        """What part of the processors the site and so many users take, without what else goes on on the machine."""
        directory = self.stage.directory / "calibration"
        directory.mkdir(exist_ok=True)
        settings = Settings(
            seconds=_CALIBRATION_SECONDS, rounds=1, warm_seconds=_CALIBRATION_WARM_SECONDS, seed=self.settings.seed
        )
        self._drive(running, directory, users=users, site=site, settings=settings, variants=(), quiet=True)
        if wrong := json.loads((directory / "driver.json").read_text())["wrong"]:
            raise LoadFailed(f"with {users} users, without disguisers: {wrong[0]}")
        (phase,) = [Phase(*phase) for phase in json.loads((directory / "phases.json").read_text())]
        looks = [json.loads(line) for line in (directory / "machine.jsonl").read_text().splitlines()]
        inside = [look for look in looks if phase.has(look["at"])]
        first, last = inside[0], inside[-1]
        used = sum(last["cpu"].values()) - sum(first["cpu"].values())
        busy = float(used / (last["at"] - first["at"]) / (os.cpu_count() or 1))
        print(f"  {users} users: {busy:.0%} of the processors", flush=True)
        return busy

    def _drive(
        self,
        running: Running,
        directory: Path,
        *,
        users: int,
        site: Site,
        settings: Settings,
        variants: Sequence[Variant],
        quiet: bool = False,
    ) -> None:
        order = {
            "app": self.scenario.app,
            "host": running.host,
            "people": str(self.stage.people),
            "users": users,
            "seed": settings.seed,
            "warm_seconds": settings.warm_seconds,
            "seconds": settings.seconds,
            "rounds": settings.rounds,
            "gap_seconds": settings.gap_seconds,
            "alone_seconds": settings.alone_seconds,
            "alone_pairs": settings.alone_pairs,
            "by_password": site.by_password,
            "environment": dict(running.environment),
            "variants": [asdict(replace(one, seconds=None) if settings.quick else one) for one in variants],
        }
        (directory / "order.json").write_text(json.dumps(order, indent=1))
        with Machine(directory / "machine.jsonl", running.groups, self.stage.database.url) as machine:
            process = self.stage.start(
                "loadtest.driver",
                str(directory / "order.json"),
                str(directory),
                stdout=subprocess.DEVNULL if quiet else None,
            )
            self._database = machine.database_version
            machine.groups["locust"] = [process.pid]
            try:
                status = process.wait()
            finally:
                _end(process)
        if status:
            raise LoadFailed(f"loadtest.driver ended with status {status}; why is above.")

    def _write(self) -> None:
        settings, server = self.settings, self.stage.database.name
        found = {
            "scenario": asdict(self.scenario),
            "command": " ".join(["python -m loadtest", *sys.argv[1:]]),
            "began": self._began,
            "ended": time.time(),
            "seconds": settings.seconds,
            "rounds": settings.rounds,
            "seed": settings.seed,
            "quick": settings.quick,
            "scale": People.read(self.stage.people).scale,
            "processors": os.cpu_count(),
            "machine": _machine(),
            "versions": {**_versions(), DRIVERS[server]: version(DRIVERS[server]), server: self._database},
            "settings": {
                "gunicorn": f"{WORKERS} processes of {THREADS} threads",
                "Celery": f"{CELERY_PROCESSES} worker processes, where a scenario has workers",
                server: _SERVERS[server],
                "passwords": "a cheap hash for logging in; keys as shipped",
            },
            "parts": self._parts,
        }
        (self.output / "run.json").write_text(json.dumps(found, indent=1))


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _slug(label: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in label.lower())


def _machine() -> dict[str, str]:
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"processor": processor(), "memory": f"{gib:.0f} GiB"}


def _versions() -> dict[str, str]:
    packages = ("Django", "gunicorn", "locust")
    return {"Python": platform.python_version(), **{name: version(name) for name in packages}}
