"""Diff batches: rows fit their columns, on the way in and on the way out."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from edna.errors import BagCorrupt
from edna.records.diff import (
    KINDS,
    Blobs,
    Decorrelated,
    Files,
    Listed,
    Mentions,
    Modified,
    Owners,
    Removed,
    RowBatch,
    Shares,
)
from edna.records.values import decode, encode

REMOVED = Removed("a.answer", "0001_initial", ("id",), ("id", "body"), [[1, "x"], [2, None]])
MODIFIED = Modified("a.answer", "", ("id",), ("body", "score"), [[1, "old", 5, "new", 0]])
COMPOSITE = Decorrelated("a.vote", "", ("user_id", "post_id"), ("user_id",), [[7, 3, 7, -9]])
SHARED = Shares("a.message", "", ("locator",), ("rows",), [[b"L" * 32, 3]])
FILES = Files(
    "a.scan",
    "",
    ("locator",),
    ("field", "name", "size", "digest"),
    [[b"L" * 32, "f", "n", 5, b"D" * 32]],
)
BLOBS = Blobs("a.export", "", ("position", "part"), ("blob",), [[0, 0, b"x"], [1, 0, b""]])
OWNERS = Owners.of("a.note", "", ("id",), [[1, "author", "7", b"K" * 32, "body"]])
LISTINGS = Listed("", "", ("public_key",), ("item",), [[b"K" * 32, b"item"]])
MENTIONS = Mentions("a.message", "", ("mentioned",), ("now",), [[-5, 7]])


def payload_of(batch: RowBatch) -> list[Any]:
    payload: list[Any] = decode(encode(batch.to_payload()))
    return payload


@pytest.mark.parametrize(
    "batch",
    [
        REMOVED,
        MODIFIED,
        COMPOSITE,
        SHARED,
        FILES,
        BLOBS,
        MENTIONS,
        OWNERS,
        LISTINGS,
        dataclasses.replace(REMOVED, rows=[]),
    ],
)
def test_a_batch_comes_back_as_it_was(batch: RowBatch) -> None:
    """Through the bytes and back; tuples of names stay tuples."""
    assert RowBatch.from_payload(payload_of(batch)) == batch


@pytest.mark.parametrize(
    ("batch", "layout"),
    [
        (REMOVED, ("id", "body")),
        (MODIFIED, ("id", "body", "score", "body", "score")),
        (COMPOSITE, ("user_id", "post_id", "user_id", "user_id")),
        (SHARED, ("locator", "rows")),
        (FILES, ("locator", "field", "name", "size", "digest")),
        (BLOBS, ("position", "part", "blob")),
    ],
)
def test_the_layout_names_the_field_of_every_value(batch: RowBatch, layout: tuple[str, ...]) -> None:
    """Removed rows hold their columns; changed ones key, old values, new values; the rest key and columns."""
    assert batch.layout == layout


def test_rows_as_a_driver_returns_them_are_taken() -> None:
    """Tuples of tuples need no conversion on the hot path."""
    batch = dataclasses.replace(REMOVED, rows=((1, "x"), (2, None)))

    assert RowBatch.from_payload(payload_of(batch)) == REMOVED


@pytest.mark.parametrize(
    "broken",
    [
        dataclasses.replace(REMOVED, rows=[[1, "x"], [2]]),
        dataclasses.replace(REMOVED, rows=[[1, "x", "y"]]),
        dataclasses.replace(REMOVED, columns=("body", "other")),
        dataclasses.replace(REMOVED, key=()),
        dataclasses.replace(MODIFIED, rows=[[1, "old", 5, "new"]]),
        dataclasses.replace(SHARED, rows=[[b"L" * 32]]),
    ],
)
def test_a_batch_that_could_never_be_revealed_is_not_sealed(broken: RowBatch) -> None:
    """A programming error shows before the rows are gone, not when their owner returns; without showing them."""
    with pytest.raises(ValueError, match=r"Removed|Modified|Shares") as caught:
        broken.to_payload()
    assert "old" not in str(caught.value)


GOOD = payload_of(MODIFIED)


@pytest.mark.parametrize(
    "payload",
    [
        None,
        {},
        [],
        GOOD[:-1],
        [*GOOD, None],
        [0, *GOOD[1:]],
        [99, *GOOD[1:]],
        [4, *GOOD[1:]],
        ["2", *GOOD[1:]],
        [2, None, *GOOD[2:]],
        [2, "a.b", 1, *GOOD[3:]],
        [*GOOD[:3], "id", *GOOD[4:]],
        [*GOOD[:3], [], *GOOD[4:]],
        [*GOOD[:3], [1], *GOOD[4:]],
        [*GOOD[:4], ["body", None], GOOD[5]],
        [*GOOD[:5], {"a": 1}],
        [*GOOD[:5], "rows"],
        [*GOOD[:5], ["12345"]],
        [*GOOD[:5], [b"12345"]],
        [*GOOD[:5], [[1, "old", 5, "new"]]],
        [*GOOD[:5], [*GOOD[5], []]],
    ],
)
def test_a_payload_of_another_shape_is_refused(payload: Any) -> None:
    """Whatever decodes as a value but is no batch; a text or bytes of the right length is no row."""
    with pytest.raises(BagCorrupt):
        RowBatch.from_payload(payload)


def test_a_batch_does_not_print_its_rows() -> None:
    """They are personal data; error pages print batches."""
    assert repr(MODIFIED) == "<Modified a.answer rows=1>"


def test_rows_are_picked_by_their_keys() -> None:
    """Whatever the operation: a removed row's key is among its columns, anything else begins with it."""
    assert REMOVED.primary_keys() == [(1,), (2,)]
    assert COMPOSITE.primary_keys() == [(7, 3)]
    assert SHARED.primary_keys() == [(b"L" * 32,)]
    assert REMOVED.only({(2,)}).rows == [[2, None]]
    assert REMOVED.without({(2,)}).rows == [[1, "x"]]
    assert (SHARED.only({()}).rows, SHARED.without({()}).rows) == ([], SHARED.rows)


