"""A bar in the terminal, for commands that make many rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

Row = TypeVar("Row")


def progress(rows: Iterable[Row], total: int, noun: str, stream: TextIO) -> Iterator[Row]:
    """Passes the rows on, and draws a bar while somebody watches."""
    watched = sys.stderr.isatty()
    step = max(1, total // 100)
    for done, row in enumerate(rows, start=1):
        yield row
        if watched and (done % step == 0 or done == total):
            filled = 40 * done // total
            stream.write(
                f"\r[{'#' * filled}{'.' * (40 - filled)}] {done:,} of {total:,} {noun}",
                ending="\n" if done == total else "",
            )
            stream.flush()
