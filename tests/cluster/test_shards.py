"""People of one site in a MariaDB and in a PostgreSQL: what the short stories say, and jobs that outlive whoever works on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.servers import Server, private_mariadb, private_postgres
from tests.shards.site import Site
from tests.waiting import WAIT_SECONDS, eventually

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.only_on("postgresql")]


@pytest.fixture
def servers() -> Iterator[dict[str, Server]]:
    """Of two kinds: whatever is kept in memory for one of them does not fit the other."""
    with private_mariadb(to_be_killed=True) as north, private_postgres(to_be_killed=True) as south:
        yield {"north": north, "south": south}


@pytest.fixture
def site(servers: dict[str, Server], tmp_path: Path) -> Site:
    return Site(tmp_path, {alias: server.url for alias, server in servers.items()})


def test_every_story_is_true_of_two_kinds_of_databases(site: Site) -> None:
    told = site.does("run")
    assert len(told) > 20
    assert {story: failure for story, failure in told.items() if failure} == {}


def test_jobs_in_both_outlive_kills_of_their_runner(site: Site) -> None:
    """It goes from one shard to the other, and is killed in the middle of each."""
    begun = site.does("job", "begin")
    killed: set[str] = set()

    def another_is_in_the_middle(jobs: Any) -> bool:
        return bool(in_the_middle(jobs) - killed)

    with ExitStack() as stack:
        while len(killed) < len(begun):
            process = stack.enter_context(site.runner(f"runner-{len(killed)}"))
            found = until(site, another_is_in_the_middle)
            process.kill()
            killed |= in_the_middle(found)
        stack.enter_context(site.runner("last"))
        until(site, finished)
    for alias, each in site.does("job", "end").items():
        assert (each["done"], each["left"], each["failed"]) == (begun[alias]["left"], 0, 0)


def test_while_one_database_is_away_the_job_in_the_other_goes_on(site: Site, servers: dict[str, Server]) -> None:
    site.does("job", "begin")
    with site.runner("north", "--database", "north"), site.runner("south", "--database", "south"):
        until(site, lambda jobs: in_the_middle(jobs) == {"north", "south"})
        servers["north"].kill()
        until(site, lambda jobs: jobs["south"]["state"] == "finished", "south")
        servers["north"].start()
        until(site, finished)
    assert {each["done"] for each in site.does("job", "end").values()} == {40}


def until(site: Site, is_so: Callable[[Any], bool], *arguments: str) -> Any:
    """The jobs, as soon as that is true of them."""
    seen: list[Any] = []

    def look() -> bool:
        seen.append(site.does("job", "look", *arguments))
        return is_so(seen[-1])

    eventually(look, within=WAIT_SECONDS)
    return seen[-1]


def in_the_middle(jobs: Any) -> set[str]:
    return {alias for alias, each in jobs.items() if each["done"] and each["left"]}


def finished(jobs: Any) -> bool:
    return all(each["state"] == "finished" for each in jobs.values())
