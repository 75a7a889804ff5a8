"""A site moves to another kind of database with people under disguise, and they come back there, as their models have it."""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.kit.servers import private_mariadb, private_postgres
from tests import warm
from tests.waiting import CHILD_SECONDS

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("sqlite", "mariadb", "postgres")
ROUTES = (
    ("sqlite", "mariadb", "postgres"),
    ("mariadb", "postgres", "sqlite"),
    ("postgres", "sqlite", "mariadb"),
    ("sqlite", "postgres", "sqlite"),
)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def databases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with private_mariadb() as mariadb, private_postgres() as postgres:
        file = tmp_path_factory.mktemp("moving") / "site.sqlite3"
        yield {"sqlite": f"sqlite:///{file}", "mariadb": mariadb.url, "postgres": postgres.url}


def stage(name: str, database: str, place: Path) -> None:
    done = subprocess.run(
        [warm.python(), "-m", "tests.moving.run", name, str(place)],
        cwd=ROOT,
        env=os.environ
        | {
            "DJANGO_SETTINGS_MODULE": "tests.moving.settings",
            "MOVING_DATABASE_URL": database,
            "MOVING_SCRATCH": str(place.parent),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=CHILD_SECONDS,
    )
    assert done.returncode == 0, f"{name} on {database.partition(':')[0]}\n{done.stderr[-4000:]}"


@pytest.fixture(scope="module")
def packed(databases: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What leaves each kind of database, wherever it goes."""
    places = {kind: tmp_path_factory.mktemp("packed") for kind in KINDS}
    for kind, place in places.items():
        stage("before", databases[kind], place)
    return places


@pytest.fixture
def carry(packed: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """A copy of what leaves a database."""
    return lambda kind: Path(shutil.copytree(packed[kind], tmp_path / "carried"))


@pytest.mark.parametrize(("old", "new"), [*itertools.permutations(KINDS, 2), ("sqlite", "sqlite")])
def test_everything_comes_back(databases: dict[str, str], carry: Callable[[str], Path], old: str, new: str) -> None:
    stage("check", databases[new], carry(old))


@pytest.mark.parametrize("route", ROUTES, ids="-".join)
def test_what_was_sealed_again_on_the_way_comes_back(
    databases: dict[str, str], carry: Callable[[str], Path], route: tuple[str, ...]
) -> None:
    """Two moves, with a reveal of the first of several disguises in between, and one that was held: bags of two kinds."""
    place = carry(route[0])
    stage("after", databases[route[1]], place)
    stage("check", databases[route[2]], place)
