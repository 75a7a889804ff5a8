"""The tables of docs/load.md from what runs left: ``python -m loadtest.markdown build/load``.

One for each run that is there, with the columns that it has on that page, and the level and the database.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.markdown import NOTHING, table
from loadtest.comparisons import published_bars
from loadtest.machine import WAITS, counted
from loadtest.samples import DISGUISE, REVEAL

Told = Mapping[str, Any]


def number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{round(value, digits) + 0.0:,.{digits}f}"


def _interval(estimate: Told, *, percent: bool) -> str:
    if estimate["value"] is None:
        return NOTHING
    by, digits, unit = (100, 1, " %") if percent else (1, 2, "")
    value, low, high = (number(estimate[name] * by, digits) for name in ("value", "low", "high"))
    return f"{value}{unit} ({low} to {high})"


def _share(part: Told, variant: Told) -> str:
    share = variant["cpu_share"]["alone"]
    share = variant["cpu_share"]["difference"] if share is None else share
    return NOTHING if share is None else f"{number(share * 100, 0 if share >= 0.1 else 1)} %"


def _both(percentile: int) -> Callable[[Told, Told], str]:
    def told(_: Told, variant: Told) -> str:
        own = (
            variant["while_running"] if _is_heaviest_now_and_then(variant) and percentile == 99 else variant["measured"]
        )
        return " / ".join(number(found[f"p{percentile}_ms"]) for found in (variant["baseline"], own))

    return told


def _times(percentile: int) -> Callable[[Told, Told], str]:
    def told(_: Told, variant: Told) -> str:
        own = variant["while_running"] if _is_heaviest_now_and_then(variant) and percentile == 99 else variant
        return _interval(own[f"p{percentile}_ratio"], percent=False)

    return told


def _is_heaviest_now_and_then(variant: Told) -> bool:
    """Of somebody who is at work a part of the time, those count who met them."""
    return variant["size"] == "heaviest" and variant["interval_seconds"] is not None


def _edits(percentile: int) -> Callable[[Told, Told], str]:
    def told(_: Told, variant: Told) -> str:
        return next(
            (
                _interval(each[f"p{percentile}"], percent=False)
                for name, each in variant["page_ratios"].items()
                if "edit" in name
            ),
            NOTHING,
        )

    return told


def _waited(kind: str) -> Callable[[Told, Told], str]:
    def told(_: Told, variant: Told) -> str:
        middle = variant[kind]["p50_ms"]
        return number(middle) if middle is not None else f"{number(variant[kind]['max_ms'])} (longest)"

    return told


def _rows(_: Told, variant: Told) -> str:
    groups = variant[DISGUISE]["by_rows"]
    return number(groups[0]["median_rows"]) if len(groups) == 1 else NOTHING


COLUMNS: Final[Mapping[str, Callable[[Told, Told], str]]] = {
    "who": lambda part, variant: f"{variant['label']}; {part['site']}",
    "level": lambda part, _: part["level"],
    "users": lambda part, _: number(part["users"]),
    "rows": _rows,
    "requests/s": lambda _, variant: number(variant["measured"]["per_second"]),
    "pairs/s": lambda _, variant: number(variant["pairs_per_second"], 1),
    "throughput lost": lambda _, variant: _interval(variant["loss"], percent=True),
    "CPU share": _share,
    "p50, without / with, ms": _both(50),
    "p50, times": _times(50),
    "p99, without / with, ms": _both(99),
    "p99, times": _times(99),
    "edits p50, times": _edits(50),
    "edits p99, times": _edits(99),
    "over 1.5 s": lambda _, variant: number(variant["measured"]["slow"]),
    "refused": lambda _, variant: number(variant["refused"]),
    "disguise / reveal p50, ms": lambda part, variant: " / ".join(
        _waited(kind)(part, variant) for kind in (DISGUISE, REVEAL)
    ),
    "reveal p50, ms": _waited(REVEAL),
    "lock waits/s": lambda _, variant: number(counted(variant["measured"]["database"], WAITS), 2),
}
_NOTICED: Final = ("throughput lost", "CPU share", "p50, times", "p99, without / with, ms", "p99, times", "over 1.5 s")
_PACED: Final = (
    "users",
    "requests/s",
    "throughput lost",
    "p50, without / with, ms",
    "p99, without / with, ms",
    "p99, times",
)
_OTHERS: Final = ("users", "requests/s", *_NOTICED, "lock waits/s")
#: Of each scenario, as the page has them.
TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("websubmit-paced", "lobsters-paced", "hotcrp-paced"),
        (*_PACED, "disguise / reveal p50, ms", "CPU share", "lock waits/s"),
    ),
    "websubmit-adversarial": (
        *("requests/s", "throughput lost", "CPU share", "edits p50, times", "edits p99, times", "over 1.5 s"),
        *("pairs/s", "refused", "lock waits/s"),
    ),
    "websubmit-crowd": ("pairs/s", *_NOTICED, "disguise / reveal p50, ms", "lock waits/s"),
    "websubmit-passwords": ("users", *_NOTICED[:-1], "reveal p50, ms"),
    "lobsters-sizes": ("rows", "pairs/s", *_NOTICED, "disguise / reveal p50, ms"),
}


def of_run(summary: Told) -> Iterator[str]:
    """A heading, the table, and what makes it worth less."""
    name = summary["scenario"]["name"]
    database = next(server for server in ("MariaDB", "PostgreSQL") if server in summary["versions"])
    yield f"## {name} on {database} {summary['versions'][database]}"
    yield f"`{summary['command']}`; {summary['scale']}; {summary['rounds']} rounds of {summary['seconds']:g} s"
    columns = ("who", "level", *TABLES.get(name, _OTHERS))
    found = [(part, variant) for part in summary["parts"] for variant in part["variants"]]
    yield table(columns, ([COLUMNS[column](*each) for column in columns] for each in found))
    if name == "lobsters-published":
        bars = published_bars(dict(summary))
        ours = ((number(bar["ours"], 1), number(bar["low"], 1), number(bar["high"], 1)) for bar in bars)
        lines = [
            (bar["bar"], bar["level"], number(bar["published"], 1), f"{here} ({low} to {high})")
            for bar, (here, low, high) in zip(bars, ours, strict=True)
        ]
        yield table(("", "load", "published", "here"), lines)
    requests = sum(part["requests"] for part in summary["parts"])
    errors, away = (sum(part[what] for part in summary["parts"]) for what in ("server_errors", "away"))
    yield f"{requests:,} requests, {errors} with status 5xx, {away} still away" + (
        "; **a quick run**" if summary["quick"] else ""
    )
    yield from (f"- wrong: {reason}" for reason in summary["failed"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m loadtest.markdown", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("directory", type=Path, help="with runs in it")
    summaries = sorted(parser.parse_args().directory.glob("*/summary.json"))
    if not summaries:
        print("error: there is no run there: summary.json is missing", file=sys.stderr)
        return 1
    print("\n\n".join(line for path in summaries for line in of_run(json.loads(path.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
