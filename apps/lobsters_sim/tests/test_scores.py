"""How the site ranks: what raises a story or a comment, and what never matters."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from apps.lobsters_sim.scores import WINDOW_SECONDS, confidence, hotness

MOMENT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def heat(**changes: Any) -> Decimal:
    return hotness(**{"created_at": MOMENT, "upvotes": 10, "downvotes": 1, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "hotter",
    [
        {"upvotes": 20},
        {"downvotes": 0},
        {"comment_points": 8},
        {"tag_modifiers": [0.5]},
        {"by_author": True},
        {"created_at": MOMENT + datetime.timedelta(hours=1)},
    ],
)
def test_what_moves_a_story_up(hotter: dict[str, Any]) -> None:
    assert heat(**hotter) < heat()


def test_ten_times_the_points_make_up_for_one_window() -> None:
    older = MOMENT - datetime.timedelta(seconds=WINDOW_SECONDS)
    assert heat(upvotes=999, downvotes=0, created_at=older) == pytest.approx(
        heat(upvotes=99, downvotes=0), abs=Decimal("1e-6")
    )


def test_comments_never_count_more_than_the_storys_own_votes() -> None:
    assert heat(comment_points=10**6) == heat(comment_points=20)


def test_below_a_story_with_a_malus_only_what_speaks_against_it_counts() -> None:
    assert heat(tag_modifiers=[-0.5], comment_points=8) == heat(tag_modifiers=[-0.5])
    assert heat(tag_modifiers=[-0.5], comment_points=-8) > heat(tag_modifiers=[-0.5])


def test_a_score_of_zero_or_less_does_not_lift_a_story() -> None:
    assert heat(upvotes=1, downvotes=1) == heat(upvotes=5, downvotes=5)
    assert heat(upvotes=1, downvotes=9) > heat(upvotes=1, downvotes=1)


def test_hotness_fits_its_column() -> None:
    exponent = heat(upvotes=10**7).as_tuple().exponent
    assert isinstance(exponent, int)
    assert exponent >= -10


def test_confidence() -> None:
    assert confidence(0, 0) == 0
    assert confidence(0, 5) == 0
    assert confidence(1, 0) < confidence(10, 0) < confidence(1000, 0) < 1
    assert confidence(10, 5) < confidence(10, 0)
    # Of the 80 % of all such samples that lie within the interval, none is below.
    assert confidence(90, 10) == pytest.approx(Decimal("0.855"), abs=Decimal("0.002"))
