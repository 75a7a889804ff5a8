"""Says what came out, as tables for a terminal: times beside the baseline and beside what was published, where they go, how they
grow, and what is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from benchmarks.audiences.report import audiences
from benchmarks.custody.report import custody
from benchmarks.devices.report import devices
from benchmarks.goals import goals
from benchmarks.guardians.report import guardians
from benchmarks.policies.report import policies
from benchmarks.recipients.report import recipients
from benchmarks.timing import Result

PUBLISHED = "published: medians of hand-written SQL / of the Rust prototype, and their ratio; other hardware (16 vCPU, MariaDB 10.5)"


def report(results: Sequence[Result]) -> str:
    """Everything there is to say, for one application after the other; the goals last."""
    parts = (quick, tables, devices, audiences, policies, guardians, recipients, custody, goals)
    return "\n\n".join(text for part in parts if (text := part(results)))


def quick(results: Sequence[Result]) -> str:
    """A warning, if some were measured with few samples of little data; otherwise nothing."""
    places = [here[0] for here in groups(results) if any(result.extra.get("quick") for result in here)]
    names = ", ".join(f"{place.app} on {place.database}, {place.level}" for place in places)
    return (
        f"Measured with --quick, at a small scale with few samples: {names}. It shows that all works, not how fast."
        if names
        else ""
    )


def tables(results: Sequence[Result]) -> str:
    """What was measured, without a word about goals."""
    parts = [table(results), drilldown(results), curves(results), sizes(results), storage(results)]
    return "\n\n".join(part.strip("\n") for part in parts if part)


def groups(results: Sequence[Result]) -> Iterable[list[Result]]:
    """Results of one application, database and level each, in the order in which they were measured."""
    for place in dict.fromkeys((result.app, result.database, result.level) for result in results):
        yield [result for result in results if (result.app, result.database, result.level) == place]


def table(results: Sequence[Result]) -> str:
    """Every operation with its baseline beside it, for one application, database and level after the other."""
    lines = []
    for here in groups(results):
        here = [result for result in here if "curve" not in result.extra]
        if not here:
            continue
        first, published = here[0], any("published" in result.extra for result in here)
        floor = {result.operation: result for result in here if result.variant == "floor"}
        head = _HEAD + (_FLOOR if floor else "") + (" | published  ratio" if published else "")
        lines += ["", f"{first.app} on {first.database}, {first.level}, {first.scale} (ms)", head, "-" * len(head)]
        manual = {result.operation: result for result in here if result.variant == "manual"}
        lines += [
            _line(each, manual.pop(each.operation, None), floor if not each.derivation else dict.fromkeys(floor))
            for each in here
            if each.variant == "edna"
        ]
        if published:
            lines.append(PUBLISHED)
    return "\n".join(lines)


_HEAD = (
    f"{'operation':<42}{'password':>9}{'n':>6} |{'p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7}{'rows':>9} |"
    f"{'manual p5':>10}{'p50':>10}{'p95':>10}{'stmts':>7} |{'ratio':>7}"
)
_FLOOR = f" |{'floor p50':>10}{'stmts':>7}{'edna : floor':>14}"


def _line(edna: Result, manual: Result | None, floor: Mapping[str, Result | None]) -> str:
    """``floor``: all of it that there is to stand beside operations, by name; empty if there is no such column."""
    line = f"{edna.operation:<42}{'derived' if edna.derivation else '':>9}{edna.n:>6} |"
    line += f"{_times(edna)}{_number(edna.statements):>7}{_number(edna.rows):>9} |"
    if manual is None:
        line += f"{'-':>10}{'-':>10}{'-':>10}{'-':>7} |{'-':>7}"
    else:
        line += f"{_times(manual)}{_number(manual.statements):>7} |{edna.p50_ms / manual.p50_ms:>7.1f}"
    if floor:
        line += _beside_floor(edna, floor.get(edna.operation))
    if "published" not in edna.extra:
        return line
    by_hand, prototype = edna.extra["published"]
    ratio = "-" if by_hand is None else f"{prototype / by_hand:.1f}"
    return f"{line} |{'-' if by_hand is None else f'{by_hand:g}':>5}/{prototype:<5g}{ratio:>6}"


def _beside_floor(edna: Result, floor: Result | None) -> str:
    if floor is None:
        return f" |{'-':>10}{'-':>7}{'-':>14}"
    return f" |{floor.p50_ms:>10.2f}{_number(floor.statements):>7}{edna.p50_ms / floor.p50_ms:>14.2f}"


def _times(result: Result) -> str:
    return "".join(f"{value:>10.2f}" for value in (result.p5_ms, result.p50_ms, result.p95_ms))


def _number(value: int | None) -> str:
    return "-" if value is None else f"{value:,}"


def sizes(results: Sequence[Result]) -> str:
    """What an operation leaves in edna's tables, and what it takes while it runs, for small and large ones under each other."""
    lines = []
    for here in groups(results):
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
        found: dict[str, dict[str, int]] = result.extra.get("tables", {})
        if found:
            lines += ["", f"{result.app} on {result.database}: {result.operation} ({result.extra['left']:,})", _STORAGE]
            lines += ["-" * len(_STORAGE), *(_table(name, size) for name, size in found.items())]
            lines += [f"  {note}" for note in result.extra["notes"]]
    return "\n".join(lines)


