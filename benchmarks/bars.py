"""Pictures with bars: what operations take beside the baselines, where that goes, and what storage takes.

Each function gives a figure, or None if there is nothing to show. Knows no files: `benchmarks.plots` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from matplotlib.figure import Figure

from benchmarks.drawing import GREY, PALE, WIDTH, amount, headline, logarithmic, place
from benchmarks.kit.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from benchmarks.timing import Result

#: Part of an operation, its colour, and of which numbers it is made.
_SHARES: Final = (
    ("SQL: select", BLUE, ("select",)),
    ("SQL: insert, update, delete", SKY, ("insert", "update", "delete")),
    ("SQL: begin, commit, other", "#BFDFF3", ("transaction", "other")),
    ("sealing, opening, MAC", VERMILION, ("sealing",)),
    ("encoding", ORANGE, ("encoding",)),
    ("key pairs", PURPLE, ("key pool",)),
    ("key derivation", GREEN, ("derivation",)),
    ("Python", GREY, ("python",)),
)


def _main(here: Sequence[Result]) -> list[tuple[Result, Result | None]]:
    """Operations of people drawn at random, each with its baseline; those with a derivation only where there is no other."""
    manual = {result.operation: result for result in here if result.variant == "manual"}
    chosen: dict[str, Result] = {}
    for result in sorted(here, key=lambda each: each.derivation):
        special = "curve" in result.extra or "tables" in result.extra or ", " in result.operation
        if result.variant == "edna" and not special:
            chosen.setdefault(result.operation, result)
    ordered = dict.fromkeys(result.operation for result in here if result.operation in chosen)
    return [(chosen[name], manual.get(name)) for name in ordered]


def operations(here: Sequence[Result]) -> Figure | None:
    """Every operation by hand and with edna, and beside it what was published."""
    rows = _main(here)
    if not rows:
        return None
    published = any("published" in result.extra for result, _ in rows)
    step = 0.2 if published else 0.36
    where = " (over HTTP)" if here[0].app == "websubmit" and here[0].level == "library" else ""
    figure = Figure(figsize=(WIDTH, 1.5 + (0.72 if published else 0.5) * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    seen: set[str] = set()

    def bar(
        y: float,
        ms: float | None,
        label: str,
        colour: str,
        *,
        spread: tuple[float, float] | None = None,
        hatch: str = "",
    ) -> None:
        if ms is None:
            return
        shown = "" if label in seen else label
        seen.add(label)
        axes.barh(y, ms, height=step * 0.92, color=colour, label=shown, hatch=hatch, edgecolor="white", linewidth=0)
        if spread:
            axes.plot(spread, (y, y), color="#222222", linewidth=1.1, marker="|", markersize=4)
        axes.annotate(
            amount(ms), (max(ms, *(spread or (ms,))), y), (4, 0), textcoords="offset points", va="center", fontsize=7.5
        )

    for number, (result, manual) in enumerate(rows):
        by_hand, prototype = result.extra.get("published", (None, None))
        first = number - (1.5 if published else 0.5) * step
        if manual:
            bar(first, manual.p50_ms, "by hand, irreversible", GREY, spread=(manual.p5_ms, manual.p95_ms))
        bar(first + step, result.p50_ms, "edna", BLUE, spread=(result.p5_ms, result.p95_ms))
        bar(first + 2 * step, by_hand, f"published: by hand{where}", PALE, hatch="////")
        bar(first + 3 * step, prototype, f"published: prototype{where}", ORANGE, hatch="////")
    axes.set_yticks(range(len(rows)), [_name(result) for result, _ in rows])
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    logarithmic(axes, "milliseconds (median; line from 5th to 95th percentile; logarithmic)")
    low, high = axes.get_xlim()
    axes.set_xlim(low, high * 1.6)
    headline(figure, f"{place(here[0])}: {_headline(rows)}")
    figure.legend(loc="outside lower left", ncols=4)
    return figure


def _name(result: Result) -> str:
    name = result.operation.replace(" (per member of the PC)", "\n(per member of the PC)")
    return f"{name}\n(password derived)" if result.derivation else name


def _headline(rows: Sequence[tuple[Result, Result | None]]) -> str:
    for result, manual in rows:
        if manual and result.operation in ("delete account", "remove account"):
            return f"a deletion takes {result.p50_ms / manual.p50_ms:.1f} times the hand-written one"
    return "operations"


def drilldown(here: Sequence[Result]) -> Figure | None:
    """Shares of each operation, with the whole in milliseconds."""
    rows = [result for result, _ in _main(here) if "parts_ms" in result.extra]
    if not rows:
        return None
    figure = Figure(figsize=(WIDTH, 1.7 + 0.36 * len(rows)), layout="constrained")
    axes = figure.add_subplot()
    for number, result in enumerate(rows):
        ms, left = {**result.extra["parts_ms"], **result.extra["sql_ms"]}, 0.0
        whole = result.extra["parts_whole_ms"]
        for label, colour, names in _SHARES:
            share = 100 * sum(ms[name] for name in names) / whole
            axes.barh(number, share, left=left, height=0.72, color=colour, label="" if number else label)
            if share >= 6:
                dark = colour in (BLUE, VERMILION, GREY, GREEN)
                text = {"ha": "center", "va": "center", "fontsize": 7.5, "color": "white" if dark else "#222222"}
                axes.text(left + share / 2, number, f"{share:.0f} %", **text)  # type: ignore[arg-type]  # of mixed types
            left += share
        axes.text(101, number, f"{amount(whole)} ms", va="center", fontsize=8.5)
    axes.set_yticks(range(len(rows)), [_name(result) for result in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the operation's time (whole, in ms, at the right)")
    axes.grid(visible=False, axis="y")
    axes.tick_params(axis="y", length=0)
    title = f"{place(here[0])}: {_most(rows)}"
    headline(figure, title)
    figure.legend(loc="outside lower left", ncols=4)
    return figure


def _most(rows: Sequence[Result]) -> str:
    result = next((each for each in rows if each.operation in ("delete account", "remove account")), rows[0])
    parts = result.extra["parts_ms"]
    sql, rest = (100 * parts[name] / result.extra["parts_whole_ms"] for name in ("sql", "python"))
    return f"of “{result.operation}”, SQL is {sql:.0f} %, Python {rest:.0f} %"


def space(result: Result) -> Figure | None:
    """Tables before and after some people left, beside what was published."""
    tables: dict[str, dict[str, Any]] = result.extra.get("tables", {})
    published = result.extra.get("published_space", {})
    wanted = [name for name in ("edna's tables", "the application's tables") if name in tables]
    if not wanted or not any(tables[name]["after_bytes"] for name in wanted):
        return None
    figure = Figure(figsize=(WIDTH, 3.9), layout="constrained")
    for number, name in enumerate(wanted):
        axes = figure.add_subplot(1, len(wanted), number + 1)
        size = tables[name]
        bars = [
            ("before", size["before_bytes"], GREY, ""),
            ("after", size["after_bytes"], BLUE, ""),
            ("after,\nrebuilt", size["rebuilt_bytes"], SKY, ""),
        ]
        if name in published:
            before, after = (megabytes * 1e6 for megabytes in published[name])
            bars += [("published:\nbefore", before, PALE, "////"), ("published:\nafter", after, ORANGE, "////")]
        first = {False: bars[0][1], True: bars[3][1] if len(bars) > 3 else 0}
        for position, (_, count, colour, hatch) in enumerate(bars):
            axes.bar(position, count / 1e6, width=0.7, color=colour, hatch=hatch, edgecolor="white", linewidth=0)
            base = first[bool(hatch)]
            grown = f"\n{(count - base) / base:+.0%}" if base and count != base and name != "edna's tables" else ""
            axes.annotate(
                f"{count / 1e6:,.1f}{grown}",
                (position, count / 1e6),
                (0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.set_xticks(range(len(bars)), [label for label, *_ in bars], fontsize=8)
        axes.set_ylabel("MB, data and indexes")
        axes.set_title(name)
        axes.grid(visible=False, axis="x")
        axes.margins(y=0.16)
    made = result.extra["pseudoprincipals"]
    title = f"{place(result)}: {result.extra['left']:,} people left, and {made:,} pseudoprincipals have what stays"
    headline(figure, title)
    return figure
