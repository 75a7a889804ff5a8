"""Percentiles, and how many samples it takes to speak of one. Knows no operation, no request and no numpy of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

#: So many values must lie beyond a percentile before it is called one: 20 values for a median, 200 for p95, 1,000 for p99.
BEYOND: Final = 10


def percentile(samples: Sequence[float], percent: float) -> float:
    """The value that ``percent`` of the samples do not exceed, between two samples by linear interpolation: for few samples."""
    ordered = sorted(samples)
    position = (len(ordered) - 1) * percent / 100
    low, high = math.floor(position), math.ceil(position)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def surely_between(samples: Sequence[float], percent: float) -> tuple[float, float]:
    """Two samples between which the percentile is with 95 % confidence, if they depend on nothing but chance: by their ranks alone."""
    ordered, count, part = sorted(samples), len(samples), percent / 100
    around = 1.96 * math.sqrt(count * part * (1 - part))
    low, high = math.floor(count * part - around) - 1, math.ceil(count * part + around)
    return ordered[max(0, low)], ordered[min(count - 1, high)]


def nearest_rank(values: Any, percent: float) -> float:
    """A value that was measured, of an array of numpy's in any order; not a number if there are none: for many values."""
    if not len(values):
        return math.nan
    rank = max(0, math.ceil(len(values) * percent / 100) - 1)
    ordered = values.copy()
    ordered.partition(rank)
    return float(ordered[rank])


def enough(count: int, percent: float) -> bool:
    return count * (100 - percent) >= BEYOND * 100 - 1e-6
