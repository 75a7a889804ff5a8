"""Metrics: what Prometheus gets, who gets it, and what is not in it."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from django.http import Http404
from django.test import Client, RequestFactory
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

import edna
from apps.websubmit.models import Question, User
from edna import conf, keypool, metrics, views
from edna.models import Bag, FileTask, random_primary_key
from edna.operations.models import Job, JobItem, JobRunner
from edna.operations.store import runs
from edna.records.locator import Locator
from edna.testing.search import finds
from tests.support import ANONYMISE_ALL, DELETE, Student, enrol, enrol_in_course, secrets_of, statements
from tests.waiting import WAIT_SECONDS

pytestmark = [pytest.mark.django_db, pytest.mark.thorough, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-the-test"
URL = "/edna/metrics"

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


@pytest.fixture
def wanted(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "METRICS_TOKEN": TOKEN}


@pytest.fixture
def counting(wanted: None) -> Iterator[None]:
    metrics.connect()
    metrics.TABLES.forget()
    yield
    metrics.disconnect()


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def scrape(client: Client) -> Samples:
    answer = client.get(URL, headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return samples(answer.content.decode())


def samples(text: str) -> Samples:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(found: Samples, name: str, **labels: str) -> float:
    return found.get((name, tuple(sorted(labels.items()))), 0)


class Gain:
    """How much the samples have grown since. Counters are the process's, and never begin anew."""

    def __init__(self, client: Client) -> None:
        self._client, self._before = client, scrape(client)

    def __call__(self, name: str, **labels: str) -> float:
        return value(scrape(self._client), name, **labels) - value(self._before, name, **labels)


# What is counted


@pytest.mark.usefixtures("counting")
class TestCounters:
    def test_leaving_and_returning(self, bea: Student, client: Client, commit: Any) -> None:
        gain = Gain(client)
        with commit():
            bea.reveal(bea.disguise(DELETE))
        for operation in ("disguise", "reveal"):
            labels = {"operation": operation, "disguise": DELETE}
            assert gain("edna_operations_total", **labels, result="done") == 1
            assert gain("edna_operation_seconds_count", **labels) == 1
            assert gain("edna_operation_seconds_sum", **labels) > 0
            assert gain("edna_principals_total", **labels) == 1
            assert gain("edna_rows_total", **labels) == 5

    def test_refusals_by_the_class_of_the_error(self, bea: Student, client: Client) -> None:
        gain = Gain(client)
        with pytest.raises(edna.errors.PrincipalNotRegistered):
            edna.disguise(DELETE, User.objects.create_user("eve@example.org"))
        labels = {"operation": "disguise", "disguise": DELETE, "result": "PrincipalNotRegistered"}
        assert gain("edna_operations_total", **labels) == 1

    def test_held_rows_by_reason(self, bea: Student, client: Client, commit: Any) -> None:
        receipt = bea.disguise(DELETE)
        Question.objects.order_by("pk")[0].delete()
        gain = Gain(client)
        with commit():
            outcome = bea.reveal(receipt)
        assert len(outcome.held) == 1
        assert gain("edna_held_rows_total", reason=str(outcome.held[0].reason)) == 1

    def test_the_key_pool(self, bea: Student, client: Client, commit: Any) -> None:
        keypool.pool.wipe()
        gain = Gain(client)
        with commit():
            bea.disguise(ANONYMISE_ALL)
        keypool.pool.refill()
        found = scrape(client)
        assert value(found, "edna_key_pool_keys") == value(found, "edna_key_pool_size") == keypool.pool.depth
        made = keypool.pool.statistics()
        assert (gain("edna_key_pool_made_total", how="inline"), made.drained) == (2, 2)
        assert gain("edna_key_pool_made_total", how="background") == made.refilled > 0
        for thread in enumerate_threads():
            if thread.name == keypool.THREAD:
                thread.join()
        keypool.pool.wipe()
        scrape(client)
        keypool.pool.take(3)
        assert gain("edna_key_pool_made_total", how="inline") == 2 + 3

    def test_a_page_of_somebody_else_leaves_out_the_tables(self, bea: Student) -> None:
        """The application may show the client's own registry: that reads nothing from the database."""
        from prometheus_client import REGISTRY, generate_latest

        assert statements(lambda: generate_latest(REGISTRY)) == []
        assert b"edna_operations_total" in generate_latest(REGISTRY)


