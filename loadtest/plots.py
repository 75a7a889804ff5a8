"""Draws what a run left over time, one part after the other, as SVG that can stand in a page; and the style of all drawings.

Colours are Okabe's and Ito's, which most people can tell apart, and nothing is told by colour alone. Text stays text. Clouds of many
points are drawn as pictures inside the SVG, so that a page stays small; that thins out nothing.
"""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from benchmarks.kit.drawing import BLUE, GREEN, INK, ORANGE, PURPLE, SKY, STYLE, VERMILION
from benchmarks.kit.percentiles import nearest_rank
from loadtest.machine import WAITED_MS, WAITS, counted
from loadtest.recorded import Numbers, Part
from loadtest.samples import ALONE, BASELINE, DISGUISE, NORMAL, REVEAL

GREY, FAINT = "#767676", "#D9D9D9"
VARIANTS = (VERMILION, GREEN, PURPLE, ORANGE, SKY)
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (1, 1)))
PAIR = {DISGUISE: VERMILION, REVEAL: GREEN}
GROUPS = {
    "gunicorn": BLUE,
    "mariadbd": ORANGE,
    "postgres": ORANGE,
    "workers": GREEN,
    "celery": GREEN,
    "redis": PURPLE,
    "locust": "#B0B0B0",
}
_WIDTH_INCHES = 10.8
MANY_POINTS = 400
_STYLE: Any = STYLE | {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlesize": 9.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.fontsize": 8.5,
    "legend.borderaxespad": 0.2,
    "savefig.dpi": 144,
}


class Drawing:
    """A figure that becomes SVG when its block is left. ``name`` must be another one for each drawing of a page."""

    def __init__(self, figure: Figure) -> None:
        self.figure = figure
        self.svg = ""


