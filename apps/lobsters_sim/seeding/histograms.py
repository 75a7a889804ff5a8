"""The published statistics of the original site, and ways to draw from them. Knows neither Django nor the tables.

A file ``statistics/<name>.dat`` has lines ``bin count``: so many users (stories, comments) have about ``bin`` votes (comments).
A number belongs to the bin that it is nearest to; upwards from the middle between two bins, to the upper one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

STATISTICS = Path(__file__).parent / "statistics"


@dataclass(frozen=True)
class Histogram:
    """How many there are of each bin, smallest bin first. ``width`` is the distance between two bins."""

    width: int
    bins: tuple[tuple[int, int], ...]

    @property
    def total(self) -> int:
        return sum(count for _, count in self.bins)

    def bin_of(self, number: int) -> int:
        return (number + self.width // 2) // self.width * self.width

    def bounds(self, start: int) -> tuple[int, int]:
        """The smallest and the largest number of a bin."""
        return max(0, start - self.width // 2), start + self.width // 2 - 1

    def weight(self, start: int) -> float:
        """What one of this bin stands for; half a bin's width for the first."""
        return start or self.width / 2

    def scaled(self, scale: float) -> Histogram:
        """The same for a site of another size; halves are rounded up, and bins that become empty are left out."""
        counts = ((start, int(count * scale + 0.5)) for start, count in self.bins)
        return Histogram(self.width, tuple((start, count) for start, count in counts if count))

    def numbers(self, source: random.Random, *, least: int = 0, most: int | None = None) -> list[int]:
        """A number for each, none outside ``least`` and ``most``, in the order of the bins."""
        found = []
        for start, count in self.bins:
            low, high = self.bounds(start)
            low, high = max(low, least), max(high, least)
            if most is not None:
                low, high = min(low, most), min(high, most)
            found += [low + int(source.random() * (high - low + 1)) for _ in range(count)]
        return found


def read(name: str) -> Histogram:
    lines = (STATISTICS / f"{name}.dat").read_text().split("\n")
    bins = sorted((int(start), int(count)) for start, count in (line.split() for line in lines if line.strip()))
    return Histogram(min(later - earlier for (earlier, _), (later, _) in pairwise(bins)), tuple(bins))


def histogram_of(numbers: Iterable[int], like: Histogram) -> Histogram:
    """The histogram of numbers, in bins as those of ``like``."""
    counts: dict[int, int] = {}
    for number in numbers:
        start = like.bin_of(number)
        counts[start] = counts.get(start, 0) + 1
    return Histogram(like.width, tuple(sorted(counts.items())))


class Sampler:
    """Draws numbers from 0 on, one for each in the histogram: a bin by its weight, then one of the bin. Higher ones are heavier."""

    def __init__(self, histogram: Histogram, source: random.Random) -> None:
        self._random = source.random
        self._choices = source.choices
        counts = [count for _, count in histogram.bins]
        self._starts = [0, *accumulate(counts)]
        self._counts = counts
        self._weights = list(accumulate(histogram.weight(start) * count for start, count in histogram.bins))
        self._positions = range(len(counts))

    def draw(self, number: int) -> list[int]:
        """So many draws; the same one may come several times."""
        starts, counts, uniform = self._starts, self._counts, self._random
        chosen = self._choices(self._positions, cum_weights=self._weights, k=number)
        return [starts[position] + int(uniform() * counts[position]) for position in chosen]


def settle(
    numbers: list[int], total: int, positions: Sequence[int], least: Sequence[int], most: int, source: random.Random
) -> None:
    """Change the numbers at ``positions``, none below its ``least`` nor above ``most``, so that all numbers together make ``total``,
    as far as that is possible."""
    missing = total - sum(numbers)
    step = 1 if missing > 0 else -1

    def open_ones(among: Iterable[int]) -> list[int]:
        if step > 0:
            return [position for position in among if numbers[position] < most]
        return [position for position in among if numbers[position] > least[position]]

    left = open_ones(positions)
    while missing and left:
        # A round gives each of them the same, and closes those that are full.
        chosen = source.sample(left, min(len(left), abs(missing)))
        for position in chosen:
            numbers[position] += step
        missing -= step * len(chosen)
        left = open_ones(left)
