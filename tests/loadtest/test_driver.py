"""A load on a site that is broken: whatever its pages say, it is noticed. The load is a process of its own, as always."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadtest import integrity, prepare_websubmit, samples
from loadtest.people import People
from tests.loadtest.broken_site import faults
from tests.loadtest.driving import drive, look

pytestmark = [pytest.mark.slow, pytest.mark.only_on("mysql")]


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    prepared = prepare_websubmit.prepare(scale=0.006, source=random.Random(1), drawn=4)
    prepared.write(tmp_path / "people.json")
    return prepared


@pytest.fixture
def broken(settings: Any, live_server: Any) -> Iterator[str]:
    settings.ROOT_URLCONF = "tests.loadtest.broken_site"
    yield live_server.url
    faults.at_return, faults.edit_fails_once, faults.seconds = {}, False, 0


def test_whatever_is_wrong_is_noticed(people: People, broken: str, tmp_path: Path) -> None:
    before = look(people)
    loser, thief, lost, _ = people.disguisers["random"]
    for account, fault in ((loser, "loses a row"), (thief, "gets a foreign row"), (lost, "is not back")):
        faults.at_return[account.recovery_code] = (account.name, fault)
    faults.edit_fails_once = True

    told = drive(broken, tmp_path)

    assert "POST edit an answer gave 500" in told["wrong"]
    assert "an answer did not come back" in told["wrong"]
    assert told["away"] == 1
    found = [sample for sample in samples.read(tmp_path / "samples.jsonl.gz") if sample.status == 500]
    assert [(sample.kind, sample.name) for sample in found] == [("normal", "edit an answer")]
    now = look(people)
    changed = {account for (table, account), rows in now.owned.items() if rows != before.owned[table, account]}
    assert changed == {loser.key, thief.key, lost.key}, "the one who is well is as before"
    differences = integrity.differences(before, now)
    for what in (
        "websubmit_answer: rows of somebody who came back are lost or changed",
        "websubmit_answer: rows of somebody who came back were not theirs or are changed",
        "websubmit_user: rows of somebody who came back are lost or changed",
        "websubmit_answer: rows that nobody touches are lost, or whose they are has changed",
        "rows of websubmit_answer:",
        "rows of edna_bag:",
    ):
        assert any(what in difference for difference in differences), what


@pytest.mark.only_on("mysql", "postgresql")
def test_nothing_is_wrong_with_a_site_that_works(people: People, live_server: Any, tmp_path: Path) -> None:
    before = look(people)
    told = drive(live_server.url, tmp_path, alone_seconds=1, by_password=True)
    assert (told["wrong"], told["away"]) == ([], 0)
    assert integrity.differences(before, look(people)) == []
    phases = [samples.Phase(*phase) for phase in json.loads((tmp_path / "phases.json").read_text())]
    assert [phase.label for phase in phases] == ["alone: everybody", "A", "everybody", "A"]
    alone, first, _, last = phases
    made = list(samples.read(tmp_path / "samples.jsonl.gz"))
    assert {sample.kind for sample in made if alone.has(sample.at)} == {"disguise", "reveal", "around"}
    assert {sample.kind for sample in made if first.has(sample.at) or last.has(sample.at)} == {"normal"}
    # Each disguiser has one turn at least, however short the phase is, and ends it before the next phase begins.
    meanwhile = {sample.kind for sample in made if first.ended <= sample.at < last.began}
    assert meanwhile == {"normal", "disguise", "reveal", "around"}
    assert {sample.rows for sample in made if sample.kind in ("disguise", "reveal")} == {81}


def test_what_is_under_way_at_the_end_is_waited_for(people: People, broken: str, tmp_path: Path) -> None:
    """The site would do it later: an edit under the eyes of the next load, who would take theirs for lost."""
    faults.seconds = 2
    told = drive(broken, tmp_path, variants=[], seconds=0.5)
    assert told["wrong"] == []
    assert faults.under_way == 0


def test_a_user_who_ends_early_is_missed(people: People, live_server: Any, tmp_path: Path) -> None:
    """Who cannot log in is no user any more: without them the site looks faster than it is."""
    without = json.loads((tmp_path / "people.json").read_text())
    without["ordinary"]["students"][0] = "nobody@example.org"
    (tmp_path / "people.json").write_text(json.dumps(without))
    told = drive(live_server.url, tmp_path, variants=[])
    assert told["wrong"][1:] == ["1 users have ended before the end"]
    assert "is not at /login/ (status 200)" in told["wrong"][0]


def test_there_must_be_a_student_for_each_user(people: People, live_server: Any, tmp_path: Path) -> None:
    """Two who edit as the same one would take what the other writes for lost."""
    few = len(people.ordinary["students"])
    told = drive(live_server.url, tmp_path, variants=[], users=few + 1, seconds=0.5)
    more = "there are more users than students: choose a larger --scale, or fewer --users"
    assert told["wrong"] == [more, "1 users have ended before the end"]
