"""The synthetic students of the benchmarks: their rows are as real ones are, and real ones leave and return among them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from benchmarks.kit.servers import DATABASES, private_database
from benchmarks.principals.measuring import sizes_up_to

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parent.parent.parent
#: Real rows first, then synthetic ones: what can be compared of both.
PROGRAM = """
import json, django
django.setup()
from contextlib import closing
import edna
from apps.websubmit.models import Answer, User
from benchmarks.kit.driver import Driver
from benchmarks.principals.crowd import Crowd
from benchmarks.principals.measuring import Among
from edna.crypto.keys import PublicKey
from edna.models import Bag, PrincipalEntry

def of(entry):
    return [len(entry.public_key), entry.model, entry.natural, len(entry.locators), entry.last_seen_on, entry.expires_on]

with closing(Driver()) as driver:
    among = Among(driver, seed=1)
    crowd = among._crowd
    [here] = crowd.with_keys([1])
    real_here = of(PrincipalEntry.objects.get(reference="1"))
    receipt = edna.disguise("websubmit.delete-account", here.user)
    real_gone, real_bag = of(PrincipalEntry.objects.get()), len(Bag.objects.get().sealed)
    with edna.unlock(secret_key=here.secret_key) as unlocked:
        assert edna.reveal(receipt, unlocked).complete
    among.grow(15)
    among.grow(200)
    entries = list(PrincipalEntry.objects.exclude(reference="1"))
    attached = {int(entry.reference) for entry in entries if entry.reference}
    people = list(User.objects.values_list("pk", flat=True))
    print(json.dumps({
        "real": [real_here, real_gone],
        "shapes": sorted([list(each) for each in {tuple(of(entry)) for entry in entries}], key=repr),
        "real bag": real_bag,
        "bags": sorted({len(bag.sealed) for bag in Bag.objects.all()}),
        "entries": len(entries),
        "attached": len(attached),
        "people": len(people),
        "matching": attached | {1} == set(people),
        "here": crowd.here() == sorted(people),
        "answers": sorted({Answer.objects.filter(author=person).count() for person in people}),
        "bag rows": Bag.objects.count(),
        "keys": len({bytes(entry.public_key) for entry in entries}),
        # Raises for what nobody could be registered with.
        "sealed to": len({PublicKey(bytes(entry.public_key)) for entry in entries}),
        "positive": all(entry.pk > 0 for entry in entries),
    }))
"""


def test_the_sizes_grow_tenfold_up_to_the_one_that_is_asked_for() -> None:
    assert sizes_up_to(1_000_000) == [1_000, 10_000, 100_000, 1_000_000]
    assert sizes_up_to(10_000) == [1_000, 10_000]
    assert sizes_up_to(2_500) == [1_000, 2_500]
    assert sizes_up_to(200) == [200]


@contextmanager
def url_of(database: str, tmp_path: Path) -> Iterator[str]:
    if database == "sqlite":
        yield f"sqlite:///{tmp_path}/site.sqlite3"
    else:
        with private_database(database) as url:
            yield url


def run(command: list[str], **more: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("EDNA_", "DJANGO_"))}
    environment["BENCH_HASHES"] = "quick"
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, env=environment | more, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_synthetic_rows_are_as_long_as_real_ones_and_say_as_little(database: str, tmp_path: Path) -> None:
    with url_of(database, tmp_path) as url:
        settings = {
            "EDNA_DATABASE_URL": url,
            "EDNA_VAR": f"{tmp_path}/var",
            "DJANGO_SETTINGS_MODULE": "benchmarks.site_settings",
        }
        found: dict[str, Any] = json.loads(run(["-c", PROGRAM], **settings))
    assert found["shapes"] == sorted(found["real"], key=repr)
    assert found["bags"] == [found["real bag"]]
    assert (found["entries"], found["attached"], found["people"], found["bag rows"]) == (199, 179, 180, 20)
    assert found["matching"]
    assert found["here"]
    assert found["answers"] == [4]
    assert found["keys"] == found["sealed to"] == 199
    assert found["positive"]


@pytest.mark.slow
@pytest.mark.parametrize("database", DATABASES)
def test_real_students_leave_and_return_among_them_at_the_same_cost(database: str, tmp_path: Path) -> None:
    """The run itself fails if a row is not what it was after a restore."""
    output = tmp_path / "bench.json"
    options = ["--apps=principals", "--principals=2000", "--samples=2", f"--databases={database}", f"--output={output}"]
    said = run(["-m", "benchmarks", "--no-pictures", *options])
    lines = json.loads(output.read_text())
    assert "growth with principals" in said
    for name in ("delete", "restore"):
        points = [line for line in lines if line["line"] == name]
        assert [line["x"] for line in points] == [1_000, 2_000]
        assert len({line["statements"] for line in points}) == 1
        if database == "mariadb":
            assert len({line["rows_read"] for line in points}) == 1, "more rows are read where there are more people"
        if database == "postgres":
            # A table of few pages is scanned, and counts there: never one that grows with the people.
            fewer, more = (line["rows_read"] for line in points)
            assert abs(more - fewer) <= 2, "more rows are read where there are more people"
            assert all(line["rows_scanned"] < 500 for line in points)
        if database != "sqlite":
            assert all(line["pages"] > 0 for line in points)
