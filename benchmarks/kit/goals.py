"""Whether a goal is met: the most that is allowed, beside what was reached and how sure that is. Knows no goal by name."""

from __future__ import annotations

from typing import Final, NamedTuple

YES, NO, NOT_MEASURED = "yes", "no", "not measured"
#: What floating point may add.
_HEADROOM: Final = 1e-9


class Verdict(NamedTuple):
    """``met`` is YES or NO. ``sure``: the whole interval is on one side of the limit."""

    met: str
    sure: bool


def judge(value: float, most: float, *, low: float | None = None, high: float | None = None) -> Verdict:
    met = value <= most + _HEADROOM
    sure = low is None or high is None or (high <= most if met else low > most)
    return Verdict(YES if met else NO, sure)
