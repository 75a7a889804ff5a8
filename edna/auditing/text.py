"""The report as text, for a terminal or a mail: what was found first, then what nothing covers, then the rest."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from edna.auditing.remaining_columns import Remaining, Standing, grouped
from edna.auditing.report import WHO_APPLIES, Report, personal_or_changed
from edna.auditing.search import Findings, Place
from edna.auditing.treatment import Becomes, Column, Table, Treatment
from edna.words import count

_WIDTH: Final = 110


def written(report: Report, *, show: bool = False) -> str:
    """With ``show``, the values that were found stand beside the places: not to be mailed."""
    lines = [line for findings in report.searches for line in _findings(findings, show=show)]
    lines += _remaining(report)
    for treatment in report.treatments:
        lines += _treatment(treatment)
    if report.by_hand:
        lines += [*_title("Disguises by hand"), "What they do is code, and not in this report."]
        lines += [f"  {name}: {said}".rstrip(": ") for name, said in report.by_hand.items()]
    if report.record:
        lines += _title("Record of processing (Art. 30 GDPR)")
    for field in report.record:
        first, *others = field.text.split("\n")
        lines += [*_wrapped(f"{field.title}: {first}"), *(line for each in others for line in _wrapped(f"  {each}"))]
    return "\n".join(lines).strip("\n")


def _title(text: str) -> list[str]:
    return ["", text, "=" * len(text), ""]


def _wrapped(text: str) -> list[str]:
    start = " " * (len(text) - len(text.lstrip()))
    return textwrap.wrap(text.strip(), _WIDTH, initial_indent=start, subsequent_indent=start + "    ") or [""]


# What was found


def _findings(findings: Findings, *, show: bool) -> Iterator[str]:
    yield from _title(f"Search for {findings.of}" + (f", after {findings.disguise}" if findings.disguise else ""))
    what = count(findings.values, "value")
    short = f" ({findings.too_short} more are too short to say anything)" if findings.too_short else ""
    yield from _wrapped(
        f"Looked for {what}{short} in {count(findings.rows, 'row')} of {count(findings.tables, 'table')} and the names of "
        f"{count(findings.files, 'file')}."
    )
    if findings.unopened:
        yield f"{count(findings.unopened, 'bag')} could not be opened: what is in there was not looked for."
    yield from findings.notes
    yield ""
    if findings.certain:
        yield f"Found in {count(len(findings.certain), 'place')}:"
        for place in findings.certain:
            yield from _place(place, show=show)
    else:
        yield "Found nowhere."
    if findings.shared:
        yield ""
        yield "Found, but it may be somebody else’s, who has the same or is known by it, or a word of the code:"
        for place in findings.shared:
            yield from _place(place, show=show)


def _place(place: Place, *, show: bool) -> Iterator[str]:
    more = ", …" if place.rows > len(place.keys) else ""
    rows = f"{count(place.rows, 'row')} ({', '.join(place.keys)}{more})" if place.keys else count(place.rows, "time")
    yield from _wrapped(f"  {place.name}: {rows}, holds {', '.join(sorted(place.holds))}")
    if show:
        yield from (f"        {text!r}" for text in sorted(place.texts))


# What stays


_HEADS: Final = {
    Standing.UNCOVERED: "covered by nothing",
    Standing.IN_PART: "covered in part",
    Standing.ON_PURPOSE: "kept on purpose",
}


def _remaining(report: Report) -> Iterator[str]:
    yield from _title("Columns that look personal, in rows that stay")
    if not report.remaining:
        yield "None: some disguise covers each of them."
    for standing, head in _HEADS.items():
        columns = report.standing(standing)
        if columns:
            yield f"{count(len(columns), 'column')} {head}:"
            yield from _columns(columns)
            yield ""


def _columns(columns: list[Remaining]) -> Iterator[str]:
    for label, why, group in grouped(columns):
        names = ", ".join(f"{each.column} ({each.looks.value})" for each in group)
        yield from _wrapped(f"  {label}: {names}: {why}")


# What each disguise does


def _treatment(treatment: Treatment) -> Iterator[str]:
    disguise = treatment.disguise
    yield from _title(disguise.name)
    yield from _wrapped(disguise.described())
    params = ", ".join(f"{name} ({kind.__name__})" for name, kind in disguise.params.items())
    yield f"Applied by: {WHO_APPLIES.get(disguise.applies_to, disguise.applies_to)}." + (
        f" Parameters: {params}." if params else ""
    )
    yield f"The account {'goes' if treatment.removes_account else 'stays'}."
    for table in treatment.touched:
        yield ""
        yield from _table(table)
    if left := treatment.left_alone:
        yield ""
        yield from _wrapped(f"Leaves alone, though it looks personal: {', '.join(table.label for table in left)}.")


def _table(table: Table) -> Iterator[str]:
    yield table.label
    for act in table.acts:
        where = f", where {act.where}" if act.where else ""
        yield from _wrapped(f"  {act.becomes.value}: {act.whose}{where}: {act.how}")
    columns = table.columns.values()
    whole = [column for column in columns if column.becomes is Becomes.REMOVED and not column.partly]
    if len(whole) == len(table.columns):
        return
    shown = personal_or_changed(table)
    for column in shown:
        yield from _wrapped(f"    {_column(column)}")
    if rest := [column.name for column in columns if column not in shown]:
        yield from _wrapped(f"    and as the rows are: {', '.join(rest)}")


def _column(column: Column) -> str:
    looks = f" ({column.looks.value})" if column.looks else ""
    partly = " in part" if column.partly else ""
    how = f" {column.how}" if column.how else ""
    why = f": {column.why}" if column.why else ""
    return f"{column.name}{looks}: {column.becomes.value}{partly}{how}{why}"
