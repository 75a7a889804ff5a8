"""Percentiles, losses and ratios with how sure one can be of them: from raw values, cut into seconds, in pairs of phases.

An interval is a bootstrap's (95 %): pairs are drawn again, and in each phase blocks of some seconds, for what happens in one second
is not independent of the second before. With few pairs that is too narrow, so it is widened to the pairs' own least and greatest.
It does not cover what a run cannot see: another machine, other data, another hour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.kit.percentiles import enough, nearest_rank
from loadtest.recorded import Numbers

_BLOCK_SECONDS = 3
#: A phase that is too short for so many blocks has shorter ones: a single block would always be the phase itself.
_BLOCKS = 5
_DRAWS = 400


def percentile_or_none(values: Numbers, percent: float) -> float | None:
    """By the nearest rank; None if there are too few values to speak of it."""
    if not enough(len(values), percent):
        return None
    return nearest_rank(values, percent)


def latencies(values: Numbers) -> dict[str, Any]:
    """Of milliseconds, in no order."""
    found = {f"p{percent}_ms": percentile_or_none(values, percent) for percent in (50, 95, 99)}
    return {"n": len(values), **found, "max_ms": float(values.max()) if len(values) else None}


@dataclass(frozen=True)
class Stretch:
    """One phase: for each of its seconds the values that belong there. ``seconds`` is its whole length."""

    began: float
    seconds: float
    bins: list[Numbers]

    @classmethod
    def cut(cls, began: float, ended: float, times: Numbers, values: Numbers) -> Stretch:
        count = max(1, round(ended - began))
        edges = np.linspace(began, ended, count + 1)
        inside = (times >= began) & (times < ended)
        places = np.clip(np.searchsorted(edges, times[inside], side="right") - 1, 0, count - 1)
        order = np.argsort(places, kind="stable")
        parts = np.split(values[inside][order], np.searchsorted(places[order], np.arange(1, count)))
        return cls(began, ended - began, list(parts))

    def again(self, source: np.random.Generator) -> Stretch:
        """As long, of blocks that are drawn from this one; the end of a phase goes on at its beginning."""
        count = len(self.bins)
        block = max(1, min(_BLOCK_SECONDS, count // _BLOCKS))
        starts = source.integers(0, count, -(-count // block)).tolist()
        places = [(start + step) % count for start in starts for step in range(block)]
        return Stretch(self.began, self.seconds, [self.bins[place] for place in places[:count]])


@dataclass(frozen=True)
class Pair:
    """A phase of a variant, and the baselines beside it."""

    round: int
    baseline: list[Stretch]
    variant: Stretch

    def again(self, source: np.random.Generator) -> Pair:
        return Pair(self.round, [each.again(source) for each in self.baseline], self.variant.again(source))


def per_second(stretches: Sequence[Stretch]) -> float:
    return sum(len(values) for each in stretches for values in each.bins) / sum(each.seconds for each in stretches)


def loss(pairs: Sequence[Pair]) -> dict[str, Any]:
    """What part of the baseline's requests per second is missing in the variant: the mean over the pairs."""

    def one(pair: Pair) -> float:
        baseline = per_second(pair.baseline)
        return 1 - per_second([pair.variant]) / baseline if baseline else math.nan

    def mean(chosen: Sequence[Pair]) -> float:
        return float(np.mean([one(pair) for pair in chosen]))

    shown = [
        {
            "round": pair.round,
            "baseline_per_second": per_second(pair.baseline),
            "variant_per_second": per_second([pair.variant]),
            "value": one(pair),
        }
        for pair in pairs
    ]
    return _with_interval(pairs, mean, mean, shown)


def ratio(pairs: Sequence[Pair], percent: float) -> dict[str, Any]:
    """The variant's percentile by the baseline's, of all pairs' values together, each phase once."""

    def of(before: list[Stretch], after: list[Stretch]) -> float:
        return nearest_rank(_values(after), percent) / nearest_rank(_values(before), percent)

    def each_once(chosen: Sequence[Pair]) -> float:
        return of(_baselines(chosen), [pair.variant for pair in chosen])

    def drawn(chosen: Sequence[Pair]) -> float:
        return of([each for pair in chosen for each in pair.baseline], [pair.variant for pair in chosen])

    def counts(chosen: Sequence[Pair]) -> tuple[int, int]:
        return len(_values(_baselines(chosen))), len(_values([pair.variant for pair in chosen]))

    def sure(chosen: Sequence[Pair]) -> bool:
        return bool(chosen) and all(enough(count, percent) for count in counts(chosen))

    shown = [
        {"round": pair.round, "n": counts([pair]), "value": each_once([pair]) if sure([pair]) else None}
        for pair in pairs
    ]
    estimate = _with_interval(pairs if sure(pairs) else (), each_once, drawn, shown)
    return estimate | {"n": counts(pairs)}


def _baselines(pairs: Sequence[Pair]) -> list[Stretch]:
    """A baseline that stands between two phases is beside both."""
    return list({each.began: each for pair in pairs for each in pair.baseline}.values())


def _values(stretches: Sequence[Stretch]) -> Numbers:
    return np.concatenate([values for each in stretches for values in each.bins] or [np.zeros(0)])


def _with_interval(
    pairs: Sequence[Pair],
    of: Callable[[Sequence[Pair]], float],
    of_drawn: Callable[[Sequence[Pair]], float],
    shown: list[dict[str, Any]],
) -> dict[str, Any]:
    if not pairs:
        return {"value": None, "low": None, "high": None, "pairs": shown}
    source = np.random.default_rng(1)
    drawn = [
        of_drawn([pairs[place].again(source) for place in source.integers(0, len(pairs), len(pairs))])
        for _ in range(_DRAWS)
    ]
    value = of(pairs)
    if not math.isfinite(value):
        return {"value": None, "low": None, "high": None, "pairs": shown}
    low, high = np.percentile([each for each in drawn if math.isfinite(each)] or [value], [2.5, 97.5])
    own = [each["value"] for each in shown if each["value"] is not None and math.isfinite(each["value"])]
    return {"value": value, "low": float(min([low, *own])), "high": float(max([high, *own])), "pairs": shown}
