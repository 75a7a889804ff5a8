"""Draws what a whole run comes to, from its summary: against the number of disguisers, and beside what was published."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.kit.drawing import BLUE, INK, VERMILION
from loadtest.plots import GREY, drawing
from loadtest.published import LOBSTERS_PER_SECOND, WEBSUBMIT_FEW_DISGUISERS

_BARS = (
    (("random", False), "random user,\nin chunks"),
    (("random", True), "random user,\none transaction"),
    (("heaviest", False), "heaviest user,\nin chunks"),
    (("heaviest", True), "heaviest user,\none transaction"),
)


def against_number(part: dict[str, Any], app: str, name: str) -> str:
    """What the normal requests and the disguisers themselves notice of how many disguise at a time; 0 is the baseline."""
    variants = sorted(part["variants"], key=lambda variant: variant["disguisers"])
    numbers = [0, *(variant["disguisers"] for variant in variants)]
    places = np.arange(len(numbers), dtype=float)
    measured = [part["baseline"], *(variant["measured"] for variant in variants)]
    with drawing(name, height=3.5) as drawn:
        latency, loss, own = drawn.figure.subplots(1, 3)
        for percent, colour, mark in ((99, "#08306B", "o"), (95, "#4292C6", "s"), (50, "#9ECAE1", "^")):
            values = [_number(each[f"p{percent}_ms"]) for each in measured]
            latency.plot(places, values, color=colour, marker=mark, markersize=5, linewidth=1.3, label=f"p{percent}")
        latency.set_yscale("log")
        _plain_log(latency)
        latency.set_title("normal requests: latency (ms)")
        shares = [
            _number(variant["cpu_share"]["alone"], variant["cpu_share"]["difference"]) * 100 for variant in variants
        ]
        values = [_number(variant["loss"]["value"]) * 100 for variant in variants]
        _interval(loss, places[1:], values, [variant["loss"] for variant in variants], VERMILION)
        loss.plot(places[1:], values, color=VERMILION, marker="o", markersize=5, linewidth=1.3, label="throughput lost")
        loss.plot(
            places[1:],
            shares,
            color=GREY,
            marker="s",
            markersize=5,
            linewidth=1.3,
            linestyle=(0, (4, 2)),
            label="CPU share used",
        )
        loss.axhline(0, color=INK, linewidth=0.8)
        loss.set_title("normal throughput lost (%)")
        for kind, colour, mark in (("disguise", VERMILION, "o"), ("reveal", "#009E73", "s")):
            medians = [_number(variant[kind]["p50_ms"]) for variant in variants]
            own.plot(places[1:], medians, color=colour, marker=mark, markersize=5, linewidth=1.3, label=f"{kind}, p50")
        own.set_yscale("log")
        _plain_log(own)
        own.set_title("disguise and reveal (ms)")
        for axes in (latency, loss, own):
            axes.set_xticks(places, [str(number) for number in numbers])
            axes.set_xlim(-0.4, len(numbers) - 0.6)
            axes.set_xlabel("disguisers at a time")
            axes.grid(axis="y")
            axes.legend(loc="best")
        few = [place for place, number in zip(places, numbers, strict=True) if number < WEBSUBMIT_FEW_DISGUISERS]
        if app == "websubmit" and few and len(few) < len(places):
            latency.axvspan(-0.4, few[-1] + 0.5, color=GREY, alpha=0.1, linewidth=0)
    return drawn.svg


def _number(*values: float | None) -> float:
    return next((value for value in values if value is not None), float("nan"))


def _interval(axes: Any, places: Any, values: list[float], estimates: list[dict[str, Any]], colour: str) -> None:
    low = [value - _number(each["low"]) * 100 for value, each in zip(values, estimates, strict=True)]
    high = [_number(each["high"]) * 100 - value for value, each in zip(values, estimates, strict=True)]
    axes.errorbar(places, values, yerr=np.maximum([low, high], 0), fmt="none", ecolor=colour, elinewidth=1.2, capsize=3)


def _plain_log(axes: Any) -> None:
    axes.yaxis.set_major_locator(FixedLocator([place * 10.0**power for power in range(-1, 6) for place in (1, 2, 5)]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.yaxis.set_minor_locator(NullLocator())


def published_beside(summary: dict[str, Any], name: str) -> str:
    """The published bars redrawn, as per cent of the throughput without disguisers; ours beside them."""
    levels = [level for level in LOBSTERS_PER_SECOND if any(part["level"] == level for part in summary["parts"])]
    with drawing(name, height=3.7) as drawn:
        panels = drawn.figure.subplots(1, max(1, len(levels)), squeeze=False, sharey=True)[0]
        for level, axes in zip(levels, panels, strict=False):
            bars = [bar for bar in published_bars(summary) if bar["level"] == level]
            theirs = [bar["published"] for bar in bars]
            ours = [_number(bar["ours"]) for bar in bars]
            places = np.arange(len(bars), dtype=float)
            axes.bar(
                places - 0.2, theirs, 0.36, color="#BDBDBD", label="published (the research system, another machine)"
            )
            axes.bar(places + 0.2, ours, 0.36, color=BLUE, label="here, with 95 % interval")
            low = [max(0.0, value - _number(bar["low"])) for value, bar in zip(ours, bars, strict=True)]
            high = [max(0.0, _number(bar["high"]) - value) for value, bar in zip(ours, bars, strict=True)]
            axes.errorbar(places + 0.2, ours, yerr=[low, high], fmt="none", ecolor=INK, elinewidth=1.1, capsize=3)
            for offset, values, colour in ((-0.2, theirs, INK), (0.2, ours, "white")):
                for place, value in zip(places + offset, values, strict=True):
                    if np.isfinite(value):
                        axes.annotate(
                            f"{value:.1f}", (place, value), (0, -22), textcoords="offset points",
                            ha="center", va="bottom", fontsize=8, color=colour,
                        )  # fmt: skip
            axes.axhline(100, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.set_xticks(places, [text for _, text in _BARS], fontsize=7.5)
            axes.tick_params(axis="x", length=0)
            axes.grid(axis="y")
            axes.set_title(f"{level} load")
        panels[0].set_ylim(0, max(108.0, panels[0].get_ylim()[1]))
        panels[0].set_ylabel("normal throughput\n(% of that without disguisers)")
        handles, labels = panels[0].get_legend_handles_labels()
        drawn.figure.legend(handles, labels, loc="outside upper left", ncols=2)
    return drawn.svg


def published_bars(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Each published bar as a per cent of its baseline, with ours where it was measured, of the baseline beside it."""
    found = []
    for level, published in LOBSTERS_PER_SECOND.items():
        for (size, one_transaction), text in _BARS:
            bar = {
                "level": level,
                "bar": text.replace("\n", " "),
                "published": published[size, one_transaction] / published["none"] * 100,
                "ours": None,
                "low": None,
                "high": None,
            }
            loss = _loss(summary, level, size, one_transaction)
            if loss is not None and loss["value"] is not None:
                bar |= {
                    "ours": (1 - loss["value"]) * 100,
                    "low": (1 - loss["high"]) * 100,
                    "high": (1 - loss["low"]) * 100,
                }
            found.append(bar)
    return found


def _loss(summary: dict[str, Any], level: str, size: str, one_transaction: bool) -> dict[str, Any] | None:
    settings = {site["label"]: site["settings"] for site in summary["scenario"]["sites"]}
    for part in summary["parts"]:
        is_one = "EDNA_LOAD_CHUNK_ROWS" in settings[part["site"]]
        if part["level"] == level and is_one == one_transaction:
            for variant in part["variants"]:
                if variant["size"] == size and variant["interval_seconds"] is None:
                    found: dict[str, Any] = variant["loss"]
                    return found
    return None
