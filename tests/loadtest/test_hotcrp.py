"""HotCRP's users on a site that works and on one that is broken: all that they must notice, and what they must accept."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from apps.hotcrp_sim.models import ContactInfo, PaperReview
from benchmarks.kit.driver import Driver
from edna.operations.jobs import eager_runner
from loadtest import integrity, prepare_hotcrp, samples
from loadtest.hotcrp_sight import Conference, form_fields, names_a_reviewer, papers
from loadtest.people import People
from loadtest.scenarios import Variant
from tests.loadtest import broken_hotcrp
from tests.loadtest.driving import drive

LEAVING = Variant("leaving", disguisers=2)
CONFERENCE = Variant("the conference is anonymised", what="conference", once=True)
#: Sixteen are ten reviewers, five authors and the chair.
USERS = 16
#: A load is some seconds, and what people do in them is chance: on a busy machine it takes several, until all is done that is asked for.
MOST_LOADS = 12


def on_a_site(what: Any) -> Any:
    """MariaDB's, as every load."""
    return pytest.mark.slow(pytest.mark.only_on("mysql")(what))


class TestSight:
    """What is read off a page, and of whom it may show nothing."""

    PAGE = (
        '<dl><dt>Shepherd</dt><dd>Rae Smith</dd></dl><article class="review" id="review-A">\n'
        "<header><h3>Review #1A</h3><span>Anonymous reviewer</span></header></article>"
    )

    def test_of_whom_a_page_may_show_nothing(self) -> None:
        conference = Conference()
        conference.leave(["rae@example.org"])
        assert conference.names_somebody_who_is_away("<td>rae@example.org", asked_at=2**40)
        assert not conference.names_somebody_who_is_away("<td>bea@example.org", asked_at=2**40)
        assert not conference.names_somebody_who_is_away("<td>rae@example.org", asked_at=0), "was here when it was made"
        conference.come_back(["rae@example.org", "Rae Smith"])
        assert not conference.names_somebody_who_is_away("<td>rae@example.org", asked_at=2**40)

    def test_what_is_closed_while_it_is_anonymised(self) -> None:
        conference = Conference()
        held = conference.allowed  # by a request that is under way
        conference.close()
        assert held == {200, 403, 404}
        conference.open()
        assert held == {200}

    def test_authors_know_their_shepherd_and_no_reviewer(self) -> None:
        assert not names_a_reviewer(self.PAGE, ["Rae Smith"])
        assert names_a_reviewer(self.PAGE.replace("Anonymous reviewer", "Somebody"), ["Rae Smith"])
        assert names_a_reviewer(self.PAGE + "Rae Smith", ["Rae Smith"])

    def test_lists_and_forms(self) -> None:
        row = '<td class="n">{}</td>\n    <td class="title"><a>A</a></td>\n    <td>{}</td>'
        shown = row.format(3, '<span class="badge yes">reviewed</span>') + row.format(12, "")
        assert papers(shown) == {3: "reviewed", 12: ""}
        form = (
            '<select name="novelty" id="x"><option value="0">no</option><option value="2" selected>2</option></select>'
            '<textarea name="t02" rows="10">\nA &lt;b&gt;</textarea>'
        )
        assert form_fields(form) == {"novelty": "2", "t02": "A &lt;b&gt;"}


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    prepared = prepare_hotcrp.prepare(scale=0.02, source=random.Random(1), drawn=2)
    prepared.write(tmp_path / "people.json")
    return prepared


@pytest.fixture
def broken(settings: Any, live_server: Any) -> Iterator[str]:
    settings.ROOT_URLCONF = "tests.loadtest.broken_hotcrp"
    yield live_server.url
    broken_hotcrp.faults.clear()
    broken_hotcrp.known.clear()
    broken_hotcrp.gone.clear()


@pytest.fixture
def worker(settings: Any) -> Iterator[None]:
    """Jobs are done, by a thread of the site."""
    settings.EDNA = {**settings.EDNA, "JOB_RUNNER": "eager"}
    eager_runner.connect()
    yield
    assert eager_runner.wait()


def look(people: People) -> integrity.State:
    with closing(Driver()) as driver:
        return integrity.look("hotcrp", people, driver)


def load(host: str, directory: Path, variant: Variant, *, users: int = USERS, seconds: float = 5) -> dict[str, Any]:
    return drive(host, directory, app="hotcrp", users=users, seconds=seconds, variants=[asdict(variant)])


