"""The tables of a report, from its summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmarks.kit.goals import NO, YES
from loadtest.machine import DEADLOCKS, WAITED_MS, WAITS, counted
from loadtest.page import (
    GAP,
    NOTHING,
    Html,
    element,
    ms,
    number,
    percent,
    share_with_interval,
    table,
    times,
    times_with_interval,
)
from loadtest.samples import DISGUISE, REVEAL


def goals_table(goals: Sequence[dict[str, Any]], *, caption: str = "") -> Html:
    head = ("goal", "where ", "limit", "reached", "n", "met ", "remarks ")
    return table(caption, head, (list(_goal(goal)) for goal in goals))


def _goal(goal: dict[str, Any]) -> Iterator[Any]:
    unit = f"{GAP}{goal['unit']}" if goal["unit"] else ""
    digits = 2 if goal["unit"] == "×" else 1 if goal["unit"] else 0
    everywhere = goal["variant"] == "all"
    yield goal["goal"]
    yield "everywhere" if everywhere else f"{goal['variant']}; {goal['level']} load; {goal['site']}"
    yield NOTHING if goal["limit"] is None else f"{number(goal['limit'], digits)}{unit}"
    reached = NOTHING if goal["reached"] is None else f"{_signed(goal['reached'], digits)}{unit}"
    if goal["low"] is not None:
        reached += f" <small>({_signed(goal['low'], digits)} to {_signed(goal['high'], digits)})</small>"
    yield Html(reached)
    yield number(goal["n"])
    yield verdict(goal["met"])
    yield goal["why"]


def _signed(value: float, digits: int) -> str:
    return f"{round(value, digits) + 0.0:,.{digits}f}".replace("-", "−")


def verdict(met: str) -> Html:
    """Told by a sign, a word and a colour."""
    kind, sign = {YES: ("yes", "✓"), NO: ("no", "✗")}.get(met, ("unmeasured", "?"))
    return element("span", f"{sign} {met}", kind)


def normal_requests(part: dict[str, Any]) -> Html:
    """The baseline first; a variant's loss and ratios are by the baselines beside it."""
    head = (
        "normal requests",
        "per second",
        "lost",
        "n",
        "p50 ms",
        "by A's",
        "p95 ms",
        "by A's",
        "p99 ms",
        "by A's",
        "max ms",
        "over 1.5 s",
    )

    def line(label: str, measured: dict[str, Any], variant: dict[str, Any] | None) -> Iterator[Any]:
        yield label
        yield number(measured["per_second"], 1)
        yield share_with_interval(variant["loss"]) if variant else ""
        yield number(measured["n"])
        for percentile in (50, 95, 99):
            yield ms(measured[f"p{percentile}_ms"])
            yield times_with_interval(variant[f"p{percentile}_ratio"]) if variant else ""
        yield ms(measured["max_ms"])
        yield number(measured["slow"])

    rows = [line("A: baseline", part["baseline"], None)]
    rows += [line(variant["label"], variant["measured"], variant) for variant in part["variants"]]
    rows += [
        line_while_running(variant)
        for variant in part["variants"]
        if variant["what"] == "account" and variant["size"] == "heaviest" and variant["interval_seconds"]
    ]
    return table("Normal requests, all phases of a label together", head, (list(row) for row in rows))


def line_while_running(variant: dict[str, Any]) -> Iterator[Any]:
    running = variant["while_running"]
    yield Html(f"{element('span', variant['label'])}<br><small>while it runs</small>")
    yield from ("", "")
    yield number(running["n"])
    yield from (ms(running["p50_ms"]), "")
    yield from (ms(running["p95_ms"]), times_with_interval(running["p95_ratio"]))
    yield from (ms(running["p99_ms"]), times_with_interval(running["p99_ratio"]))
    yield from (ms(running["max_ms"]), number(running["slow"]))


def pairs_table(part: dict[str, Any]) -> Html:
    """Every phase with the baselines beside it, nothing averaged."""
    head = (
        "each pair",
        "round",
        "A per second",
        "per second",
        "lost",
        "p50 by A's",
        "p95 by A's",
        "p99 by A's",
        "n in A",
        "n",
    )

    def lines() -> Iterator[Sequence[Any]]:
        for variant in part["variants"]:
            ratios = [variant[f"p{percentile}_ratio"]["pairs"] for percentile in (50, 95, 99)]
            for lost, *others in zip(variant["loss"]["pairs"], *ratios, strict=True):
                yield (
                    variant["label"],
                    lost["round"],
                    number(lost["baseline_per_second"], 1),
                    number(lost["variant_per_second"], 1),
                    percent(lost["value"]),
                    *(times(other["value"]) for other in others),
                    *(number(count) for count in others[0]["n"]),
                )

    return table("Each phase by the baselines beside it", head, lines())


