"""Lobsters' users on a site that works and on one that is broken: all that they can do, and all that they must notice."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection

from apps.lobsters_sim.keys import DECAY
from apps.lobsters_sim.models import Story, User, Vote
from apps.lobsters_sim.seeding import histograms
from benchmarks.kit.driver import Driver
from edna.operations.schedules import rounds
from loadtest import integrity, prepare_lobsters, samples
from loadtest.lobsters_town import Absence, Town
from loadtest.people import Account, People
from loadtest.popularity import MIX
from loadtest.scenarios import Variant
from tests.loadtest import broken_lobsters
from tests.loadtest.driving import HANGING_SECONDS, drive

EVEN = dict.fromkeys(MIX, 1)


@pytest.fixture
def people(transactional_db: None, tmp_path: Path) -> People:
    """Everybody does each thing as often as any other, so that a short load has much of what is rare."""
    prepared = prepare_lobsters.prepare(scale=0.01, source=random.Random(1), drawn=3)
    prepared.facts["mix"] = EVEN
    prepared.write(tmp_path / "people.json")
    return prepared


@pytest.fixture
def broken(settings: Any, live_server: Any) -> Iterator[str]:
    settings.ROOT_URLCONF = "tests.loadtest.broken_lobsters"
    yield live_server.url
    for told in (broken_lobsters.staying, broken_lobsters.known, broken_lobsters.gone):
        told.clear()


def look(people: People) -> integrity.State:
    with closing(Driver()) as driver:
        return integrity.look("lobsters", people, driver)


def url_of_the_test_database() -> str:
    parts = urlsplit(os.environ["EDNA_DATABASE_URL"])
    return parts._replace(path=f"/{connection.settings_dict['NAME']}").geturl()


def by_hand(host: str, directory: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.loadtest.lobsters_by_hand", host, str(directory / "people.json")]
    done = subprocess.run(command, check=True, timeout=HANGING_SECONDS, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


class TestAbsences:
    """Of whom a page may show nothing."""

    BEA = Account("bea", "", 1, {"workplace": "Foxworks-00012"})
    PEOPLE = People(
        app="lobsters",
        password="",
        ordinary={"members": ["carl"]},
        disguisers={"random": [BEA]},
        facts={
            "popular": {
                "members": [[50.0, ["bea", "carl"]]],
                **{name: [[5.0, ["x"]]] for name in ("stories", "discussed", "comments")},
            }
        },
    )
    TAGGED = '<article class="story"><a href="/lobsters/t/starwars">starwars</a>'

    @pytest.mark.parametrize(
        ("page", "is_broken"),
        [
            ('<a class="author" href="/lobsters/u/bea">bea</a>', True),
            ('<a class="author" href="/lobsters/u/beatrix">beatrix</a>', False),
            ("At Foxworks-00012 we still run it.", True),
            ("via foxworks-00012.example.org", True),
            ("At Foxworks-00013 we still run it.", False),
        ],
    )
    def test_an_account_that_is_gone(self, page: str, is_broken: bool) -> None:
        assert Absence(self.BEA).is_broken_by(page) is is_broken

    @pytest.mark.parametrize(
        ("page", "is_broken"),
        [
            (TAGGED + '<a class="author" href="/lobsters/u/bea">bea</a>', True),
            (TAGGED + "At Foxworks-00012 we still run it.", False),  # words stay, under nobody's name
            ('<article class="story"><a class="author" href="/lobsters/u/bea">bea</a>', False),  # about something else
            ('<a href="/lobsters/t/starwars"></a><a href="/lobsters/u/bea">bea</a>', False),  # a list of stories
        ],
    )
    def test_a_topic_that_was_left(self, page: str, is_broken: bool) -> None:
        assert Absence(self.BEA, "starwars").is_broken_by(page) is is_broken

    def test_only_who_was_gone_all_the_time_is_gone(self) -> None:
        town = Town(self.PEOPLE)
        first = town.gone["bea"] = Absence(self.BEA)
        before = list(town.gone.values())
        assert list(town.still_gone(before)) == [first]
        del town.gone["bea"]
        assert list(town.still_gone(before)) == []
        town.gone["bea"] = Absence(self.BEA)
        assert list(town.still_gone(before)) == [], "was here in between"

    def test_who_may_leave_is_visited_and_never_plays_a_visitor(self) -> None:
        town, source = Town(self.PEOPLE), random.Random(1)
        assert {town.members.draw(source) for _ in range(100)} == {"bea", "carl"}
        assert {town.visitors.draw(source) for _ in range(100)} == {"carl"}
        assert town.may_leave == {"bea"}


@pytest.mark.slow
@pytest.mark.only_on("mysql")
class TestPreparing:
    def test_who_is_who(self, people: People) -> None:
        leaving = [account.name for accounts in people.disguisers.values() for account in accounts]
        assert len(leaving) == len(set(leaving)), "nobody is two of them"
        assert {*leaving, *people.ordinary["members"]} == set(User.objects.values_list("username", flat=True))
        assert not set(leaving) & set(people.ordinary["members"])
        rows = {size: accounts[0].rows for size, accounts in people.disguisers.items()}
        assert rows["light"] < rows["median"] < rows["heaviest"]
        assert all(account.marks["topic_rows"] for account in people.disguisers["topic"])

    def test_the_next_run_of_the_schedule_takes_the_dormant_and_tells_nobody_else(self, people: People) -> None:
        (report,) = rounds.run_schedules(only=DECAY, dry_run=True)
        assert (report.due, report.warned) == (len(people.disguisers["dormant"]), {})

    def test_what_is_popular_is_in_the_bins_of_the_statistics(self, people: People) -> None:
        like = histograms.read("votes_per_story")
        bins = dict(map(tuple, people.facts["popular"]["stories"]))
        assert sum(map(len, bins.values())) == Story.objects.filter(merged_story=None).count()
        for weight, names in bins.items():
            votes = Vote.objects.filter(comment=None, story__short_id=names[0]).count()
            assert like.weight(like.bin_of(votes)) == weight

    @pytest.mark.only_on("mysql", "postgresql")
    def test_counters_that_do_not_agree_are_noticed(self, people: People) -> None:
        with closing(Driver()) as driver:
            assert prepare_lobsters.disagreements(driver) == []
            Vote.objects.filter(comment=None, vote=1)[0].delete()
            Vote.objects.filter(comment__isnull=False, vote=-1)[0].delete()
            assert prepare_lobsters.disagreements(driver) == [
                "stories.upvotes differs from the number of its votes in 1 rows",
                "comments.downvotes differs from the number of its votes in 1 rows",
            ]


@pytest.mark.slow
@pytest.mark.only_on("mysql")
class TestUsers:
    def test_a_site_that_works(self, people: People, live_server: Any, tmp_path: Path) -> None:
        """All that members do, each thing once."""
        before = look(people)
        found = by_hand(live_server.url, tmp_path)
        assert found["noticed"] == []
        assert set(found["names"]) == {
            *("read a story", "front page", "profile", "latest comments", "recent stories", "submit a story"),
            *("vote for a story", "flag a story", "vote for a comment", "flag a comment"),
            *("post a comment", "reply to a comment", "/login (form)", "/login", "log out"),
            *("delete account (form)", "delete account", "restore account (form)", "restore account"),
            *(
                "leave a topic (form)",
                "leave a topic (preview)",
                "leave a topic",
                "reclaim a topic (form)",
                "reclaim a topic",
            ),
            *("look whether all is gone", "look whether all is back"),
        }
        assert integrity.differences(before, look(people)) == []

    def test_a_site_that_is_broken(self, people: People, broken: str, tmp_path: Path) -> None:
        broken_lobsters.staying.update(people.ordinary["members"])
        broken_lobsters.known.update({each.name: each.marks["workplace"] for each in people.all_disguisers()})
        before = look(people)
        assert {
            "front page shows somebody who is gone",
            "recent stories shows somebody who is gone",
            "a story's page shows somebody who is gone",
            "a story's page lacks comments",
            "vote for a story: the vote is not on the page",
            "post a comment: what was written is not on the page",
            "GET profile gave 404",
        } <= set(by_hand(broken, tmp_path)["noticed"])
        told = integrity.differences(before, look(people))
        assert any("stories.upvotes differs" in what for what in told), told

    def test_others_leave_meanwhile(self, people: People, live_server: Any, tmp_path: Path) -> None:
        """Accounts, a topic, and those whom the schedule puts away; then all is as it was."""
        before = look(people)
        variants = (
            Variant("leaving", disguisers=3),
            Variant("topic", disguisers=2, size="topic", what="topic"),
            Variant("decay", size="dormant", what="decay"),
        )
        told = drive(
            live_server.url,
            tmp_path,
            app="lobsters",
            variants=[asdict(variant) for variant in variants],
            environment={"EDNA_DATABASE_URL": url_of_the_test_database()},
        )
        assert (told["wrong"], told["away"]) == ([], 0)
        assert integrity.differences(before, look(people)) == []
        made = list(samples.read(tmp_path / "samples.jsonl.gz"))
        assert {sample.name for sample in made if sample.kind == "disguise"} == {"delete account", "leave a topic"}
        assert {sample.name for sample in made if sample.kind == "reveal"} == {"restore account", "reclaim a topic"}
        dormant = {account.rows for account in people.disguisers["dormant"]}
        came_back = [sample.rows for sample in made if sample.name == "restore account"]
        assert dormant <= set(came_back), "whom the schedule has put away"
        assert {sample.name for sample in made if sample.status == 404} <= {"profile", "look whether all is back"}