_STORAGE = f"{'table':<32}{'before MB':>11}{'after MB':>11}{'':>9}{'rebuilt MB':>12}{'':>9}{'rows before':>14}{'rows after':>14}"


def _table(name: str, size: dict[str, int]) -> str:
    before = size["before_bytes"]
    line = f"{name:<32}{before / 1e6:>11.2f}"
    for after, width in ((size["after_bytes"], 11), (size["rebuilt_bytes"], 12)):
        line += f"{after / 1e6:>{width}.2f}{f'{(after - before) / before:+.1%}' if before else '-':>9}"
    return f"{line}{size['before_rows']:>14,}{size['after_rows']:>14,}"


def drilldown(results: Sequence[Result]) -> str:
    """Where the milliseconds go, by operation: with edna, and by hand where there is such a thing."""
    lines = []
    for here in groups(results):
        drilled = [result for result in here if "parts_ms" in result.extra and "curve" not in result.extra]
        if drilled:
            title = f"{here[0].app} on {here[0].database}, {here[0].level}: where the milliseconds go, on average"
            lines += ["", title, _PARTS, "-" * len(_PARTS), *map(_parts, drilled), *_PARTS_NOTES]
    return "\n".join(lines)


_PARTS = (
    f"{'operation':<50}{'n':>4}{'timed':>9}{'whole':>9}{'counting':>9} |{'sql':>9}{'sealing':>9}{'encoding':>9}{'key pool':>9}"
    f"{'derive':>9}{'python':>9} | sql: {'select':>8}{'':>6}{'insert':>8}{'':>6}{'update':>8}{'':>6}{'delete':>8}{'':>6}{'commit':>8}"
)
_PARTS_NOTES = (
    "  timed: p50 of the rounds without counting; whole: mean of the middle half of those with, the sum of the parts; "
    "counting: what counting itself took of it",
    "  sql: inside the driver, with escaping, the round trip and converting rows; in brackets: how many statements",
)


_VARIANTS = {"edna": "", "manual": " (by hand)", "floor": " (floor)"}


def _parts(result: Result) -> str:
    extra, name = result.extra, result.operation + (", derived" if result.derivation else "")
    line = f"{name + _VARIANTS[result.variant]:<50}{extra['parts_n']:>4}{result.p50_ms:>9.2f}"
    line += f"{extra['parts_whole_ms']:>9.2f}{extra['parts_overhead_ms']:>9.2f} |"
    line += "".join(f"{ms:>9.2f}" for ms in extra["parts_ms"].values()) + " |      "
    kinds = ("select", "insert", "update", "delete")
    line += "".join(f"{extra['sql_ms'][kind]:>8.2f}{_calls(extra['sql_calls'][kind]):>6}" for kind in kinds)
    return f"{line}{extra['sql_ms']['transaction']:>8.2f}"


def _calls(number: float) -> str:
    return f"({number:.0f})" if number else ""


def curves(results: Sequence[Result]) -> str:
    """How operations grow: with the rows of one person, with pseudoprincipals, with principals."""
    lines = []
    for here in groups(results):
        for curve, (title, unit) in CURVES.items():
            points = [result for result in here if result.extra.get("curve") == curve]
            if points:
                head = f"{'line':<34}{unit:>18}{_CURVE}"
                lines += ["", f"{here[0].app} on {here[0].database}, {here[0].level}: {title}", head, "-" * len(head)]
                names = dict.fromkeys(result.extra["line"] for result in points)
                lines += [_point(each) for name in names for each in points if each.extra["line"] == name]
                lines += slopes(points)
    return "\n".join(lines)


#: By name of a curve: what it shows, and what is counted from left to right.
CURVES = {
    "rows": ("growth with one person's rows", "answers"),
    "composition": ("composition: more and more pseudoprincipals, always as many rows", "pseudoprincipals"),
    "principals": (
        "growth with principals: one user's cost must not depend on how many others there are",
        "principals",
    ),
}
_CURVE = f"{'n':>5} |{'p5 ms':>10}{'p50':>10}{'p95':>10}{'µs per row':>12} |{'stmts':>7}{'scanned':>9}{'rows read':>11}{'pages':>9}"


def _point(result: Result) -> str:
    extra = result.extra
    line = f"{extra['line']:<34}{extra['x']:>18,}{result.n:>5} |{_times(result)}"
    line += f"{result.p50_ms * 1000 / result.rows if result.rows else 0:>12.1f} |{_number(result.statements):>7}"
    return f"{line}{_number(extra.get('rows_scanned')):>9}{_number(extra.get('rows_read')):>11}{_number(extra.get('pages')):>9}"


def slopes(points: Sequence[Result]) -> list[str]:
    """Of a composition: what each pseudoprincipal costs, between the fewest and the most."""
    found = []
    for name in dict.fromkeys(result.extra["line"] for result in points if result.extra["curve"] == "composition"):
        own = sorted((each for each in points if each.extra["line"] == name and each.extra["x"]), key=_x)
        if len(own) > 1:
            each = (own[-1].p50_ms - own[0].p50_ms) / (_x(own[-1]) - _x(own[0]))
            counts = sorted({result.statements or 0 for result in own})
            found.append(
                f"  {name}: {each:.3f} ms for each pseudoprincipal (published: 1 to 2); "
                f"statements with {_x(own[0])} to {_x(own[-1])} of them: {' or '.join(map(str, counts))}"
            )
    return found


def _x(result: Result) -> int:
    return int(result.extra["x"])
