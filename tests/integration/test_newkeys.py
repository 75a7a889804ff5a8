"""Rows that a record migration has made get keys that nobody has, had, or is about to get back."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any

import pytest

from apps.websubmit.models import Lecture
from edna.db import rows as raw
from edna.db.rows import table_of
from edna.engine.bags.opened_bag import Opened
from edna.engine.layers.new_keys import give_keys, without_keys
from edna.records.bag import Bag, BagKind
from edna.records.diff import Removed, RowBatch
from edna.records.locator import Locator

pytestmark = pytest.mark.django_db(transaction=True)


def bag_of(*batches: RowBatch) -> Opened:
    head = Bag(
        BagKind.SHARED, "", datetime.datetime.now(datetime.UTC), "auth.user", None, {}, "sqlite", True, (1, 0), batches
    )
    return Opened(Locator.new(), [head], holder=None)


def batch(*rows: Sequence[Any]) -> RowBatch:
    return Removed("websubmit.lecture", "", ("id",), ("id", "label"), [list(row) for row in rows])


def test_keys_of_rows_that_are_there_were_there_or_lie_in_a_bag_are_not_given() -> None:
    first, last = Lecture.objects.create(label="a"), Lecture.objects.create(label="b")
    gone = last.pk
    last.delete()
    sealed = batch([gone + 1, "c"])
    bag = bag_of(batch([None, "d"], [None, "e"]), batch([None, "f"]))

    given = give_keys([bag], among=[sealed, *bag.diffs], using="default")

    keys = [row[0] for each in bag.diffs for row in each.rows]
    assert given == {"websubmit.lecture": set(keys)}
    assert len(set(keys)) == 3
    assert not {first.pk, gone, gone + 1} & set(keys)
    raw.insert(
        table_of(Lecture), ("id", "label"), [tuple(row) for each in bag.diffs for row in each.rows], using="default"
    )
    assert Lecture.objects.create(label="g").pk not in {*keys, gone, gone + 1, first.pk}


def test_what_is_sealed_again_has_no_key() -> None:
    bag = bag_of(batch([5, "kept"]), batch([None, "new"]))
    given = give_keys([bag], among=bag.diffs, using="default")
    mixed = [batch(*(row for each in bag.diffs for row in each.rows))]
    assert [[list(row) for row in each.rows] for each in without_keys(mixed, given)] == [[[None, "new"]], [[5, "kept"]]]


def test_where_every_row_has_a_key_nothing_is_asked(django_assert_num_queries: Any) -> None:
    batches = [batch([5, "kept"])]
    with django_assert_num_queries(0):
        assert give_keys([bag_of(*batches)], among=batches, using="default") == {}
        assert without_keys(batches, {}) == batches
