"""From the raw samples of a run to its summary: throughput and latencies with and without disguisers, what disguisers took, what was wrong.

A request belongs to the phase in which it began; but throughput counts those that were completed in a phase. What began in the gap
between two phases belongs to neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from loadtest import goals
from loadtest.estimates import Pair, Stretch, latencies, loss, ratio
from loadtest.machine import DEADLOCKS, WAITED_MS, WAITS
from loadtest.recorded import Mask, Part, Run
from loadtest.samples import ALONE, BASELINE, DISGUISE, NORMAL, REFUSED, REVEAL, Phase

#: Nobody waits longer for a page.
SLOW_MS = 1500.0
#: Of fewer pairs than these, those that are cut by the end of a phase are too large a part.
_FEW_PAIRS = 5
#: Pairs of which the mean is about so many times the rows of others say nothing of what those take: few people have most of the rows.
_HEAVIER = 2.0
COUNTED = (*WAITS, *WAITED_MS, *DEADLOCKS, "Questions")


def summarise(directory: Path) -> dict[str, Any]:
    """Everything that can be said of a run, as it stands in summary.json."""
    return summary_of(Run.read(directory))


def summary_of(run: Run) -> dict[str, Any]:
    summary = {
        **{key: value for key, value in run.facts.items() if key != "parts"},
        "parts": [_part(run, part) for part in run.parts],
    }
    summary["failed"] = [f"{part.title}: {what}" for part in run.parts for what in _wrong(part)]
    summary["goals"] = goals.judge(summary)
    found: dict[str, Any] = _plain(summary)
    return found


def _part(run: Run, part: Part) -> dict[str, Any]:
    labels = [label for label in run.variants if part.labelled(label)]
    wrong = _wrong(part)
    return {
        **part.facts,
        "baseline": _measured(part, part.labelled(BASELINE)),
        "variants": [_variant(run, part, label) for label in labels],
        "requests": len(part.samples),
        "in_gaps": int((~part.during(part.phases, part.at)).sum()),
        "server_errors": sum(sample.status >= 500 for sample in part.samples),
        "wrong": wrong,
        "away": part.driver.get("away", 0),
        "compared_rows": part.integrity.get("rows"),
        "not_compared": part.integrity.get("ignored", {}),
        "notes": [*part.facts.get("notes", []), *part.driver.get("notes", [])],
    }


def _wrong(part: Part) -> list[str]:
    """Why the run failed, each reason once with how often."""
    reasons = [*part.driver.get("wrong", []), *part.integrity.get("differences", [])]
    counted = {reason: reasons.count(reason) for reason in dict.fromkeys(reasons)}
    found = [reason if count == 1 else f"{reason} ({count:,} times)" for reason, count in counted.items()]
    errors = sum(sample.status >= 500 for sample in part.samples)
    if errors:
        found.append(f"{errors:,} answers with status 500 or above")
    if part.driver.get("away"):
        found.append(f"{part.driver['away']:,} people were still away at the end")
    return found


def _measured(part: Part, phases: Sequence[Phase]) -> dict[str, Any]:
    """Normal requests and the machine, in phases of one label together."""
    seconds = sum(phase.ended - phase.began for phase in phases)
    normal = part.of(NORMAL)
    began, done = part.during(phases, part.at), part.during(phases, part.done)
    ms = part.ms[normal & began]
    cpu = {group: used / seconds for group, used in part.machine.cpu_seconds(phases).items()} if seconds else {}
    busy = part.machine.busy
    return {
        "phases": len(phases),
        "seconds": seconds,
        "completed": int((normal & done).sum()),
        "per_second": int((normal & done).sum()) / seconds if seconds else None,
        **latencies(ms),
        "slow": int((ms > SLOW_MS).sum()),
        "pages": {
            name: {**latencies(page := part.ms[part.of(NORMAL, name) & began]), "slow": int((page > SLOW_MS).sum())}
            for name in part.names()
        },
        "processors_used": cpu,
        "machine_busy": part.machine.grown(busy, phases) / seconds if busy is not None and seconds else None,
        "database": {
            name: part.machine.grown(part.machine.database[name], phases) / seconds
            for name in COUNTED
            if name in part.machine.database and seconds
        },
    }


def _variant(run: Run, part: Part, label: str) -> dict[str, Any]:
    phases = part.labelled(label)
    began = part.during(phases, part.at)
    facts = run.variants[label]
    pairs = pairs_of(part, label)
    measured = _measured(part, phases)
    compared = _measured(part, part.beside_all(label))
    pairs_per_second = _pairs_completed(part, phases) / measured["seconds"]
    running = part.of(NORMAL) & began & while_running(part)
    return {
        **facts,
        "measured": measured,
        "baseline": compared,
        "loss": loss(pairs_of(part, label, completed=True)),
        **{f"p{percent}_ratio": ratio(pairs, percent) for percent in (50, 95, 99)},
        "page_ratios": {
            name: {f"p{percent}": ratio(pairs_of(part, label, name=name), percent) for percent in (50, 99)}
            for name in part.names()
        },
        "while_running": {
            **latencies(part.ms[running]),
            "slow": int((part.ms[running] > SLOW_MS).sum()),
            "p99_ratio": ratio(pairs_of(part, label, among=running), 99),
            "p95_ratio": ratio(pairs_of(part, label, among=running), 95),
        },
        "pairs_per_second": pairs_per_second,
        "late": part.driver.get("late", {}).get(label, 0),
        "refused": int((part.of(REFUSED) & began).sum()),
        **{kind: _by_rows(part, part.of(kind) & began) for kind in (DISGUISE, REVEAL)},
        "cpu_share": _cpu_share(run, part, label, measured, compared, pairs_per_second),
    }


def pairs_of(
    part: Part, label: str, *, name: str = "", completed: bool = False, among: Mask | None = None
) -> list[Pair]:
    """Each phase of a variant with the baselines beside it; ``among`` restricts what is taken of the variant only."""
    normal = part.of(NORMAL, name)
    of_variant = normal if among is None else among
    times = part.done if completed else part.at

    def stretch(phase: Phase, chosen: Mask) -> Stretch:
        return Stretch.cut(phase.began, phase.ended, times[chosen], part.ms[chosen])

    return [
        Pair(phase.round, [stretch(other, normal) for other in beside], stretch(phase, of_variant))
        for phase in part.labelled(label)
        if (beside := part.beside(phase))
    ]


def while_running(part: Part) -> Mask:
    """Which requests overlap with one that disguises or reveals."""
    at_work = part.of(DISGUISE) | part.of(REVEAL)
    begins, ends = np.sort(part.at[at_work]), np.sort(part.done[at_work])
    # At work while a request goes on: those that began before it was done, without those that were done before it began.
    found: Mask = np.searchsorted(begins, part.done, side="left") > np.searchsorted(ends, part.at, side="right")
    return found


def _pairs_completed(part: Part, phases: Sequence[Phase]) -> float:
    """A half for a disguise, a half for a reveal: the first and the last pair of a phase are often cut."""
    done = part.during(phases, part.done)
    return float(sum((part.of(kind) & done).sum() for kind in (DISGUISE, REVEAL))) / 2


def _by_rows(part: Part, chosen: Mask) -> dict[str, Any]:
    """Latencies of disguises or reveals: all together, and by how many rows they were about."""
    rows, ms = part.rows[chosen], part.ms[chosen]
    decades = sorted({_decade(count) for count in rows})
    return {
        **latencies(ms),
        "by_rows": [
            {"rows": [low, high], "median_rows": float(np.median(rows[here])), **latencies(ms[here])}
            for low, high in decades
            if (here := (rows >= low) & (rows <= high)).any()
        ],
    }


def _decade(rows: float) -> tuple[int, int]:
    if rows < 1:
        return 0, 0
    low = 10 ** int(math.log10(rows) + 1e-9)
    return low, low * 10 - 1


def _cpu_share(
    run: Run, part: Part, label: str, measured: dict[str, Any], compared: dict[str, Any], pairs_per_second: float
) -> dict[str, Any]:
    """What part of all processors the disguisers use, in two ways.

    ``alone``: what a pair takes when disguisers have the site for themselves, times the pairs per second of the variant.
    ``difference``: what the variant uses, without what its normal requests would take at the baseline's price. It counts what
    disguisers make normal requests more expensive by as theirs. Both count the disguisers' browsers: they run on this machine.
    The first is left open where there were too few pairs, or where the lot fell on others: one with a hundred times as many rows takes
    as much as all the rest.
    """
    processors = run.facts["processors"]
    alone = part.labelled(ALONE + label)
    pairs = _pairs_completed(part, alone)
    seconds_each = sum(part.machine.cpu_seconds(alone).values()) / pairs if pairs else None
    used, before = (sum(which["processors_used"].values()) for which in (measured, compared))
    price = before / compared["per_second"] if compared["per_second"] else None
    enough = min(pairs, pairs_per_second * measured["seconds"]) >= _FEW_PAIRS
    enough = enough and _about_as_heavy(part, alone, part.labelled(label))
    return {
        "alone_seconds_per_pair": seconds_each,
        "alone_pairs": pairs,
        "alone": seconds_each * pairs_per_second / processors if enough and seconds_each is not None else None,
        "difference": None if price is None else (used - price * measured["per_second"]) / processors,
    }


def _about_as_heavy(part: Part, alone: Sequence[Phase], phases: Sequence[Phase]) -> bool:
    turns = part.of(DISGUISE) | part.of(REVEAL)
    means = [part.rows[turns & part.during(some, part.done)].mean() for some in (alone, phases)]
    return bool(max(means) <= _HEAVIER * min(means))


def _plain(value: Any) -> Any:
    """As JSON can hold it: what is not a number becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
