"""What tables take on paper: counted by hand here, for sizes at which one can."""

from __future__ import annotations

from benchmarks.principals.paper import PAGE_BYTES, REBUILT, Index, record, tables

#: 100 bytes with its place in the page's directory: a page has room for 162.56 of them.
TREE = Index("edna_bag", "index", record=100 - 1 / 3, key=91 - 1 / 3)


def test_a_record_is_its_header_its_lengths_its_nulls_and_its_values() -> None:
    assert record(fixed=40) == 45
    assert record(fixed=40, variable=(7.5, 0), nullable=9, hidden=True) == 5 + 2 + 2 + 13 + 40 + 7.5


def test_a_tree_grows_a_level_when_its_root_is_full() -> None:
    assert TREE.pages(162, full=1) == [1]
    assert TREE.pages(163, full=1) == [2, 1]
    assert TREE.pages(26_334, full=1) == [162, 1]
    assert TREE.pages(26_335, full=1) == [163, 2, 1]
    assert [TREE.depth(rows, full=1) for rows in (1, 163, 30_000)] == [1, 2, 3]


def test_a_tree_that_has_outgrown_single_pages_keeps_an_eighth_in_reserve() -> None:
    assert TREE.bytes(162 * 32, full=1) == 33 * PAGE_BYTES
    assert TREE.bytes(162 * 70, full=1) == 81 * PAGE_BYTES


def test_whoever_has_left_takes_a_bag_and_no_name() -> None:
    rows, trees = tables(gone=0.25, bag_bytes=240)
    assert rows == {"edna_principalentry": 1, "edna_bag": 0.25}
    entry, named, *_ = [tree.record for tree in trees]
    assert entry == 5 + 1 + 2 + 13 + 45 + 0.75 * (8 + 16) + 0.25 * 80
    assert named == 5 + 1 + 1 + 12 + 0.75 * 8
    assert {tree.table for tree in trees if tree.depth(1000, full=REBUILT) > 1} == set(rows)
