"""What was measured of keys of both kinds, beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from benchmarks.recipients.measuring import KINDS
from benchmarks.timing import Result

_HEAD: Final = (
    f"{'what':<24}{'of':<24}"
    + "".join(f"{f'{kind}: p5 ms':>15}{'p50':>9}{'p95':>9}" for kind in KINDS)
    + "   times  bytes"
)


def recipients(results: Sequence[Result]) -> str:
    """A table; nothing if none was measured."""
    found = {(each.scale, each.operation): each for each in results if each.app == "recipients"}
    pairs = [(scale, name.rpartition(", ")[0]) for scale, name in found]
    lines = [_line([found[scale, f"{name}, {kind}"] for kind in KINDS], name) for scale, name in dict.fromkeys(pairs)]
    title = "Keys of X25519 and of the hybrid kind, in turn (bytes of the bag; or what came into edna's tables, entries + bags)"
    return "\n".join((title, _HEAD, "-" * len(_HEAD), *lines)) if lines else ""


def _line(both: Sequence[Result], name: str) -> str:
    first, second = both
    times = "".join(f"{each.p5_ms:>15.2f}{each.p50_ms:>9.2f}{each.p95_ms:>9.2f}" for each in both)
    sizes = " : ".join(filter(None, map(_size, both)))
    return f"{name:<24}{first.scale:<24}{times}{second.p50_ms / first.p50_ms:>8.1f}  {sizes}".rstrip()


def _size(result: Result) -> str:
    extra = result.extra
    if "entries_bytes" in extra:
        return f"{extra['entries_bytes']:,} + {extra['bags_bytes']:,}"
    return f"{extra['bytes']:,}" if "bytes" in extra else ""
