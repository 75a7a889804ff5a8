"""A logged update is done again where it was made: to its own model, in its place among migrations, and never in half."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from edna.engine.forwarding import table_history
from edna.engine.forwarding.batch import Moving
from edna.engine.forwarding.replay_log import Replays, Update
from edna.engine.forwarding.table_history import History
from edna.records.diff import Removed

MIDNIGHT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
END = 2


@pytest.fixture(autouse=True)
def _history(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: Any = (None,) * END
    monkeypatch.setattr(table_history, "history", lambda _label: History(steps, {"0001_first": 1, "0002_second": END}))


def update(*, hour: int, stamp: str = "0001_first", model: str = "shop.post", where: Any = None, title: str) -> Update:
    made_at = MIDNIGHT + datetime.timedelta(hours=hour)
    return Update(model, stamp, made_at, where or {"id": [1]}, {"title": title})


def post() -> Moving:
    return Moving.of(Removed("shop.post", "0001_first", ("id",), ("id", "title"), [[1, "written"]]))


def titles(moving: Moving) -> list[Any]:
    return [row[1] for row in moving.rows()]


def test_an_update_is_done_before_the_migration_that_it_was_made_before() -> None:
    """Two servers, of which one has the new release already: its update is the earlier one, and for the later tables."""
    moving = post()
    ahead = update(hour=1, stamp="0002_second", title="by the new release")
    behind = update(hour=2, title="by the old release")
    replays = Replays([ahead, behind], MIDNIGHT, using="default")
    assert list(replays.follow(moving, position=1)) == []
    assert titles(moving) == ["by the old release"]
    assert list(replays.follow(moving, position=END)) == []
    assert titles(moving) == ["by the new release"]


def test_a_record_that_cannot_say_whether_an_update_means_it_is_stuck() -> None:
    """It lacks the column: neither the old title nor the new one is surely right."""
    moving = post()
    replays = Replays([update(hour=1, where={"colour": ["red"]}, title="[moderated]")], MIDNIGHT, using="default")
    assert list(replays.follow(moving, position=END)) == [(0, "colour")]


def test_an_update_of_another_model_of_the_application_passes_by() -> None:
    """Rows of both have the same keys and columns."""
    moving = post()
    replays = Replays([update(hour=1, model="shop.draft", title="[moderated]")], MIDNIGHT, using="default")
    assert list(replays.follow(moving, position=END)) == []
    assert titles(moving) == ["written"]
