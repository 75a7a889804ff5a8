"""Pictures with lines: how operations grow with rows, with pseudoprincipals, and with people.

Each function gives a figure, or None if there is nothing to show. Knows no files: `benchmarks.plots` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.drawing import BAND, GREY, NAMES, WIDTH, amount, headline, logarithmic, place
from benchmarks.kit.drawing import BLUE, GREEN, ORANGE, VERMILION
from benchmarks.timing import Result

_LINES: Final = {
    "delete, by hand": (GREY, "s", "-"),
    "delete": (BLUE, "o", "-"),
    "restore": (VERMILION, "^", "-"),
    "delete, in chunks": (BLUE, "o", "-"),
    "delete, in one transaction": (BLUE, "o", ":"),
    "restore, in chunks": (VERMILION, "^", "-"),
    "restore, in one transaction": (VERMILION, "^", ":"),
}


def _points(here: Sequence[Result], curve: str) -> dict[str, list[Result]]:
    """By line, from left to right."""
    found: dict[str, list[Result]] = {}
    for result in here:
        if result.extra.get("curve") == curve:
            found.setdefault(result.extra["line"], []).append(result)
    return {line: sorted(points, key=lambda each: each.extra["x"]) for line, points in sorted(found.items())}


def _draw(axes: Axes, lines: dict[str, list[Result]], *, per_row: bool = False) -> None:
    for line, points in lines.items():
        colour, marker, dashes = _LINES.get(line, (GREEN, "D", "-"))
        by = [(result.rows or 1) / 1000 if per_row else 1.0 for result in points]
        x = [result.extra["x"] for result in points]
        middle, low, high = (
            [getattr(r, f"{p}_ms") / b for r, b in zip(points, by, strict=True)] for p in ("p50", "p5", "p95")
        )
        if dashes == "-":
            axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x, middle, color=colour, marker=marker, linestyle=dashes, markersize=5, label=line)


def rows(here: Sequence[Result]) -> Figure | None:
    """Growth with one person's rows: the whole, and for each row."""
    lines = _points(here, "rows")
    if not lines:
        return None
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    whole, each = figure.subplots(1, 2)
    _draw(whole, lines)
    _draw(each, lines, per_row=True)
    for axes, label, title in (
        (whole, BAND, "the whole"),
        (each, "µs for each row", "for each row"),
    ):
        logarithmic(axes, "answers of one student")
        logarithmic(axes, label, "y")
        axes.set_title(title)
    headline(figure, f"{place(here[0])}: {_largest(lines)}")
    figure.legend(*whole.get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure


def _largest(lines: dict[str, list[Result]]) -> str:
    """What each row takes of somebody who has the most."""
    most = max(result.extra["x"] for points in lines.values() for result in points)
    found = [
        f"{points[-1].p50_ms * 1000 / (points[-1].rows or 1):.0f} µs to {line.split(',')[0]}"
        for line, points in lines.items()
        if line.endswith("in chunks")
    ]
    return f"each of {most:,} rows takes {', '.join(found)}"


def composition(here: Sequence[Result]) -> Figure | None:
    """With more and more pseudoprincipals and always as many rows, beside what one took in the prototype."""
    lines = _points(here, "composition")
    if not lines:
        return None
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    axes = figure.add_subplot()
    _draw(axes, lines)
    every = [result for points in lines.values() for result in points]
    most, top = max(result.extra["x"] for result in every), 1.35 * max(result.p95_ms for result in every)
    start = min(result.p50_ms for result in every)
    axes.fill_between(
        (0, most),
        (start, start + most),
        (start, start + 2 * most),
        color=ORANGE,
        alpha=0.25,
        linewidth=0,
        label="published: prototype, 1 to 2 ms each",
    )
    axes.set_xlim(0, most * 1.03 or 1)
    axes.set_ylim(0, top)
    axes.set_xlabel("pseudoprincipals with whom the rows are")
    axes.set_ylabel(BAND)
    axes.set_title(f"{place(here[0])}: a pseudoprincipal more costs {_each(lines)}")
    axes.legend(loc="upper left")
    return figure


def _each(lines: dict[str, list[Result]]) -> str:
    found = []
    for line, points in lines.items():
        own = [result for result in points if result.extra["x"]]
        if len(own) > 1:
            each = (own[-1].p50_ms - own[0].p50_ms) / (own[-1].extra["x"] - own[0].extra["x"])
            found.append(f"{each * 1000:.0f} µs ({line})")
    return ", ".join(found)


def principals(here: Sequence[Result]) -> Figure | None:
    """Among more and more others: times, and what the server counted."""
    lines = _points(here, "principals")
    if not lines:
        return None
    figure = Figure(figsize=(WIDTH, 4.2), layout="constrained")
    times, counts = figure.subplots(1, 2)
    _draw(times, lines)
    times.set_ylabel(BAND)
    times.set_title("time")
    for line, points in lines.items():
        colour, marker, _ = _LINES.get(line, (GREEN, "D", "-"))
        x = [result.extra["x"] for result in points]
        if all("rows_read" in result.extra for result in points):
            counts.plot(
                x,
                [each.extra["rows_read"] for each in points],
                color=colour,
                marker=marker,
                markersize=5,
                label=f"{line}: rows read",
            )
        if line in ("delete", "restore"):
            style = {
                "color": colour,
                "marker": marker,
                "linestyle": ":",
                "markersize": 5,
                "label": f"{line}: statements",
            }
            counts.plot(x, [each.statements for each in points], **style)
    counts.set_title("work that the server counted")
    counts.set_ylabel("number")
    counts.legend(loc="upper left", bbox_to_anchor=(0, 1))
    for axes in (times, counts):
        logarithmic(axes, "students in the database")
        high = axes.get_ylim()[1]
        axes.set_ylim(0, high * (1.45 if axes is counts else 1.1))
        axes.margins(x=0.06)
    times.legend(loc="upper left")
    times.set_ylim(0, times.get_ylim()[1] * 1.25)
    title = _flat(lines)
    headline(figure, f"WebSubmit on {NAMES.get(here[0].database, here[0].database)}: {title}")
    return figure


def _flat(lines: dict[str, list[Result]]) -> str:
    """What the times or, better, the counted rows of the smallest and the largest crowd say."""
    first, *_, last = lines["delete"] if len(lines["delete"]) > 1 else lines["delete"] * 2
    if "rows_read" not in first.extra:
        return f"a deletion takes {amount(first.p50_ms)} ms among {first.extra['x']:,}, {amount(last.p50_ms)} ms among {last.extra['x']:,}"
    return (
        f"a deletion reads {first.extra['rows_read']} rows among {first.extra['x']:,} students, "
        f"{last.extra['rows_read']} among {last.extra['x']:,}"
    )
