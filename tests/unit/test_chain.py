"""The chunks of a disguise are found one behind the other; each marks the way to the next."""

from __future__ import annotations

import pytest

from edna.records.chain import MOST_DAMAGED_CHUNKS, chunks_of, followed
from edna.records.locator import Locator

FIRST = Locator.new()
OTHER = Locator.new()


def test_all_but_the_last_chunk_mark_the_way() -> None:
    """An empty one of them stays: without it, nobody would find what lies behind it."""
    listed = {OTHER, *map(FIRST.chunk, range(3))}
    assert followed(listed) == {FIRST, FIRST.chunk(1)}


def test_what_is_no_chunk_marks_no_way() -> None:
    assert followed({FIRST, OTHER}) == set()


@pytest.mark.parametrize("found", [True, False])
def test_a_gap_is_stepped_over_if_it_is_short(found: bool) -> None:
    """Some may be damaged, but nobody looks for ever."""
    behind = MOST_DAMAGED_CHUNKS + (1 if found else 2)
    assert chunks_of(FIRST, {FIRST, FIRST.chunk(behind)}) == ([0, behind] if found else [0])
