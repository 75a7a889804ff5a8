"""A soak's report, from its raw notes alone: ``python -m benchmarks.soak.report build/soak/mariadb`` writes it anew.

``report.md`` with verdicts and tables, and a picture of each kind beside it.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.figure import Figure

from benchmarks.drawing import NAMES, WIDTH, amount, headline, logarithmic
from benchmarks.kit.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from benchmarks.kit.goals import NO
from benchmarks.plots import svg
from benchmarks.soak import judging
from benchmarks.soak.judging import PERCENTS, Look, Sample, Times, Verdict
from benchmarks.soak.watch import DATABASE

_COLOURS: Final = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY)
Lines = dict[str, list[tuple[float, float]]]


def read(folder: Path) -> tuple[dict[str, Any], list[Sample], list[Look]]:
    """What was asked for and came out, all samples in the order of their time, and all looks."""

    def lines(path: Path) -> list[Any]:
        return [json.loads(line) for line in path.read_text().splitlines()]

    samples = [line for path in sorted(folder.glob("samples-*.jsonl")) for line in lines(path)]
    return (
        json.loads((folder / "soak.json").read_text()),
        sorted(samples, key=lambda line: line["at"]),
        lines(folder / "looks.jsonl"),
    )


def verdicts(run: dict[str, Any], samples: Sequence[Sample], looks: Sequence[Look]) -> list[Verdict]:
    wrong = sum(bool(each["wrong"]) for each in samples)
    whole = [
        Verdict.of("acts that went wrong", 0, wrong, 0),
        Verdict.of("what is not as it was", 0, len(run["differences"]), 0),
    ]
    span = _span(run)
    return whole + judging.growth(looks, span) + judging.times(samples, span)


def write(folder: Path) -> bool:
    """Whether every verdict is met."""
    run, samples, looks = read(folder)
    pictures = {}
    for name, figure in _figures(run, samples, looks).items():
        (folder / f"{name}.svg").write_bytes(svg(figure, name))
        pictures[name] = figure.get_suptitle()
    told = verdicts(run, samples, looks)
    (folder / "report.md").write_text(text(run, samples, looks, told, pictures))
    return all(each.met != NO for each in told)


def text(
    run: dict[str, Any],
    samples: Sequence[Sample],
    looks: Sequence[Look],
    told: Sequence[Verdict],
    pictures: dict[str, str],
) -> str:
    parts = [_head(run, samples, looks), _verdicts(told), _operations(run, samples), _slopes(run, looks)]
    parts += [_journals(looks), _remarks(samples), _wrong(run, samples)]
    parts += [f"![{words}]({name}.svg)" for name, words in pictures.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def _span(run: dict[str, Any]) -> Times:
    return Times(run["began"] + run["warm_seconds"], run["began"] + run["seconds"])


def _head(run: dict[str, Any], samples: Sequence[Sample], looks: Sequence[Look]) -> str:
    span = _span(run)
    own, machine = judging.busy(span.of(looks), run["processors"])
    late = [each["late_ms"] for each in samples]
    return (
        f"# Soak on {NAMES[run['database']]}: {run['seconds']:,.0f} seconds\n\n"
        f"`{run['command']}`, {run['server']}; {run['machine']}, CPython {run['python']}. {run['people']}. "
        f"{len(samples):,} acts, {len(samples) / run['seconds']:.1f} a second; they and the database took {own:.0%} of the processors, the "
        f"whole machine {machine:.0%}. The first {run['warm_seconds']:.0f} seconds warm up, and count nowhere below but among what went "
        f"wrong. Of all acts {sum(ms > 1000 for ms in late)} began more than a second late; the latest {max(late, default=0) / 1000:.1f} s."
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if value == int(value) else amount(value)


def _verdicts(told: Sequence[Verdict]) -> str:
    rows = [[each.about, _number(each.before), _number(each.at_the_end), _number(each.most), each.met] for each in told]
    rules = (judging.__doc__ or "").partition("\n\n")[2].strip()
    head = ("what", "before", "at the end", "most allowed", "met")
    return f"## Verdicts\n\n{_table(head, rows)}\n\n{rules}"


def _operations(run: dict[str, Any], samples: Sequence[Sample]) -> str:
    span, rows = _span(run), []
    for name, own in judging.operations(span.of(samples)).items():
        cells = [name, f"{len(own):,}"]
        for quarter in (0, 3):
            inside = span.quarter(quarter).of(own)
            cells.append(" / ".join(_number(judging.latencies(inside, percent)) for percent in PERCENTS))
        rows.append([*cells, _number(max(each["ms"] for each in own))])
    head = ("operation", "times", "first quarter, p50 / p95 / p99, ms", "last quarter", "longest")
    return f"## Operations\n\n{_table(head, rows)}"


def _slopes(run: dict[str, Any], looks: Sequence[Look]) -> str:
    """Over the second half."""
    span, rows = _span(run), []
    half = span.quarter(2).of(looks) + span.quarter(3).of(looks)
    if not half:
        return ""
    for label in sorted(half[-1]["processes"]):
        points = [(look["at"], look["processes"][label]["memory"] / 1e6) for look in half]
        rows.append([label, f"{points[0][1]:.1f}", f"{points[-1][1]:.1f}", f"{judging.slope(points) * 3600:+.1f}"])
    head = ("process", "half-way, MB", "at the end, MB", "slope, MB an hour")
    return f"## Resident memory in the second half\n\n{_table(head, rows)}"


def _journals(looks: Sequence[Look]) -> str:
    first, last = judging.journal_rows(looks[0]), judging.journal_rows(looks[-1])
    rows = [[f"`{name}`", f"{first[name]:,}", f"{last[name]:,}"] for name in last]
    return f"## Journals\n\n{_table(('table', 'rows at the beginning', 'at the end'), rows)}"


def _remarks(samples: Sequence[Sample]) -> str:
    counted = Counter((each["act"], each["remark"]) for each in samples if each["remark"])
    rows = [[act, remark, str(number)] for (act, remark), number in sorted(counted.items())]
    return f"## Remarks\n\n{_table(('operation', 'what it says', 'times'), rows)}" if rows else ""


def _wrong(run: dict[str, Any], samples: Sequence[Sample]) -> str:
    rows = [f"- {each['at'] - run['began']:.1f} s, {each['act']}: {each['wrong']}" for each in samples if each["wrong"]]
    rows += [f"- afterwards: {each}" for each in run["differences"]]
    return "## What went wrong\n\n" + ("\n".join(rows) or "Nothing.")


def _figures(run: dict[str, Any], samples: Sequence[Sample], looks: Sequence[Look]) -> dict[str, Figure]:
    labels = sorted({label for look in looks for label in look["processes"]} - {DATABASE})

    def minutes(look: Look) -> float:
        return float(look["at"] - run["began"]) / 60

    def over_time(values: dict[str, Callable[[Look], float]]) -> Lines:
        return {name: [(minutes(look), value(look)) for look in looks] for name, value in values.items()}

    def of_processes(name: str, unit: float) -> Lines:
        return {
            label: [
                (minutes(look), look["processes"][label][name] / unit) for look in looks if label in look["processes"]
            ]
            for label in labels
        }

    tables: Lines = over_time(
        {
            "edna's, without journals": lambda look: judging.edna_bytes(look) / 1e6,
            "the application's": lambda look: judging.application_bytes(look) / 1e6,
        }
    )
    where = NAMES[run["database"]]
    return {
        "memory": _figure(f"Resident memory of each process, on {where}", "MB", of_processes("memory", 1e6)),
        "descriptors": _figure(f"Open descriptors, on {where}", "descriptors", of_processes("descriptors", 1)),
        "connections": _figure(
            f"Connections, on {where}", "connections", over_time({"connections": lambda look: look["connections"]})
        ),
        "tables": _figure(f"What tables take, on {where}", "MB", tables),
        "rows": _figure(f"Rows of edna's tables, on {where}", "rows", over_time({"rows": judging.edna_rows})),
        "times": _figure(f"Medians of each operation, on {where}", "ms", _medians(run, samples), by_powers=True),
    }


def _medians(run: dict[str, Any], samples: Sequence[Sample]) -> Lines:
    """By blocks of the quarters, for those that have enough in each."""
    span = _span(run)
    blocks = [block for quarter in range(4) for block in span.quarter(quarter).blocks()]
    found: Lines = {}
    for name, own in judging.operations(samples).items():
        values = [(block, judging.latencies(block.of(own), 50)) for block in blocks]
        points = [((b.began + b.ended) / 2 - run["began"], value) for b, value in values if value is not None]
        if len(points) == len(blocks):
            found[name] = [(at / 60, value) for at, value in points]
    return found


def _figure(title: str, label: str, lines: Lines, *, by_powers: bool = False) -> Figure:
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.subplots()
    for place, (name, points) in enumerate(lines.items()):
        colour, dashes = _COLOURS[place % len(_COLOURS)], ("-", "--", ":")[place // len(_COLOURS) % 3]
        axes.plot(*zip(*points, strict=True), color=colour, linestyle=dashes, label=name)
    axes.set_xlabel("minutes")
    if by_powers:
        logarithmic(axes, label, "y")
    else:
        axes.set_ylim(bottom=0)
        axes.set_ylabel(label)
    if lines:
        figure.legend(loc="outside right upper", fontsize=8)
    headline(figure, title)
    return figure


if __name__ == "__main__":
    sys.exit(0 if write(Path(sys.argv[1])) else 1)
