"""A run that never was, with answers that are known: written as a real one is, so that what reads it can be tried.

Every second of the baseline has the same number of requests with the same latencies; a variant has so many fewer, and so much slower.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from loadtest import samples as sampling
from loadtest.samples import AROUND, DISGUISE, NORMAL, REFUSED, REVEAL, Phase, Sample
from loadtest.scenarios import Scenario, Site, Variant

#: Each second's normal requests in the baseline; their latencies are 1 to 100 ms in every second, in some order.
PER_SECOND = 100
BEGAN = 1_700_000_000.0
PAGES = ("read answers", "list lectures", "edit an answer")


@dataclass(frozen=True)
class Effect:
    """What a variant does to the others: requests lost (a share), times slower, pairs each second, rows of a pair."""

    loss: float = 0.0
    slower: float = 1.0
    pairs_per_second: float = 1.0
    pair_ms: float = 100.0
    rows: Sequence[int] = (81,)
    cpu_per_pair: float = 0.05
    refused_per_second: int = 0


@dataclass
class MadeUp:
    """``effects``: by site's label and variant's, or by variant's only."""

    scenario: Scenario
    effects: dict[Any, Effect] = field(default_factory=dict)
    seconds: float = 20.0
    rounds: int = 2
    gap: float = 2.0
    alone: bool = True
    per_second: int = PER_SECOND
    drift: float = 0.0
    wrong: Sequence[str] = ()
    differences: Sequence[str] = ()
    noise: float = 0.0

    def write(self, directory: Path) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        parts = []
        for site in self.scenario.sites:
            for level in self.scenario.levels:
                name = f"{site.label}-{level}".replace(" ", "-").replace("/", "-")
                parts.append(
                    {"directory": name, "site": site.label, "level": level, "users": 40, "target": 0.6, "notes": []}
                )
                self._write_part(directory / name, site)
        facts = {
            "scenario": asdict(self.scenario),
            "command": f"python -m loadtest {self.scenario.name}",
            "began": BEGAN,
            "ended": BEGAN + 300,
            "seconds": self.seconds,
            "rounds": self.rounds,
            "seed": 1,
            "quick": False,
            "scale": "200 users x 5 lectures x 4 questions",
            "processors": 2,
            "machine": {"processor": "made up", "memory": "8 GiB"},
            "versions": {"Python": "3.11", "Django": "5.2", "MariaDB": "10.11"},
            "settings": {"gunicorn": "2 processes of 8 threads"},
            "parts": parts,
        }
        (directory / "run.json").write_text(json.dumps(facts))
        return directory

    def _write_part(self, directory: Path, site: Site) -> None:
        directory.mkdir(exist_ok=True)
        phases = list(self._phases())
        source = random.Random(7)
        samples: list[Sample] = []
        for phase in phases:
            samples += self._samples(phase, site, source)
        sampling.write(directory / "samples.jsonl.gz", samples)
        (directory / "phases.json").write_text(json.dumps(phases))
        looks = list(self._looks(phases, site))
        (directory / "machine.jsonl").write_text("".join(json.dumps(look) + "\n" for look in looks))
        driver = {"wrong": list(self.wrong), "away": 0, "late": {}, "notes": []}
        (directory / "driver.json").write_text(json.dumps(driver))
        integrity = {"differences": list(self.differences), "rows": 1234, "ignored": {"user.last_login": "logging in"}}
        (directory / "integrity.json").write_text(json.dumps(integrity))

    def _phases(self) -> Iterator[Phase]:
        at = BEGAN
        for number in range(1, self.rounds + 1):
            for variant in self.scenario.variants:
                for label in ("A", variant.label):
                    yield Phase(label, number, at, at + self.seconds)
                    at += self.seconds + self.gap
        yield Phase("A", self.rounds + 1, at, at + self.seconds)
        if self.alone:
            for variant in self.scenario.variants:
                at += self.seconds + self.gap
                yield Phase(f"alone: {variant.label}", 1, at, at + self.seconds)

    def _effect(self, label: str, site: Site) -> Effect:
        if label == "A":
            return Effect(pairs_per_second=0)
        return self.effects.get((site.label, label)) or self.effects.get(label) or Effect()

    def _samples(self, phase: Phase, site: Site, source: random.Random) -> Iterator[Sample]:
        alone = phase.label.startswith("alone: ")
        effect = self._effect(phase.label.removeprefix("alone: "), site)
        if not alone:
            count = round(self.per_second * (1 - effect.loss) * (1 - self.drift * (phase.began - BEGAN)))
            for second in range(int(self.seconds)):
                order = list(range(count))
                source.shuffle(order)
                for place, rank in enumerate(order):
                    # So early in its second that it is also done in it.
                    at = phase.began + second + 0.5 * place / count
                    ms = (1 + rank * 100 // count) * effect.slower * source.lognormvariate(0, self.noise)
                    yield Sample(at, NORMAL, PAGES[place % 3], ms, 200)
        yield from self._pairs(phase, effect, source)

    def _pairs(self, phase: Phase, effect: Effect, source: random.Random) -> Iterator[Sample]:
        for number in range(int(self.seconds * effect.pairs_per_second)):
            at = phase.began + number / effect.pairs_per_second
            rows = source.choice(list(effect.rows))
            ms = effect.pair_ms * (1 + rows / 100) / 1.81 * source.lognormvariate(0, self.noise)
            yield Sample(at, DISGUISE, "delete account", ms, 200, rows)
            yield Sample(at + 0.02, AROUND, "/return/ (form)", 5.0, 200)
            yield Sample(at + 0.1, REVEAL, "restore account", 1.5 * ms, 200, rows)
        for number in range(int(effect.refused_per_second * self.seconds)):
            yield Sample(phase.began + number / effect.refused_per_second, REFUSED, "delete account", 2.0, 429)

    def _looks(self, phases: Sequence[Phase], site: Site) -> Iterator[dict[str, Any]]:
        """A normal request takes 5 ms of processors, half of it in the database; a pair what its effect says."""
        cpu, waits = {"gunicorn": 10.0, "mariadbd": 3.0, "locust": 1.0}, 0.0
        at = phases[0].began - 1
        while at < phases[-1].ended + 1:
            yield {
                "at": at,
                "cpu": dict(cpu),
                "busy": sum(cpu.values()) + 5,
                "database": {
                    "Innodb_row_lock_waits": waits,
                    "Innodb_row_lock_time": waits * 20,
                    "Questions": waits * 100,
                },
            }
            phase = next((phase for phase in phases if phase.has(at + 0.25)), None)
            at += 0.5
            if phase is None:
                continue
            effect = self._effect(phase.label.removeprefix("alone: "), site)
            normal = 0.0 if phase.label.startswith("alone: ") else self.per_second * (1 - effect.loss) * 0.005
            used = (normal + effect.pairs_per_second * effect.cpu_per_pair) * 0.5
            cpu = {
                "gunicorn": cpu["gunicorn"] + used * 0.4,
                "mariadbd": cpu["mariadbd"] + used * 0.5,
                "locust": cpu["locust"] + used * 0.1,
            }
            waits += effect.pairs_per_second * 0.5


def scenario(name: str = "websubmit-paced", **changes: Any) -> Scenario:
    variant = Variant("a pair a second", disguisers=8, interval_seconds=1.0)
    common = {"app": "websubmit", "asks": "What others notice.", "levels": ("medium",), "variants": (variant,)}
    return Scenario(name=name, **{**common, **changes})
