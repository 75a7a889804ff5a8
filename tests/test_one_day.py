"""A test that begins before midnight and ends after it sees one day."""

from __future__ import annotations

import datetime

import pytest

from tests.waiting import on_one_day

EVENING = datetime.datetime(2026, 11, 25, 23, 59, 59, tzinfo=datetime.UTC)


@pytest.mark.parametrize("zone", [datetime.UTC, None])
def test_the_day_ends_when_the_test_does(zone: datetime.tzinfo | None) -> None:
    moments = iter(
        [EVENING.replace(tzinfo=zone) + datetime.timedelta(seconds=seconds) for seconds in (0, 0.5, 2, 3600)]
    )
    now = on_one_day(lambda: next(moments))
    assert now() == EVENING.replace(tzinfo=zone) + datetime.timedelta(seconds=0.5)
    assert [now().date() for _ in range(2)] == [EVENING.date()] * 2
