"""An opened bag owns its records: nothing changes one of them without marking the bag as one to seal again."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from edna.crypto.keys import SecretKey
from edna.engine.bags.opened_bag import Opened, pointing_at
from edna.engine.forwarding.walk import Forwarded, Stuck
from edna.records.bag import Bag, BagKind
from edna.records.diff import Mentions, Removed, RowBatch, Shares
from edna.records.locator import Locator
from edna.records.speaksfor import SpeaksFor, SpeaksForBatch
from edna.store import Entry

KEY = SecretKey.generate()
VOICE = SpeaksFor(-5, KEY.public_key, KEY, 3)
ENTRY = Entry(1, bytes(KEY.public_key), "auth.user", "3", True, b"", None)
SHARED = Locator.new()
MONDAY, TUESDAY = datetime.date(2026, 11, 23), datetime.date(2026, 11, 24)


def removed(*rows: Any) -> RowBatch:
    return Removed("shop.tag", "", ("id",), ("id", "name"), rows or ([1, "red"], [2, "blue"]))


def pointer() -> RowBatch:
    return Shares("shop.tag", "", ("locator",), ("rows",), [[SHARED.expose(), 1]])


def opened(*batches: RowBatch, holder: Entry | None = ENTRY, voices: tuple[SpeaksFor, ...] = (VOICE,)) -> Opened:
    head = Bag(
        BagKind.DIFF,
        "shop.close",
        datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
        "auth.user",
        3,
        {},
        "sqlite",
        False,
        (1, 1),
        batches or (removed(), pointer()),
    )
    speaking = SpeaksForBatch("auth.user", list(voices), (b"away",))
    bags = [head, Bag(BagKind.SPEAKS_FOR, *(getattr(head, name) for name in Bag.__slots__[1:-1]), (speaking,))]
    return Opened(Locator.new(), bags, holder=holder, indexes=[b"here"], expires_on=MONDAY)


CHANGES: list[Callable[[Opened], None]] = [
    lambda bag: bag.put(bag.diffs[0].rows[0], 1, "green"),
    lambda bag: bag.substitute(bag.diffs[0], 0, {1: 7}),
    lambda bag: bag.exchange(bag.diffs[0], removed([9, "white"])),
    lambda bag: bag.keep([]),
    lambda bag: bag.keep_stuck([]),
    lambda bag: bag.reduce_to([], []),
    lambda bag: bag.add(removed()),
    lambda bag: bag.add_below(removed()),
    lambda bag: bag.add_voice(VOICE, unlisted=frozenset({b"there"})),
    lambda bag: bag.drop_voice(VOICE),
    lambda bag: bag.exchange_voices(lambda voice: voice._replace(owner=4)),
    lambda bag: bag.forget_unlisted([b"away"]),
    lambda bag: bag.hand_over(ENTRY),
    lambda bag: bag.name_principal(4),
]
TRANSLATIONS: list[Callable[[Opened], None]] = [
    lambda bag: bag.translate(bag.head, [], []),
    lambda bag: bag.bring_forward(Forwarded([removed()], [Stuck(removed(), None)])),
    lambda bag: bag.rename_files(bag.diffs),
    lambda bag: bag.keep_until(TUESDAY),
]
NOTHING: list[Callable[[Opened], None]] = [
    lambda bag: bag.substitute(bag.diffs[0], 0, {5: 7}),
    lambda bag: bag.add(),
    lambda bag: bag.exchange_voices(lambda voice: voice),
    lambda bag: bag.forget_unlisted([b"elsewhere"]),
]


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_marks_the_bag(change: Callable[[Opened], None]) -> None:
    bag = opened()
    assert not bag.changed
    change(bag)
    assert bag.changed


@pytest.mark.parametrize("step", [*TRANSLATIONS, *NOTHING])
def test_what_changes_nothing_or_only_translates_does_not(step: Callable[[Opened], None]) -> None:
    bag = opened()
    step(bag)
    assert not bag.changed


def test_every_method_is_one_or_the_other() -> None:
    called = {name for step in (*CHANGES, *TRANSLATIONS) for name in step.__code__.co_names}
    methods = {name for name, found in vars(Opened).items() if callable(found) and not name.startswith("_")}
    assert methods <= called


@pytest.mark.parametrize(
    "name", ["changed", "head", "holder", "diffs", "speaks_for", "stuck", "unlisted", "expires_on"]
)
def test_nobody_assigns(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(opened(), name, True)


def test_nobody_writes_into_the_lists() -> None:
    bag = opened()
    for records in (bag.diffs, bag.speaks_for, bag.stuck):
        assert isinstance(records, tuple)


def test_whoever_changes_a_row_changes_it_for_all_who_look_at_it() -> None:
    bag = opened()
    row = bag.diffs[0].rows[0]
    bag.put(row, 1, "green")
    bag.substitute(bag.diffs[0], 0, {2: 7})
    assert [list(row) for row in bag.diffs[0].rows] == [[1, "green"], [7, "blue"]]


def test_whatever_comes_in_can_be_rewritten() -> None:
    """Records that were put into another order of columns arrive as tuples; records on top of each other are put together in place."""
    comes_in: list[Callable[[Opened, RowBatch], None]] = [
        lambda bag, batch: bag.bring_forward(Forwarded([batch])),
        lambda bag, batch: bag.translate(bag.head, [batch], []),
        lambda bag, batch: bag.exchange(bag.diffs[0], batch),
        lambda bag, batch: bag.keep([batch]),
        lambda bag, batch: bag.add_below(batch),
        lambda bag, batch: bag.rename_files([batch]),
    ]
    for come_in in comes_in:
        bag = opened()
        come_in(bag, removed((1, "red")))
        bag.put(bag.diffs[0].rows[0], 1, "green")
        assert list(bag.diffs[0].rows[0]) == [1, "green"]


def test_what_lies_below_stands_in_front() -> None:
    bag = opened()
    bag.add_below(removed([3, "below"]))
    bag.add(removed([4, "above"]))
    assert [batch.rows[0][0] for batch in bag.diffs if isinstance(batch, Removed)] == [3, 1, 4]


def test_a_bag_is_empty_when_it_holds_no_row_no_voice_and_nothing_stuck() -> None:
    bag = opened(voices=())
    assert not bag.empty
    bag.bring_forward(Forwarded([], [Stuck(removed(), None)]))
    assert not bag.empty
    bag.reduce_to([removed().without({(1,), (2,)})], [])
    assert bag.empty
    assert not opened(removed().without({(1,), (2,)})).empty  # it speaks for somebody


def test_a_voice_brings_what_may_name_it_but_not_the_bag_that_it_is_in() -> None:
    bag = opened()
    bag.add_voice(VOICE, unlisted=frozenset({b"here", b"there"}))
    assert bag.unlisted == {b"away", b"there"}
    assert bag.speaks_for == (VOICE, VOICE)


def test_it_is_kept_as_long_as_the_later_bucket() -> None:
    bag = opened()
    bag.keep_until(TUESDAY)
    bag.keep_until(MONDAY)
    assert bag.expires_on == TUESDAY
    bag.keep_until(None)
    assert bag.expires_on is None


def test_whose_it_becomes_finds_it_in_their_list() -> None:
    bag = opened()
    bag.hand_over(ENTRY)
    bag.name_principal(8)
    assert (bag.head.listed, bag.head.principal, bag.holder) == (True, 8, ENTRY)


def test_who_points_at_a_shared_bag() -> None:
    bag, other = opened(), opened(removed())
    assert pointing_at([other, bag]) == {SHARED: bag}


def test_a_mention_is_a_shared_bag_that_says_nothing_else() -> None:
    mention = Mentions("auth.user", "", ("mentioned",), ("now",), [[-5, 3]])
    assert opened(mention, holder=None).is_mention
    assert not opened(mention).is_mention
    assert not opened(mention, removed(), holder=None).is_mention
