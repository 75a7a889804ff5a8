"""Says what came out, as tables for a terminal: times beside the baseline and beside what was published, and what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.timing import Result

PUBLISHED = "published: medians of hand-written SQL / of the Rust prototype, and their ratio; other hardware (16 vCPU, MariaDB 10.5)"


def report(results: Sequence[Result]) -> str:
    """Everything there is to say, for one application after the other."""
    parts = [table(results), sizes(results), storage(results), ratios(results)]
    return "\n\n".join(part for part in parts if part)


def _groups(results: Sequence[Result]) -> Iterable[list[Result]]:
    """Results of one application, database and level each, in the order in which they were measured."""
    for place in dict.fromkeys((result.app, result.database, result.level) for result in results):
        yield [result for result in results if (result.app, result.database, result.level) == place]


def table(results: Sequence[Result]) -> str:
    """Every operation with its baseline beside it, for one application, database and level after the other."""
    lines = []
    for here in _groups(results):
        first, published = here[0], any("published" in result.extra for result in here)
        head = _HEAD + (" | published  ratio" if published else "")
        lines += ["", f"{first.app} on {first.database}, {first.level}, {first.scale} (ms)", head, "-" * len(head)]
        manual = {result.operation: result for result in here if result.variant == "manual"}
        lines += [_line(each, manual.pop(each.operation, None)) for each in here if each.variant == "edna"]
        if published:
            lines.append(PUBLISHED)
    return "\n".join(lines)


_HEAD = (
    f"{'operation':<42}{'password':>9}{'n':>6} |{'p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7}{'rows':>9} |"
    f"{'manual p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7} |{'ratio':>7}"
)


def _line(edna: Result, manual: Result | None) -> str:
    line = f"{edna.operation:<42}{'derived' if edna.derivation else '':>9}{edna.n:>6} |"
    line += f"{_times(edna)}{_number(edna.statements):>7}{_number(edna.rows):>9} |"
    if manual is None:
        line += f"{'-':>10}{'-':>10}{'-':>10}{'-':>7} |{'-':>7}"
    else:
        line += f"{_times(manual)}{_number(manual.statements):>7} |{edna.p50_ms / manual.p50_ms:>7.1f}"
    if "published" not in edna.extra:
        return line
    by_hand, prototype = edna.extra["published"]
    ratio = "-" if by_hand is None else f"{prototype / by_hand:.1f}"
    return f"{line} |{'-' if by_hand is None else f'{by_hand:g}':>5}/{prototype:<5g}{ratio:>6}"


def _times(result: Result) -> str:
    return "".join(f"{value:>10.2f}" for value in (result.p5_ms, result.p50_ms, result.p95_ms))


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def sizes(results: Sequence[Result]) -> str:
    """What an operation leaves in edna's tables, and what it takes while it runs, for small and large ones under each other."""
    lines = []
    for here in _groups(results):
        weighed = [result for result in here if result.variant == "edna" and "stored_bytes" in result.extra]
        if weighed:
            lines += ["", f"{here[0].app} on {here[0].database}, {here[0].level}: what is stored and held", _SIZES]
            lines += ["-" * len(_SIZES), *map(_size, weighed)]
    return "\n".join(lines)


_SIZES = (
    f"{'operation':<42}{'rows':>9}{'stmts':>7}{'least':>7}{'pseudopr.':>11}{'bytes stored':>14}{'p95':>12}"
    f"{'longest tx ms':>15}{'peak MiB':>10}"
)


def _size(result: Result) -> str:
    extra = result.extra
    line = f"{result.operation:<42}{_number(result.rows):>9}{_number(result.statements):>7}"
    line += f"{_number(extra.get('least_statements')):>7}{_number(extra.get('pseudoprincipals')):>11}"
    line += f"{_number(extra.get('stored_bytes')):>14}{_number(extra.get('stored_bytes_p95')):>12}"
    longest, peak = extra.get("longest_transaction_ms"), extra.get("peak_bytes")
    line += f"{'-' if longest is None else f'{longest:.1f}':>15}"
    return line + f"{'-' if peak is None else f'{peak / 2**20:.1f}':>10}"


def storage(results: Sequence[Result]) -> str:
    """Tables before and after some users left."""
    lines = []
    for result in results:
        tables: dict[str, dict[str, int]] = result.extra.get("tables", {})
        if tables:
            lines += ["", f"{result.app} on {result.database}: {result.operation} ({result.extra['left']:,})", _STORAGE]
            lines += ["-" * len(_STORAGE), *(_table(name, size) for name, size in tables.items())]
            lines += [f"  {note}" for note in result.extra["notes"]]
    return "\n".join(lines)


_STORAGE = f"{'table':<32}{'before MB':>11}{'after MB':>11}{'':>9}{'rebuilt MB':>12}{'':>9}{'rows before':>14}{'rows after':>14}"


def _table(name: str, size: dict[str, int]) -> str:
    before = size["before_bytes"]
    line = f"{name:<32}{before / 1e6:>11.2f}"
    for after, width in ((size["after_bytes"], 11), (size["rebuilt_bytes"], 12)):
        line += f"{after / 1e6:>{width}.2f}{f'{(after - before) / before:+.1%}' if before else '-':>9}"
    return f"{line}{size['before_rows']:>14,}{size['after_rows']:>14,}"


def ratios(results: Sequence[Result]) -> str:
    """The two ratios that the project watches, from the same run: of medians, and of the undisturbed 5th percentiles."""
    lines = []
    for group in _groups(results):
        here = {(result.operation, result.variant): result for result in group if not result.derivation}
        delete, restore = here.get(("delete account", "edna")), here.get(("restore account", "edna"))
        manual = here.get(("delete account", "manual"))
        if delete and restore and manual:
            lines.append(
                f"{delete.app}, {delete.database}, {delete.level}: delete is {_ratio(delete, manual)} times the manual delete, "
                f"restore {_ratio(restore, delete)} times the delete"
            )
    return "\n".join(lines)


def _ratio(upper: Result, lower: Result) -> str:
    return f"{upper.p50_ms / lower.p50_ms:.1f} (p5: {upper.p5_ms / lower.p5_ms:.1f})"
