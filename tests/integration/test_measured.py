"""`signals.measured`: what was done or refused, how long it took, and never for whom."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

import edna
from apps.websubmit.models import Answer, Question, User
from edna import signals
from edna.engine.books import measurements
from edna.engine.disguising import execute as disguising
from edna.errors import BagCorrupt, InvalidParameters, PrincipalNotRegistered, ReceiptMalformed, UnknownDisguise
from edna.models import Bag
from edna.records.locator import Locator
from edna.testing.search import finds
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    cut_into_chunks,
    enrol,
    enrol_in_course,
    enrol_many,
    flipped,
    make_course,
    secrets_of,
    statements,
)

pytestmark = pytest.mark.django_db

FIELDS = {"operation", "name", "seconds", "principals", "rows", "held", "error"}


class Gauge:
    """A receiver that writes down what it hears, but for the time."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def __call__(self, *, signal: Any, sender: Any, **fields: Any) -> None:
        assert sender is None
        assert set(fields) == FIELDS
        assert fields.pop("seconds") > 0
        self.heard.append(fields)

    def take(self) -> list[dict[str, Any]]:
        heard, self.heard = self.heard, []
        return heard


@pytest.fixture
def gauge() -> Iterator[Gauge]:
    receiver = Gauge()
    signals.measured.connect(receiver)
    yield receiver
    signals.measured.disconnect(receiver)


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


@pytest.fixture
def commit(django_capture_on_commit_callbacks: Any) -> Any:
    return lambda: django_capture_on_commit_callbacks(execute=True)


def told(operation: str, name: str, **more: Any) -> dict[str, Any]:
    return {"operation": operation, "name": name, "principals": 0, "rows": 0, "held": {}, "error": "", **more}


@pytest.mark.once
def test_leaving_and_returning(bea: Student, gauge: Gauge, commit: Any) -> None:
    with commit():
        receipt = bea.disguise(DELETE)
        assert gauge.heard == []  # not before the commit
    assert gauge.take() == [told("disguise", DELETE, principals=1, rows=5)]
    with commit():
        bea.reveal(receipt)
        assert gauge.heard == []
    assert gauge.take() == [told("reveal", DELETE, principals=1, rows=5)]


