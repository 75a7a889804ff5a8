"""Writes a run's summary.json and its report.html, a page that needs nothing but itself. ``python -m loadtest.report DIRECTORY``
does so again from the files of a run, or of all runs under a directory, with a page over all of them (index.html).

What it cannot know: whether the machine was quiet. It shows what other programs took meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from loadtest import captions, comparisons, distributions, plots, tables
from loadtest.answers import answer, goals_told
from loadtest.overview import write_overview
from loadtest.page import Html, element, facts, figure, page, percent, text
from loadtest.published import LOBSTERS_PER_SECOND, WEBSUBMIT_SPIKES_MS
from loadtest.recorded import Part, Run
from loadtest.samples import DISGUISE, REVEAL
from loadtest.summary import summary_of

#: What part of the processors other programs may take before the report warns of it.
_OTHERS = 0.05
_MANY_DISGUISERS = 30


def write(directory: Path) -> dict[str, Any]:
    """The summary, which it also writes beside the report."""
    run = Run.read(directory)
    summary = summary_of(run)
    (directory / "summary.json").write_text(json.dumps(summary, indent=1, allow_nan=False) + "\n")
    (directory / "report.html").write_text(page(f"{run.scenario['name']}: load", _sections(run, summary)))
    return summary


def _sections(run: Run, summary: dict[str, Any]) -> Iterator[str]:
    yield from _head(summary)
    yield element("h2", "Goals")
    yield tables.goals_table(summary["goals"])
    yield element("p", captions.HOW_JUDGED)
    yield from _whole(run, summary)
    for place, part in enumerate(run.parts):
        yield element("h2", part.title[0].upper() + part.title[1:])
        yield from _figures(part, summary["parts"][place], summary["processors"], f"part{place}")
        yield from _tables(summary["parts"][place])
    yield element("h2", "How it was measured")
    yield from _how(summary)
    yield element("h2", "What was wrong, and what was refused")
    yield tables.wrong_table(summary)
    for reason in summary["failed"]:
        yield element("p", reason, "warning")


def _head(summary: dict[str, Any]) -> Iterator[str]:
    scenario, processors = summary["scenario"], summary["processors"]
    when = datetime.fromtimestamp(summary["began"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    yield element("p", f"load · {scenario['app']} · {when}", "eyebrow")
    yield element("h1", scenario["name"])
    yield element("p", Html(f"<b>{text(scenario['asks'])}</b> {text(answer(summary))}"), "answer")
    if summary["failed"]:
        yield element("p", "This run failed: " + "; ".join(summary["failed"][:5]), "warning")
    if summary["quick"]:
        yield element("p", captions.QUICK, "note")
    for part in summary["parts"]:
        measured = [part["baseline"], *(variant["measured"] for variant in part["variants"])]
        others = max(map(_others, measured))
        if others > _OTHERS * processors:
            where = f"{part['site']}, {part['level']} load"
            yield element("p", captions.NOT_ALONE.format(where=where, others=others, processors=processors), "note")


def _others(measured: dict[str, Any]) -> float:
    """Processors in use by nobody who belongs to the load."""
    if measured["machine_busy"] is None:
        return 0.0
    return float(measured["machine_busy"] - sum(measured["processors_used"].values()))


def _whole(run: Run, summary: dict[str, Any]) -> Iterator[str]:
    """Figures about the whole run, if it is one that has them."""
    app = run.scenario["app"]
    looping = [
        variant
        for variant in run.scenario["variants"]
        if variant["interval_seconds"] is None and variant["what"] == "account"
    ]
    if len({variant["disguisers"] for variant in looping}) > 2:
        for place, part in enumerate(summary["parts"]):
            yield element("h2", f"By how many disguise at a time ({part['level']} load, {part['site']})")
            svg = comparisons.against_number(part, app, f"crowd{place}")
            says = "Latency and throughput of normal requests by the number of disguisers"
            yield figure(svg, captions.CROWD, says=says)
    published = any(part["level"] in LOBSTERS_PER_SECOND for part in summary["parts"])
    if app == "lobsters" and published and any(variant["size"] == "heaviest" for variant in looping):
        yield element("h2", "Beside the published figure")
        svg = comparisons.published_beside(summary, "published")
        yield figure(svg, captions.PUBLISHED, says="Throughput in per cent of the baseline, as published and here")
        yield tables.published_table(comparisons.published_bars(summary))
    edits = next((name for name in run.parts[0].names() if "edit" in name), None)
    if app == "websubmit" and edits and len(looping) == 1 and looping[0]["disguisers"] >= _MANY_DISGUISERS:
        yield element("h2", "Each edit, beside the draft evaluation's spikes")
        svg = plots.edits_over_time(run.parts, edits, WEBSUBMIT_SPIKES_MS, "edits")
        yield figure(svg, captions.EDITS, says="Latency of each edit over time")


def _figures(part: Part, found: dict[str, Any], count: int, name: str) -> Iterator[str]:
    rate = found["baseline"]["per_second"] or 0
    says = "Throughput and latency of normal requests in each second"
    yield figure(plots.over_time(part, f"{name}-time"), captions.OVER_TIME.format(rate=rate), says=says)
    says = "Cumulative distributions of the latency of normal requests"
    yield figure(distributions.distributions(part, f"{name}-cdf"), captions.DISTRIBUTIONS, says=says)
    if len(part.names()) > 1:
        says = "Cumulative distributions of the latency of each page"
        yield figure(distributions.distributions_by_page(part, f"{name}-pages"), captions.BY_PAGE, says=says)
    if any(variant[kind]["n"] for variant in found["variants"] for kind in (DISGUISE, REVEAL)):
        says = "Latency of disguises and reveals by rows"
        yield figure(distributions.by_rows(part, f"{name}-rows"), captions.BY_ROWS, says=says)
    says = "Processors in use by group of processes, and row lock waits"
    yield figure(plots.processors_over_time(part, count, f"{name}-cpu"), captions.PROCESSORS, says=says)


def _tables(part: dict[str, Any]) -> Iterator[str]:
    yield tables.normal_requests(part)
    yield tables.pairs_table(part)
    yield tables.disguises(part)
    yield tables.processors(part)
    yield tables.pages_table(part)
    for note in part["notes"]:
        yield element("p", note, "note")


def _how(summary: dict[str, Any]) -> Iterator[str]:
    minutes = (summary["ended"] - summary["began"]) / 60
    phases = f"{summary['seconds']:g} s each, {summary['rounds']} rounds; {minutes:.0f} minutes in all"
    yield facts(
        [
            ("command", element("code", summary["command"])),
            ("data", f"{summary['scale']}; seed {summary['seed']}"),
            ("phases", phases),
            *summary["machine"].items(),
            ("versions", ", ".join(f"{name} {version}" for name, version in summary["versions"].items())),
            *summary["settings"].items(),
            *((f"{part['site']}, {part['level']}", _users(part)) for part in summary["parts"]),
        ]
    )
    yield Html("<ul>" + "".join(f"<li>{item}</li>" for item in captions.METHOD) + "</ul>")
    ignored = {column: why for part in summary["parts"] for column, why in part["not_compared"].items()}
    if ignored:
        told = "; ".join(f"{column} ({why})" for column, why in ignored.items())
        yield element("p", f"The rows of everybody who left were compared before and after, but for {told}.")


def _users(part: dict[str, Any]) -> str:
    target = f", for {percent(part['target'], 0)} of the processors" if part.get("target") else ""
    busy = part["baseline"]["machine_busy"]
    reached = f"; {busy:.2f} processors were in use in the baseline" if busy is not None else ""
    return f"{part['users']} normal users{target}{reached}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.report", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path, help="a run's, or one with runs in it")
    directory = parser.parse_args().directory
    alone = (directory / "run.json").exists()
    runs = [directory] if alone else sorted(file.parent for file in directory.glob("*/run.json"))
    if not runs:
        print(f"error: there is no run in {directory}: run.json is missing", file=sys.stderr)
        return 1
    for run in runs:
        summary = write(run)
        print(f"{run / 'report.html'}: {goals_told(summary)}")
    if not alone:
        print(write_overview(directory))
    return 0


if __name__ == "__main__":
    sys.exit(main())
