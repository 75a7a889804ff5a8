"""The soak: its verdicts on made-up notes, its clock, and a short one of everything on a real database."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.environment import without_settings
from benchmarks.kit.goals import NO, NOT_MEASURED, YES
from benchmarks.kit.percentiles import surely_between
from benchmarks.soak import judging, report
from benchmarks.soak.judging import Times
from benchmarks.soak.traffic import ROLES, Act
from benchmarks.soak.worker import work

pytestmark = pytest.mark.thorough
SPAN = Times(0.0, 400.0)
Change = Callable[[dict[str, Any], float], None]


def look(at: float) -> dict[str, Any]:
    process = {"memory": 80_000_000, "descriptors": 6, "threads": 1}
    return {
        "at": at,
        "processes": {"members": dict(process), "database": dict(process)},
        "connections": 4,
        "bytes": {"edna_bag": 1_000_000, "edna_auditentry": 10_000, "users": 5_000_000},
        "rows": {"edna_bag": 100, "edna_auditentry": 10},
        "cpu": {"members": at / 10},
        "machine": at / 5,
    }


def looks(change: Change = lambda one, at: None) -> list[dict[str, Any]]:
    found = [look(float(at)) for at in range(0, 400, 5)]
    for one in found:
        change(one, one["at"])
    return found


def samples(ms: Callable[[float], float], *, act: str = "leave", every: float = 0.5) -> list[dict[str, Any]]:
    times = [number * every for number in range(round(400 / every))]
    return [{"at": at, "act": act, "ms": ms(at), "late_ms": 0.0, "remark": "", "wrong": ""} for at in times]


def leaks_memory(one: dict[str, Any], at: float) -> None:
    one["processes"]["members"]["memory"] += round(at * 20_000)


def leaks_descriptors(one: dict[str, Any], at: float) -> None:
    one["processes"]["members"]["descriptors"] += int(at // 100)


def leaks_connections(one: dict[str, Any], at: float) -> None:
    one["connections"] += int(at // 100)


def keeps_rows(one: dict[str, Any], at: float) -> None:
    one["rows"]["edna_bag"] += int(at)


def keeps_bytes(one: dict[str, Any], at: float) -> None:
    one["bytes"]["users"] += int(at * 1000)


def test_what_stays_as_it_is_is_flat() -> None:
    told = judging.growth(looks(), SPAN)
    assert len(told) == 7
    assert {each.met for each in told} == {YES}


@pytest.mark.parametrize(
    ("change", "about"),
    [
        (leaks_memory, "members: memory, MB"),
        (leaks_descriptors, "members: descriptors"),
        (leaks_connections, "connections to the database"),
        (keeps_rows, "rows in edna's tables"),
        (keeps_bytes, "the application's tables, MB"),
    ],
)
def test_what_grows_is_told(change: Change, about: str) -> None:
    told = judging.growth(looks(change), SPAN)
    assert [each.about for each in told if each.met == NO] == [about]


def test_journals_and_the_databases_cache_may_grow() -> None:
    def change(one: dict[str, Any], at: float) -> None:
        one["rows"]["edna_auditentry"] += int(at)
        one["bytes"]["edna_auditentry"] += int(at * 1000)
        one["processes"]["database"]["memory"] += int(at * 1_000_000)

    assert {each.met for each in judging.growth(looks(change), SPAN)} == {YES}


def test_what_comes_and_goes_within_a_quarter_is_flat() -> None:
    def change(one: dict[str, Any], at: float) -> None:
        one["rows"]["edna_bag"] += int(at % 50)

    assert {each.met for each in judging.growth(looks(change), SPAN)} == {YES}


def test_times_that_rise_are_told_and_their_own_noise_is_not() -> None:
    def noisy(at: float) -> float:
        return 10.0 + (at // 20 % 5)

    def rising(at: float) -> float:
        return 10.0 + at / 20

    same, _ = judging.times(samples(noisy), SPAN)
    assert (same.about, same.met) == ("leave, p50, ms", YES)
    slower, _ = judging.times(samples(rising), SPAN)
    assert slower.met == NO


def test_no_percentile_of_a_few() -> None:
    (told,) = judging.times(samples(lambda at: 10.0, every=10), SPAN)
    assert (told.about, told.met) == ("leave, p50, ms", NOT_MEASURED)
    often = judging.times(samples(lambda at: 10.0, every=0.05), SPAN)
    assert [each.about for each in often] == ["leave, p50, ms", "leave, p95, ms", "leave, p99, ms"]


def test_where_blocks_have_too_few_whole_quarters_are_compared_by_their_intervals() -> None:
    def noisy(at: float) -> float:
        return 10.0 + at % 14

    def rising(at: float) -> float:
        return noisy(at) + at / 20

    (same,) = judging.times(samples(noisy, every=2), SPAN)
    assert (same.about, same.met) == ("leave, p50, ms", YES)
    (slower,) = judging.times(samples(rising, every=2), SPAN)
    assert slower.met == NO


def test_a_percentile_is_surely_between_two_samples() -> None:
    """As tables of such ranks have it: of 100 values, the median is between the 40th and the 61st."""
    assert surely_between([float(number) for number in range(100, 0, -1)], 50) == (40.0, 61.0)
    assert surely_between([1.0, 2.0, 3.0], 99) == (2.0, 3.0)


def test_a_slope_is_that_of_the_line() -> None:
    assert judging.slope([(0.0, 1.0), (10.0, 21.0), (20.0, 41.0)]) == pytest.approx(2.0)
    assert judging.slope([(3.0, 1.0)]) == 0.0


def test_acts_are_done_at_their_rates_and_one_that_fails_ends_nothing() -> None:
    """A soak that should be over already: nobody sleeps, and everything is late."""
    done: list[str] = []
    noted: list[dict[str, Any]] = []

    def fail() -> None:
        raise ValueError("no")

    acts = [
        Act("often", 2.0, lambda: done.append("often")),
        Act("remarks", 1.0, lambda: "nobody"),
        Act("fails", 1.0, fail),
    ]
    work(acts, noted.append, began=0.0, seconds=10.0, rate=0.5)
    assert len(done) == 10
    assert [line["at"] for line in noted] == sorted(line["at"] for line in noted)
    assert {line["remark"] for line in noted if line["act"] == "remarks"} == {"nobody"}
    assert [line["wrong"] for line in noted if line["act"] == "fails"] == ["ValueError: no"] * 5
    assert all(line["late_ms"] > 0 for line in noted)


RUN = {
    "database": "mariadb",
    "server": "MariaDB",
    "command": "python -m benchmarks.soak",
    "machine": "one",
    "processors": 2,
    "python": "3.11",
    "people": "4 members",
    "began": 0.0,
    "seconds": 400.0,
    "warm_seconds": 0.0,
    "differences": [],
}


def test_a_report_has_verdicts_and_pictures(tmp_path: Path) -> None:
    for name, lines in (("samples-members", samples(lambda at: 10.0)), ("looks", looks())):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (tmp_path / "soak.json").write_text(json.dumps(RUN))
    assert report.write(tmp_path)
    text = (tmp_path / "report.md").read_text()
    assert "| members: memory, MB | 80 | 80 | 81.6 | yes |" in text
    assert "Nothing." in text
    pictures = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert [f"({name})" in text for name in pictures] == [True] * 6


def test_each_thing_that_went_wrong_is_shown_and_not_met() -> None:
    made, run = samples(lambda at: 10.0), {**RUN, "differences": ["users is not what it was"]}
    made[5]["wrong"] = "DatabaseBusy: five tries"
    told = report.verdicts(run, made, looks())
    assert [each.about for each in told if each.met == NO] == ["acts that went wrong", "what is not as it was"]
    text = report.text(run, made, looks(), told, {})
    assert "- 2.5 s, leave: DatabaseBusy: five tries" in text
    assert "- afterwards: users is not what it was" in text


@pytest.mark.slow
@pytest.mark.only_on("postgresql")
def test_everything_goes_on_together_and_everybody_is_back(tmp_path: Path) -> None:
    """What it measures says nothing here: whether anything grew is not asked."""
    name = "postgres"
    asked = ["--seconds=5", "--warm-seconds=1", "--scale=0.05", f"--database={name}", f"--output={tmp_path}"]
    environment = without_settings() | {"BENCH_HASHES": "quick"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *asked], env=environment, capture_output=True, text=True, timeout=600
    )
    assert (tmp_path / name / "report.md").exists(), done.stdout + done.stderr
    run, made, seen = report.read(tmp_path / name)
    assert run["differences"] == []
    assert [each["wrong"] for each in made if each["wrong"]] == []
    assert set(judging.operations(made)) >= {
        "restore a member's account",
        "restore a student's account",
        "replace a key",
        "edna_sweep",
    }
    assert set(seen[-1]["processes"]) == {*ROLES, "gunicorn", "database"}