@pytest.mark.once
def test_everybody_at_once_is_one_operation(gauge: Gauge, commit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edna.engine.chunks.everybody._AT_ONCE", 2)
    make_course()
    answer_everything(*enrol_many(5))
    with commit():
        edna.disguise_all(ANONYMISE_ALL)
    assert gauge.take() == [told("disguise_all", ANONYMISE_ALL, principals=5, rows=20)]


@pytest.mark.once
def test_by_hand(bea: Student, gauge: Gauge, commit: Any) -> None:
    by_hand = edna.on_reveal("test.by-hand")(lambda revealed: None)
    try:
        with commit(), edna.session(bea.user, "test.by-hand") as session:
            session.remove(Answer.objects.filter(author=bea.user).first())
        with pytest.raises(RuntimeError), edna.session(bea.user, "test.by-hand"):
            raise RuntimeError("What Bea wrote")
    finally:
        edna.unregister(by_hand)
    done, refused = gauge.take()
    assert done == told("session", "test.by-hand", principals=1, rows=1)
    assert refused == told("session", "test.by-hand", error="RuntimeError")


@pytest.mark.once
def test_chunks_are_one_operation(bea: Student, gauge: Gauge, commit: Any) -> None:
    with cut_into_chunks(2):
        with commit():
            receipt = bea.disguise(DELETE)
        assert gauge.take() == [told("disguise", DELETE, principals=1, rows=5)]
        with commit():
            bea.reveal(receipt)
        assert gauge.take() == [told("reveal", DELETE, principals=1, rows=5)]


@pytest.mark.once
def test_of_what_breaks_off_the_chunks_that_stay_are_counted(
    bea: Student, gauge: Gauge, commit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute, done = disguising.execute, []

    def broken(*args: Any, **kwargs: Any) -> Any:
        if len(done) == 2:
            raise RuntimeError("What Bea wrote")
        done.append(True)
        return execute(*args, **kwargs)

    monkeypatch.setattr(disguising, "execute", broken)
    # Here savepoints stand for the transactions of chunks, and callbacks wait for the end of the test: not as in real life.
    monkeypatch.setattr(transaction, "on_commit", lambda work, **_: work())
    with cut_into_chunks(2), pytest.raises(RuntimeError):
        bea.disguise(DELETE)
    assert gauge.take() == [told("disguise", DELETE, rows=4, error="RuntimeError")]


def test_work_that_was_done_again_counts_once(
    bea: Student, gauge: Gauge, commit: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database asks for another try after everything was written."""
    original, tries = disguising.finish, []

    def finish(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        tries.append(made)
        if len(tries) == 1:
            raise OperationalError(1213, "Deadlock found")
        return made

    monkeypatch.setattr(disguising, "finish", finish)
    monkeypatch.setattr("edna.db.transactions.connections", _NotNested())
    with commit():
        bea.disguise(DELETE)
    assert len(tries) == 2
    assert gauge.take() == [told("disguise", DELETE, principals=1, rows=5)]


class _NotNested:
    """As if the test were no transaction itself."""

    in_atomic_block = False
    vendor = connection.vendor

    def __getitem__(self, using: str) -> _NotNested:
        return self


@pytest.mark.once
def test_what_is_held_is_counted_by_reason(bea: Student, gauge: Gauge, commit: Any) -> None:
    receipt = bea.disguise(DELETE)
    Question.objects.order_by("pk")[0].delete()
    enrol("bea@example.org")
    gauge.take()
    with commit():
        outcome = bea.reveal(receipt)
    reasons = [str(held.reason) for held in outcome.held]
    assert reasons
    (heard,) = gauge.take()
    assert heard["held"] == {reason: reasons.count(reason) for reason in set(reasons)}
    assert heard["rows"] == sum(outcome.restored.values())
    assert heard["error"] == ""


@pytest.mark.once
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda bea: edna.disguise(DELETE, User.objects.create_user("eve@example.org")), PrincipalNotRegistered),
        (lambda bea: edna.disguise(ANONYMISE_LECTURE, bea.user, params={"lecture": "x"}), InvalidParameters),
        (lambda bea: edna.disguise_all(ANONYMISE_LECTURE), InvalidParameters),
    ],
)
def test_refusals_are_told_at_once(bea: Student, gauge: Gauge, call: Any, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        call(bea)
    (heard,) = gauge.take()
    assert heard["error"] == expected.__name__
    assert heard["name"] in (DELETE, ANONYMISE_LECTURE)
    assert (heard["principals"], heard["rows"]) == (0, 0)


@pytest.mark.once
def test_only_names_of_the_project_are_passed_on(bea: Student, gauge: Gauge) -> None:
    """Whatever somebody types where a name is expected would become a label of a metric and a word of the log."""
    foreign = edna.Receipt("bea@example.org", Locator.new())
    for call, expected in (
        (lambda: edna.disguise("bea@example.org\nroot logged in", bea.user), UnknownDisguise),
        (lambda: edna.disguise(name="bea@example.org", principal=bea.user), UnknownDisguise),
        (lambda: bea.reveal(str(foreign)), edna.errors.ReceiptUnknown),
        (lambda: bea.reveal(foreign), edna.errors.ReceiptUnknown),
        (lambda: bea.reveal(str(foreign)[:-1]), ReceiptMalformed),
    ):
        with pytest.raises(expected):
            call()
        (heard,) = gauge.take()
        assert (heard["name"], heard["error"]) == ("", expected.__name__)


@pytest.mark.once
def test_the_name_is_known_however_it_was_passed(bea: Student, gauge: Gauge, commit: Any) -> None:
    with commit():
        receipt = edna.disguise(principal=bea.user, name=DELETE)
        with bea.unlock() as unlocked:
            edna.reveal(unlocked=unlocked, receipt=str(receipt))
    assert [heard["name"] for heard in gauge.take()] == [DELETE, DELETE]


def test_what_is_rolled_back_is_not_told(bea: Student, gauge: Gauge, commit: Any) -> None:
    def leave_and_fail() -> None:
        with transaction.atomic():
            bea.disguise(DELETE)
            raise RuntimeError

    with commit(), pytest.raises(RuntimeError):
        leave_and_fail()
    assert gauge.heard == []


@pytest.mark.once
def test_an_operation_in_a_receiver_counts_for_itself(bea: Student, gauge: Gauge, commit: Any) -> None:
    dora = enrol()
    Answer.objects.create(author=dora.user, question=Question.objects.first(), text="one")

    def follow(**_: Any) -> None:
        signals.disguised.disconnect(follow)
        dora.disguise(DELETE)

    signals.disguised.connect(follow)
    with commit():
        bea.disguise(ANONYMISE_ALL)
    assert sorted((heard["name"], heard["rows"]) for heard in gauge.take()) == [(ANONYMISE_ALL, 4), (DELETE, 2)]


@pytest.mark.once
def test_an_operation_inside_another_one_counts_for_itself(bea: Student, gauge: Gauge, commit: Any) -> None:
    """A runner of a job that found nobody to disguise has done nothing, whatever else was done meanwhile."""
    with commit(), measurements.measuring("batch", ANONYMISE_ALL):
        bea.disguise(DELETE)
    assert gauge.take() == [told("disguise", DELETE, principals=1, rows=5)]


@pytest.mark.once
def test_a_failing_receiver_harms_nobody(
    bea: Student, gauge: Gauge, commit: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(**_: Any) -> None:
        raise ValueError("What Bea wrote")

    signals.measured.connect(broken)
    try:
        with commit():
            receipt = bea.disguise(DELETE)
        with pytest.raises(UnknownDisguise):
            edna.disguise("no.such", bea.user)
        with commit():
            assert bea.reveal(receipt).complete
    finally:
        signals.measured.disconnect(broken)
    assert "a receiver of edna's signals, raised ValueError" in caplog.text
    assert "What Bea wrote" not in caplog.text
    assert len(gauge.heard) == 3


@pytest.mark.once
def test_a_log_that_fails_harms_nobody(bea: Student, commit: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(record: logging.LogRecord) -> bool:
        if hasattr(record, "event"):
            raise ValueError("What Bea wrote")
        return True

    logger = logging.getLogger("edna")
    logger.addFilter(broken)
    try:
        with caplog.at_level(logging.INFO, logger="edna"), commit():
            receipt = bea.disguise(DELETE)
        for bag in Bag.objects.all():
            Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
        with pytest.raises(BagCorrupt):
            bea.reveal(receipt)
    finally:
        logger.removeFilter(broken)
    assert "could not be sent: ValueError" in caplog.text
    assert "What Bea wrote" not in caplog.text


@pytest.mark.once
def test_if_nobody_listens_nothing_is_computed(
    bea: Student, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    # Receivers of earlier tests may still be in memory.
    monkeypatch.setattr(signals.measured, "receivers", [])
    assert not signals.measured.has_listeners()
    assert not logging.getLogger("edna").isEnabledFor(logging.INFO)
    made: list[Any] = []
    monkeypatch.setattr(measurements, "Measurement", lambda *args: made.append(args))
    with django_capture_on_commit_callbacks() as waiting:
        bea.reveal(bea.disguise(DELETE))
    assert waiting == []
    assert made == []


def test_listening_costs_no_statement(bea: Student) -> None:
    cycle = lambda: bea.reveal(bea.disguise(DELETE))  # noqa: E731
    cycle()
    quiet = len(statements(cycle))
    gauge = Gauge()
    signals.measured.connect(gauge)
    try:
        assert len(statements(cycle)) == quiet
    finally:
        signals.measured.disconnect(gauge)


@pytest.mark.once
def test_nothing_that_is_told_says_who(bea: Student, commit: Any) -> None:
    told: list[Any] = []

    def listen(**fields: Any) -> None:
        told.append(fields)

    signals.measured.connect(listen)
    try:
        with commit():
            receipt = bea.disguise(DELETE)
        for bag in Bag.objects.all():
            Bag.objects.filter(pk=bag.pk).update(sealed=flipped(bytes(bag.sealed)))
        with pytest.raises(BagCorrupt):
            bea.reveal(receipt)
    finally:
        signals.measured.disconnect(listen)
    needles = secrets_of(bea, receipt) | {"address": bea.email, "text": "An answer", "number": f"'{bea.user.pk}'"}
    assert len(told) == 2
    assert finds(repr(told).encode(), needles) == []


@pytest.mark.once
def test_a_batch_counts_what_the_engine_commits(bea: Student, gauge: Gauge, commit: Any) -> None:
    """For jobs, which build and execute plans themselves."""
    with commit(), measurements.measuring("batch", DELETE), transaction.atomic():
        plan = edna.plan(DELETE, bea.user)
        disguising.execute(plan, using="default")
    assert gauge.take() == [told("batch", DELETE, principals=1, rows=5)]
