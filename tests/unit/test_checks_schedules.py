"""What `manage.py check` says about schedules."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.core import checks
from django.db.models import Q
from django.test.utils import override_settings

import edna
from apps.websubmit.disguises import DeleteAccount
from apps.websubmit.models import Answer, User
from edna import schedules
from edna.operations.checks import check_schedules
from edna.spec import Disguise, Modify, Param, Remove


def write(notice: edna.Notice) -> None:
    """Tell them."""


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    schedules.unregister(write)


def found(disguise: Any = DeleteAccount, **options: Any) -> list[str]:
    options = {"name": "tests.checked", "inactive_for": datetime.timedelta(days=365), **options}
    edna.schedule(disguise, **options)(write)
    messages = [each for each in check_schedules() if each.obj == "the schedule tests.checked"]
    assert all(each.hint for each in messages)
    return [str(each.id) for each in messages]


class Redact(Disguise):
    """Empty one lecture's answers."""

    name = "tests.checked-redact"
    params = {"lecture": int}
    transformations = [Modify(Answer, owner="author", set={"text": ""}, where=Q(question__lecture=Param("lecture")))]


class InTheirHands(Disguise):
    """Take the account."""

    name = "tests.checked-client"
    locators = "client"
    transformations = [Remove(User)]


@pytest.fixture
def _registered() -> Iterator[None]:
    for disguise in (Redact, InTheirHands):
        edna.register(disguise)
    yield
    for disguise in (Redact, InTheirHands):
        edna.unregister(disguise)


def test_a_sound_schedule_is_passed_over() -> None:
    assert found(only=Q(is_admin=False), last_active=["last_login", "joined_on"]) == []
    assert found(last_active=None) == []


def test_the_checks_are_run_with_the_others() -> None:
    edna.schedule(DeleteAccount, inactive_for=datetime.timedelta(days=1), last_active="email")(write)
    assert "edna.E403" in [each.id for each in checks.run_checks(tags=["edna"])]


@pytest.mark.usefixtures("_registered")
def test_parameters_must_be_given() -> None:
    assert found(Redact) == ["edna.E402"]
    assert found(Redact, params={"lecture": "3"}) == ["edna.E402"]
    assert found(Redact, params={"lecture": 3}) == []


@pytest.mark.usefixtures("_registered")
def test_nobody_would_have_the_receipt_in_mode_client() -> None:
    assert found(InTheirHands) == ["edna.W401"]
    with override_settings(EDNA={**settings.EDNA, "LOCATORS": "client"}):
        assert found() == ["edna.W401"]


def test_the_disguise_must_be_registered() -> None:
    assert found(Redact, params={"lecture": 3}) == ["edna.E400"]


@pytest.mark.parametrize("name", ["email", "answers", "no_such_field", "is_admin"])
def test_last_active_must_be_a_date(name: str) -> None:
    assert found(last_active=name) == ["edna.E403"]


def test_somebody_must_see_who_was_here() -> None:
    without = [each for each in settings.MIDDLEWARE if each != "edna.middleware.EdnaMiddleware"]
    with override_settings(MIDDLEWARE=without):
        assert found(last_active=None) == ["edna.W404"]
        assert found() == []


def test_only_must_be_a_condition_on_the_principal() -> None:
    assert found(only=Q(no_such_field=1)) == ["edna.E405"]
