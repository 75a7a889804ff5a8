"""A lecture is anonymised and reclaimed by everybody, on a site that works and on one that is broken."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from apps.websubmit.models import Answer, User
from loadtest import integrity, prepare_websubmit, samples
from loadtest.people import People
from loadtest.scenarios import Variant
from tests.loadtest import broken_lectures
from tests.loadtest.driving import drive, look

pytestmark = [pytest.mark.slow, pytest.mark.only_on("mysql")]
LECTURE = Variant("a lecture", what="lecture", once=True)


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    prepared = prepare_websubmit.prepare(scale=0.005, source=random.Random(1), drawn=3)
    prepared.write(tmp_path / "people.json")
    return prepared


@pytest.fixture
def broken(settings: Any, live_server: Any) -> Iterator[str]:
    settings.ROOT_URLCONF = "tests.loadtest.broken_lectures"
    yield live_server.url
    broken_lectures.faults.clear()
    broken_lectures.known.clear()


def load(host: str, directory: Path) -> dict[str, Any]:
    return drive(host, directory, seconds=1, variants=[asdict(LECTURE)])


def test_everybody_takes_back_what_is_theirs(people: People, live_server: Any, tmp_path: Path) -> None:
    before = look(people)
    told = load(live_server.url, tmp_path)
    assert (told["wrong"], told["away"]) == ([], 0)
    assert integrity.differences(before, look(people)) == []
    done = Counter(sample.name for sample in samples.read(tmp_path / "samples.jsonl.gz"))
    students = len(people.facts["codes"])
    assert done["anonymise a lecture"] == 1
    assert done["reclaim a lecture"] == students
    # Twice each: changed, and changed back.
    assert done["edit an anonymised answer"] == 2 * len(people.disguisers["random"])
    (rows,) = {sample.rows for sample in samples.read(tmp_path / "samples.jsonl.gz") if sample.kind == "disguise"}
    assert rows == students * prepare_websubmit.QUESTIONS


def test_whatever_is_wrong_is_noticed(people: People, broken: str, tmp_path: Path) -> None:
    forgotten, lost, _ = people.disguisers["random"]
    broken_lectures.known |= {"forgotten": forgotten.recovery_code, "lost": lost.recovery_code}
    before = look(people)
    told = load(broken, tmp_path)
    assert "an anonymised answer that was changed is not on the page" in told["wrong"]
    assert "an answer was not reclaimed" in told["wrong"]
    theirs = User.objects.get(email=lost.name)
    assert Answer.objects.filter(author=theirs).count() < lost.rows - 1
    differences = integrity.differences(before, look(people))
    assert any("websubmit_answer: rows of somebody who came back are lost" in found for found in differences)


def test_staff_must_read_no_name(people: People, broken: str, tmp_path: Path) -> None:
    broken_lectures.faults.add("names a student")
    assert "staff read a name at the answers of an anonymised lecture" in load(broken, tmp_path)["wrong"]
