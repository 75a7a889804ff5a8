"""What people ask Lobsters for, how often, and what they like most: the published statistics of the original site, of 2018.

Pure values: knows no HTTP, no Locust and no database.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate
from typing import Final

#: Of 100,000 requests (of 2.9 million that were counted).
MIX: Final[Mapping[str, int]] = {
    "read_story": 55_842,
    "front_page": 30_105,
    "profile": 6_702,
    "comments": 4_674,
    "recent": 967,
    "upvote_comment": 630,
    "upvote_story": 475,
    "post_comment": 316,
    "log_in_again": 87,
    "reply": 71,
    "downvote_comment": 54,
    "post_story": 53,
    "downvote_story": 21,
    "log_out": 3,
}


class Mix:
    """Draws what to do next, each as often as its weight says."""

    def __init__(self, weights: Mapping[str, int]) -> None:
        self._names, self._weights = list(weights), list(accumulate(weights.values()))

    def draw(self, source: random.Random) -> str:
        return source.choices(self._names, cum_weights=self._weights)[0]


#: A list for each bin of a histogram: what one of this bin weighs, and the names of all in it.
Bins = Sequence[tuple[float, Sequence[str]]]


class Popularity:
    """Draws names by how popular they are: a bin by the weight of all in it, then one of the bin, as the statistics were published."""

    def __init__(self, bins: Bins) -> None:
        self._bins = [(weight, names) for weight, names in bins if names]
        if not self._bins:
            raise ValueError("There is nothing to draw from.")
        self._weights = list(accumulate(weight * len(names) for weight, names in self._bins))

    def draw(self, source: random.Random) -> str:
        ((_, names),) = source.choices(self._bins, cum_weights=self._weights)
        return names[int(source.random() * len(names))]

    def only(self, wanted: Collection[str]) -> Popularity:
        """Of these alone, each as popular as before."""
        return Popularity([(weight, [name for name in names if name in wanted]) for weight, names in self._bins])
