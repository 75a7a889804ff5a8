"""The log: what happened and how often, in a form for programs, and never to whom."""

from __future__ import annotations

import io
import json
import logging
import logging.config
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

import edna
from apps.websubmit.models import Question, User
from edna import logs
from edna.errors import BagCorrupt, PrincipalNotRegistered, ReceiptUnknown, WrongCredentials
from edna.models import Bag
from edna.operations import jobs
from edna.operations.store import runs
from edna.records.locator import Locator
from edna.testing.search import finds
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    PASSWORD,
    Student,
    answer_everything,
    enrol,
    flipped,
    make_course,
    secrets_of,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once]

ROOT = Path(__file__).resolve().parents[2]
#: Numbers and a name that are in no log by chance.
NAME = "beatrix.quillfeather"
BEA, CARL = 7_301_845_529_017, 6_120_984_473_391


class Everything(logging.Handler):
    """Every record of every logger, with its attributes, arguments and traceback."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def text(self) -> bytes:
        formatter = logging.Formatter("%(message)s")
        return "\n".join(f"{formatter.format(each)} {vars(each)!r}" for each in self.records).encode()

    def events(self) -> list[str]:
        return [record.getMessage().split()[0] for record in self.records if hasattr(record, "event")]


@pytest.fixture
def log() -> Iterator[Everything]:
    """With every logger there is at DEBUG."""
    handler = Everything()
    loggers = [logging.getLogger(name) for name in ("", "edna", "django", *logging.root.manager.loggerDict)]
    before = [(logger, logger.level, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
        logger.propagate = True
    logging.getLogger().addHandler(handler)
    yield handler
    logging.getLogger().removeHandler(handler)
    for logger, level, propagate in before:
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.fixture
def bea() -> Student:
    """With a classmate, both under numbers that one can search for."""
    make_course()
    bea = enrol(f"{NAME}@example.org", password=PASSWORD, pk=BEA)
    answer_everything(bea, enrol("carl@example.org", pk=CARL), text="A secret answer")
    return bea


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


@pytest.mark.django_db(transaction=True)
def test_nothing_in_any_log_says_who(bea: Student, log: Everything, client: Client) -> None:
    """Disguised, refused, damaged, revealed, by everybody's job, by hand and through pages: all logs, all attributes."""
    receipts: list[edna.Receipt | str] = []
    receipts.append(bea.disguise(DELETE))
    assert bea.reveal(receipts[0]).complete
    receipts.append(bea.disguise(ANONYMISE_LECTURE, lecture=Question.objects.first().lecture_id))
    receipts.append(bea.disguise(DELETE, with_key=True))
    for attempt, refusal in (
        (lambda: bea.disguise(DELETE), PrincipalNotRegistered),
        (lambda: bea.reveal(receipts[0]), ReceiptUnknown),
        (lambda: bea.reveal(edna.Receipt(bea.email, Locator.new())), ReceiptUnknown),
        (lambda: edna.unlock(identifier=bea.email, password="no"), WrongCredentials),
    ):
        with pytest.raises(refusal):
            attempt()
    stored = dict(Bag.objects.values_list("pk", "sealed"))
    for pk, sealed in stored.items():
        Bag.objects.filter(pk=pk).update(sealed=flipped(bytes(sealed)))
    with pytest.raises(BagCorrupt):
        bea.reveal(receipts[-1])
    for pk, sealed in stored.items():
        Bag.objects.filter(pk=pk).update(sealed=sealed)
    Question.objects.order_by("pk").first().delete()
    assert not bea.reveal(receipts[-1]).complete
    client.force_login(User.objects.get(pk=BEA))
    form = client.get(f"/websubmit/privacy/do/{DELETE}/").context["form"]
    left = client.post(f"/websubmit/privacy/do/{DELETE}/", {"password": PASSWORD, "seen": form["seen"].value()})
    assert "edna/done.html" in {template.name for template in left.templates}
    receipts.append(left.context["receipt"])
    came_back = client.post("/websubmit/privacy/return/", {"identifier": bea.email, "password": PASSWORD})
    assert "edna/brought_back.html" in {template.name for template in came_back.templates}
    client.force_login(User.objects.get(pk=BEA))
    made = client.post("/websubmit/privacy/key/code/", {"password": PASSWORD})
    assert "edna/recovery_code.html" in {template.name for template in made.templates}
    job = jobs.start(ANONYMISE_ALL, operator="olga")
    jobs.run(job.id)
    edna.disguise_all(ANONYMISE_ALL)
    for command in (["edna_scrub"], ["edna_expire"], ["edna_files"], ["edna_jobs"]):
        call_command(*command, stdout=io.StringIO(), stderr=io.StringIO())
    needles = secrets_of(bea, *map(edna.Receipt.parse, map(str, receipts))) | {
        "address": bea.email,
        "name in the address": NAME,
        "text": "A secret answer",
        "password": PASSWORD,
        "new recovery code": made.context["code"],
        "classmate": "carl@example.org",
        "number": f"{BEA}",
        "classmate's number": f"{CARL}",
    }
    ours = {"disguise_done", "disguise_refused", "reveal_done", "reveal_refused", "batch_done", "disguise_all_done"}
    ours |= {"scrub_done", "expire_done"}
    assert ours | {"job_started", "job_finished"} <= set(log.events())
    assert finds(log.text, needles) == []


