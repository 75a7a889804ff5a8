"""The chunks of a large disguise as a chain of locators: each follows from the first by its number (docs/format.md, "Locator").

Invariant: those that are listed have no gaps, but for what was damaged. Knows locators only; opens and stores nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection
from dataclasses import dataclass

from edna.records.locator import Locator

#: So many chunks in a row may be gone (given up in a rotation, for example) without those behind them being lost.
MOST_DAMAGED_CHUNKS = 8


@dataclass(frozen=True)
class Chunk:
    """One of the transactions of a large disguise: its number, counted from 0, and the locator of the first."""

    first: Locator
    number: int
    tell: bool = False

    @property
    def locator(self) -> Locator:
        return self.first.chunk(self.number)

    @property
    def next(self) -> Chunk:
        return Chunk(self.first, self.number + 1)

    @property
    def earlier(self) -> set[Locator]:
        return {self.first.chunk(number) for number in range(self.number)}


def chunks_of(locator: Locator, listed: Collection[Locator]) -> list[int]:
    """The numbers of the chunks that are left of a disguise whose first this is. There are no gaps but for what was damaged."""
    found = [0]
    if len(listed) > 1:
        for number in itertools.count(1):
            if locator.chunk(number) in listed:
                found.append(number)
            elif number - found[-1] > MOST_DAMAGED_CHUNKS:
                break
    return found


def followed(listed: Collection[Locator]) -> set[Locator]:
    """Those of the listed that are chunks, but for the last of each disguise: an empty one marks the way to the next."""
    chains = [(locator, chunks_of(locator, listed)) for locator in listed]
    return {locator.chunk(number) for locator, numbers in chains for number in numbers[:-1]}
