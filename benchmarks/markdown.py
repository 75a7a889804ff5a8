"""The tables of docs/benchmarks.md from a file of results: ``python -m benchmarks.markdown build/bench.json``.

One for each application, database and level, in the order and the form that they have there; whoever edits the page takes what is new.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.drawing import NAMES
from benchmarks.goals import GOALS
from benchmarks.kit.goals import YES, judge
from benchmarks.plots import read
from benchmarks.reporting import groups
from benchmarks.timing import Result

NOTHING: Final = "–"
Rows = Iterable[Sequence[object]]


def number(value: float | None) -> str:
    """Three digits, where there are as many behind the point."""
    if value is None:
        return NOTHING
    return f"{value:,.{2 if value < 10 else 1 if value < 100 else 0}f}"


def count(value: int | None) -> str:
    return NOTHING if value is None else f"{value:,}"


def three(result: Result | None) -> str:
    if result is None or result.n == 1:
        return _middle(result)
    return " / ".join(map(number, (result.p5_ms, result.p50_ms, result.p95_ms)))


def _middle(result: Result | None) -> str:
    return NOTHING if result is None else number(result.p50_ms)


def _statements(result: Result | None) -> str:
    return NOTHING if result is None else count(result.statements)


def _ratio(upper: Result | None, lower: Result | None) -> str:
    return NOTHING if upper is None or lower is None else f"{upper.p50_ms / lower.p50_ms:.1f}"


def table(head: Sequence[str], rows: Rows) -> str:
    lines = [f"| {' | '.join(map(str, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def times(here: Sequence[Result]) -> str | None:
    """Every operation beside the floor, where that was measured, and beside what was written by hand."""
    here = [each for each in here if "curve" not in each.extra and each.app in ("websubmit", "lobsters", "hotcrp")]
    by_variant = {
        variant: {each.operation: each for each in here if each.variant == variant} for variant in ("manual", "floor")
    }
    floor = bool(by_variant["floor"])
    by_hand = ("by hand p50", "statements") if floor else ("by hand p5 / p50 / p95", "statements")
    beside = ("floor p50", "statements", "edna : floor") if floor else ()

    def line(each: Result) -> Iterator[str]:
        yield each.operation + (", password derived" if each.derivation else "")
        yield from (three(each), count(each.rows), _statements(each))
        least, manual = (
            None if each.derivation else by_variant[name].get(each.operation) for name in ("floor", "manual")
        )
        if floor:
            yield from (_middle(least), _statements(least), _ratio(each, least))
        yield from (_middle(manual) if floor else three(manual), _statements(manual), _ratio(each, manual))

    rows = [list(line(each)) for each in here if each.variant == "edna" and "tables" not in each.extra]
    head = ("operation", "edna p5 / p50 / p95", "rows", "statements", *beside, *by_hand, "edna : by hand")
    return table(head, rows) if rows else None


def goals(here: Sequence[Result]) -> str | None:
    found = {(each.operation, each.variant): each for each in here if each.level == "library" and not each.derivation}

    def lines() -> Iterator[Sequence[str]]:
        for goal in GOALS:
            if goal.app != here[0].app or goal.upper not in found or goal.lower not in found:
                continue
            upper, lower = found[goal.upper], found[goal.lower]
            reached = upper.p50_ms / lower.p50_ms
            told = f"{reached:.2f}" if judge(reached, goal.most).met == YES else f"**{reached:.2f}**"
            where = f"{_name(goal.app)} on {NAMES[here[0].database]}, {goal.what}"
            prototype = NOTHING if goal.prototype is None else f"{goal.prototype:g}"
            low = f"{told} ({upper.p5_ms / lower.p5_ms:.2f})"
            yield where, low, f"{goal.most:g}", prototype, f"{upper.p50_ms:.2f} : {lower.p50_ms:.2f}"

    rows = list(lines())
    return (
        table(("goal", "reached (5th percentiles)", "at most", "prototype", "of what, in ms"), rows) if rows else None
    )


def _name(app: str) -> str:
    return {"websubmit": "WebSubmit", "lobsters": "Lobsters", "hotcrp": "HotCRP"}[app]


def _curve(here: Sequence[Result], curve: str) -> dict[str, dict[int, Result]]:
    """By line, and by how many."""
    found: dict[str, dict[int, Result]] = {}
    for each in here:
        if each.extra.get("curve") == curve:
            found.setdefault(each.extra["line"], {})[each.extra["x"]] = each
    return found


def composition(here: Sequence[Result]) -> str | None:
    lines = _curve(here, "composition")
    head = ("pseudoprincipals", "delete p5 / p50 / p95", "statements", "restore p5 / p50 / p95", "statements")
    rows = [
        (count(x), three(each), _statements(each), three(lines["restore"].get(x)), _statements(lines["restore"].get(x)))
        for x, each in lines.get("delete", {}).items()
    ]
    return table(head, rows) if rows else None


def rows(here: Sequence[Result]) -> str | None:
    lines = _curve(here, "rows")
    names = ("delete, in chunks", "delete, by hand", "restore, in chunks")
    whole = ("delete, in one transaction", "restore, in one transaction")

    def line(x: int) -> Iterator[str]:
        delete, manual, restore = (lines[name].get(x) for name in names)
        yield from (count(x), _middle(delete), _statements(delete), _middle(manual), _ratio(delete, manual))
        yield from (_middle(restore), _statements(restore))
        yield from (_middle(lines.get(name, {}).get(x)) for name in whole)

    head = ("answers", "delete", "statements", "by hand", "edna : by hand", "restore", "statements")
    told = [list(line(x)) for x in lines.get(names[0], {})]
    return table((*head, *(name.replace("in ", "") for name in whole)), told) if told else None


def held(here: Sequence[Result]) -> str | None:
    """What an operation leaves, and what it takes while it runs."""

    def line(each: Result) -> Iterator[str]:
        extra = each.extra
        least, longest, peak = (
            extra.get(name) for name in ("least_statements", "longest_transaction_ms", "peak_bytes")
        )
        back = not extra.get("stored_bytes")
        made = extra.get("pseudoprincipals", 0)
        yield from (
            f"{_name(each.app)}: {each.operation}",
            count(each.rows),
            f"{least or each.statements} / {each.statements}",
        )
        yield from (count(made) if made > 0 else NOTHING, NOTHING if back else count(extra["stored_bytes"]))
        yield from (
            NOTHING if longest is None else f"{longest:,.0f}",
            NOTHING if peak is None else f"{peak / 2**20:.1f}",
        )

    weighed = [each for each in here if each.variant == "edna" and "stored_bytes" in each.extra]
    head = ("operation", "rows", "statements, least / most", "pseudoprincipals", "bytes stored")
    told = [list(line(each)) for each in weighed if each.app in ("lobsters", "hotcrp")]
    return table((*head, "longest transaction, ms", "peak memory, MiB"), told) if told else None


def storage(here: Sequence[Result]) -> str | None:
    def line(name: str, size: dict[str, int]) -> Iterator[str]:
        before, after, rebuilt = (size[f"{when}_bytes"] for when in ("before", "after", "rebuilt"))
        yield from (name, f"{before / 1e6:,.1f}")
        for bytes_ in (after, rebuilt):
            yield from (f"{bytes_ / 1e6:,.1f}", f"{(bytes_ - before) / before:+.1%}" if before else NOTHING)
        yield from (count(size["before_rows"]), count(size["after_rows"]))

    found = [(each.extra["notes"], each.extra["tables"]) for each in here if "tables" in each.extra]
    head = ("", "before, MB", "after", "", "rebuilt", "", "rows before", "rows after")
    parts = [
        table(head, (list(line(*each)) for each in tables.items())) + "\n\n" + "; ".join(notes)
        for notes, tables in found
    ]
    return "\n\n".join(parts) or None


def principals(here: Sequence[Result]) -> str | None:
    lines = _curve(here, "principals")

    def read_of(each: Result | None) -> Iterator[str]:
        yield three(each)
        scanned = each.extra.get("rows_scanned") if each else None
        told = count(each.extra.get("rows_read") if each else None)
        yield told if scanned is None else f"{told} and {count(scanned)} scanned"
        yield count(each.extra.get("pages") if each else None)

    head = ("students", *(f"{name} p5 / p50 / p95|rows read|pages" for name in ("delete", "restore")), "by hand p50")
    head = tuple("|".join(head).split("|"))
    told = [
        (count(x), *read_of(each), *read_of(lines["restore"].get(x)), _middle(lines["delete, by hand"].get(x)))
        for x, each in lines.get("delete", {}).items()
    ]
    return table(head, told) if told else None


def custody(here: Sequence[Result]) -> str | None:
    found = {(each.operation, each.variant): each for each in here if each.app == "custody"}
    if not found:
        return None

    def whole(result: Result | None) -> str:
        if result is None:
            return NOTHING
        return " / ".join(
            f"{value:,.{0 if value >= 10 else 1}f}" for value in (result.p5_ms, result.p50_ms, result.p95_ms)
        )

    browser, server = (found.get(("bring back", variant)) for variant in ("edna", "server"))
    head = ("database", "key in the browser", "key on the server", "browser : server", "at most")
    line = (NAMES[here[0].database], whole(browser), whole(server), _ratio(browser, server), 3)
    walks = [each for (name, _), each in found.items() if name.startswith("walk, depth ")]
    walked = [
        (each.operation.split()[-1], each.extra["pseudoprincipals"], each.extra["requests"], whole(each))
        for each in walks
    ]
    others = [
        (name, variant, whole(each)) for (name, variant), each in found.items() if name.startswith(("derive", "ready"))
    ]
    return "\n\n".join(
        (
            table(head, [line]),
            table(("depth", "pseudoprincipals", "requests", NAMES[here[0].database]), walked),
            table(("", "", "p5 / p50 / p95"), others),
        )
    )


def recipients(here: Sequence[Result]) -> str | None:
    found = {(each.scale, each.operation): each for each in here if each.app == "recipients"}
    scales = [scale for scale in dict.fromkeys(scale for scale, _ in found) if "pseudoprincipals" in scale]

    def two(each: Result) -> str:
        return f"{number(each.p5_ms)} / {number(each.p50_ms)}"

    def line(scale: str, kind: str) -> Iterator[str]:
        disguised = found[scale, f"disguise, full pool, {kind}"]
        yield from (scale.split()[0], f"`{kind}`", two(disguised))
        yield from (two(found[scale, f"{name}, {kind}"]) for name in ("disguise, drained pool", "reveal"))
        yield from (f"{disguised.extra[f'{name}_bytes'] / 1e3:,.1f}" for name in ("entries", "bags"))

    head = ("pseudoprincipals", "kind", "full pool", "drained pool", "reveal", "entries, kB", "bags, kB")
    told = [list(line(scale, kind)) for scale in scales for kind in ("x25519", "x-wing")]
    return table(head, told) if told else None


_ALL: Final[Sequence[Callable[[Sequence[Result]], str | None]]] = (
    *(goals, times, composition, rows, held, storage, principals, custody, recipients),
)


def page(results: Sequence[Result]) -> Iterator[str]:
    for here in groups(results):
        first = here[0]
        yield f"## {first.app} on {NAMES[first.database]}, {first.level}: {first.scale}"
        for each in _ALL:
            if (text := each(here)) is not None:
                yield f"<!-- {each.__name__} -->\n{text}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.markdown", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("results", type=Path, nargs="+", help="files that `python -m benchmarks` wrote")
    for path in parser.parse_args().results:
        try:
            results: Any = read(path)
        except (OSError, ValueError, TypeError) as error:
            print(f"error: {path} holds no results ({error}); `make bench` makes some.", file=sys.stderr)
            return 1
        print("\n\n".join(page(results)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
