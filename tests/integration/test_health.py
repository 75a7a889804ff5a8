"""Health: each line notices what it is for, says what to do, and names nobody."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from edna.models import Bag, FileTask, ServerKey, random_primary_key
from edna.operations.models import Job, JobItem, JobRunner, LastRun, LegalHold
from edna.operations.store import runs
from edna.operations.upkeep import figures, health
from edna.operations.upkeep.health import RECURRING, Health, Line, Verdict
from edna.testing.search import finds
from tests.support import (
    DELETE,
    enrol_in_course,
    know_server_keys,
    nothing_changes,
    secrets_of,
    statements,
    vouch_for_what_is_there,
)

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

NAMES = [
    "server_key",
    "runners",
    "jobs",
    "schedules",
    "upkeep",
    "storage",
    "holds",
    "files",
    "key_pool",
    "checks",
    "ledger",
]


@pytest.fixture(autouse=True)
def looked_after(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """A site on which everything was run just now, and nobody to ask for workers."""
    for name in RECURRING:
        runs.note_run(name, {}, using="default")
    monkeypatch.setattr(health, "_ask_workers", [])
    settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": 365}


def line(name: str) -> Line:
    return next(line for line in health.health().lines if line.name == name)


def attention(name: str) -> str:
    """The advice of a line that wants attention, all others being well."""
    found = health.health()
    assert [each.name for each in found.lines if each.verdict is Verdict.ATTENTION] == [name]
    assert not found.ok
    return line(name).advice


def a_job(**columns: Any) -> Job:
    columns = {"state": "running", "total": 5, **columns}
    job = Job.objects.create(
        disguise=DELETE, everybody=True, concurrency=1, created_on=timezone.now().date(), **columns
    )
    vouch_for_what_is_there()
    return job


@pytest.mark.once
def test_a_site_that_is_looked_after_is_well() -> None:
    with nothing_changes():
        found = health.health()
    assert found.ok, found.lines
    assert [each.name for each in found.lines] == NAMES
    assert all(each.finding.endswith(".") and not each.advice for each in found.lines)


class TestServerKey:
    @pytest.mark.once
    def test_another_key_than_the_data_s(self, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": ["another key than the data's"]}
        with nothing_changes():
            found = health.health()
        advised = {each.name: each.advice for each in found.lines if each.advice}
        assert set(advised) == {"server_key", "checks"}
        assert "Put the key back" in advised["server_key"]
        assert "edna.E059" in line("checks").finding

    @pytest.mark.once
    def test_a_known_key_in_no_list(self) -> None:
        know_server_keys("a former key of the site")
        found = health.health()
        advised = {each.name: each.advice for each in found.lines if each.advice}
        assert "edna_keys forget" in advised["server_key"]
        assert "edna.W060" in line("checks").finding

    @pytest.mark.once
    def test_a_new_key_that_waits_behind(self, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": [*settings.EDNA["MAC_KEYS"], "a new key, behind"]}
        assert "edna_keys add" in attention("server_key")


class TestRunners:
    def test_a_job_that_nobody_works_on(self) -> None:
        job = a_job()
        assert "edna_run" in attention("runners")
        JobRunner.objects.create(job=job.pk, name="elsewhere:1", seen_at=timezone.now())
        assert line("runners").verdict is Verdict.OK

    @pytest.mark.once
    def test_a_runner_that_has_died_is_none(self) -> None:
        long_ago = timezone.now() - datetime.timedelta(hours=1)
        JobRunner.objects.create(job=a_job().pk, name="elsewhere:1", seen_at=long_ago)
        assert "edna_run" in attention("runners")

    @pytest.mark.once
    def test_paused_and_finished_jobs_need_none(self) -> None:
        for state in ("paused", "cancelled", "finished"):
            a_job(state=state)
        assert line("runners").verdict is Verdict.OK

    @pytest.mark.once
    @pytest.mark.parametrize(
        ("workers", "broker", "word"), [(None, "unreachable", "broker"), (0, "ok", "worker"), (2, "ok", "")]
    )
    def test_workers_are_asked(self, settings: Any, workers: int | None, broker: str, word: str) -> None:
        settings.EDNA = {**settings.EDNA, "JOB_RUNNER": "celery"}
        health.ask_workers_with(lambda: workers)
        found = health.health()
        assert (found.workers, found.broker) == (workers, broker)
        assert found.ok is (workers == 2)
        assert word in line("runners").advice

    @pytest.mark.once
    def test_workers_are_not_asked_where_there_are_none(self) -> None:
        def probe() -> int:
            raise AssertionError

        health.ask_workers_with(probe)
        found = health.health()
        assert (found.workers, found.broker) == (None, "")


@pytest.mark.once
def test_principals_that_have_failed() -> None:
    job = a_job(state="finished")
    JobItem.objects.create(job=job.pk, reference="1", state=1, reason="ConstraintRefused")
    assert "edna_jobs" in attention("jobs")
    assert line("jobs").numbers["failed"] == 1


@pytest.mark.once
def test_a_job_that_this_site_did_not_note() -> None:
    job = a_job()
    JobRunner.objects.create(job=job.pk, name="elsewhere:1", seen_at=timezone.now())
    Job.objects.update(operator="somebody else")
    assert "edna_verify" in attention("jobs")
    assert line("jobs").numbers["forged"] == 1


class TestRecurring:
    @pytest.mark.once
    @pytest.mark.parametrize("name", sorted(RECURRING))
    def test_what_was_never_done_or_long_ago(self, name: str) -> None:
        of = "schedules" if name == "schedules" else "upkeep"
        days, command = RECURRING[name]
        LastRun.objects.filter(name=name).update(finished_at=timezone.now() - datetime.timedelta(days=days, hours=1))
        assert command.split()[1] in attention(of)
        LastRun.objects.filter(name=name).delete()
        assert "never" in line(of).finding
        assert command.split()[1] in attention(of)

    @pytest.mark.once
    def test_a_run_that_was_begun_and_never_ended_is_none(self) -> None:
        LastRun.objects.filter(name="verify").update(finished_at=None)
        assert "edna_verify" in attention("upkeep")

    @pytest.mark.once
    def test_nothing_needs_to_expire_where_nothing_does(self, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "RETENTION_DAYS": None}
        LastRun.objects.filter(name="expire").delete()
        assert health.health().ok

    @pytest.mark.once
    def test_a_schedule_in_trouble(self) -> None:
        runs.note_run("schedules", {"in_trouble": 1}, using="default")
        assert "edna_run_schedules" in attention("schedules")

    @pytest.mark.once
    def test_damage_that_verifying_has_found(self) -> None:
        runs.note_run("verify", {"damage": 2, "attention": 0}, using="default")
        assert "edna_verify" in attention("upkeep")
        assert "2 rows" in line("upkeep").finding

    @pytest.mark.once
    def test_what_a_task_notes_for_itself_is_no_task(self) -> None:
        runs.note_run("verify: files that wait", {"77": 1}, using="default")
        assert set(figures.recurring()) == set(RECURRING)


class TestStorage:
    def test_bags_that_should_be_gone(self) -> None:
        day = timezone.now().date().replace(day=1)
        bag(expires_on=day)
        assert "edna_expire" in attention("storage")
        LegalHold.objects.create(expires_on=day, reason="case 7", placed_on=day)
        assert line("storage").verdict is Verdict.OK
        assert line("holds").numbers == {"holds": 1, "bags": 1}

    def test_bags_that_may_stay(self) -> None:
        bag(expires_on=None)
        bag(expires_on=datetime.date(2999, 1, 1))
        found = line("storage")
        assert found.verdict is Verdict.OK
        assert found.numbers["bags"] == 2
        assert "2999-01-01" in found.finding

    @pytest.mark.once
    def test_files_that_wait(self) -> None:
        FileTask.objects.create(
            field="a.b.c", name="f", size=1, digest=bytes(32), free=False, erase=False, mac=bytes(32)
        )
        assert "edna_files" in attention("files")


def bag(*, expires_on: datetime.date | None) -> None:
    Bag.objects.create(id=random_primary_key(), index=os.urandom(32), sealed=b"sealed", expires_on=expires_on)


class TestChecks:
    @pytest.mark.once
    def test_those_that_complain_are_named_by_their_number(self, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "MAC_KEYS": [], "TYPO": "s3cret"}
        ServerKey.objects.all().delete()
        know_server_keys()
        assert "check --tag edna" in attention("checks")
        found = line("checks")
        assert found.numbers["ids"] == "edna.E001 edna.W001"
        assert "s3cret" not in repr(found)

    @pytest.mark.once
    def test_those_that_are_silenced_are_not(self, settings: Any) -> None:
        settings.EDNA = {**settings.EDNA, "TYPO": 1}
        settings.SILENCED_SYSTEM_CHECKS = [*settings.SILENCED_SYSTEM_CHECKS, "edna.E001"]
        assert health.health().ok


@pytest.mark.once
def test_the_ledger_is_on_or_off(settings: Any) -> None:
    assert line("ledger").numbers == {"on": 0}
    settings.EDNA = {**settings.EDNA, "LEDGER": True}
    assert line("ledger").numbers == {"on": 1}


def test_the_numbers_behind_it() -> None:
    found = health.health()
    assert found.pool == figures.key_pool()
    assert found.queue == figures.queue()
    assert list(found.storage) == figures.storage()
    assert set(found.recurring) >= set(RECURRING)


def test_as_many_statements_for_many_as_for_few() -> None:
    few = statements(health.health)
    for number in range(20):
        job = a_job()
        JobItem.objects.create(job=job.pk, reference="x", state=1)
        JobRunner.objects.create(job=job.pk, name="one", seen_at=timezone.now())
        bag(expires_on=datetime.date(2030 + number, 1, 1))
    assert len(statements(health.health)) == len(few)


@pytest.mark.once
def test_nothing_in_it_says_who() -> None:
    bea = enrol_in_course("bea@example.org")
    receipt = bea.disguise(DELETE)
    needles = secrets_of(bea, receipt) | {"address": bea.email, "text": "An answer of"}
    found = health.health()
    assert finds((repr(found) + json.dumps(found.as_dict())).encode(), needles) == []
    assert {name for each in found.storage for name in vars(each)} == {
        "expires_on",
        "bags",
        "bytes",
        "principals",
        "held",
    }


class TestCommand:
    @pytest.mark.once
    def test_when_all_is_well(self, capsys: pytest.CaptureFixture[str]) -> None:
        call_command("edna_health")
        said = capsys.readouterr().out
        assert [row.split()[0] for row in said.splitlines()[1:]] == NAMES
        assert "attention" not in said

    @pytest.mark.once
    def test_when_something_wants_attention(self, capsys: pytest.CaptureFixture[str]) -> None:
        a_job()
        with pytest.raises(CommandError, match="runners") as refused:
            call_command("edna_health", "--json")
        assert refused.value.returncode == 3
        said = json.loads(capsys.readouterr().out)
        assert said["ok"] is False
        assert [each["name"] for each in said["lines"]] == NAMES
        assert [each["name"] for each in said["lines"] if each["verdict"] == "attention"] == ["runners"]


@pytest.mark.once
def test_the_shape_is_plain() -> None:
    """For pages: what a template shows needs no method of ours."""
    found: Health = health.health()
    assert json.loads(json.dumps(found.as_dict())) == found.as_dict()