@contextmanager
def drawing(name: str, *, height: float, width: float = _WIDTH_INCHES) -> Iterator[Drawing]:
    with mpl.rc_context(_STYLE | {"svg.hashsalt": name}):
        drawn = Drawing(Figure(figsize=(width, height), layout="constrained"))
        yield drawn
        text = io.StringIO()
        canvas: Any = FigureCanvasSVG(drawn.figure)
        canvas.print_svg(text, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        drawn.svg = _inline(text.getvalue(), name)


def _inline(svg: str, name: str) -> str:
    """Without the file's head, as wide as there is room, and with ids that no other drawing of the page has."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'<svg [^>]*?viewBox="([^"]+)"[^>]*>', r'<svg class="plot" viewBox="\1" role="img">', svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r"url\(#", f"url(#{name}-", svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    return re.sub(r"\n\s*", "\n", svg)


def variant_style(labels: Sequence[str], label: str) -> dict[str, Any]:
    if label == BASELINE:
        return {"color": BLUE, "linestyle": "-"}
    place = labels.index(label)
    return {"color": VARIANTS[place % len(VARIANTS)], "linestyle": DASHES[place % len(DASHES)]}


def named(label: str) -> str:
    return "baseline" if label == BASELINE else label


def log_ticks(axis: Any, low: float, high: float, *, most: int = 8) -> None:
    """Plain numbers, so many that they do not touch: 2,000 and not 2·10³."""
    powers = [10.0**power for power in range(-3, 8)]
    for places in ((1, 1.5, 2, 3, 4, 5, 7), (1, 2, 5), (1, 3), (1,)):
        inside = [place * power for power in powers for place in places if low <= place * power <= high]
        if len(inside) <= most:
            break
    axis.set_major_locator(FixedLocator(inside))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.set_minor_locator(NullLocator())


# Over time


class Clock:
    """Seconds since the first phase began, and the phases of a part as shades."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.shown = [phase for phase in part.phases if not phase.label.startswith(ALONE)]
        self.zero = self.shown[0].began
        self.end = self.shown[-1].ended
        self.labels = list(dict.fromkeys(phase.label for phase in self.shown if phase.label != BASELINE))
        self.edges = self.zero + np.arange(0.0, np.floor(self.end - self.zero) + 1.0)
        self.middles: Numbers = self.edges[:-1] - self.zero + 0.5

    def dress(self, axes: Axes, *, names: bool = False) -> None:
        """Shade the variants, and hatch the gaps, whose samples belong to no phase."""
        for number, phase in enumerate(self.shown):
            began, ended = phase.began - self.zero, phase.ended - self.zero
            if phase.label != BASELINE:
                colour = variant_style(self.labels, phase.label)["color"]
                axes.axvspan(began, ended, color=colour, alpha=0.13, linewidth=0, zorder=0)
            if number + 1 < len(self.shown):
                following = self.shown[number + 1].began - self.zero
                axes.axvspan(ended, following, facecolor="none", edgecolor=FAINT, hatch="////", linewidth=0, zorder=0)
        axes.set_xlim(0, self.end - self.zero)
        axes.grid(axis="y")
        if names:
            self._names(axes)

    def _names(self, axes: Axes) -> None:
        """A phase's letter above it; the legend says which is which."""
        for phase in self.shown:
            middle = (phase.began + phase.ended) / 2 - self.zero
            letter = BASELINE if phase.label == BASELINE else chr(ord("B") + self.labels.index(phase.label))
            axes.annotate(
                letter, (middle, 1.0), (0, 3), xycoords=("data", "axes fraction"), textcoords="offset points",
                ha="center", va="bottom", color=GREY, fontweight="bold",
            )  # fmt: skip

    def legend(self, figure: Figure, *more: Any) -> None:
        shades = [
            Patch(
                facecolor=variant_style(self.labels, label)["color"],
                alpha=0.25,
                label=f"{chr(ord('B') + number)}: {label}",
            )
            for number, label in enumerate(self.labels)
        ]
        gap = Patch(facecolor="white", edgecolor=FAINT, hatch="////", label="between phases, not counted")
        handles = [*more, Patch(facecolor="white", edgecolor=FAINT, label="A: baseline"), *shades, gap]
        figure.legend(handles=handles, loc="outside upper left", ncols=len(handles) if len(handles) <= 6 else 4)


def over_time(part: Part, name: str) -> str:
    """Throughput and percentiles of normal requests in each second, and who disguised and revealed meanwhile."""
    clock = Clock(part)
    normal = part.of(NORMAL)
    ms, second = part.ms[normal], np.floor(part.at[normal] - clock.zero)
    order = np.argsort(second, kind="stable")
    ms, second = ms[order], second[order]
    count = len(clock.middles)
    cuts = np.searchsorted(second, np.arange(count + 1))
    percentiles = {
        percent: np.array([nearest_rank(ms[low:high], percent) for low, high in itertools.pairwise(cuts)])
        for percent in (50, 95, 99)
    }
    done, _ = np.histogram(part.done[normal], clock.edges)
    with drawing(name, height=5.6) as drawn:
        upper, middle, lower = drawn.figure.subplots(3, 1, sharex=True, height_ratios=[1.3, 2, 0.9])
        upper.step(clock.middles, done, where="mid", color=BLUE, linewidth=1.1)
        for phase in clock.shown:
            inside = normal & part.during([phase], part.done)
            mean = inside.sum() / (phase.ended - phase.began)
            upper.hlines(mean, phase.began - clock.zero, phase.ended - clock.zero, color=INK, linewidth=1.4)
        upper.set_ylim(0, max(1.0, done.max() * 1.12))
        upper.set_ylabel("requests\nper second")
        for (percent, values), colour, width in zip(
            percentiles.items(), ("#9ECAE1", "#4292C6", "#08306B"), (1.6, 1.3, 1.0), strict=True
        ):
            middle.plot(clock.middles, values, color=colour, linewidth=width, label=f"p{percent}")
        middle.set_yscale("log")
        low, high = bounds(np.concatenate(list(percentiles.values())))
        middle.set_ylim(low, high)
        log_ticks(middle.yaxis, low, high)
        middle.set_ylabel("latency (ms)")
        lines, _ = middle.get_legend_handles_labels()
        _ticks(lower, clock)
        for axes in (upper, middle):
            clock.dress(axes, names=axes is upper)
        lower.set_xlabel("seconds")
        clock.legend(drawn.figure, *lines)
    return drawn.svg


def bounds(values: Numbers) -> tuple[float, float]:
    sound = values[np.isfinite(values) & (values > 0)]
    return (float(sound.min()) / 1.3, float(sound.max()) * 1.3) if len(sound) else (1.0, 10.0)


def _ticks(axes: Axes, clock: Clock) -> None:
    """A stroke from each disguise's and reveal's beginning to its end; those that go on at once lie above each other."""
    part, lanes = clock.part, 0
    for kind in (DISGUISE, REVEAL):
        chosen = part.of(kind) & (part.at >= clock.zero) & (part.at < clock.end)
        began, ended = part.at[chosen] - clock.zero, part.done[chosen] - clock.zero
        rows, used = lanes_of(began, ended)
        # A stroke that is shorter than a pixel must still be seen.
        shown = np.maximum(ended, began + (clock.end - clock.zero) / 900)
        axes.hlines(
            -(lanes + rows), began, shown, color=PAIR[kind], linewidth=min(6.0, 28.0 / max(1, used)),
            rasterized=len(began) > MANY_POINTS,
        )  # fmt: skip
        text = f"{kind}s" if len(began) else f"{kind}s: none"
        axes.annotate(
            text, (0, -(lanes + (used - 1) / 2)), (-6, 0), xycoords=("axes fraction", "data"), va="center",
            textcoords="offset points", ha="right", color=PAIR[kind], fontweight="bold",
        )  # fmt: skip
        lanes += used + max(1, used // 3)
    axes.set_ylim(-lanes + 0.3, 0.8)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    clock.dress(axes)


def lanes_of(began: Iterable[float], ended: Iterable[float]) -> tuple[Numbers, int]:
    """For each stroke, in the order in which they begin, the first lane that is free; and how many lanes that takes."""
    free: list[float] = []
    found = []
    for start, end in zip(began, ended, strict=True):
        lane = next((number for number, until in enumerate(free) if until <= start), len(free))
        free[lane : lane + 1] = [end]
        found.append(lane)
    return np.array(found, dtype=float), max(1, len(free))


def processors_over_time(part: Part, processors: int, name: str) -> str:
    """What each group of processes used in each second, stacked, and how long transactions waited for rows meanwhile."""
    clock, machine = Clock(part), part.machine
    with drawing(name, height=4.0) as drawn:
        upper, lower = drawn.figure.subplots(2, 1, sharex=True, height_ratios=[2, 1])
        used = {group: np.diff(np.interp(clock.edges, machine.at, counter)) for group, counter in machine.cpu.items()}
        spare = iter((SKY, VERMILION, "#F0E442", INK))
        colours = [GROUPS.get(group) or next(spare, GREY) for group in used]
        stack = upper.stackplot(clock.middles, *used.values(), colors=colours, labels=list(used), linewidth=0)
        if machine.busy is not None:
            everything = np.diff(np.interp(clock.edges, machine.at, machine.busy))
            stack += upper.plot(clock.middles, everything, color=INK, linewidth=1.0, label="the whole machine")
        upper.axhline(processors, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
        upper.annotate(
            f"all {processors} processors", (1, processors), (-3, 2), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", va="bottom", fontsize=8, color=INK,
        )  # fmt: skip
        upper.set_ylim(0, processors * 1.18)
        upper.set_ylabel("processors in use")
        none = np.zeros(len(machine.at))
        waits, waited = (
            none if (counter := counted(machine.database, names)) is None else counter for names in (WAITS, WAITED_MS)
        )
        each = np.diff(np.interp(clock.edges, machine.at, waits))
        lower.step(clock.middles, each, where="mid", color=BLUE, linewidth=1.1)
        lower.set_ylim(0, max(1.0, each.max() * 1.15))
        lower.set_ylabel("row lock waits\nper second", color=BLUE)
        beside = lower.twinx()
        time_waited = np.diff(np.interp(clock.edges, machine.at, waited))
        beside.plot(clock.middles, time_waited, color=VERMILION, linewidth=1.0, linestyle=(0, (3, 1.5)))
        beside.set_ylim(0, max(1.0, time_waited.max() * 1.15))
        beside.set_ylabel("ms waited\nper second", color=VERMILION)
        beside.spines["right"].set_visible(True)
        lower.set_xlabel("seconds")
        for axes in (upper, lower):
            clock.dress(axes, names=axes is upper)
        clock.legend(drawn.figure, *stack)
    return drawn.svg


def edits_over_time(parts: Sequence[Part], page: str, marks: Mapping[str, float], name: str) -> str:
    """Each edit as a dot, one site beside the other, with what was published as lines."""
    everything = np.concatenate([part.ms[part.of(NORMAL, page)] for part in parts])
    low, high = bounds(np.concatenate([everything, np.array(list(marks.values()), dtype=float)]))
    with drawing(name, height=1.0 + 2.1 * len(parts)) as drawn:
        panels = drawn.figure.subplots(len(parts), 1, squeeze=False)[:, 0]
        for part, axes in zip(parts, panels, strict=True):
            clock = Clock(part)
            chosen = part.of(NORMAL, page) & (part.at >= clock.zero) & (part.at < clock.end)
            axes.scatter(
                part.at[chosen] - clock.zero, part.ms[chosen], s=4, color=BLUE, alpha=0.55, linewidths=0,
                rasterized=True,
            )  # fmt: skip
            axes.set_yscale("log")
            axes.set_ylim(low, high)
            log_ticks(axes.yaxis, low, high)
            clock.dress(axes, names=True)
            for text, value in marks.items():
                axes.axhline(value, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
                axes.annotate(
                    text, (0, value), (4, -2), xycoords=("axes fraction", "data"), textcoords="offset points",
                    va="top", fontsize=8, color=INK, bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},
                )  # fmt: skip
            axes.set_title(f"{part.title}", pad=16)
            axes.set_ylabel(f"{page} (ms)")
        panels[-1].set_xlabel("seconds")
        Clock(parts[0]).legend(drawn.figure)
    return drawn.svg
