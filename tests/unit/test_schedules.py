"""`@edna.schedule`: what can be declared, what is refused, and in which words."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from django.db.models import Q

import edna
from apps.websubmit.disguises import DeleteAccount
from edna import schedules
from edna.errors import SpecError, UnknownSchedule
from edna.spec import Disguise

DAY = datetime.timedelta(days=1)


def write(notice: edna.Notice) -> None:
    """Tell them,
    in a mail."""


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    schedules.unregister(write)


def declare(disguise: Any = DeleteAccount, **options: Any) -> schedules.Schedule:
    options = {"inactive_for": 365 * DAY, **options}
    assert edna.schedule(disguise, **options)(write) is write
    (made,) = [each for each in schedules.schedules().values() if each.notify is write]
    return made


def test_what_is_not_said_has_a_default() -> None:
    made = declare()
    assert made.name == "websubmit.delete-account"
    assert (made.inactive_days, made.notify_days, made.last_active) == (365, (), ("last_login",))
    assert (made.only, made.params, made.rate_per_second) == (Q(), {}, None)
    assert made.description == "Tell them, in a mail."


def test_everything_can_be_said() -> None:
    made = declare(
        name="shop.decay",
        notify_before=(30 * DAY, 7 * DAY),
        last_active=["last_login", "joined_on"],
        only=Q(is_admin=False),
        params={"lecture": 3},
        rate_per_second=2,
    )
    assert (made.name, made.notify_days, made.last_active) == ("shop.decay", (30, 7), ("last_login", "joined_on"))
    assert made.days_before_first == 335


def test_one_notice_needs_no_list_and_no_field_is_none() -> None:
    made = declare(notify_before=7 * DAY, last_active=None)
    assert (made.notify_days, made.last_active) == ((7,), ())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"disguise": "shop.decay"}, "takes a Disguise"),
        ({"name": "Shop Decay"}, "is no disguise name"),
        ({"inactive_for": 365}, "inactive_for takes whole days"),
        ({"inactive_for": datetime.timedelta(hours=36)}, "whole days"),
        ({"inactive_for": datetime.timedelta(0)}, "whole days"),
        ({"inactive_for": 30_000 * DAY}, "25,000"),
        ({"notify_before": (7 * DAY, 30 * DAY)}, "longest notice first"),
        ({"notify_before": (7 * DAY, 7 * DAY)}, "none twice"),
        ({"notify_before": (365 * DAY,)}, "shorter than inactive_for"),
        ({"notify_before": ("7 days",)}, "notify_before takes whole days"),
        ({"rate_per_second": 0}, "rate_per_second"),
        ({"rate_per_second": float("inf")}, "rate_per_second"),
        ({"rate_per_second": True}, "rate_per_second"),
        ({"only": {"is_admin": False}}, "only must be a Q"),
        ({"last_active": [7]}, "last_active names a field"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        declare(**options)
    assert write not in [each.notify for each in schedules.schedules().values()]


def test_a_disguise_without_a_name_needs_one() -> None:
    class Nameless(Disguise):
        pass

    with pytest.raises(SpecError, match="is no disguise name"):
        declare(Nameless)


def test_two_schedules_of_one_name_are_refused() -> None:
    declare()
    with pytest.raises(SpecError, match="Two schedules are called"):
        edna.schedule(DeleteAccount, inactive_for=DAY)(lambda notice: None)


def test_a_module_that_is_imported_again_does_no_harm() -> None:
    declare()
    assert declare(inactive_for=DAY).inactive_days == 1


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    declare()
    with pytest.raises(UnknownSchedule, match=r"websubmit\.delete-account"):
        schedules.get("nothing")


def test_a_notice_keeps_who_and_the_receipt_to_itself() -> None:
    notice = edna.Notice("applied", "shop.decay", "Bea", datetime.date(2030, 1, 1), 0, "edna1:shop.decay:abc")
    assert "Bea" not in repr(notice)
    assert "abc" not in repr(notice)
    with pytest.raises(AttributeError):
        notice.receipt = ""  # type: ignore[misc]
