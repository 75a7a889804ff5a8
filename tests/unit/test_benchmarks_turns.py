"""Two checkouts in turns: both do the same, as often, and the ratio is of pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.turns import run

pytestmark = [pytest.mark.once, pytest.mark.thorough]


def test_the_ratio_is_the_median_of_the_ratios() -> None:
    """And not the ratio of the medians: of three rounds the machine was slow in one, for both."""
    here, then = [[2.0, 1.0], [30.0, 1.0], [3.0, 1.0]], [[4.0, 2.0], [40.0, 2.0], [4.0, 2.0]]
    line = run._line("delete", "3fc3c8e", here, then)
    assert line.split() == ["delete", "3fc3c8e", "3", "3.00", "4.00", "0.75", "1.00", "2.00", "0.50"]


def test_a_directory_is_a_checkout_already(tmp_path: Path) -> None:
    assert run.checkout(str(tmp_path)) == (tmp_path.name, tmp_path)


def test_a_commit_that_there_is_not_is_an_error() -> None:
    with pytest.raises(SystemExit, match="no commit"):
        run.checkout("no-such-commit")


def test_both_do_every_operation_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "SCALES", {"websubmit": {"users": 4, "lectures": 2, "questions": 2}})
    found = run.measure("websubmit", "sqlite", {"here": run.ROOT, "there": run.ROOT}, 2)
    times = {name: {checkout: len(each) for checkout, each in by.items()} for name, by in found.items()}
    often = dict.fromkeys(("here", "there"), 2)
    assert times == {
        "delete": often,
        "restore": often,
        "anonymise all": dict.fromkeys(often, 1),
        "edit under disguise": often,
        "delete after anonymise": often,
        "restore after anonymise": often,
    }
