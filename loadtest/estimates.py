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

    def numbers_again(self, source: np.random.Generator, times: int) -> Numbers:
        """How many values there are in each of so many that are made `again`."""
        return np.array([len(values) for values in self.bins])[self.again(source, times)].sum(axis=1)

    def again(self, source: np.random.Generator, times: int) -> Any:
        """So many that are as long, of blocks that are drawn from this one: the places of their seconds in it, a row for each. The end
        of a phase goes on at its beginning."""
        count = len(self.bins)
        block = max(1, min(_BLOCK_SECONDS, count // _BLOCKS))
        starts = source.integers(0, count, (times, -(-count // block)))
        return ((starts[:, :, None] + np.arange(block)) % count).reshape(times, -1)[:, :count]


@dataclass(frozen=True)
class Pair:
    """A phase of a variant, and the baselines beside it."""

    round: int
    baseline: list[Stretch]
    variant: Stretch


def per_second(stretches: Sequence[Stretch]) -> float:
    return sum(len(values) for each in stretches for values in each.bins) / sum(each.seconds for each in stretches)


def loss(pairs: Sequence[Pair]) -> dict[str, Any]:
    """What part of the baseline's requests per second is missing in the variant: the mean over the pairs."""

    def one(pair: Pair) -> float:
        baseline = per_second(pair.baseline)
        return 1 - per_second([pair.variant]) / baseline if baseline else math.nan

    def mean(chosen: Sequence[Pair]) -> float:
        return float(np.mean([one(pair) for pair in chosen]))

    def drawn(source: np.random.Generator) -> Numbers:
        """All at once: what is drawn for a pair, wherever it was chosen."""
        chosen = source.integers(0, len(pairs), (_DRAWS, len(pairs)))
        losses = np.empty(chosen.shape)
        for place, pair in enumerate(pairs):
            losses[chosen == place] = _losses_again(pair, source, int((chosen == place).sum()))
        return losses.mean(axis=1)

    shown = [
        {
            "round": pair.round,
            "baseline_per_second": per_second(pair.baseline),
            "variant_per_second": per_second([pair.variant]),
            "value": one(pair),
        }
        for pair in pairs
    ]
    return _with_interval(pairs, mean, drawn, shown)


def _losses_again(pair: Pair, source: np.random.Generator, times: int) -> Numbers:
    with np.errstate(divide="ignore", invalid="ignore"):
        before = sum(each.numbers_again(source, times) for each in pair.baseline) / sum(
            each.seconds for each in pair.baseline
        )
        return np.where(
            before > 0, 1 - pair.variant.numbers_again(source, times) / pair.variant.seconds / before, np.nan
        )


def ratio(pairs: Sequence[Pair], percent: float) -> dict[str, Any]:
    """The variant's percentile by the baseline's, of all pairs' values together, each phase once."""

    def of(before: list[Stretch], after: list[Stretch]) -> float:
        return nearest_rank(_values(after), percent) / nearest_rank(_values(before), percent)

    def each_once(chosen: Sequence[Pair]) -> float:
        return of(_baselines(chosen), [pair.variant for pair in chosen])

    def drawn(source: np.random.Generator) -> Numbers:
        """All at once, as the losses are."""
        chosen = source.integers(0, len(pairs), (_DRAWS, len(pairs)))
        draws = [np.nonzero(chosen == place)[0] for place in range(len(pairs))]
        before = [(each, where) for pair, where in zip(pairs, draws, strict=True) for each in pair.baseline]
        after = [(pair.variant, where) for pair, where in zip(pairs, draws, strict=True)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return ranks_again(after, percent, source) / ranks_again(before, percent, source)

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


def ranks_again(stretches: Sequence[tuple[Stretch, Any]], percent: float, source: np.random.Generator) -> Numbers:
    """The `nearest_rank` of each draw. With each stretch stand the draws that it is in, once for each time.

    No draw is put together: all values are put in order once, and counted as often as their second has been drawn.
    """
    seconds = [values for each, _ in stretches for values in each.bins]
    times_drawn = np.concatenate([_seconds_again(each, draws, source) for each, draws in stretches], axis=1)
    values = np.concatenate(seconds)
    if not len(values):
        return np.full(_DRAWS, np.nan)
    order = np.argsort(values, kind="stable")
    # Shelves of so many values: which one it is on, then which of them.
    width = math.isqrt(len(values)) + 1
    shelves = -(-len(values) // width)
    nowhere = len(seconds)
    second_of = np.full(shelves * width, nowhere)
    second_of[: len(values)] = np.repeat(np.arange(len(seconds)), [len(each) for each in seconds])[order]
    places = np.arange(shelves).repeat(width) * (nowhere + 1) + second_of
    on_shelf = np.bincount(places, minlength=shelves * (nowhere + 1)).reshape(shelves, -1)[:, :nowhere]
    so_far = np.cumsum(times_drawn @ on_shelf.T.astype(float), axis=1)
    number = so_far[:, -1]
    rank = np.maximum(1, np.ceil(number * percent / 100))
    shelf = np.minimum((so_far < rank[:, None]).sum(axis=1), shelves - 1)
    draw = np.arange(_DRAWS)
    rank -= np.where(shelf > 0, so_far[draw, shelf - 1], 0)
    looked_at = shelf[:, None] * width + np.arange(width)
    of_these = np.pad(times_drawn, ((0, 0), (0, 1)))[draw[:, None], second_of[looked_at]]
    place = shelf * width + (np.cumsum(of_these, axis=1) < rank[:, None]).sum(axis=1)
    return np.where(number > 0, values[order][np.minimum(place, len(values) - 1)], np.nan)


def _seconds_again(stretch: Stretch, draws: Any, source: np.random.Generator) -> Any:
    """How often each second of it is in each draw."""
    count = len(stretch.bins)
    places = draws[:, None] * count + stretch.again(source, len(draws))
    return np.bincount(places.ravel(), minlength=_DRAWS * count).reshape(_DRAWS, count).astype(float)


def _baselines(pairs: Sequence[Pair]) -> list[Stretch]:
    """A baseline that stands between two phases is beside both."""
    return list({each.began: each for pair in pairs for each in pair.baseline}.values())


def _values(stretches: Sequence[Stretch]) -> Numbers:
    return np.concatenate([values for each in stretches for values in each.bins] or [np.zeros(0)])


def _with_interval(
    pairs: Sequence[Pair],
    of: Callable[[Sequence[Pair]], float],
    drawn: Callable[[np.random.Generator], Sequence[float] | Numbers],
    shown: list[dict[str, Any]],
) -> dict[str, Any]:
    if not pairs:
        return {"value": None, "low": None, "high": None, "pairs": shown}
    value = of(pairs)
    if not math.isfinite(value):
        return {"value": None, "low": None, "high": None, "pairs": shown}
    found = drawn(np.random.default_rng(1))
    low, high = np.percentile([each for each in found if math.isfinite(each)] or [value], [2.5, 97.5])
    own = [each["value"] for each in shown if each["value"] is not None and math.isfinite(each["value"])]
    return {"value": value, "low": float(min([low, *own])), "high": float(max([high, *own])), "pairs": shown}