def test_an_event_is_a_line_and_the_same_as_attributes(bea: Student, log: Everything, commit: Any) -> None:
    with commit():
        bea.disguise(DELETE)
    (record,) = [record for record in log.records if record.name.startswith("edna")]
    words = record.getMessage().split()
    assert words[:4] == ["disguise_done", f"disguise={DELETE}", "principals=1", "rows=5"]
    assert words[4].startswith("seconds=0.")
    assert (record.levelno, record.name) == (logging.INFO, "edna")
    said = {key: getattr(record, key) for key in ("event", "disguise", "principals", "rows")}
    assert said == {"event": "disguise_done", "disguise": DELETE, "principals": 1, "rows": 5}


def test_ordinary_refusals_are_no_alarm_and_damage_is(bea: Student, log: Everything, commit: Any) -> None:
    receipt = bea.disguise(DELETE)
    with pytest.raises(PrincipalNotRegistered):
        bea.disguise(DELETE)
    for bag in Bag.objects.all():
        Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
    with pytest.raises(BagCorrupt):
        bea.reveal(receipt)
    refused = [(record.levelno, record.error) for record in log.records if record.name == "edna"]  # type: ignore[attr-defined]
    assert refused == [(logging.INFO, "PrincipalNotRegistered"), (logging.ERROR, "BagCorrupt")]


def test_damage_is_an_alarm_where_nobody_asked_for_a_log(bea: Student, caplog: pytest.LogCaptureFixture) -> None:
    receipt = bea.disguise(DELETE)
    assert caplog.records == []
    for bag in Bag.objects.all():
        Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
    with pytest.raises(BagCorrupt):
        bea.reveal(receipt)
    (record,) = caplog.records
    assert (record.event, record.disguise, record.error) == ("reveal_refused", DELETE, "BagCorrupt")  # type: ignore[attr-defined]


def test_logging_costs_no_statement(bea: Student, log: Everything) -> None:
    cycle = lambda: bea.reveal(bea.disguise(DELETE))  # noqa: E731
    cycle()
    logging.getLogger("edna").setLevel(logging.WARNING)
    quiet = len(statements(cycle))
    logging.getLogger("edna").setLevel(logging.INFO)
    assert len(statements(cycle)) == quiet


class TestEvent:
    def test_values(self, log: Everything) -> None:
        logs.event("tried", area="jobs", job=7, seconds=0.123456, again=True, left=None, disguise="a.b", state="a b")
        (record,) = log.records
        assert record.name == "edna.jobs"
        assert record.getMessage() == 'tried job=7 seconds=0.123 again=true disguise=a.b state="a b"'
        assert not hasattr(record, "left")

    @pytest.mark.parametrize("name", ["a\nedna root=1", 'a" b="c', "a\x1b[2Jb", "%s %d", "\u2028x", "=", ""])
    def test_no_value_begins_a_line_or_a_field_of_its_own(self, log: Everything, name: str) -> None:
        logs.event("tried", disguise=name, rows=1)
        said = log.records[0].getMessage()
        assert said.splitlines() == [said]
        assert said.isprintable()
        start = len("tried disguise=")
        value, end = json.JSONDecoder().raw_decode(said[start:])
        assert (value, said[start + end :]) == (name, " rows=1")

    def test_names_that_records_have_are_no_trouble(self, log: Everything) -> None:
        logs.event("tried", module="m", message="x", args="y", event="z", rows=1)  # type: ignore[misc]
        (record,) = log.records
        assert record.getMessage() == "tried module=m message=x args=y event=z rows=1"
        assert (record.module, record.event, record.rows) == ("test_logs", "tried", 1)  # type: ignore[attr-defined]

    def test_recurring_tasks_say_what_they_counted(self, log: Everything) -> None:
        runs.note_run("scrub", {"rows": 3, "file tasks": 1}, using="default")
        runs.note_run("scrub: for itself", {"77": 1}, using="default")
        assert [record.getMessage() for record in log.records] == ["scrub_done rows=3 file_tasks=1"]
        assert log.records[0].name == "edna.scrub"

    def test_what_nobody_wants_is_not_even_written(self, caplog: pytest.LogCaptureFixture) -> None:
        class Costly(str):
            def __str__(self) -> str:
                raise AssertionError

        caplog.set_level(logging.ERROR, logger="edna")
        logs.event("tried", disguise=Costly("a"))
        assert caplog.records == []


class TestDocumentation:
    page = (ROOT / "docs/operations.md").read_text()

    def test_it_lists_every_event(self) -> None:
        source = "\n".join(path.read_text() for path in (ROOT / "edna").rglob("*.py"))
        events = set(re.findall(r'(?:logs\.event|_quietly)\(\s*"([\w.]+)"', source))
        assert events
        assert {name for name in events if f"`{name}`" not in self.page} == set()

    def test_its_settings_work(self, capsys: pytest.CaptureFixture[str]) -> None:
        (code,) = re.findall(r"^(LOGGING = \{.*?^\})$", self.page, re.MULTILINE | re.DOTALL)
        names: dict[str, Any] = {}
        exec(code, names)
        logger = logging.getLogger("edna")
        before = logger.level, logger.propagate, logger.handlers[:]
        backends = logging.getLogger("django.db.backends").level
        logging.config.dictConfig({**names["LOGGING"], "incremental": False})
        try:
            logs.event("tried", area="jobs", job=7)
        finally:
            logger.level, logger.propagate, logger.handlers[:] = before
            logging.getLogger("django.db.backends").setLevel(backends)
            logger.manager._clear_cache()
        assert capsys.readouterr().err.endswith(" INFO edna.jobs tried job=7\n")