def pages_table(part: dict[str, Any]) -> Html:
    head = (
        "page",
        "variant ",
        "n in A",
        "n",
        "p50 A ms",
        "p50 ms",
        "by A's",
        "p99 A ms",
        "p99 ms",
        "by A's",
        "max A ms",
        "max ms",
    )

    def lines() -> Iterator[Sequence[Any]]:
        for page in part["baseline"]["pages"]:
            for variant in part["variants"]:
                before, now = variant["baseline"]["pages"][page], variant["measured"]["pages"][page]
                ratios = variant["page_ratios"][page]
                if not before["n"] and not now["n"]:
                    continue
                yield (
                    page,
                    variant["label"],
                    number(before["n"]),
                    number(now["n"]),
                    *(ms(before["p50_ms"]), ms(now["p50_ms"]), times_with_interval(ratios["p50"])),
                    *(ms(before["p99_ms"]), ms(now["p99_ms"]), times_with_interval(ratios["p99"])),
                    *(ms(before["max_ms"]), ms(now["max_ms"])),
                )

    return table("Normal requests, page by page", head, lines(), texts=2)


def disguises(part: dict[str, Any]) -> Html:
    """What disguisers wait for: in all, then by how many rows it was about."""
    head = (
        "disguise and reveal",
        "",
        "rows",
        "n",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "max ms",
        "pairs per second",
        "begun late",
        "refused",
    )

    def lines() -> Iterator[Sequence[Any]]:
        for variant in part["variants"]:
            for kind in (DISGUISE, REVEAL):
                found = variant[kind]
                counts = ("", "", "")
                if kind == DISGUISE:
                    counts = (
                        number(variant["pairs_per_second"], 2),
                        number(variant["late"]),
                        number(variant["refused"]),
                    )
                yield (variant["label"], kind, "all", *_latencies(found), *counts)
                if len(found["by_rows"]) > 1:
                    for some in found["by_rows"]:
                        low, high = some["rows"]
                        yield ("", "", f"{low:,} to {high:,}", *_latencies(some), "", "", "")

    return table("Disguises and reveals while others use the site", head, lines(), texts=2)


def _latencies(found: dict[str, Any]) -> Iterable[str]:
    return number(found["n"]), *(ms(found[f"{which}_ms"]) for which in ("p50", "p95", "p99", "max"))


def processors(part: dict[str, Any]) -> Html:
    groups = list(part["baseline"]["processors_used"])
    head = (
        *("processors in use", *groups, "whole machine", "row lock waits per s", "ms waited per s", "deadlocks per s"),
        *("disguisers' share, alone", "by difference", "lost"),
    )

    def line(label: str, measured: dict[str, Any], variant: dict[str, Any] | None) -> Iterator[Any]:
        yield label
        for group in groups:
            yield number(measured["processors_used"].get(group), 2)
        yield number(measured["machine_busy"], 2)
        database = measured["database"]
        yield number(counted(database, WAITS), 2)
        yield number(counted(database, WAITED_MS), 1)
        yield number(counted(database, DEADLOCKS), 2)
        if variant is None:
            yield from ("", "", "")
        else:
            yield percent(variant["cpu_share"]["alone"])
            yield percent(variant["cpu_share"]["difference"])
            yield share_with_interval(variant["loss"])

    rows = [line("A: baseline", part["baseline"], None)]
    rows += [line(variant["label"], variant["measured"], variant) for variant in part["variants"]]
    return table(
        "Processors and locks: the share that disguisers use, and what the others lose",
        head,
        (list(row) for row in rows),
    )


def published_table(bars: Sequence[dict[str, Any]]) -> Html:
    head = ("per cent of the throughput without disguisers", "load ", "published", "here", "95 % interval")
    rows = [
        (
            bar["bar"],
            bar["level"],
            number(bar["published"], 1),
            number(bar["ours"], 1),
            NOTHING if bar["low"] is None else f"{bar['low']:.1f} to {bar['high']:.1f}",
        )
        for bar in bars
    ]
    return table("", head, rows)


def wrong_table(summary: dict[str, Any]) -> Html:
    head = (
        "",
        "requests",
        "between phases",
        "status 5xx",
        "wrong",
        "still away",
        "rows compared",
        "refused (429)",
        "begun late",
    )
    rows = [
        (
            f"{part['site']}, {part['level']} load",
            number(part["requests"]),
            number(part["in_gaps"]),
            number(part["server_errors"]),
            number(len(part["wrong"])),
            number(part["away"]),
            number(part["compared_rows"]),
            number(sum(variant["refused"] for variant in part["variants"])),
            number(sum(variant["late"] for variant in part["variants"])),
        )
        for part in summary["parts"]
    ]
    return table("", head, rows)