@on_a_site
class TestPreparing:
    def test_who_is_who(self, people: People) -> None:
        leaving = [account.name for accounts in people.disguisers.values() for account in accounts]
        assert len(leaving) == len(set(leaving)) == 5
        committee = set(people.facts["committee"])
        assert {*leaving, *people.ordinary["reviewers"]} == committee
        assert not set(leaving) & set(people.ordinary["reviewers"])
        rows = {size: accounts[0].rows for size, accounts in people.disguisers.items()}
        assert rows["light"] < rows["median"] < rows["heaviest"]
        assert set(people.facts["codes"]) == set(ContactInfo.objects.values_list("email", flat=True))

    def test_marks_are_theirs(self, people: People) -> None:
        for account in people.all_disguisers():
            reviews = PaperReview.objects.filter(contact__email=account.name).order_by("paper")
            assert account.marks["papers"] == list(reviews.values_list("paper", flat=True))
            assert len(account.marks["texts"]) == min(5, len(reviews))

    def test_a_name_that_others_have_too_tells_nothing(self, people: People) -> None:
        one, other = ContactInfo.objects.filter(email__in=people.facts["names"])[:2]
        other.first_name, other.last_name = f"Mac{one.first_name}", one.last_name
        other.save()
        names = prepare_hotcrp.distinct_names([one, other])
        assert names == {other.email: other.name}, "the longer name is the other's alone"


@on_a_site
def test_nothing_is_wrong_with_a_site_that_works(people: People, live_server: Any, tmp_path: Path) -> None:
    usual = {"list own papers", "read own paper", "list own reviews", "edit a review", "read a paper", "dashboard"}
    before = look(people)
    done: Counter[str] = Counter()
    for _ in range(MOST_LOADS):
        told = load(live_server.url, tmp_path, LEAVING)
        assert (told["wrong"], told["away"]) == ([], 0)
        made = list(samples.read(tmp_path / "samples.jsonl.gz"))
        assert all(sample.status == 200 for sample in made if sample.kind != "around")
        done.update(sample.name for sample in made)
        if usual <= done.keys():
            break
    assert integrity.differences(before, look(people)) == []
    assert done["remove account"] == done["restore account"] > 0
    assert usual <= done.keys()


@on_a_site
def test_whatever_is_wrong_is_noticed(people: People, broken: str, tmp_path: Path) -> None:
    loser = people.disguisers["random"][0]
    broken_hotcrp.known |= {"name": "Somebody Known", "loser": loser.name}
    broken_hotcrp.faults |= {
        *("names a reviewer", "shows a paper in conflict", "shows a paper of others", "forgets a review"),
        *("forgets a comment", "forgets a preference", "names somebody who is gone", "loses a review"),
    }
    before = look(people)
    noticed = {
        "an author reads the name of a reviewer",
        "an author sees a paper of others",
        "a reviewer sees a paper with which there is a conflict",
        "an edited review is not on the page",
        "a comment is not on the page",
        "a preference is not on the page",
        "the reviews of somebody who is back are not those of before",
    }

    wrong: set[str] = set()
    for _ in range(MOST_LOADS):
        wrong |= set(load(broken, tmp_path, LEAVING)["wrong"])
        named = any(what.startswith("somebody who is away is named: list") for what in wrong)
        if named and noticed <= wrong:
            break

    assert noticed <= wrong
    assert named
    differences = integrity.differences(before, look(people))
    assert any("PaperReview: rows of somebody who came back are lost" in found for found in differences)


@on_a_site
@pytest.mark.usefixtures("worker")
class TestConference:
    def test_everybody_takes_back_what_is_theirs(self, people: People, live_server: Any, tmp_path: Path) -> None:
        before = look(people)
        closed: set[float] = set()
        for _ in range(MOST_LOADS):
            told = load(live_server.url, tmp_path, CONFERENCE, users=6, seconds=2)
            assert (told["wrong"], told["away"]) == ([], 0)
            assert integrity.differences(before, look(people)) == []
            made = list(samples.read(tmp_path / "samples.jsonl.gz"))
            first, variant, last = [
                samples.Phase(*phase) for phase in json.loads((tmp_path / "phases.json").read_text())
            ]
            (job,) = [sample for sample in made if sample.kind == "disguise"]
            assert variant.has(job.at)
            assert job.rows > 500
            reclaimed = [sample for sample in made if sample.kind == "reveal"]
            assert len(reclaimed) >= ContactInfo.objects.filter(is_guise=False).count()
            # What is closed, and only meanwhile.
            closed = {sample.at for sample in made if sample.kind == "normal" and sample.status in (403, 404)}
            assert not any(phase.has(at) for at in closed for phase in (first, last))
            if closed:
                break
        assert closed

    def test_whoever_is_not_back_is_missed(self, people: People, broken: str, tmp_path: Path) -> None:
        lost = people.ordinary["reviewers"][0]
        broken_hotcrp.known["lost"] = people.facts["codes"][lost]
        told = load(broken, tmp_path, CONFERENCE, users=0, seconds=1)
        # Nobody plays a normal user, so the conference is anonymised alone.
        assert "the conference is still closed when everybody is back" in told["wrong"]


WATCHED = """
from types import SimpleNamespace
from loadtest import hotcrp_conference as conference
conference.gevent = SimpleNamespace(sleep=lambda seconds: None)
looks = iter(("waiting for a worker 0", "running 0", "waiting for a worker 0", "finished 0"))
watcher = object.__new__(conference.ConferenceAnonymised)
watcher.get = lambda *_, **__: SimpleNamespace(text='{"jobs": [{"version": "%s"}]}' % next(looks))
print(watcher._watched("/")["version"])
"""


def test_a_job_for_which_no_worker_is_free_yet_has_not_ended() -> None:
    done = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "finished 0"
