"""What all pictures share: colours, style, names, and how numbers are written."""

from __future__ import annotations

from typing import Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from benchmarks.kit.drawing import STYLE
from benchmarks.timing import Result

GREY: Final = "#8C8C8C"
PALE: Final = "#C9C9C9"
_STYLE: Final = STYLE | {
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.8,
    "axes.titlesize": 11,
    "font.size": 9.5,
    "svg.fonttype": "path",
}
mpl.rcParams.update(_STYLE)

NAMES: Final = {
    "websubmit": "WebSubmit",
    "lobsters": "Lobsters",
    "hotcrp": "HotCRP",
    "principals": "WebSubmit with more and more students",
    "mariadb": "MariaDB",
    "postgres": "PostgreSQL",
    "sqlite": "SQLite",
}
WIDTH: Final = 9.5
BAND: Final = "ms (median; band: p5 to p95)"


def place(result: Result) -> str:
    """Where it was measured, in words."""
    where = "in the library" if result.level == "library" else "over HTTP"
    return f"{NAMES.get(result.app, result.app)} on {NAMES.get(result.database, result.database)}, {where}"


def amount(ms: float) -> str:
    """Three digits of milliseconds."""
    return f"{ms:,.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 10 else f"{ms:.2f}"


def headline(figure: Figure, text: str) -> None:
    """What there is to see."""
    figure.suptitle(text, x=0.01, ha="left", fontweight="bold", fontsize=11)


def logarithmic(axes: Axes, label: str, which: str = "x") -> None:
    getattr(axes, f"set_{which}scale")("log")
    getattr(axes, f"{which}axis").set_major_formatter(FuncFormatter(plain))
    getattr(axes, f"set_{which}label")(label)


def plain(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"
