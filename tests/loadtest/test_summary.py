"""What a summary says of runs whose answers are known, and that it says nothing where it cannot know."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchmarks.kit.percentiles import enough, nearest_rank
from loadtest import samples as sampling
from loadtest.answers import answer
from loadtest.estimates import Pair, Stretch, loss, ranks_again, ratio
from loadtest.recorded import Machine, Part, Run
from loadtest.samples import DISGUISE, NORMAL, REFUSED, REVEAL, Phase, Sample
from loadtest.scenarios import Site, Variant
from loadtest.summary import pairs_of, summarise, while_running
from loadtest.summary import summary_of as summary_of_run
from tests.loadtest.made_up import BEGAN, Effect, MadeUp, scenario

pytestmark = pytest.mark.thorough

PACED = "a pair a second"
LOOPING = Variant("looping")
HEAVIEST = Variant("the heaviest once a minute", size="heaviest", interval_seconds=60.0)
MANY = Variant("30 disguisers", disguisers=30)
LIMITED = Site("limited", {"EDNA_REQUEST_RATE": "2"})


@pytest.fixture
def summary_of(tmp_path: Path) -> Callable[[MadeUp], dict[str, Any]]:
    return lambda made_up: summarise(made_up.write(tmp_path))


def only(summary: dict[str, Any]) -> dict[str, Any]:
    [part] = summary["parts"]
    [variant] = part["variants"]
    found: dict[str, Any] = variant
    return found


def goal_about(summary: dict[str, Any], words: str, site: str = "as shipped") -> dict[str, Any]:
    found: dict[str, Any]
    [found] = [goal for goal in summary["goals"] if words in goal["goal"] and goal["site"] in (site, "all")]
    return found


def part_of(samples: list[Sample], phases: list[Phase], looks: list[dict[str, Any]] | None = None) -> Part:
    facts = {"site": "as shipped", "level": "medium"}
    return Part(facts, sorted(samples), phases, Machine(looks or []), {}, {})


# Percentiles


def test_a_percentile_is_the_one_of_the_samples_whatever_their_order() -> None:
    source = random.Random(3)
    for count in (1, 2, 7, 100, 1001):
        values = [source.expovariate(0.01) for _ in range(count)]
        for percent in (0.1, 50, 95, 99, 100):
            ordered = sorted(values)
            reached = [each for each in ordered if bisect_right(ordered, each) >= count * percent / 100]
            assert nearest_rank(np.array(values), percent) == reached[0]


@pytest.mark.parametrize(("percent", "least"), [(50, 20), (95, 200), (99, 1000)])
def test_ten_values_must_lie_beyond_a_percentile(percent: float, least: int) -> None:
    assert enough(least, percent)
    assert not enough(least - 1, percent)


def test_percentiles_of_known_latencies(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(), {PACED: Effect(slower=1.1)}))
    variant, baseline = only(summary), summary["parts"][0]["baseline"]
    assert [baseline[f"p{percent}_ms"] for percent in (50, 95, 99)] == [50.0, 95.0, 99.0]
    assert variant["measured"]["p99_ms"] == pytest.approx(108.9)
    assert variant["p99_ratio"]["value"] == pytest.approx(1.1)
    assert baseline["max_ms"] == 100.0


def test_a_p99_of_fewer_than_a_thousand_requests_is_not_told(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    # 12 a second in 2 phases of 20 s: 480.
    summary = summary_of(MadeUp(scenario(), {PACED: Effect()}, per_second=12))
    variant = only(summary)
    assert variant["measured"]["n"] == 480
    assert variant["measured"]["p99_ms"] is None
    assert variant["measured"]["p95_ms"] is not None
    assert variant["p99_ratio"]["value"] is None
    goal = goal_about(summary, "p99")
    assert (goal["met"], goal["reached"]) == ("not measured", None)
    assert "480" in goal["why"]


# Throughput and its loss


@pytest.mark.parametrize(("lost", "met"), [(0.0, "yes"), (0.03, "yes"), (0.04, "no")])
def test_a_known_loss(lost: float, met: str, summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(), {PACED: Effect(loss=lost)}))
    estimate = only(summary)["loss"]
    assert estimate["value"] == pytest.approx(lost)
    assert estimate["low"] == pytest.approx(lost)
    assert [pair["value"] for pair in estimate["pairs"]] == pytest.approx([lost, lost])
    goal = goal_about(summary, "Throughput")
    assert (goal["limit"], goal["met"]) == (3.0, met)
    assert goal["reached"] == pytest.approx(lost * 100)


def test_the_machines_drift_is_not_taken_for_a_loss(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    """Everything becomes slower by a fifth in 100 s; beside the baselines before and after it a phase has lost nothing."""
    summary = summary_of(MadeUp(scenario(), {PACED: Effect()}, drift=0.002, rounds=2, per_second=500))
    assert only(summary)["loss"]["value"] == pytest.approx(0.0, abs=0.002)
    assert (
        only(summary)["loss"]["pairs"][0]["baseline_per_second"]
        > only(summary)["loss"]["pairs"][1]["baseline_per_second"]
    )


def test_the_interval_holds_the_truth_nearly_always() -> None:
    """Requests that come by chance, of which 5 % are lost: the interval must not be narrower than chance is."""
    source = np.random.default_rng(5)

    def stretch(began: float, rate: float) -> Stretch:
        return Stretch(began, 20.0, [np.ones(source.poisson(rate)) for _ in range(20)])

    held = 0
    for _ in range(40):
        pairs = [
            Pair(number, [stretch(number, 100.0), stretch(number + 0.5, 100.0)], stretch(number + 0.2, 95.0))
            for number in range(3)
        ]
        estimate = loss(pairs)
        held += estimate["low"] <= 0.05 <= estimate["high"]
        assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert held >= 33


def test_throughput_counts_what_was_completed_in_a_phase_and_latency_what_began_in_it() -> None:
    phases = [Phase("A", 1, 0.0, 10.0), Phase("b", 1, 12.0, 22.0)]
    across = Sample(9.5, NORMAL, "page", 4000.0, 200)  # began in A, is done in b
    inside = [Sample(second + 0.1, NORMAL, "page", 1.0, 200) for second in range(10)]
    in_the_gap = Sample(10.5, NORMAL, "page", 9000.0, 200)
    part = part_of([across, *inside, in_the_gap], phases)
    [by_completion] = pairs_of(part, "b", completed=True)
    [by_beginning] = pairs_of(part, "b")
    assert sum(map(len, by_completion.baseline[0].bins)) == 10
    assert [float(value) for values in by_completion.variant.bins for value in values] == [4000.0, 9000.0]
    assert sum(map(len, by_beginning.baseline[0].bins)) == 11
    assert sum(map(len, by_beginning.variant.bins)) == 0


def run_of(samples: list[Sample]) -> Run:
    """Ten seconds of baseline, ten of the pace."""
    phases = [Phase("A", 1, 0.0, 10.0), Phase(PACED, 1, 10.0, 20.0)]
    looks = [{"at": at, "cpu": {"gunicorn": at / 2}, "busy": at / 2, "database": {}} for at in (0.0, 20.0)]
    return Run({"scenario": asdict(scenario()), "processors": 2, "quick": False}, [part_of(samples, phases, looks)])


def test_requests_that_are_not_done_in_time_are_lost() -> None:
    """As many are begun as before, but half of them take until long after the phase."""
    before = [Sample(tenth / 10, NORMAL, "page", 5.0, 200) for tenth in range(100)]
    slower = [Sample(10 + tenth / 10, NORMAL, "page", 5.0 if tenth % 2 else 30_000.0, 200) for tenth in range(100)]
    assert only(summary_of_run(run_of(before + slower)))["loss"]["value"] == pytest.approx(0.5)


def test_what_cannot_be_computed_is_left_open_and_not_a_number_that_json_does_not_know() -> None:
    """Nothing was done in the baseline: there is nothing to lose."""
    summary = summary_of_run(run_of([Sample(11.0, NORMAL, "page", 5.0, 200)]))
    json.dumps(summary, allow_nan=False)
    assert only(summary)["loss"]["value"] is None
    assert goal_about(summary, "Throughput")["met"] == "not measured"


def test_a_baseline_between_two_phases_counts_once() -> None:
    shared = Stretch(5.0, 20.0, [np.arange(600.0)])
    others = [Stretch(began, 20.0, [np.arange(600.0)]) for began in (0.0, 10.0)]
    variant = Stretch(2.0, 20.0, [np.arange(600.0)])
    estimate = ratio([Pair(1, [others[0], shared], variant), Pair(2, [shared, others[1]], variant)], 99)
    assert estimate["n"] == (1800, 1200)
    assert estimate["value"] == 1.0


def test_a_variant_is_compared_with_the_baselines_beside_it_only(
    summary_of: Callable[[MadeUp], dict[str, Any]],
) -> None:
    variants = (Variant("first", interval_seconds=1.0), Variant("second", interval_seconds=1.0))
    summary = summary_of(MadeUp(scenario(variants=variants), {"first": Effect(loss=0.1), "second": Effect(loss=0.2)}))
    found = {variant["label"]: variant for variant in summary["parts"][0]["variants"]}
    assert found["first"]["loss"]["value"] == pytest.approx(0.1)
    assert found["second"]["loss"]["value"] == pytest.approx(0.2)
    # A b A c A b A c A: each stands beside four of the five baselines.
    assert [found[label]["baseline"]["phases"] for label in ("first", "second")] == [4, 4]


# Disguisers


def test_a_pace_that_did_not_come_about_judges_nothing(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(), {PACED: Effect(loss=0.01, pairs_per_second=0.5)}))
    goal = goal_about(summary, "Throughput")
    assert goal["met"] == "not measured"
    assert goal["reached"] == pytest.approx(1.0)
    assert "0.50 pairs a second" in goal["why"]


def test_half_the_pace_and_still_too_much_lost_is_not_met(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(), {PACED: Effect(loss=0.2, pairs_per_second=0.5)}))
    assert goal_about(summary, "Throughput")["met"] == "no"


@pytest.mark.parametrize(("lost", "met"), [(0.05, "yes"), (0.2, "no")])
def test_looping_disguisers_may_cost_what_they_use(
    lost: float, met: str, summary_of: Callable[[MadeUp], dict[str, Any]]
) -> None:
    """Four pairs a second of 0.05 s each, on two processors: a tenth."""
    effect = Effect(loss=lost, pairs_per_second=4.0, cpu_per_pair=0.05)
    summary = summary_of(MadeUp(scenario(variants=(LOOPING,)), {"looping": effect}))
    share = only(summary)["cpu_share"]
    assert share["alone_seconds_per_pair"] == pytest.approx(0.05, rel=0.03)
    assert share["alone"] == pytest.approx(0.1, rel=0.03)
    assert share["difference"] == pytest.approx(0.1, rel=0.1)
    goal = goal_about(summary, "CPU share")
    assert goal["limit"] == pytest.approx(10.0, rel=0.03)
    assert goal["met"] == met


def test_without_a_phase_alone_the_share_is_the_difference(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    effect = Effect(loss=0.05, pairs_per_second=4.0, cpu_per_pair=0.05)
    summary = summary_of(MadeUp(scenario(variants=(LOOPING,)), {"looping": effect}, alone=False))
    assert only(summary)["cpu_share"]["alone"] is None
    assert goal_about(summary, "CPU share")["limit"] == pytest.approx(10.0, rel=0.1)


@pytest.mark.parametrize("percent", [0.1, 50, 95, 99, 100])
def test_what_is_drawn_again_has_the_ranks_that_it_would_have_if_it_were_put_together(percent: float) -> None:
    class Watched(Stretch):
        drawn: ClassVar[list[Any]] = []

        def again(self, source: np.random.Generator, times: int) -> Any:
            self.drawn.append(super().again(source, times))
            return self.drawn[-1]

    source = np.random.default_rng(3)
    Watched.drawn.clear()
    bins = [[source.exponential(10, count).round(1) for count in source.integers(0, 9, 7)] for _ in range(3)]
    stretches = [Watched(0.0, 7.0, each) for each in bins]
    draws = [source.integers(0, 400, count) for count in (350, 500, 260)]
    together: list[list[float]] = [[] for _ in range(400)]
    found = ranks_again(list(zip(stretches, draws, strict=True)), percent, source)
    for stretch, its_draws, rows in zip(stretches, draws, Watched.drawn, strict=True):
        for draw, places in zip(its_draws, rows, strict=True):
            together[draw] += [value for place in places for value in stretch.bins[place]]
    assert any(not values for values in together)
    assert np.array_equal(found, [nearest_rank(np.array(values), percent) for values in together], equal_nan=True)


def test_a_few_pairs_do_not_make_a_share(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    """Four pairs alone, of which one may be half done: the difference is taken in their place."""
    effect = Effect(pairs_per_second=0.2, cpu_per_pair=0.5)
    share = only(summary_of(MadeUp(scenario(variants=(LOOPING,)), {"looping": effect})))["cpu_share"]
    assert share["alone_pairs"] == 4
    assert share["alone"] is None
    assert share["difference"] == pytest.approx(0.05, rel=0.1)


def test_a_phase_of_some_seconds_has_an_interval_too() -> None:
    pair = Pair(1, [Stretch(0.0, 3.0, [np.ones(count) for count in (8, 12, 10)])], Stretch(4.0, 3.0, [np.ones(9)] * 3))
    estimate = loss([pair])
    assert estimate["low"] < estimate["value"] < estimate["high"]


def test_while_it_runs_is_what_overlaps() -> None:
    phases = [Phase("A", 1, 0.0, 10.0), Phase("b", 1, 10.0, 30.0)]
    pair = [Sample(15.0, DISGUISE, "delete", 1000.0, 200, 6000), Sample(18.0, REVEAL, "restore", 2000.0, 200, 6000)]
    expected = {
        "ends when it begins": (14.0, 900.0, False),
        "runs into it": (14.9, 200.0, True),
        "inside": (15.5, 10.0, True),
        "around it": (14.0, 3000.0, True),
        "between the two": (16.5, 100.0, False),
        "out of the reveal": (19.9, 500.0, True),
        "after": (20.5, 100.0, False),
    }
    normal = [Sample(at, NORMAL, name, took, 200) for name, (at, took, _) in expected.items()]
    part = part_of([*pair, *normal], phases)
    running = {sample.name for sample, found in zip(part.samples, while_running(part), strict=True) if found}
    assert running - {"delete", "restore"} == {name for name, (_, _, overlaps) in expected.items() if overlaps}


def test_the_heaviest_is_judged_while_it_runs(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    effect = Effect(slower=1.6, pairs_per_second=0.1, rows=(6000,), pair_ms=100.0)
    summary = summary_of(MadeUp(scenario(variants=(HEAVIEST,)), {HEAVIEST.label: effect}))
    goal = goal_about(summary, "heaviest")
    assert (goal["limit"], goal["met"]) == (1.5, "no")
    assert goal["reached"] == pytest.approx(1.6, rel=0.02)
    running = only(summary)["while_running"]["n"]
    assert 1000 <= running < only(summary)["measured"]["n"]
    assert goal["n"] == running


def test_pairs_refusals_and_latency_by_rows(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    effect = Effect(pairs_per_second=2.0, rows=(5, 50, 500), refused_per_second=3)
    variant = only(summary_of(MadeUp(scenario(), {PACED: effect})))
    assert variant["pairs_per_second"] == pytest.approx(2.0, abs=0.1)
    assert variant["refused"] == 3 * 40
    assert variant["disguise"]["n"] == 80
    by_rows = {tuple(some["rows"]): some for some in variant["disguise"]["by_rows"]}
    assert list(by_rows) == [(1, 9), (10, 99), (100, 999)]
    assert sum(some["n"] for some in by_rows.values()) == 80
    # 100 ms * (1 + rows / 100) / 1.81
    assert by_rows[100, 999]["p50_ms"] == pytest.approx(331.5, abs=0.1)


def test_lock_waits_and_processors_are_those_of_the_phases(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(), {PACED: Effect(pairs_per_second=2.0, cpu_per_pair=0.1)}))
    variant, baseline = only(summary), summary["parts"][0]["baseline"]
    assert sum(baseline["processors_used"].values()) == pytest.approx(0.5, rel=0.02)
    assert sum(variant["measured"]["processors_used"].values()) == pytest.approx(0.7, rel=0.05)
    assert variant["measured"]["database"]["Innodb_row_lock_waits"] == pytest.approx(2.0, rel=0.05)
    assert baseline["database"]["Innodb_row_lock_waits"] == pytest.approx(0.0, abs=0.05)


def test_a_quick_run_judges_nothing_but_whether_all_is_right(tmp_path: Path) -> None:
    directory = MadeUp(scenario(), {PACED: Effect(loss=0.2, slower=3.0)}).write(tmp_path)
    file = directory / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"quick": True}))
    summary = summarise(directory)
    assert goal_about(summary, "Throughput")["met"] == "not measured"
    assert goal_about(summary, "Throughput")["reached"] == pytest.approx(20.0)
    assert goal_about(summary, "p99")["met"] == "not measured"
    assert goal_about(summary, "Nothing wrong")["met"] == "yes"


# The rate limit


def test_edits_with_and_without_the_rate_limit(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    """Judged with the limit only; without it there is nothing but the loss to judge."""
    effects = {("as shipped", MANY.label): Effect(slower=20.0), ("limited", MANY.label): Effect(slower=2.0)}
    summary = summary_of(MadeUp(scenario(variants=(MANY,), sites=(Site(), LIMITED)), effects))
    edits = goal_about(summary, "edits", site="limited")
    assert (edits["limit"], edits["met"]) == (3.0, "yes")
    assert edits["reached"] == pytest.approx(2.0, rel=0.02)
    assert goal_about(summary, "over 1.5 s", site="limited")["met"] == "yes"
    assert not [goal for goal in summary["goals"] if "edits" in goal["goal"] and goal["site"] == "as shipped"]
    assert summary["parts"][0]["variants"][0]["measured"]["slow"] > 0


def test_a_slow_request_that_the_baseline_has_not_is_not_met(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario(variants=(MANY,), sites=(LIMITED,)), {MANY.label: Effect(slower=16.0)}))
    goal = goal_about(summary, "over 1.5 s", site="limited")
    assert goal["met"] == "no"
    assert goal["why"].endswith("in the baseline 0 of 6,000")
    assert goal["reached"] == only(summary)["measured"]["slow"]


# What was wrong


def test_a_run_that_is_right_has_not_failed(summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    summary = summary_of(MadeUp(scenario()))
    assert summary["failed"] == []
    assert goal_about(summary, "Nothing wrong")["met"] == "yes"


@pytest.mark.parametrize("field", ["wrong", "differences"])
def test_what_was_wrong_fails_the_run(field: str, summary_of: Callable[[MadeUp], dict[str, Any]]) -> None:
    told: dict[str, Any] = {field: ["an answer did not come back"] * 2}
    summary = summary_of(replace(MadeUp(scenario()), **told))
    assert summary["failed"] == ["as shipped, medium load: an answer did not come back (2 times)"]
    assert goal_about(summary, "Nothing wrong")["met"] == "no"
    assert answer(summary).startswith("The run failed")


def test_a_5xx_fails_the_run_and_is_in_no_percentile(tmp_path: Path) -> None:
    directory = MadeUp(scenario()).write(tmp_path)
    file = directory / "as-shipped-medium" / "samples.jsonl.gz"
    broken = Sample(BEGAN + 1, NORMAL, "read answers", 99_000.0, 500, 0, "GET read answers gave 500")
    sampling.write(file, [*sampling.read(file), broken])
    summary = summarise(directory)
    assert summary["failed"] == ["as shipped, medium load: 1 answers with status 500 or above"]
    assert summary["parts"][0]["baseline"]["max_ms"] == 100.0
    assert summary["parts"][0]["baseline"]["completed"] == 6000


def test_somebody_who_is_still_away_fails_the_run(tmp_path: Path) -> None:
    directory = MadeUp(scenario()).write(tmp_path)
    file = directory / "as-shipped-medium" / "driver.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"away": 1}))
    assert summarise(directory)["failed"] == ["as shipped, medium load: 1 people were still away at the end"]


# Little


def test_a_run_without_disguisers_requests_or_database_is_summed_up_all_the_same(tmp_path: Path) -> None:
    """Workers disguise without any request; and a summary is JSON, which knows no NaN."""
    decay = Variant("decay runs", what="decay")
    directory = MadeUp(
        scenario(variants=(decay,)), {"decay runs": Effect(pairs_per_second=0.0)}, alone=False, seconds=2, per_second=3
    ).write(tmp_path)
    summary = summarise(directory)
    json.dumps(summary, allow_nan=False)
    assert only(summary)["disguise"]["n"] == 0
    assert [goal["variant"] for goal in summary["goals"]] == ["all"]


def test_refused_requests_are_not_normal_ones() -> None:
    phases = [Phase("A", 1, 0.0, 10.0)]
    part = part_of([Sample(1.0, REFUSED, "delete account", 2.0, 429), Sample(2.0, NORMAL, "page", 3.0, 200)], phases)
    assert part.of(NORMAL).sum() == 1
    assert part.of(REFUSED).sum() == 1


@pytest.mark.parametrize(("heavier", "is_said"), [(1.0, True), (1.9, True), (2.1, False), (0.1, False)])
def test_a_share_is_only_of_pairs_that_are_about_as_heavy(heavier: float, is_said: bool, tmp_path: Path) -> None:
    """A few people have most of the rows: what a disguiser takes alone is no measure for others on whom the lot fell."""
    looping = Variant("looping", disguisers=4)
    effect = Effect(loss=0.05, pairs_per_second=4.0, cpu_per_pair=0.05, rows=(1000,))
    MadeUp(scenario(variants=(looping,)), {"looping": effect}).write(tmp_path)
    (directory,) = (file.parent for file in tmp_path.glob("*/phases.json"))
    phases = [Phase(*found) for found in json.loads((directory / "phases.json").read_text())]
    (alone,) = (phase for phase in phases if phase.label == "alone: looping")
    made = list(sampling.read(directory / "samples.jsonl.gz"))
    drawn = [one._replace(rows=round(one.rows * heavier)) if alone.has(one.at) else one for one in made]
    sampling.write(directory / "samples.jsonl.gz", drawn)
    (variant,) = summarise(tmp_path)["parts"][0]["variants"]
    assert (variant["cpu_share"]["alone"] is not None) == is_said
    assert variant["cpu_share"]["difference"] == pytest.approx(0.1, rel=0.1)
