"""Lobsters' decay, on workers of which only one with the right role brings anybody back; the other one fails, and the health page says so.

What was refused waits, and nothing is lost: until a worker comes that may, or until the monitor is there again.
"""

from __future__ import annotations

import io
import json
import re
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

import edna
from apps.lobsters_sim.disguises import Decay
from apps.websubmit.models import User
from benchmarks.kit.ports import reserved
from benchmarks.kit.servers import Server
from edna.policies import worker as policy_worker
from edna.testing import Dump, application_dump
from tests.policies.parties import with_library
from tests.support import edna_dump
from tests.waiting import eventually
from tests.workers import members
from tests.workers.crew import ROOT, Process, at_once, environment

pytestmark = [pytest.mark.slow, pytest.mark.only_on("postgresql")]

PEOPLE = 8
POLICIES = {"restore": "role = restorer"}
BY_ATTRIBUTES = {"restore": {"policy": "role = restorer", "carrier": "attributes"}}
ROLES = {"restorer": "restorer", "other": "web"}


class Monitor(Server):
    """``edna_monitor serve``, as an operator runs it."""

    def __init__(self, directory: Path, *, site: dict[str, str], port: int) -> None:
        command = ["env", *(f"{name}={value}" for name, value in site.items()), sys.executable, str(ROOT / "manage.py")]
        command += ["edna_monitor", "serve", "--folder", str(directory), "--listen", f"127.0.0.1:{port}"]
        super().__init__("monitor", directory, None, command, "", lambda: _is_open(port))


