"""Reads what a run left in its directory, and cuts it by phase. Computes nothing that is in doubt: that is `loadtest.summary`'s.

A run's directory holds run.json and one directory for each part (a site at a level): samples.jsonl.gz, phases.json, machine.jsonl,
driver.json and integrity.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loadtest import samples as sampling
from loadtest.samples import BASELINE, NORMAL, Phase, Sample

Numbers = NDArray[np.float64]
Mask = NDArray[np.bool_]


class Machine:
    """Counters of processors and database, by wall clock; between two looks they are taken to have grown evenly."""

    def __init__(self, looks: Sequence[dict[str, Any]]) -> None:
        self.at: Numbers = np.array([look["at"] for look in looks], dtype=float)
        groups = dict.fromkeys(group for look in looks for group in look["cpu"])
        counters = dict.fromkeys(name for look in looks for name in look.get("database", {}))
        self.cpu: dict[str, Numbers] = {group: _series(look["cpu"].get(group) for look in looks) for group in groups}
        self.database: dict[str, Numbers] = {
            name: _series(look.get("database", {}).get(name) for look in looks) for name in counters
        }
        self.busy: Numbers | None = _series(look["busy"] for look in looks) if looks and "busy" in looks[0] else None

    def grown(self, counter: Numbers, phases: Sequence[Phase]) -> float:
        """By how much a counter grew in these phases together."""
        return float(sum(np.interp(p.ended, self.at, counter) - np.interp(p.began, self.at, counter) for p in phases))

    def cpu_seconds(self, phases: Sequence[Phase]) -> dict[str, float]:
        return {group: self.grown(counter, phases) for group, counter in self.cpu.items()}


def _series(values: Any) -> Numbers:
    """A process that is not there yet, or no more, has used as much as it last had."""
    found, last = [], 0.0
    for value in values:
        last = last if value is None else float(value)
        found.append(last)
    return np.array(found, dtype=float)


@dataclass(frozen=True)
class Part:
    """One site at one level. ``facts`` is its entry in run.json."""

    facts: dict[str, Any]
    samples: list[Sample]
    phases: list[Phase]
    machine: Machine
    driver: dict[str, Any]
    integrity: dict[str, Any]

    @classmethod
    def read(cls, directory: Path, facts: dict[str, Any]) -> Part:
        looks = [json.loads(line) for line in (directory / "machine.jsonl").read_text().splitlines()]
        return cls(
            facts,
            sorted(sampling.read(directory / "samples.jsonl.gz")),
            sorted(
                (Phase(*phase) for phase in json.loads((directory / "phases.json").read_text())), key=lambda p: p.began
            ),
            Machine(looks),
            json.loads((directory / "driver.json").read_text()),
            json.loads((directory / "integrity.json").read_text()),
        )

    @property
    def title(self) -> str:
        return f"{self.facts['site']}, {self.facts['level']} load"

    @cached_property
    def at(self) -> Numbers:
        return np.array([sample.at for sample in self.samples], dtype=float)

    @cached_property
    def ms(self) -> Numbers:
        return np.array([sample.ms for sample in self.samples], dtype=float)

    @cached_property
    def rows(self) -> Numbers:
        return np.array([sample.rows for sample in self.samples], dtype=float)

    @cached_property
    def done(self) -> Numbers:
        return self.at + self.ms / 1000

    @cached_property
    def _kinds(self) -> dict[str, Mask]:
        """Requests that went wrong are counted as that, and nowhere else."""
        kinds = np.array([sample.kind for sample in self.samples])
        right = np.array([not sample.error for sample in self.samples], dtype=bool)
        return {str(kind): (kinds == kind) & right for kind in np.unique(kinds)}

    @cached_property
    def _names(self) -> NDArray[Any]:
        return np.array([sample.name for sample in self.samples])

    def of(self, kind: str, name: str = "") -> Mask:
        """Which samples are of this kind, and called so."""
        none: Mask = np.zeros(len(self.samples), dtype=bool)
        found = self._kinds.get(kind, none)
        return found & (self._names == name) if name else found

    def names(self, kind: str = NORMAL) -> list[str]:
        """The most frequent first."""
        names, counts = np.unique(self._names[self.of(kind)], return_counts=True)
        return [str(name) for _, name in sorted(zip(-counts, names, strict=True))]

    def during(self, phases: Sequence[Phase], times: Numbers) -> Mask:
        found: Mask = np.zeros(len(times), dtype=bool)
        for phase in phases:
            found |= (times >= phase.began) & (times < phase.ended)
        return found

    def labelled(self, label: str) -> list[Phase]:
        return [phase for phase in self.phases if phase.label == label]

    def beside(self, phase: Phase) -> list[Phase]:
        """The baselines next to a phase: the one before, and the one after if there is one."""
        before = [other for other in self.labelled(BASELINE) if other.ended <= phase.began]
        after = [other for other in self.labelled(BASELINE) if other.began >= phase.ended]
        return before[-1:] + after[:1]

    def beside_all(self, label: str) -> list[Phase]:
        """The baselines next to any phase of a variant, each once."""
        return list(dict.fromkeys(other for phase in self.labelled(label) for other in self.beside(phase)))


@dataclass(frozen=True)
class Run:
    """``facts`` is run.json: the scenario, how it was run, on what."""

    facts: dict[str, Any]
    parts: list[Part]

    @classmethod
    def read(cls, directory: Path) -> Run:
        facts = json.loads((directory / "run.json").read_text())
        return cls(facts, [Part.read(directory / part["directory"], part) for part in facts["parts"]])

    @property
    def scenario(self) -> dict[str, Any]:
        found: dict[str, Any] = self.facts["scenario"]
        return found

    @property
    def variants(self) -> dict[str, dict[str, Any]]:
        return {variant["label"]: variant for variant in self.scenario["variants"]}
