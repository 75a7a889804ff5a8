"""Numbers, times and reasons as the operator's pages say them."""

from __future__ import annotations

import math
import re
from typing import Final

from edna import errors
from edna.words import count

_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_SIZES: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))

OPERATIONS: Final = {
    "remove": "Sealed and deleted",
    "modify": "Values sealed and replaced",
    "decorrelate": "Given to placeholder users",
    "empty": "Reference emptied",
    "keep": "Left as it is",
}


def staff_left_out(number: int | None) -> str:
    """Of a job: how many; "" if nobody was, or nobody counted."""
    return count(number, "staff account") if number else ""


def duration(seconds: float | None) -> str:
    """Two units at most: nobody plans by the second when it takes an hour."""
    if seconds is None or not math.isfinite(seconds):
        return "not known yet"
    if seconds < 1:
        return "less than a second"
    left = round(seconds)
    parts: list[str] = []
    for size, noun in _UNITS:
        if left >= size and len(parts) < 2:
            parts.append(count(left // size, noun))
            left %= size
        elif parts:
            break
    return " ".join(parts)


def rate(per_second: float | None) -> str:
    if per_second is None:
        return "not known yet"
    if per_second >= 1:
        return f"{per_second:,.1f} per second"
    return f"{per_second * 60:,.1f} per minute"


def size(number: int) -> str:
    for unit, name in _SIZES:
        if number >= unit:
            return f"{number / unit:,.1f} {name}"
    return count(number, "byte")


def reason(name: str) -> tuple[str, str]:
    """Cause and remedy of the error of that name, from what `edna.errors` says about it; for others, where to look."""
    cls = getattr(errors, name, None)
    text = " ".join((getattr(cls, "__doc__", None) or "").split()) if isinstance(cls, type) else ""
    found = re.fullmatch(r"Cause: (.*?) Remedy: (.*)", text)
    if not found:
        return f"An error of the kind {name}.", "The log of the runner says where it happened."
    cause, remedy = (part.replace("`", "") for part in found.groups())
    return cause[:1].upper() + cause[1:], remedy[:1].upper() + remedy[1:]