# What is read


@pytest.mark.usefixtures("counting")
class TestTables:
    def test_jobs(self, client: Client) -> None:
        now = timezone.now()
        running = a_job(state="running", total=10, done=2, skipped=1)
        paused = a_job(state="paused", total=5)
        over = a_job(state="finished", total=4, done=3)
        for job, failed in ((running, 1), (over, 1)):
            JobItem.objects.bulk_create(JobItem(job=job.pk, reference=f"f{n}", state=1) for n in range(failed))
        JobRunner.objects.create(job=running.pk, name="one", done=1, seen_at=now)
        JobRunner.objects.create(job=paused.pk, name="dead", done=2, seen_at=now - datetime.timedelta(days=1))
        JobRunner.objects.create(job=over.pk, name="dead", done=3, seen_at=now - datetime.timedelta(days=1))
        found = scrape(client)
        assert [value(found, "edna_jobs", state=state) for state in Job.State.values] == [1, 1, 0, 1]
        assert value(found, "edna_job_items", state="left") == (10 - 2 - 1 - 1 - 1) + (5 - 2)
        assert value(found, "edna_job_items", state="failed") == 2
        assert value(found, "edna_job_runners") == 1

    def test_bags_by_the_day_of_their_expiry(self, client: Client) -> None:
        january = datetime.date(2031, 1, 1)
        for expires_on, size in ((january, 10), (january, 20), (None, 5)):
            Bag.objects.create(id=random_primary_key(), index=os.urandom(32), sealed=bytes(size), expires_on=expires_on)
        found = scrape(client)
        assert value(found, "edna_bags", expires="2031-01-01") == 2
        assert value(found, "edna_bag_bytes", expires="2031-01-01") == 30
        assert value(found, "edna_bags", expires="never") == 1

    def test_files_and_recurring_tasks(self, client: Client) -> None:
        FileTask.objects.create(
            field="a.b.c", name="f", size=1, digest=bytes(32), free=False, erase=False, mac=bytes(32)
        )
        runs.note_run("scrub", {"rows": 3}, using="default")
        found = scrape(client)
        assert value(found, "edna_file_tasks") == 1
        assert value(found, "edna_last_run_timestamp_seconds", task="scrub") > timezone.now().timestamp() - 60

    def test_as_many_statements_for_many_as_for_few(self, client: Client) -> None:
        a_job(state="running", total=10)
        few = statements(lambda: scrape(client))
        for _ in range(20):
            job = a_job(state="running", total=10)
            JobItem.objects.create(job=job.pk, reference="x", state=1)
            JobRunner.objects.create(job=job.pk, name="one", seen_at=timezone.now())
            Bag.objects.create(id=random_primary_key(), index=os.urandom(32), sealed=b"x")
        metrics.TABLES.forget()
        many = statements(lambda: scrape(client))
        assert len(many) == len(few)
        # The lengths of all bags are not read again at once.
        again = statements(lambda: scrape(client))
        assert len(again) < len(many)
        assert not any("edna_bag" in sql for sql in again)

    @pytest.mark.parametrize("error", [OperationalError, InterfaceError])
    def test_the_counters_are_there_while_the_database_is_away(self, client: Client, error: type[Exception]) -> None:
        def away(*_: Any) -> Any:
            raise error("gone")

        with connection.execute_wrapper(away):
            found = scrape(client)
        assert value(found, "edna_tables_up") == 0
        assert "edna_jobs" not in {name for name, _ in found}
        assert "edna_operations_total" in {name for name, _ in found}
        assert value(scrape(client), "edna_tables_up") == 1


