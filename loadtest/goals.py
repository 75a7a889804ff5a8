"""The goals of the load, judged from a summary: as data, with the limit, what was reached, and how sure that is.

A goal that asks for a p99 is judged from 1,000 requests on each side, not from fewer; a goal for a pace (a pair a second) only where
that pace came about. What cannot be judged is "not measured", never met.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.kit.goals import NOT_MEASURED
from benchmarks.kit.goals import judge as verdict_of

#: What part of the pace that a variant asks for must have come about.
_PACE = 0.9


def judge(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each goal that a variant is measured by, at each site and level; and what must hold for any run."""
    found: list[dict[str, Any]] = []
    for part in summary["parts"]:
        for variant in part["variants"]:
            place = {"site": part["site"], "level": part["level"], "variant": variant["label"]}
            judged = _of(summary["scenario"], part, variant)
            found += [place | (_too_quick(goal) if summary["quick"] else goal) for goal in judged]
    wrong = [reason for part in summary["parts"] for reason in part["wrong"]]
    requests = sum(part["requests"] for part in summary["parts"])
    everything = {"site": "all", "level": "all", "variant": "all"}
    correct = _goal("Nothing wrong: no 5xx, nothing lost, nobody's foreign data, all restored at the end", "", 0.0)
    told = "; ".join(dict.fromkeys(wrong[:3]))
    found.append(everything | _reached(correct, float(len(summary["failed"])), None, None, told) | {"n": requests})
    return found


def _of(scenario: dict[str, Any], part: dict[str, Any], variant: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if variant["what"] != "account":
        return
    every = variant["interval_seconds"]
    if every is None:
        yield _fair_loss(variant)
    elif variant["size"] == "heaviest":
        yield _while_it_runs(variant)
    else:
        yield from _unnoticed(variant, every)
    if scenario["app"] == "websubmit" and every is None and variant["disguisers"] >= 30 and _is_limited(scenario, part):
        yield _edits(variant)
        yield _no_slow_request(variant)


def _too_quick(goal: dict[str, Any]) -> dict[str, Any]:
    """A run of some seconds shows that everything works, and judges nothing else."""
    return goal | {"met": NOT_MEASURED, "sure": False, "why": "; ".join(filter(None, ("a quick run", goal["why"])))}


def _is_limited(scenario: dict[str, Any], part: dict[str, Any]) -> bool:
    site = next(site for site in scenario["sites"] if site["label"] == part["site"])
    return "EDNA_REQUEST_RATE" in site["settings"]


def _unnoticed(variant: dict[str, Any], every: float) -> Iterator[dict[str, Any]]:
    """Somebody each second, drawn by lot."""
    pace = variant["pairs_per_second"] * every
    slow = "" if pace >= _PACE else f"only {variant['pairs_per_second']:.2f} pairs a second came about"
    lost = _goal("Throughput of normal requests lost at one pair a second", "%", 3.0)
    yield _estimate(lost, variant["loss"], 100.0, too_slow=slow) | {"n": variant["measured"]["completed"]}
    p99 = _goal("p99 of normal requests at one pair a second, by the baseline's", "×", 1.2)
    yield _estimate(p99, variant["p99_ratio"], 1.0, too_slow=slow)


def _while_it_runs(variant: dict[str, Any]) -> dict[str, Any]:
    goal = _goal(
        "p99 of normal requests while the heaviest user's disguise or reveal runs, by the baseline's", "×", 1.5
    )
    running = variant["while_running"]
    found = _estimate(goal, running["p99_ratio"], 1.0)
    p95 = running["p95_ratio"]["value"]
    if found["reached"] is None and p95 is not None:
        found["why"] += f"; the p95 is {p95:.2f} ×"
    return found


def _fair_loss(variant: dict[str, Any]) -> dict[str, Any]:
    """The limit is measured, too."""
    share = variant["cpu_share"]
    way = "alone" if share["alone"] is not None else "difference"
    goal = _goal("Throughput of normal requests lost, by the CPU share that looping disguisers use", "%", None)
    if share[way] is None:
        return goal | {"why": "the CPU share was not measured"}
    goal["limit"] = max(0.0, share[way] * 100)
    found = _estimate(goal, variant["loss"], 100.0) | {"n": variant["measured"]["completed"]}
    by = (
        "a pair's CPU time when alone" if way == "alone" else "the CPU time beyond what the normal requests took before"
    )
    other = share["difference"] if way == "alone" else None
    found["why"] = "; ".join(
        each
        for each in (
            found["why"],
            f"share by {by}" + (f" (by the difference {other * 100:.1f} %)" if other is not None else ""),
        )
        if each
    )
    return found


def _edits(variant: dict[str, Any]) -> dict[str, Any]:
    goal = _goal("p99 of edits with many at once and the rate limit on, by the baseline's", "×", 3.0)
    edits = next((ratios for name, ratios in variant["page_ratios"].items() if "edit" in name), None)
    return _estimate(goal, edits["p99"], 1.0) if edits else goal | {"why": "no edits"}


def _no_slow_request(variant: dict[str, Any]) -> dict[str, Any]:
    """As a share of the requests, for the two have not as many."""
    goal = _goal("Normal requests over 1.5 s with the rate limit on, that were not so in the baseline", "", 0.0)
    measured, before = variant["measured"], variant["baseline"]
    extra = measured["slow"] - before["slow"] * measured["n"] / before["n"] if before["n"] else float(measured["slow"])
    why = f"{measured['slow']:,} of {measured['n']:,}; in the baseline {before['slow']:,} of {before['n']:,}"
    return _reached(goal, max(0.0, extra), None, None, why) | {"n": measured["n"]}


def _goal(text: str, unit: str, limit: float | None) -> dict[str, Any]:
    return {
        "goal": text,
        "unit": unit,
        "limit": limit,
        "reached": None,
        "low": None,
        "high": None,
        "n": None,
        "met": NOT_MEASURED,
        "sure": False,
        "why": "",
    }


def _estimate(goal: dict[str, Any], estimate: dict[str, Any], factor: float, *, too_slow: str = "") -> dict[str, Any]:
    counts = estimate.get("n")
    if counts is not None:
        goal = goal | {"n": min(counts)}
    if estimate["value"] is None:
        few = (
            "no baseline beside it"
            if counts is None
            else f"too few requests: {counts[0]:,} in the baseline, {counts[1]:,} beside"
        )
        return goal | {"why": few}
    value, low, high = (estimate[key] * factor for key in ("value", "low", "high"))
    if too_slow and value <= goal["limit"]:
        return goal | {"reached": value, "low": low, "high": high, "why": too_slow}
    return goal | _reached(goal, value, low, high, too_slow)


def _reached(goal: dict[str, Any], value: float, low: float | None, high: float | None, why: str) -> dict[str, Any]:
    verdict = verdict_of(value, goal["limit"], low=low, high=high)
    if not verdict.sure:
        why = "; ".join(each for each in (why, "the interval crosses the limit") if each)
    return goal | {"reached": value, "low": low, "high": high, "met": verdict.met, "sure": verdict.sure, "why": why}
