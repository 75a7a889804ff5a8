"""What was measured of policies, beside what it may take and what was published of Excalibur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.kit.goals import judge
from benchmarks.timing import Result

#: Milliseconds to seal or to open, and what Excalibur takes, which is as much as attributes may take.
GOALS: Final = {"1 kB": 1.0, "1 MB": 10.0}
EXCALIBUR: Final = {"1 kB": (128.0, 51.0), "1 MB": (134.0, 68.0)}
#: To make the key of a worker's attributes, which is then kept.
KEY_MS: Final = 300.0
CREDENTIALS_PER_SECOND: Final = 633
ATTESTATIONS_PER_SECOND: Final = 4_800
#: More than one by one, in the same run.
TIMES: Final = 1_000


def policies(results: Sequence[Result]) -> str:
    """A few lines; nothing if nothing was measured."""
    found = {result.operation: result for result in results if result.app == "policies"}
    if not found:
        return ""
    lines = ["Policies, at 10 attributes (medians; in brackets: of the processor's time)"]
    for name in [name for name in found if name.endswith(": seal")]:
        sealed, opened = found[name], found[name.replace(": seal", ": open")]
        size = name.split(", ")[1].removesuffix(": seal")
        published = f"published {' / '.join(f'{each:g}' for each in EXCALIBUR[size])} ms"
        times = f"{name.removesuffix(': seal'):<20} seal {_ms(sealed)}, open {_ms(opened)}"
        if name.startswith("by attributes"):
            met = [judge(each.p50_ms, most).met for each, most in zip((sealed, opened), EXCALIBUR[size], strict=True)]
            lines.append(f"{times} (goal: {published}: {' / '.join(met)})")
        else:
            met = [judge(max(sealed.p50_ms, opened.p50_ms), GOALS[size]).met]
            lines.append(f"{times} (goal {GOALS[size]:g}: {met[0]}; {published})")
    key = found.get("by attributes: a worker's key")
    if key is not None:
        lines.append(
            f"a worker's key of ten, in one epoch, {_ms(key)} (goal {KEY_MS:g}: {judge(key.p50_ms, KEY_MS).met}), made once for each set "
            "of attributes"
        )
    credential = found["credential"]
    per_second = credential.extra["per_second"]
    lines.append(
        f"credentials a second, 64 workers at once: {per_second:,.0f}{_least(per_second, CREDENTIALS_PER_SECOND)}; one alone takes "
        f"{_ms(credential)}"
    )
    batched, alone = found["attestation, batched"], found["attestation, alone"]
    many, one = batched.extra["per_second"], 1000 / alone.p50_ms
    lines.append(
        f"attestations a second, a quote of {batched.extra['quote_seconds']:g} s: {many:,.0f}{_least(many, ATTESTATIONS_PER_SECOND)}; one "
        f"by one {one:.2f}, so {many / one:,.0f} times as many{_least(many / one, TIMES)}"
    )
    return "\n".join(lines)


def _least(value: float, least: float) -> str:
    return f" (goal {least:,}: {judge(-value, -least).met})"


def _ms(result: Result) -> str:
    return f"{result.p50_ms:.2f} ms [{result.extra['processor_ms']:.2f}]"
