"""Pieces of an HTML page that needs nothing but itself: its style, tables, figures, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

NOTHING = "–"
#: Between a number and its unit, where no line may end.
GAP = "\u00a0"

_STYLE = """
:root { color-scheme: light; --ink: #1b1f24; --quiet: #5d6670; --line: #dfe3e8; --tint: #f5f7f9; --accent: #0b5394; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 2.2rem 1.5rem 5rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem; letter-spacing: -.01em; }
h2 { font-size: 1.25rem; margin: 3rem 0 .8rem; padding-top: .9rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .5rem; }
p { max-width: 76ch; margin: .5rem 0; }
a { color: var(--accent); }
.eyebrow { color: var(--quiet); font-size: .86rem; margin: 0 0 .4rem; }
.answer { font-size: 1.16rem; line-height: 1.5; max-width: 72ch; margin: 1rem 0 1.4rem; }
.warning { border-left: 4px solid #b3261e; background: #fdf1f0; padding: .6rem .9rem; max-width: none; }
.note { border-left: 4px solid #c98a00; background: #fff9ec; padding: .6rem .9rem; max-width: none; font-size: .92rem; }
figure { margin: 1.2rem 0 2.2rem; break-inside: avoid; }
figcaption { font-size: .9rem; color: #39414a; max-width: 92ch; margin-top: .35rem; }
figcaption b { color: var(--ink); }
svg.plot { display: block; width: 100%; height: auto; }
.scroll { overflow-x: auto; margin: .4rem 0 1rem; }
table { border-collapse: collapse; font-size: .855rem; line-height: 1.35; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; font-size: .93rem; padding: .5rem 0 .35rem; }
th, td { padding: .34rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; text-align: right; }
th { font-weight: 600; color: var(--quiet); border-bottom: 1.5px solid #9aa4ae; vertical-align: bottom; }
th.text, td.text { text-align: left; }
tbody tr:nth-child(even) { background: var(--tint); }
small { color: var(--quiet); white-space: nowrap; }
td small.wide { white-space: normal; }
.yes, .no, .unmeasured { font-weight: 600; white-space: nowrap; }
.yes { color: #0a6b47; } .no { color: #b3261e; } .unmeasured { color: var(--quiet); }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.2rem; font-size: .9rem; margin: .6rem 0; }
dl.facts dt { color: var(--quiet); } dl.facts dd { margin: 0; overflow-wrap: anywhere; }
code { font: .87em ui-monospace, "DejaVu Sans Mono", monospace; background: var(--tint); padding: .1em .3em; border-radius: 3px; }
ul { padding-left: 1.2rem; max-width: 84ch; } li { margin: .2rem 0; }
@media print {
  @page { margin: 14mm 12mm; }
  body { font-size: 10.5pt; } main { padding: 0; max-width: none; }
  h2, h3, caption { break-after: avoid; } tr { break-inside: avoid; } .scroll { overflow: visible; }
  table { font-size: 7.2pt; } th, td { padding: .25em .3em; } small, .yes, .no, .unmeasured { white-space: normal; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


class Html(str):
    """Text that is HTML already."""


def text(value: Any) -> str:
    return value if isinstance(value, Html) else escape(str(value))


def page(title: str, parts: Iterable[str]) -> str:
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def element(tag: str, content: Any, kind: str = "") -> Html:
    attribute = f' class="{kind}"' if kind else ""
    return Html(f"<{tag}{attribute}>{text(content)}</{tag}>")


def figure(svg: str, caption: str, *, says: str) -> Html:
    """``says`` stands for the drawing where it cannot be seen; the caption (HTML) tells what to look for."""
    named = svg.replace('role="img"', f'role="img" aria-label="{escape(says)}"', 1)
    return Html(f"<figure>{named}<figcaption>{caption}</figcaption></figure>")


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Any]], *, texts: int = 1) -> Html:
    """The first ``texts`` columns hold words, and stand to the left; so does a column whose head ends with a space."""
    left = {number for number, name in enumerate(head) if number < texts or name.endswith(" ")}

    def cells(tag: str, values: Sequence[Any]) -> str:
        return "".join(element(tag, value, "text" if number in left else "") for number, value in enumerate(values))

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    title = f"<caption>{text(caption)}</caption>" if caption else ""
    return Html(
        f'<div class="scroll"><table>{title}<thead><tr>{cells("th", head)}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def facts(pairs: Iterable[tuple[str, Any]]) -> Html:
    inside = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs)
    return Html(f'<dl class="facts">{inside}</dl>')


def number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else f"{value:,.{digits}f}"


def ms(value: float | None) -> str:
    return number(value, 0 if value is None or value >= 100 else 1)


def percent(share: float | None, digits: int = 1) -> str:
    """−0.0 is 0.0, and a minus is a minus."""
    if share is None:
        return NOTHING
    return f"{round(share * 100, digits) + 0.0:,.{digits}f}".replace("-", "−") + f"{GAP}%"


def times(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}{GAP}×"


def share_with_interval(estimate: dict[str, Any]) -> Html:
    if estimate["value"] is None:
        return Html(NOTHING)
    low, high = percent(estimate["low"]).removesuffix(f"{GAP}%"), percent(estimate["high"])
    return Html(f"{percent(estimate['value'])} <small>({low} to {high})</small>")


def times_with_interval(estimate: dict[str, Any]) -> Html:
    if estimate["value"] is None:
        return Html(NOTHING)
    return Html(f"{times(estimate['value'])} <small>({estimate['low']:.2f} to {estimate['high']:.2f})</small>")
