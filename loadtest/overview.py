"""One page over all runs that are there: what each asked and came to, in one picture and one table. From their summaries alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.kit.drawing import BLUE, INK, VERMILION
from benchmarks.kit.goals import NO, NOT_MEASURED, YES
from loadtest import captions
from loadtest.answers import answer, goals_told, places
from loadtest.page import Html, element, figure, page, text
from loadtest.plots import FAINT, GREY, drawing
from loadtest.tables import goals_table


def write_overview(root: Path) -> Path:
    """``index.html`` over the runs directly under a directory."""
    summaries = {file.parent.name: json.loads(file.read_text()) for file in sorted(root.glob("*/summary.json"))}
    (root / "index.html").write_text(page("load", _sections(summaries)))
    return root / "index.html"


def _sections(summaries: dict[str, dict[str, Any]]) -> Iterator[str]:
    goals = [goal for summary in summaries.values() for goal in summary["goals"]]
    failed = [name for name, summary in summaries.items() if summary["failed"]]
    yield element("p", "load on the sample sites", "eyebrow")
    yield element("h1", "What others notice while people disguise and reveal their data")
    counts = ", ".join(f"{sum(goal['met'] == met for goal in goals)} {word}" for met, word in _WORDS.items())
    yield element("p", f"{len(summaries)} scenarios, {len(goals)} goals: {counts}.", "answer")
    if failed:
        yield element("p", f"Failed, so that their numbers do not count: {', '.join(failed)}.", "warning")
    quick = [name for name, summary in summaries.items() if summary["quick"]]
    if quick:
        yield element("p", f"Quick runs, whose numbers do not mean much: {', '.join(quick)}.", "note")
    if summaries:
        yield figure(
            _all_variants(summaries, "all"),
            captions.ALL_VARIANTS,
            says="Loss of throughput and ratio of p99 of every variant",
        )
    for name, summary in summaries.items():
        yield Html(f'<h2><a href="{text(name)}/report.html">{text(name)}</a></h2>')
        yield Html(f"<p><b>{text(summary['scenario']['asks'])}</b> {text(answer(summary))}</p>")
        yield goals_table(summary["goals"], caption=goals_told(summary))


_WORDS = {YES: "met", NO: "not met", NOT_MEASURED: "could not be judged"}


def _all_variants(summaries: dict[str, dict[str, Any]], name: str) -> str:
    lines: list[tuple[str, dict[str, Any] | None]] = []
    for run, summary in summaries.items():
        told = " (failed)" if summary["failed"] else " (quick)" if summary["quick"] else ""
        lines.append((f"{run}{told}", None))
        lines += [(words, variant) for words, _, variant in places(summary)]
    with drawing(name, height=1.1 + 0.2 * len(lines)) as drawn:
        loss, p99 = drawn.figure.subplots(1, 2, sharey=True, width_ratios=[1.25, 1])
        heights = -np.arange(len(lines), dtype=float)
        for height, (_, variant) in zip(heights, lines, strict=True):
            if variant is None:
                continue
            _dot(loss, height, variant["loss"], 100.0, BLUE)
            _dot(p99, height, variant["p99_ratio"], 1.0, VERMILION)
            share = variant["cpu_share"]["alone"]
            share = variant["cpu_share"]["difference"] if share is None else share
            if share is not None and variant["interval_seconds"] is None and variant["what"] == "account":
                loss.plot(share * 100, height, marker="s", markersize=4.5, color=GREY, zorder=2)
        for axes, at, goal in ((loss, 0.0, 3.0), (p99, 1.0, 1.2)):
            axes.axvline(at, color=INK, linewidth=0.9, zorder=1)
            axes.axvline(goal, color=INK, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
            axes.grid(axis="x")
            axes.tick_params(axis="y", length=0)
            axes.xaxis.set_ticks_position("bottom")
        loss.set_yticks(heights, [words for words, _ in lines], fontsize=8)
        for label, (_, variant) in zip(loss.get_yticklabels(), lines, strict=True):
            label.set_fontweight("bold" if variant is None else "normal")
        for height, (_, variant) in zip(heights, lines, strict=True):
            if variant is None and height:
                for axes in (loss, p99):
                    axes.axhline(height + 0.55, color=FAINT, linewidth=0.8, zorder=0)
        loss.set_ylim(-len(lines) + 0.3, 0.7)
        loss.set_xlabel("normal throughput lost (%)")
        p99.set_xscale("log")
        low, high = p99.get_xlim()
        p99.set_xlim(min(low, 0.8), max(high, 2.2))
        p99.xaxis.set_major_locator(FixedLocator(_factors(*p99.get_xlim())))
        p99.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        p99.xaxis.set_minor_locator(NullLocator())
        p99.set_xlabel("p99 of normal requests, by the baseline's (×)")
    return drawn.svg


def _factors(low: float, high: float) -> Sequence[float]:
    found = [value for value in (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100) if low <= value <= high]
    return found if len(found) <= 8 else [value for value in found if value in (0.5, 1, 2, 5, 10, 20, 50, 100)]


def _dot(axes: Any, height: float, estimate: dict[str, Any], factor: float, colour: str) -> None:
    if estimate["value"] is None:
        return
    value, low, high = (estimate[key] * factor for key in ("value", "low", "high"))
    axes.plot([low, high], [height, height], color=colour, linewidth=1.6, alpha=0.7, zorder=2)
    axes.plot(value, height, marker="o", markersize=5, color=colour, zorder=3)
