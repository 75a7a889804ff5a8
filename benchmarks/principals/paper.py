"""What edna's tables take with so many principals, on paper: InnoDB's pages, counted by arithmetic.

Does not know a server: what one takes is held against it by `python -m benchmarks.principals`. Left out: values too long for a page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

PAGE_BYTES: Final = 16 * 1024
#: Of a page: header and trailer of the file, header of the page, least and greatest record.
_FRAME_BYTES: Final = 38 + 8 + 56 + 26
#: One of two bytes in the page's directory for six records, more or less.
_DIRECTORY_BYTES: Final = 1 / 3
_HEADER_BYTES: Final = 5
#: Which transaction wrote a row, and where it stood before.
_HIDDEN_BYTES: Final = 6 + 7
_CHILD_BYTES: Final = 4
#: Keys that are drawn by lot split pages in halves, which fill again: ln 2 of them is full.
SCATTERED: Final = math.log(2)
#: A table that was rebuilt in order of its keys leaves a sixteenth free.
REBUILT: Final = 15 / 16
#: A tree that has outgrown single pages keeps an eighth of what it has in reserve.
_RESERVED: Final = 8 / 7
_SINGLE_PAGES: Final = 32


@dataclass(frozen=True)
class Index:
    """A tree of records, each of so many bytes on average; ``key``, what stands for one in the pages above."""

    table: str
    name: str
    record: float
    key: float

    def pages(self, rows: int, *, full: float) -> list[int]:
        """How many are in use on each level, those with the records first."""
        room = (PAGE_BYTES - _FRAME_BYTES) * full
        levels = [_pages(rows, self.record, room)]
        while levels[-1] > 1:
            levels.append(_pages(levels[-1], self.key + _CHILD_BYTES + _HEADER_BYTES, room))
        return levels

    def bytes(self, rows: int, *, full: float) -> int:
        used = self.pages(rows, full=full)
        kept = [pages * _RESERVED if pages > _SINGLE_PAGES else pages for pages in used]
        return round(sum(kept)) * PAGE_BYTES

    def depth(self, rows: int, *, full: float) -> int:
        """How many pages somebody looks at who follows the tree down."""
        return len(self.pages(rows, full=full))


def _pages(records: int, size: float, room: float) -> int:
    return max(1, math.ceil(records * (size + _DIRECTORY_BYTES) / room))


def record(*, fixed: int, variable: Sequence[float] = (), nullable: int = 0, hidden: bool = False) -> float:
    """Bytes of one: columns of fixed length, those of variable length (up to 127 bytes each), and how many may be NULL."""
    hidden_bytes = _HIDDEN_BYTES if hidden else 0
    return _HEADER_BYTES + math.ceil(nullable / 8) + len(variable) + hidden_bytes + fixed + sum(variable)


def tables(*, gone: float, bag_bytes: int, reference: float = 8) -> tuple[dict[str, float], list[Index]]:
    """How many rows of each table there are for each principal, and the tables' trees.

    ``gone``: the part that has left, each with one bag of so many bytes. ``reference``: how long a primary key is in its short form;
    eight bytes, if it is an integer.
    """
    here = 1 - gone
    entry = record(fixed=8 + 32 + 4 + 1, variable=(here * reference, gone * 80), nullable=5, hidden=True)
    # Of whoever has left, "reference" and "tag" are NULL, and take nothing.
    entry += here * 16
    # Above 127 bytes, a length takes two.
    bag = record(fixed=8 + 32, variable=(bag_bytes,), nullable=1, hidden=True) + (bag_bytes > 127)
    entries, bags = "edna_principalentry", "edna_bag"
    named = record(fixed=8 + 4, variable=(here * reference,), nullable=1)
    return {entries: 1.0, bags: gone}, [
        Index(entries, "PRIMARY", entry, 8),
        Index(entries, "edna_entry_reference", named, named - _HEADER_BYTES),
        Index(bags, "PRIMARY", bag, 8),
        Index(bags, "edna_bag_expires", record(fixed=8, nullable=1), 9),
    ]
