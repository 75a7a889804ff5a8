"""What was measured of policies, beside what it may take and what was published of Excalibur."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.kit.goals import judge
from benchmarks.timing import Result

#: Milliseconds to seal or to open, and what Excalibur takes.
GOALS: Final = {"1 kB": (1.0, "128 / 51"), "1 MB": (10.0, "134 / 68")}
CREDENTIALS_PER_SECOND: Final = 633
ATTESTATIONS_PER_SECOND: Final = 4_800
#: More than one by one, in the same run.
TIMES: Final = 1_000


def policies(results: Sequence[Result]) -> str:
    """A few lines; nothing if nothing was measured."""
    found = {result.operation: result for result in results if result.app == "policies"}
    if not found:
        return ""
    lines = ["Policies, at 10 attributes (medians)"]
    for name in [name for name in found if name.endswith(": seal")]:
        sealed, opened = found[name], found[name.replace(": seal", ": open")]
        most, published = GOALS[name.split(", ")[1].removesuffix(": seal")]
        worst = max(sealed.p50_ms, opened.p50_ms)
        lines.append(
            f"{name.removesuffix(': seal'):<20} seal {sealed.p50_ms:.2f} ms, open {opened.p50_ms:.2f} ms (goal {most:g}: "
            f"{judge(worst, most).met}; published {published} ms)"
        )
    credential = found["credential"]
    per_second = credential.extra["per_second"]
    lines.append(
        f"credentials a second, 64 workers at once: {per_second:,.0f}{_least(per_second, CREDENTIALS_PER_SECOND)}; one alone takes "
        f"{credential.p50_ms:.1f} ms"
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
