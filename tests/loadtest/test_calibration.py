"""How the number of users for a level is found, on machines that are only a formula."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from loadtest.calibration import Calibration
from loadtest.scenarios import LEVELS


def proportional(users: int) -> float:
    return min(1.0, users * 0.011)


def bent(users: int) -> float:
    """The fuller, the longer everybody waits."""
    return 1 - 1 / (1 + users / 20)


def saturated(users: int) -> float:
    """Never as busy as the highest level asks for."""
    return min(0.8, users * 0.02)


@pytest.mark.parametrize("target", LEVELS.values())
@pytest.mark.parametrize("machine", [proportional, bent])
def test_the_level_is_met(machine: Callable[[int], float], target: float) -> None:
    users = Calibration(machine).users_for(target)
    assert machine(users) == pytest.approx(target, abs=0.03)


def test_what_was_tried_helps_with_the_next_level() -> None:
    tried: list[int] = []

    def machine(users: int) -> float:
        tried.append(users)
        return proportional(users)

    calibration = Calibration(machine)
    for target in LEVELS.values():
        calibration.users_for(target)
    assert len(tried) == len(set(tried)) <= 6


def test_a_site_that_never_gets_so_busy_is_as_busy_as_it_gets_with_few_users() -> None:
    users = Calibration(saturated).users_for(0.95)
    assert saturated(users) == 0.8
    assert users < 500


def test_a_machine_that_is_too_small_for_one_user_has_one() -> None:
    assert Calibration(lambda users: 1.0).users_for(0.2) == 1


def small(users: int) -> float:
    return min(1.0, users * 0.025)


@pytest.mark.parametrize("disturbed", [1, 2, 3])
def test_one_look_that_was_disturbed_is_not_as_busy_as_it_gets(disturbed: int) -> None:
    looks: list[int] = []

    def looked_at(users: int) -> float:
        looks.append(users)
        return small(users) / (2.6 if len(looks) == disturbed else 1.0)

    users = Calibration(looked_at).users_for(LEVELS["high"])
    assert small(users) == pytest.approx(LEVELS["high"], abs=0.06)


def test_a_site_that_never_gets_so_busy_is_asked_twice_at_most() -> None:
    looks: list[int] = []

    def looked_at(users: int) -> float:
        looks.append(users)
        return min(0.7, users * 0.1)

    assert Calibration(looked_at).users_for(LEVELS["high"]) == 8
    assert len(looks) == 3