def a_job(**columns: Any) -> Job:
    return Job.objects.create(
        disguise=DELETE, everybody=True, concurrency=1, created_on=timezone.now().date(), **columns
    )


# Who gets it


class TestAccess:
    def test_the_token_opens(self, client: Client, wanted: None) -> None:
        answer = client.get(URL, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain")
        assert "no-store" in answer["Cache-Control"]

    @pytest.mark.parametrize(
        "given",
        [
            "",
            "Bearer",
            "Bearer ",
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            f"Basic {TOKEN}",
            TOKEN,
            "Bearer ü",
            "x" * 9999,
        ],
    )
    def test_nobody_else_learns_that_the_page_exists(self, client: Client, wanted: None, given: str) -> None:
        headers = {"Authorization": given} if given else {}
        for method in ("get", "post", "put", "head"):
            refused = getattr(client, method)(URL, headers=headers)
            missing = getattr(client, method)("/no-such-page", headers=headers)
            assert (refused.status_code, refused.content) == (missing.status_code, missing.content)
            assert refused.status_code == 404
        assert statements(lambda: client.get(URL, headers=headers)) == []

    def test_without_a_token_there_is_no_page(self, client: Client, settings: Any) -> None:
        assert settings.EDNA["METRICS_TOKEN"] is None
        for given in ("", "None", "null"):
            assert client.get(URL, headers={"Authorization": f"Bearer {given}"}).status_code == 404
        client.force_login(User.objects.create_superuser("admin@example.org"))
        assert client.get(URL).status_code == 404

    def test_operators_may_look(self, client: Client, wanted: None) -> None:
        client.force_login(User.objects.create_superuser("admin@example.org"))
        assert client.get(URL).status_code == 200

    @pytest.mark.parametrize("lacks", [None, "is_active", "is_staff", "edna_operations.view_health"])
    def test_staff_need_the_permission(self, rf: RequestFactory, wanted: None, lacks: str | None) -> None:
        """The permission's name, whatever the project's user model makes of it."""
        request = rf.get(URL)
        request.user = SimpleNamespace(  # type: ignore[assignment]
            is_active=lacks != "is_active",
            is_staff=lacks != "is_staff",
            has_perm=lambda permission: permission == "edna_operations.view_health" != lacks,
        )
        if lacks is None:
            assert views.metrics(request).status_code == 200
        else:
            with pytest.raises(Http404):
                views.metrics(request)

    def test_students_may_not(self, client: Client, wanted: None) -> None:
        client.force_login(enrol().user)
        assert client.get(URL).status_code == 404

    def test_it_is_read_only(self, client: Client, wanted: None) -> None:
        assert client.post(URL, headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 405

    def test_without_the_client_it_says_what_to_install(
        self, client: Client, wanted: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("edna.views.find_spec", lambda name: None)
        answer = client.get(URL, headers={"Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 503
        assert b"django-edna[metrics]" in answer.content
        assert client.get(URL).status_code == 404


# What is not in it


@pytest.mark.usefixtures("counting")
def test_nothing_in_it_says_who(bea: Student, client: Client, commit: Any) -> None:
    foreign = edna.Receipt("bea@example.org", Locator.new())
    with commit():
        receipt = bea.disguise(DELETE)
        with pytest.raises(edna.errors.ReceiptUnknown):
            bea.reveal(foreign)
        bea.reveal(receipt)
        second = bea.disguise("websubmit.anonymize-lecture", lecture=Question.objects.first().lecture_id)
    text = client.get(URL, headers={"Authorization": f"Bearer {TOKEN}"}).content
    needles = secrets_of(bea, receipt, second, foreign) | {"address": bea.email, "text": "An answer of"}
    assert finds(text, needles) == []
    assert b'disguise=""' in text


@pytest.mark.usefixtures("counting")
def test_the_documentation_lists_every_metric(bea: Student, client: Client, commit: Any) -> None:
    with commit():
        bea.reveal(bea.disguise(DELETE))
    page = (ROOT / "docs/operations.md").read_text()
    text = client.get(URL, headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    shown = {name for name in re.findall(r"^# TYPE (\w+)", text, re.MULTILINE) if not name.endswith("_created")}
    listed = {name for row in page.splitlines() if row.startswith("| `edna_") for name in METRIC.findall(row)}
    assert shown == listed


METRIC = re.compile(r"`(edna_\w+)`")


# From the first moment, in every process


@pytest.mark.parametrize("token", [TOKEN, None])
def test_who_wants_no_metrics_pays_nothing(token: str | None) -> None:
    """With a token, whatever process sets Django up counts; without one, not even the client is imported."""
    program = (
        "import sys, django; django.setup(); from edna import signals;"
        "print(signals.measured.has_listeners(), 'prometheus_client' in sys.modules)"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings_test"}
    environment.pop("EDNA_METRICS_TOKEN", None)
    if token:
        environment["EDNA_METRICS_TOKEN"] = token
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.stdout.split() == ([str(bool(token))] * 2), ran.stderr


GUNICORN = """
from prometheus_client import multiprocess

def child_exit(server, worker):
    multiprocess.mark_process_dead(worker.pid)
"""
STUDENTS = 40


@pytest.mark.slow
def test_two_workers_of_gunicorn_are_scraped_as_one(tmp_path: Path) -> None:
    """As docs/operations.md says: each process counts for itself, and whichever is asked answers for all."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "gunicorn.conf.py").write_text(GUNICORN)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings_test",
        "EDNA_DATABASE_URL": f"sqlite:///{tmp_path}/site.sqlite3",
        "EDNA_METRICS_TOKEN": TOKEN,
        "PROMETHEUS_MULTIPROC_DIR": str(tmp_path / "metrics"),
    }
    make = (
        "import django; django.setup(); from django.core.management import call_command; call_command('migrate', verbosity=0);"
        f"from tests.support import enrol_many; print(*(each.user.pk for each in enrol_many({STUDENTS})))"
    )
    students = run("-c", make, env=environment).split()
    serve = ["-m", "gunicorn", "tests.integration.metered", "--workers=2", "--bind=127.0.0.1:0", "--no-control-socket"]
    serve += [f"--config={tmp_path}/gunicorn.conf.py"]
    with subprocess.Popen(
        [sys.executable, *serve], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
    ) as site:
        try:
            assert site.stderr is not None
            address = next(line for line in site.stderr if "Listening at" in line).split()[-2]
            Thread(target=site.stderr.read, daemon=True).start()
            with ThreadPoolExecutor(4) as pool:
                # The one that is ready first would do all the work.
                while len(set(pool.map(lambda _: fetch(f"{address}/process"), range(8)))) < 2:
                    assert site.poll() is None
                processes = set(pool.map(lambda pk: fetch(f"{address}/disguise/{pk}"), students))
            assert len(processes) == 2
            labels = {"operation": "disguise", "disguise": DELETE}
            for _ in range(10):  # whoever answers
                found = samples(fetch(f"{address}{URL}", token=TOKEN))
                assert value(found, "edna_operations_total", **labels, result="done") == STUDENTS
                assert value(found, "edna_operation_seconds_count", **labels) == STUDENTS
                assert value(found, "edna_jobs", state="running") == 0
                assert value(found, "edna_tables_up") == 1
            assert value(found, "edna_key_pool_size") == 2 * conf.key_pool_size()
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetch(f"{address}{URL}", token="another token")
        finally:
            site.terminate()


def run(*arguments: str, env: dict[str, str]) -> str:
    ran = subprocess.run([sys.executable, *arguments], cwd=ROOT, env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def fetch(address: str, *, token: str = "") -> str:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=WAIT_SECONDS) as answer:
        return str(answer.read().decode())
