"""What a summary says, in a sentence: for the head of a report and for the list of all of them."""

from __future__ import annotations

from typing import Any

from benchmarks.kit.goals import NO, NOT_MEASURED, YES
from loadtest.page import GAP, percent, times

#: More than so many variants are told by their least and greatest.
_EACH = 2


def answer(summary: dict[str, Any]) -> str:
    """One sentence: what the others lost, how much slower they became, and how many goals are met."""
    told = f"{_cost(summary)}; {goals_told(summary)}." if summary["parts"] else "Nothing was measured."
    if summary["failed"]:
        return f"The run failed, so nothing of it counts ({_first(summary['failed'])}). {told}"
    return told


def _first(reasons: list[str]) -> str:
    return reasons[0] if len(reasons) == 1 else f"{reasons[0]}, and {len(reasons) - 1} more"


def goals_told(summary: dict[str, Any]) -> str:
    counts = {met: sum(goal["met"] == met for goal in summary["goals"]) for met in (YES, NO, NOT_MEASURED)}
    told = f"{counts[YES]} of {len(summary['goals'])} goals are met"
    if counts[NO]:
        told += f", {counts[NO]} {'is' if counts[NO] == 1 else 'are'} not"
    if counts[NOT_MEASURED]:
        told += f", {counts[NOT_MEASURED]} could not be judged"
    return told


def places(summary: dict[str, Any]) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Each variant of each part, with as much of its place in words as tells it from the others."""
    sites = {part["site"] for part in summary["parts"]}
    levels = {part["level"] for part in summary["parts"]}
    found = []
    for part in summary["parts"]:
        for variant in part["variants"]:
            where = [f"{part['level']} load"] if len(levels) > 1 else []
            where += [part["site"]] if len(sites) > 1 else []
            words = variant["label"] + (f" ({', '.join(where)})" if where else "")
            found.append((words, part, variant))
    return found


def _cost(summary: dict[str, Any]) -> str:
    all_places = [place for place in places(summary) if place[2]["loss"]["value"] is not None]
    if not all_places:
        return "No baseline stands beside any variant"
    groups: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    several_sites = len({part["site"] for part in summary["parts"]}) > 1
    for _, part, variant in all_places:
        words = variant["label"] + (f" ({part['site']})" if several_sites else "")
        groups.setdefault(words, []).append((part["level"], variant))
    if len(groups) <= _EACH:
        told = "; ".join(f"with “{words}” {_each(levels)}" for words, levels in groups.items())
        return told[0].upper() + told[1:]
    lost = sorted(all_places, key=lambda place: place[2]["loss"]["value"])
    told = f"Normal throughput lost: from {_lost(lost[0])} to {_lost(lost[-1])}"
    slower = [place for place in all_places if place[2]["p99_ratio"]["value"] is not None]
    if slower:
        slower.sort(key=lambda place: place[2]["p99_ratio"]["value"])
        told += f"; p99 by the baseline's: from {_slower(slower[0])} to {_slower(slower[-1])}"
    return told


def _each(levels: list[tuple[str, dict[str, Any]]]) -> str:
    """By the loss and by p99, each level after the other."""
    (first, variant), *others = levels
    told = f"the others lose {_with_interval(variant['loss'])} of their throughput at {first} load"
    told += "".join(f" and {_with_interval(other['loss'])} at {level} load" for level, other in others)
    if any(variant["p99_ratio"]["value"] is None for _, variant in levels):
        return f"{told}, with too few requests for a p99"
    slower = [times(variant["p99_ratio"]["value"]) for _, variant in levels]
    return f"{told}, and their p99 is {' and '.join(slower)} the baseline's"


def _with_interval(loss: dict[str, Any]) -> str:
    low, high = (percent(loss[key]).removesuffix(f"{GAP}%") for key in ("low", "high"))
    return f"{percent(loss['value'])} ({low} to {high})"


def _lost(place: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    return f"{_with_interval(place[2]['loss'])} with {place[0]}"


def _slower(place: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    return f"{times(place[2]['p99_ratio']['value'])} with {place[0]}"
