"""What users of the load on Lobsters ask for, and for which stories, members and comments: as often as the statistics say."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from loadtest.popularity import MIX, Mix, Popularity


def test_the_mix_is_that_of_the_statistics() -> None:
    assert sum(MIX.values()) == 100_000
    drawn = 200_000
    mix, source = Mix(MIX), random.Random(1)
    found = Counter(mix.draw(source) for _ in range(drawn))
    for name, wanted in MIX.items():
        expected = drawn * wanted / 100_000
        # Five standard deviations.
        assert abs(found[name] - expected) < 5 * expected**0.5, name


def test_a_bin_is_drawn_by_the_weight_of_all_in_it_and_one_of_the_bin_by_lot() -> None:
    popular = Popularity([(5.0, ["a", "b", "c", "d"]), (10.0, []), (30.0, ["x", "y"])])
    source, drawn = random.Random(1), 80_000
    found = Counter(popular.draw(source) for _ in range(drawn))
    for name, share in {**dict.fromkeys("abcd", 5 / 80), **dict.fromkeys("xy", 30 / 80)}.items():
        assert abs(found[name] / drawn - share) < 0.01, name


def test_only_some_are_as_popular_among_each_other_as_before() -> None:
    popular = Popularity([(5.0, ["a", "b", "c", "d"]), (30.0, ["x", "y"])]).only({"a", "c", "y", "nobody"})
    source, drawn = random.Random(1), 40_000
    found = Counter(popular.draw(source) for _ in range(drawn))
    for name, share in {"a": 5 / 40, "c": 5 / 40, "y": 30 / 40}.items():
        assert abs(found[name] / drawn - share) < 0.01, name
    assert found.keys() == {"a", "c", "y"}


def test_nothing_cannot_be_drawn_from() -> None:
    with pytest.raises(ValueError, match="nothing to draw from"):
        Popularity([(5.0, [])])
