"""How many normal users it takes until the site is so busy: tried out, for it depends on the machine, the data and the day.

Knows how to look for the number, not how it is measured.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

_FIRST = 8
_TOLERANCE = 0.025
_TRIES = 8
#: From few users on a quiet machine nobody can say how many are too many.
_GROWTH = 2.5
_MOST = 400
#: Whoever adds users and sees the site no busier than so many times before has as busy a site as it gets; seen twice, for once may be
#: that something else was going on.
_BUSIER, _NO_BUSIER_TIMES = 1.02, 2


class Calibration:
    """``measure(users)`` gives the part of all processors that so many users take. What was tried for one level helps with the next."""

    def __init__(self, measure: Callable[[int], float]) -> None:
        self._measure = measure
        self.tried: dict[int, float] = {}

    def users_for(self, target: float) -> int:
        """The number that comes closest to the target; the least of those that do."""
        no_busier = 0
        for _ in range(_TRIES):
            if self.tried and abs(self.tried[self._closest(target)] - target) <= _TOLERANCE:
                break
            users = self._guess(target)
            if users in self.tried:
                break
            most = max(self.tried, default=0)
            self.tried[users] = self._measure(users)
            no_busier += users > most and self.tried[users] < self.tried.get(most, 0.0) * _BUSIER
            if no_busier == _NO_BUSIER_TIMES:
                break
        return self._closest(target)

    def _closest(self, target: float) -> int:
        return min(self.tried, key=lambda users: (abs(self.tried[users] - target), users))

    def _guess(self, target: float) -> int:
        """On the line between the two numbers around the target; beyond the greatest, on the line of the last two."""
        if not self.tried:
            return _FIRST
        points = sorted({0: 0.0, **self.tried}.items())
        (few, less), (many, more) = next(
            (pair for pair in itertools.pairwise(points) if pair[1][1] >= target), points[-2:]
        )
        if more <= less:  # as busy as it gets, or disturbed
            return round(many * _GROWTH) if more < target else max(1, (few + many) // 2)
        guess = few + (target - less) * (many - few) / (more - less)
        return max(1, min(round(guess), round(points[-1][0] * _GROWTH), _MOST))
