"""Locust as one plays with it beside ``make serve``: on the data of the demo, without a file of people, and without its page."""

from __future__ import annotations

import io
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from apps.hotcrp_sim.models import ContactInfo
from apps.lobsters_sim.models import Comment
from apps.lobsters_sim.models import User as Member
from apps.websubmit.models import Answer, User
from loadtest import prepare_websubmit
from tests.loadtest.broken_site import faults
from tests.loadtest.driving import HANGING_SECONDS

#: On SQLite, as `make serve` is.
pytestmark = [pytest.mark.slow, pytest.mark.only_on("sqlite3")]
ROOT = Path(__file__).resolve().parents[2]
SEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "websubmit": ("websubmit_seed", {"users": 3, "lectures": 2, "questions": 2}),
    "lobsters": ("lobsters_seed", {"scale": 0.01}),
    "hotcrp": ("hotcrp_seed", {"scale": 0.02}),
}


def seed(app: str) -> None:
    name, options = SEEDS[app]
    call_command(name, stdout=io.StringIO(), stderr=io.StringIO(), **options)


def locust(host: str, app: str, *options: str) -> tuple[int, str]:
    command = [
        *(sys.executable, "-m", "locust", "-f", "loadtest/locustfile.py", "--headless", "--host", host, "--app", app),
        *(
            "--users",
            "4",
            "--spawn-rate",
            "10",
            "--run-time",
            "6s",
            "--accounts",
            "2",
            "--pair-interval",
            "0",
            *options,
        ),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGING_SECONDS)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("app", SEEDS)
def test_it_finds_its_people_and_leaves_nobody_away(app: str, transactional_db: None, live_server: Any) -> None:
    seed(app)
    status, said = locust(live_server.url, app)
    assert status == 0, said
    assert "Nothing was wrong; 0 who left are not back" in said
    assert re.search(r"(delete|remove) account .* restore account", said, re.DOTALL)
    if app == "websubmit":
        registered = User.objects.filter(email__startswith="load-")
        assert registered.count() == 3
        assert Answer.objects.filter(author__in=registered).count() == 3 * 4
    elif app == "lobsters":
        assert Member.objects.filter(username__startswith="load-").count() == 3
        assert Comment.objects.filter(comment__contains="we have known this for long").count() == 1
    else:
        assert ContactInfo.objects.filter(email="rae@example.org").exists()


def test_what_is_wrong_is_said(settings: Any, transactional_db: None, live_server: Any) -> None:
    settings.ROOT_URLCONF = "tests.loadtest.broken_site"
    seed("websubmit")
    faults.edit_fails_once = True
    status, said = locust(live_server.url, "websubmit", "--disguisers", "0")
    assert status == 1
    assert "gave 500" in said


def test_people_of_a_file(transactional_db: None, live_server: Any, tmp_path: Path) -> None:
    people = prepare_websubmit.prepare(scale=0.005, source=random.Random(1), drawn=2)
    people.write(tmp_path / "people.json")
    before = User.objects.count()
    status, said = locust(live_server.url, "websubmit", "--people", str(tmp_path / "people.json"))
    assert status == 0, said
    assert User.objects.count() == before, "nobody was registered"
    status, said = locust(live_server.url, "hotcrp", "--people", str(tmp_path / "people.json"))
    assert status == 1
    assert "has people of websubmit" in said


def test_a_site_without_data_is_refused(transactional_db: None, live_server: Any) -> None:
    status, said = locust(live_server.url, "hotcrp")
    assert status == 1
    assert "The load cannot begin: this is not the demo's conference" in said
