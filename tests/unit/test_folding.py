"""A record folds into the next one on top of it, and into no other: not into one below, nor over a value that only looks the same."""

from __future__ import annotations

import datetime
from typing import Any

from edna.crypto.keys import SecretKey
from edna.engine.bags.opened_bag import Opened
from edna.engine.layers.folding import Folding
from edna.records.bag import Bag, BagKind
from edna.records.diff import Changed, Decorrelated, Modified
from edna.records.locator import Locator
from edna.store import Entry

ENTRY = Entry(1, bytes(SecretKey.generate().public_key), "auth.user", "3", True, b"", None)


def opened(*batches: Changed, day: int) -> Opened:
    at = datetime.datetime(2026, 1, day, tzinfo=datetime.UTC)
    head = Bag(BagKind.DIFF, "shop.hush", at, "auth.user", 3, {}, "sqlite", True, (1, 0), batches)
    return Opened(Locator.new(), [head], holder=ENTRY)


def text(*row: Any) -> Modified:
    """Key, old and new value."""
    return Modified("shop.quote", "", ("id",), ("text",), [row])


def taken(one: Changed, *, day: int, other: Changed, other_day: int) -> tuple[list[Any], list[Any]]:
    """What of one disguise's record is left to do in the table, and the other's record after that."""
    current, layer = opened(one, day=day), opened(other, day=other_day)
    left = Folding([current], [layer]).take(one)
    return [row for part in left for row in part.rows], list(layer.diffs[0].rows[0])


def test_a_record_folds_into_the_one_on_top() -> None:
    assert taken(text(1, "a", "b"), day=1, other=text(1, "b", "c"), other_day=2) == ([], [1, "a", "c"])


def test_a_record_below_found_what_this_one_wrote() -> None:
    """By chance: the text is what it was before both, and only the upper one is revealed."""
    assert taken(text(1, "b", "a"), day=2, other=text(1, "a", "b"), other_day=1) == ([(1, "b", "a")], [1, "a", "b"])


def test_a_record_that_fits_on_top_and_beneath_is_where_the_clock_says() -> None:
    """Two constants by turns: the upper one ends on what the lower one began with. Others have written over it: the table tells nothing."""
    lower, upper = text(1, "hushed", "left"), text(1, "left", "hushed")
    current, layer = opened(upper, day=3), opened(lower, day=2)
    assert Folding([current], [layer]).take(upper, at_any_time=True) == [upper]
    assert not layer.changed
    # And over another one between the two.
    between, upper = opened(text(1, "left", "gone"), day=3), text(1, "gone", "hushed")
    assert Folding([opened(upper, day=4)], [layer, between]).take(upper, at_any_time=True) == [upper]
    # Where it cannot lie beneath, the clock was wrong.
    upper = text(1, "letter", "hushed")
    assert Folding([opened(upper, day=3)], [layer]).take(upper, at_any_time=True) == []
    assert layer.diffs[0].rows == [[1, "letter", "left"]]


def test_values_of_different_types_are_not_the_same() -> None:
    left, layer = taken(text(1, "a", 1), day=1, other=text(1, True, "c"), other_day=2)
    assert left == [(1, "a", 1)]
    assert layer[1] is True


def test_a_record_between_two_keys_has_the_key_that_is_put_back() -> None:
    """The first change of the key is taken out from below: who stood in it may stay, and no reveal of theirs names the row again."""

    def owner(*row: Any) -> Decorrelated:
        return Decorrelated("shop.seat", "", ("row", "guest"), ("guest",), [row])

    first, last = owner(1, -5, 3, -5), owner(1, -9, -5, -9)
    note = Modified("shop.seat", "", ("row", "guest"), ("note",), [(1, -5, "by the window", "")])
    between, above = opened(note, day=2), opened(last, day=3)
    assert Folding([opened(first, day=1)], [between, above]).take(first) == []
    assert above.diffs[0].rows == [[1, -9, 3, -9]]
    assert between.diffs[0].rows == [[1, 3, "by the window", ""]]
    assert between.changed
