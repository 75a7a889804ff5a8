"""Draws how long requests took: of others, with and without disguisers, and of disguisers, by how many rows it was about."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.figure import Figure

from benchmarks.kit.drawing import INK
from loadtest.plots import GREY, MANY_POINTS, PAIR, Clock, bounds, drawing, log_ticks, named, variant_style
from loadtest.recorded import Mask, Numbers, Part
from loadtest.samples import BASELINE, DISGUISE, NORMAL, REVEAL, Phase


def distributions(part: Part, name: str) -> str:
    """How many of the normal requests took at most so long, with and without disguisers; on the right the slowest tenth."""
    clock = Clock(part)
    curves = {label: _latencies(part, label, clock.labels) for label in [BASELINE, *clock.labels]}
    with drawing(name, height=3.6) as drawn:
        whole, slow = drawn.figure.subplots(1, 2, width_ratios=[1, 1])
        for axes, begin in ((whole, 0.0), (slow, 90.0)):
            for label, ms in curves.items():
                share, values = _curve(ms, begin)
                style = variant_style(clock.labels, label)
                axes.plot(values, share, **style, linewidth=1.7, label=f"{named(label)} (n = {len(ms):,})")
            axes.set_xscale("log")
            log_ticks(axes.xaxis, *axes.get_xlim())
            axes.grid()
            axes.set_xlabel("latency (ms)")
        whole.set_ylim(0, 100)
        whole.set_ylabel("normal requests done (%)")
        whole.set_title("all normal requests")
        slow.set_ylim(90, 100)
        slow.set_yticks([90, 95, 99, 100])
        slow.set_title("the slowest tenth of them")
        handles, labels = whole.get_legend_handles_labels()
        drawn.figure.legend(handles, labels, loc="outside upper left", ncols=min(3, len(handles)))
    return drawn.svg


def distributions_by_page(part: Part, name: str, *, most: int = 8) -> str:
    """The same for the most frequent pages, each in its own frame."""
    clock = Clock(part)
    pages = part.names()[:most]
    across = min(4, max(2, len(pages)))
    down = -(-len(pages) // across)
    with drawing(name, height=0.7 + 2.1 * down) as drawn:
        panels = drawn.figure.subplots(down, across, squeeze=False, sharey=True).ravel()
        for page, axes in zip(pages, panels, strict=False):
            least = []
            for label in [BASELINE, *clock.labels]:
                ms = _latencies(part, label, clock.labels, page)
                least.append(len(ms))
                share, values = _curve(ms, 0.0)
                axes.plot(values, share, **variant_style(clock.labels, label), linewidth=1.4, label=named(label))
            axes.set_xscale("log")
            log_ticks(axes.xaxis, *axes.get_xlim(), most=6)
            axes.grid()
            axes.set_ylim(0, 100)
            axes.set_title(f"{page}\n", fontsize=8.5)
            axes.text(0, 1.02, f"n ≥ {min(least):,} each", transform=axes.transAxes, fontsize=7.5, color=GREY)
        for axes in panels[len(pages) :]:
            axes.set_visible(False)
        for number, axes in enumerate(panels[: len(pages)]):
            if number % across == 0:
                axes.set_ylabel("done (%)")
            axes.set_xlabel("latency (ms)")
        handles, labels = panels[0].get_legend_handles_labels()
        drawn.figure.legend(handles, labels, loc="outside upper left", ncols=min(4, len(handles)))
    return drawn.svg


def _latencies(part: Part, label: str, labels: Sequence[str], page: str = "") -> Numbers:
    phases: list[Phase] = part.labelled(label)
    chosen: Mask = part.of(NORMAL, page) & part.during(phases, part.at)
    return np.sort(part.ms[chosen])


def _curve(ms: Numbers, begin: float) -> tuple[Numbers, Numbers]:
    """At most some hundred points of a sorted distribution, closer where it ends: its slowest value is always there."""
    if not len(ms):
        return np.zeros(0), np.zeros(0)
    shares = np.unique(
        np.concatenate([np.linspace(begin, 100, 200), np.linspace(90, 100, 100), np.linspace(99, 100, 50)])
    )
    shares = shares[shares >= begin]
    ranks = np.clip(np.ceil(len(ms) * shares / 100).astype(int) - 1, 0, len(ms) - 1)
    return shares, ms[ranks]


def by_rows(part: Part, name: str) -> str:
    """What disguises and reveals took, by how many rows they were about; or their distributions, if all were about as many."""
    clock = Clock(part)
    inside = part.during([phase for phase in clock.shown if phase.label != BASELINE], part.at)
    chosen = {kind: part.of(kind) & inside for kind in (DISGUISE, REVEAL)}
    rows = np.concatenate([part.rows[mask] for mask in chosen.values()])
    with drawing(name, height=3.5) as drawn:
        if len(np.unique(rows)) < 4:
            _as_curves(drawn.figure, clock, chosen)
        else:
            _as_clouds(drawn.figure, part, chosen)
    return drawn.svg


def _as_curves(figure: Figure, clock: Clock, chosen: dict[str, Mask]) -> None:
    part = clock.part
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    for (kind, mask), axes in zip(chosen.items(), panels, strict=True):
        for label in clock.labels:
            ms = np.sort(part.ms[mask & part.during(part.labelled(label), part.at)])
            share, values = _curve(ms, 0.0)
            style = variant_style(clock.labels, label)
            axes.plot(values, share, **style, linewidth=1.7, label=label)
        axes.set_xscale("log")
        axes.set_ylim(0, 100)
        axes.grid()
        about = ", ".join(f"{count:,.0f}" for count in np.unique(part.rows[mask])) or "no"
        axes.set_title(f"{kind}s, each of {about} rows (n = {mask.sum():,})")
        axes.set_xlabel("latency of the request (ms)")
    log_ticks(panels[0].xaxis, *panels[0].get_xlim())
    panels[0].set_ylabel("done (%)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=max(1, min(5, len(handles))))


def _as_clouds(figure: Figure, part: Part, chosen: dict[str, Mask]) -> None:
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    either = chosen[DISGUISE] | chosen[REVEAL]
    low, high = bounds(part.ms[either])
    for (kind, mask), axes in zip(chosen.items(), panels, strict=True):
        rows, ms = np.maximum(part.rows[mask], 1), part.ms[mask]
        axes.scatter(rows, ms, s=9, color=PAIR[kind], alpha=0.4, linewidths=0, rasterized=len(ms) > MANY_POINTS)
        edges = np.geomspace(1, max(10.0, part.rows[either].max() * 1.01), 13)
        for left, right in pairwise(edges):
            here = (rows >= left) & (rows < right)
            if here.sum() >= 5:
                axes.plot([left, right], [np.median(ms[here])] * 2, color=INK, linewidth=2.2)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_ylim(low, high)
        axes.set_xlim(0.8, edges[-1] * 1.2)
        log_ticks(axes.xaxis, *axes.get_xlim())
        log_ticks(axes.yaxis, low, high)
        axes.grid()
        axes.set_title(f"{kind}s (n = {len(ms):,})")
        axes.set_xlabel("rows")
    panels[0].set_ylabel("latency of the request (ms)")
