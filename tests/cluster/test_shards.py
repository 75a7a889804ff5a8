"""People of one site in a MariaDB and in a PostgreSQL: what the short stories say, and jobs that outlive whoever works on them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.kit.servers import Server, private_mariadb, private_postgres
from tests.shards.site import Site
from tests.waiting import eventually

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
    told = site.does("run") | site.does("browsers", SHARDS_APPS="edna.devices edna.guardians")
    told |= site.does("copied", SHARDS_APPS="edna.devices edna.guardians")
    told |= site.does("audiences", SHARDS_APPS="edna.devices edna.guardians edna.audiences", SHARDS_ADMIN="1")
    assert len(told) > 30
    assert {story: failure for story, failure in told.items() if failure} == {}


def test_jobs_in_both_outlive_kills_of_their_runner(site: Site) -> None:
    """It goes from one shard to the other, and is killed in the middle of a transaction of each."""
    begun = site.does("job", "begin")
    killed: set[str] = set()
    with ExitStack() as stack:
        while len(killed) < len(begun):
            process = stack.enter_context(site.runner(f"runner-{len(killed)}"))
            shard = eventually(lambda: next(iter(waiting(site)), ""))
            process.kill()
            (each,) = site.does("job", "look", shard).values()
            assert each["done"] > 0
            assert each["left"] > 0
            let_go(site, shard)
            killed.add(shard)
        stack.enter_context(site.runner("last"))
        eventually(lambda: finished(site, *begun))
    for shard, each in site.does("job", "end").items():
        assert (each["done"], each["left"], each["failed"]) == (begun[shard]["left"], 0, 0)


def test_while_one_database_is_away_the_job_in_the_other_goes_on(site: Site, servers: dict[str, Server]) -> None:
    begun = site.does("job", "begin")
    with site.runner("north", "--database", "north"):
        eventually(lambda: "north" in waiting(site))
        servers["north"].kill()
        let_go(site, "north")
        let_go(site, "south")
        with site.runner("south", "--database", "south"):
            eventually(lambda: finished(site, "south"))
        servers["north"].start()
        # The first one goes on by itself, if it was not kept waiting for too long.
        with site.runner("another", "--database", "north"):
            eventually(lambda: finished(site, *begun))
    for shard, each in site.does("job", "end").items():
        assert (each["done"], each["left"], each["failed"]) == (begun[shard]["left"], 0, 0)


def waiting(site: Site) -> set[str]:
    """Shards in the middle of whose batch a runner waits to be let go on, or was killed."""
    found = {file.name.removeprefix("waits-") for file in site.scratch.glob("waits-*")}
    return {shard for shard in found if not (site.scratch / f"open-{shard}").exists()}


def let_go(site: Site, shard: str) -> None:
    (site.scratch / f"open-{shard}").touch()


def finished(site: Site, *shards: str) -> bool:
    return all(each["state"] == "finished" for each in site.does("job", "look", *shards).values())
