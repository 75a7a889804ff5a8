"""The project's goals, as ratios of medians from one run, beside what was reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from benchmarks.kit.goals import YES, judge
from benchmarks.timing import Result

#: (operation, variant)
_Timed = tuple[str, str]


class Goal(NamedTuple):
    """At most ``most`` times as long as. ``prototype``: what the research prototype reaches on a machine like ours, None if not known."""

    app: str
    what: str
    upper: _Timed
    lower: _Timed
    most: float
    prototype: float | None = None


_DELETE: Final = {
    "websubmit": ("delete account", 5.0, 4.4),
    "lobsters": ("delete account, median", 2.5, None),
    "hotcrp": ("remove account", 1.5, 2.4),
}
_RESTORE: Final = {
    "websubmit": ("restore account", 3.7),
    "lobsters": ("restore account, median", None),
    "hotcrp": ("restore account", 1.4),
}
_AFTER: Final = {
    "websubmit": ("delete after anonymise", "restore after anonymise", 5.5, 2.5),
    "hotcrp": ("remove after anonymise", "restore after anonymise", 5.3, 5.3),
}


def _all() -> list[Goal]:
    found = []
    for app, (delete, most, prototype) in _DELETE.items():
        restore, restored = _RESTORE[app]
        found += [
            Goal(app, "delete : by hand", (delete, "edna"), (delete, "manual"), most, prototype),
            Goal(app, "restore : delete", (restore, "edna"), (delete, "edna"), 2.0, restored),
        ]
        if app in _AFTER:
            deleting, restoring, twice, again = _AFTER[app]
            found += [
                Goal(app, "delete after anonymisation : direct", (deleting, "edna"), (delete, "edna"), 2.0, twice),
                Goal(app, "restore after anonymisation : direct", (restoring, "edna"), (restore, "edna"), 2.0, again),
            ]
    return found


GOALS: Final = _all()
_HEAD: Final = f"{'app':<11}{'database':<10}{'what':<40}{'reached':>9}{'p5':>7}{'goal':>7}{'':>9}{'prototype':>11}   of what, in ms"


def goals(results: Sequence[Result]) -> str:
    """One line for each goal and database of what was measured in the library, without deriving a key."""
    lines = []
    for database in dict.fromkeys(result.database for result in results):
        for goal in GOALS:
            found = {
                (result.operation, result.variant): result
                for result in results
                if (result.app, result.database, result.level) == (goal.app, database, "library")
                and not result.derivation
            }
            if goal.upper in found and goal.lower in found:
                lines.append(_line(goal, database, found[goal.upper], found[goal.lower]))
    if not lines:
        return ""
    title = "Goals, and what was reached: ratios of medians of this run, in the library, without deriving a key (p5: of the "
    return "\n".join([f"{title}5th percentiles)", _HEAD, "-" * len(_HEAD), *lines])


def _line(goal: Goal, database: str, upper: Result, lower: Result) -> str:
    reached = upper.p50_ms / lower.p50_ms
    line = f"{goal.app:<11}{database:<10}{goal.what:<40}{reached:>9.2f}{upper.p5_ms / lower.p5_ms:>7.2f}{goal.most:>7g}"
    verdict = "reached" if judge(reached, goal.most).met == YES else "missed"
    line += f"{verdict:>9}{'-' if goal.prototype is None else f'{goal.prototype:g}':>11}"
    by_hand = " by hand" if goal.lower[1] == "manual" else ""
    return f"{line}   {goal.upper[0]} {upper.p50_ms:.2f} : {goal.lower[0]}{by_hand} {lower.p50_ms:.2f}"