def _is_open(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


class Site:
    """A monitor, and workers of which each has a role and a queue."""

    def __init__(
        self, folder: Path, *, database: str, broker: str, settings: Any, policies: Mapping[str, Any] = POLICIES
    ) -> None:
        self.folder, self._database, self._broker = folder, database, broker
        self.people = members.settle(PEOPLE)
        self._held = ExitStack()
        (port,) = self._held.enter_context(reserved([0]))
        store = folder / "monitor"
        public_key = self._told("init", "--folder", store)
        self._policies = policies
        settings.EDNA = {**settings.EDNA, "POLICIES": policies}
        self._told("policies", "--folder", store)
        certifier, deployer = (self._told("key", "--output", folder / name) for name in ("certifier", "deployer"))
        self._told("trust", "--folder", store, "--certifier", certifier, "--deployer", deployer)
        for name, role in ROLES.items():
            self._certify(name, role)
        clauses = folder / "clauses.json"
        self._told("clauses", "--folder", store, "--output", clauses)
        self._said = {"ADDRESS": f"http://127.0.0.1:{port}", "PUBLIC_KEY": public_key, "CLAUSES": str(clauses)}
        if policies is BY_ATTRIBUTES:
            self._said["ATTRIBUTES"] = str(folder / "attributes.json")
            self._told("attributes", "--folder", store, "--output", self._said["ATTRIBUTES"])
        settings.EDNA = {**settings.EDNA, "MONITOR": self._said, "JOB_RUNNER": "celery"}
        self.monitor = Monitor(store, site=self._environment("other"), port=port)
        self.workers: dict[str, Process] = {}

    def _told(self, *arguments: Any) -> str:
        """What a command of the monitor's prints, if it is a key."""
        out = io.StringIO()
        call_command("edna_monitor", "--json", *map(str, arguments), stdout=out)
        return str(json.loads(out.getvalue()).get("public_key", ""))

    def _certify(self, name: str, role: str) -> None:
        folder, certificate = self.folder, self.folder / f"{name}.cert"
        key = self._told("key", "--output", folder / f"{name}.key")
        self._told("manifest", "--key", folder / "deployer", "--worker", key, "--output", folder / f"{name}.manifest")
        self._told(
            "certify", "--key", folder / "certifier", "--measurement", f"worker={key}", "--attribute", f"role={role}",
            "--days", 3, "--output", certificate,
        )  # fmt: skip
        self._told("accept", "--folder", folder / "monitor", certificate)

    def _environment(self, name: str) -> dict[str, str]:
        files = {"MANIFEST": str(self.folder / f"{name}.manifest"), "WORKER_KEY": str(self.folder / f"{name}.key")}
        told = {"POLICIES": self._policies, "MONITOR": {**self._said, **files}}
        return {
            **environment(database=self._database, broker=self._broker, batch=5),
            "EDNA_TEST_POLICIES": json.dumps(told),
            "EDNA_TEST_KEYS": str(self.folder),
        }

    def worker(self, name: str, queue: str, *, pool: Sequence[str] = ("solo",)) -> Process:
        """Not started."""
        arguments = (
            "worker",
            "--pool",
            *pool,
            "--without-gossip",
            "--without-mingle",
            "-Q",
            queue,
            "--hostname",
            name,
        )
        self.workers[name] = Process(
            name, self.folder / f"worker {name}", *arguments, database=self._database, broker=self._broker,
            ready=" ready.", batch=5, settings=self._environment(name.partition("@")[0]),
        )  # fmt: skip
        return self.workers[name]

    def decayed(self, number: int) -> Dump:
        """Somebody is away; what the site looked like before."""
        before = application_dump()
        receipt = edna.disguise(Decay.name, self.people[number].user)
        (self.folder / str(number)).write_text(f"{self.people[number].secret_key.expose_text()}\n{receipt}")
        return before

    def close(self) -> None:
        at_once([each.close for each in (self.monitor, *self.workers.values())])
        self._held.close()


@pytest.fixture
def site(
    database: Server, redis: Server, sending: Celery, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Site]:
    monkeypatch.setattr(Decay, "policy", "restore")
    policy_worker.worker.forget()
    site = Site(tmp_path, database=database.url, broker=redis.url, settings=settings)
    yield site
    site.close()
    policy_worker.worker.forget()


def health_of_workers(client: Client) -> str:
    """What the health page says of the workers' policies, in plain text; nothing before one answers."""
    page = client.get(reverse("admin:edna_operations_sitehealth_changelist")).content.decode()
    found = re.search(r"Policies: workers(.*?)</dd>", page, re.S)
    return re.sub(r"<[^>]*>|\s+", " ", found[1]) if found else ""


def test_only_a_worker_with_the_role_brings_somebody_back_and_the_health_page_shows_who_fails(
    site: Site, sending: Celery, client: Client
) -> None:
    client.force_login(User.objects.create_user("olga@example.org", is_admin=True))
    other, restorer = site.worker("other@site", "others"), site.worker("restorer@site", "restorers")
    at_once([site.monitor.start, other.start])
    before = site.decayed(0)
    hidden = application_dump(), edna_dump()
    sending.send_task("tests.restore", (0,), queue="others")
    eventually(lambda: "PolicyNotSatisfied" in other.log())
    assert (application_dump(), edna_dump()) == hidden
    said = eventually(lambda: health_of_workers(client))
    assert "attention" in said
    assert "other@site opens no policy seal: PolicyNotSatisfied" in said

    # What was refused has waited for somebody who may.
    restorer.start()
    eventually(lambda: application_dump() == before)
    assert "PolicyNotSatisfied" not in restorer.log()
    eventually(lambda: "restorer@site is attested as role = restorer" in health_of_workers(client))

    # Without a monitor: the credential holds, a new worker gets none, and everything waits.
    site.monitor.kill()
    before = site.decayed(1)
    sending.send_task("tests.restore", (1,), queue="restorers")
    eventually(lambda: application_dump() == before)
    before = site.decayed(2)
    hidden = application_dump(), edna_dump()
    restorer.kill()
    restorer.start()
    sending.send_task("tests.restore", (2,), queue="restorers")
    eventually(lambda: "MonitorUnavailable" in restorer.log())
    assert (application_dump(), edna_dump()) == hidden
    site.monitor.start()
    eventually(lambda: application_dump() == before)


@with_library
def test_by_attributes_the_processes_that_a_worker_forks_bring_people_back(
    database: Server, redis: Server, sending: Celery, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What computes does not survive a fork: each process loads it for itself, and the one that forks them never does."""
    monkeypatch.setattr(Decay, "policy", "restore")
    policy_worker.worker.forget()
    site = Site(tmp_path, database=database.url, broker=redis.url, settings=settings, policies=BY_ATTRIBUTES)
    try:
        # Each process ends after one task, and the next is forked then. The limit of the settings is for jobs that are to be cut off.
        pool = ("prefork", "--concurrency", "1", "--max-tasks-per-child", "1", "--soft-time-limit", "600")
        restorer = site.worker("restorer@site", "restorers", pool=pool)
        other = site.worker("other@site", "others", pool=pool)
        at_once([site.monitor.start, restorer.start, other.start])
        before = application_dump()
        for number in range(4):
            site.decayed(number)
        hidden = application_dump()
        sending.send_task("tests.restore", (0,), queue="others")
        eventually(lambda: "PolicyNotSatisfied" in other.log())
        for number in range(1, 4):
            sending.send_task("tests.restore", (number,), queue="restorers")
        # The first one, too: who was refused has sent it there.
        eventually(lambda: application_dump() == before)
        assert hidden != before
        assert "forked" not in restorer.log() + other.log()
    finally:
        site.close()
        policy_worker.worker.forget()
