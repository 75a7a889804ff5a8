"""Numbers as operators' pages, commands and reports say them."""

from __future__ import annotations


def count(number: int, noun: str, plural: str = "") -> str:
    """``count(2, "row")`` is "2 rows"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