def test_a_kind_names_its_parts() -> None:
    """So that nobody counts positions."""
    assert (MODIFIED.old_from, MODIFIED.old(MODIFIED.rows[0]), MODIFIED.new(MODIFIED.rows[0])) == (
        1,
        ["old", 5],
        ["new", 0],
    )
    assert (REMOVED.old_from, COMPOSITE.old_from) == (0, 2)
    assert (MODIFIED.key_columns(), COMPOSITE.key_columns()) == ({}, {0: 0})
    assert SHARED.locators() == [b"L" * 32]
    assert MENTIONS.names() == {-5: 7}
    assert Shares.of("a.message", [(b"L" * 32, 3)]).layout == SHARED.layout
    assert Mentions.of("a.message", -5).rows[0][Mentions.NOW] == -5


def test_a_number_leads_to_its_kind() -> None:
    """The numbers are the format's: they never change, and none is given twice."""
    assert {number: kind.word for number, kind in KINDS.items()} == {
        1: "remove",
        2: "modify",
        3: "decorrelate",
        4: "share",
        5: "file",
        6: "blob",
        7: "mention",
        8: "owner",
        9: "listing",
    }


def test_how_many_rows_of_the_application_a_batch_is_about() -> None:
    """A shared bag's rows count with its pointer, a blob with its first part; what goes with rows counts for nothing."""
    assert [batch.records for batch in (REMOVED, MODIFIED, SHARED, BLOBS, FILES, MENTIONS)] == [2, 1, 3, 2, 0, 0]


def test_two_kinds_are_never_equal() -> None:
    changed = ("a.answer", "", ("id",), ("body",), [[1, "old", "new"]])
    assert Modified(*changed) != Decorrelated(*changed)
    assert Modified(*changed) == Modified(*changed)


def test_a_batch_is_never_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        REMOVED.model = "a.other"  # type: ignore[misc]
