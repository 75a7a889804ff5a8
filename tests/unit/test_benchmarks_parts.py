"""The drill-down of the benchmarks: parts are counted once and add up, and what is counted is what edna really calls."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test.utils import CaptureQueriesContext

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from benchmarks import parts, stopwatch
from benchmarks.parts import KINDS, PARTS, SEAMS, SeamGone, drilling, kind_of, summary
from benchmarks.stopwatch import REST, Spent, Stopwatch, middle
from benchmarks.timing import Clock, Key

pytestmark = pytest.mark.thorough

DELETE = "websubmit.delete-account"


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A clock that goes on only when it is told to."""
    now = [0]
    monkeypatch.setattr(stopwatch, "perf_counter_ns", lambda: now[0])
    return now


def test_what_a_part_calls_of_another_is_counted_once_and_the_parts_add_up(hands: list[int]) -> None:
    watch = Stopwatch()

    def wait(ns: int) -> None:
        hands[0] += ns

    seal = watch.wrapped("sealing", lambda: wait(5))

    def encode() -> None:
        wait(10)
        seal()
        wait(3)
        again()

    again = watch.wrapped("encoding", lambda: wait(2))
    encoded = watch.wrapped("encoding", encode)

    def work() -> str:
        wait(100)
        encoded()
        seal()
        wait(7)
        return "done"

    outcome, spent = watch.run(work)
    assert outcome == "done"
    assert spent == Spent({REST: 107, "encoding": 15, "sealing": 10}, {REST: 1, "encoding": 2, "sealing": 2})
    assert spent.whole_ns == hands[0] == 132


def test_what_fails_is_counted_and_does_not_stay_on_top(hands: list[int]) -> None:
    watch = Stopwatch()

    def fail() -> None:
        hands[0] += 5
        raise ZeroDivisionError

    def work() -> None:
        with pytest.raises(ZeroDivisionError):
            watch.wrapped("sealing", fail)()
        hands[0] += 1

    assert watch.run(work)[1].ns == {REST: 1, "sealing": 5}


def test_other_threads_and_what_happens_between_the_rounds_do_not_count(hands: list[int]) -> None:
    watch = Stopwatch()

    def pass_time() -> None:
        hands[0] += 50

    counted = watch.wrapped("key pool", pass_time)

    def work() -> None:
        thread = threading.Thread(target=counted)
        thread.start()
        thread.join()

    counted()
    spent = watch.run(work)[1]
    assert spent.ns == {REST: 50}
    assert spent.calls == {REST: 1}
    assert watch.run(lambda: None)[1].ns == {REST: 0}, "a round begins with what the one before left"


def test_the_middle_is_without_the_quickest_and_the_slowest_quarter() -> None:
    samples = [Spent({REST: ns}, {}) for ns in (9, 1, 500, 5, 6, 0, 7, 8)]
    assert [each.whole_ns for each in middle(samples)] == [5, 6, 7, 8]
    assert middle(samples[:1]) == samples[:1]


def test_a_summary_adds_up_and_says_what_counting_took() -> None:
    first = Spent(
        {REST: 2_000_000, "select": 1_000_000, "fetch": 500_000, "sealing": 250_000}, {"select": 2, "fetch": 4}
    )
    second = Spent({REST: 4_000_000, "insert": 1_000_000, "transaction": 500_000}, {"insert": 1, "transaction": 2})
    found = summary([first, second])
    assert found["parts_ms"] == {
        "sql": 1.5,
        "sealing": 0.125,
        "encoding": 0.0,
        "key pool": 0.0,
        "derivation": 0.0,
        REST: 3.0,
    }
    assert found["sql_ms"] == {
        "select": 0.75,
        "insert": 0.5,
        "update": 0.0,
        "delete": 0.0,
        "transaction": 0.25,
        "other": 0.0,
    }
    assert found["sql_calls"]["select"] == 1, "fetching is no statement of its own"
    assert found["parts_whole_ms"] == pytest.approx(sum(found["parts_ms"].values())) == pytest.approx(4.625)
    assert (found["parts_n"], set(found["parts_ms"])) == (2, set(PARTS))
    assert "parts_overhead_ms" in found


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT 1", "select"),
        ("\n  select 1", "select"),
        ("INSERT INTO t VALUES (1)", "insert"),
        ("REPLACE INTO t VALUES (1)", "insert"),
        ("UPDATE t SET a = 1", "update"),
        ("WITH made AS (INSERT INTO t VALUES (1) RETURNING a) UPDATE t SET a = 2 FROM made", "update"),
        ("DELETE FROM t", "delete"),
        ("SAVEPOINT s", "transaction"),
        ("SAVEPOINT edna_insert; INSERT INTO t VALUES (1); RELEASE SAVEPOINT edna_insert", "insert"),
        ("RELEASE SAVEPOINT s", "transaction"),
        ("BEGIN IMMEDIATE", "transaction"),
        ("SET foreign_key_checks = 0", "other"),
        ("", "other"),
    ],
)
def test_kinds_of_statements(sql: str, kind: str) -> None:
    assert kind_of(sql) == kind


@pytest.mark.once
@pytest.mark.django_db
def test_all_that_a_disguise_and_its_reveal_do_is_found_in_its_part() -> None:
    lecture = Lecture.objects.create(label="One")
    student = User.objects.create_user("bea@example.org")
    for number in range(3):
        question = Question.objects.create(lecture=lecture, number=number, text="Why?")
        Answer.objects.create(author=student, question=question, text="Because.")
    key = edna.register_principal(student).secret_key

    def there_and_back() -> edna.Outcome:
        receipt = edna.disguise(DELETE, student)
        with edna.unlock(secret_key=key) as unlocked:
            return edna.reveal(receipt, unlocked)

    there_and_back()  # imports and compiles what it takes
    with drilling() as watch, CaptureQueriesContext(connection) as seen:
        outcome, spent = watch.run(there_and_back)
    assert outcome.complete
    for part in ("select", "insert", "delete", "transaction", "sealing", "encoding", "fetch", REST):
        assert spent.ns.get(part, 0) > 0, f"nothing was counted as {part}"
    assert sum(spent.calls.get(kind, 0) for kind in KINDS) == len(seen)
    found = summary([spent])
    assert found["parts_whole_ms"] == pytest.approx(spent.whole_ns / 1e6, abs=0.01)


@pytest.mark.once
@pytest.mark.django_db
def test_key_pairs_and_derivations_are_found_too() -> None:
    student = User.objects.create_user("bea@example.org")
    lecture = Lecture.objects.create(label="One")
    question = Question.objects.create(lecture=lecture, number=1, text="Why?")
    Answer.objects.create(author=student, question=question, text="Because.")
    with drilling() as watch:
        _, spent = watch.run(lambda: edna.register_principal(student, password="a long walk home"))
        _, anonymised = watch.run(lambda: edna.disguise("websubmit.anonymize-all", student))
    assert spent.calls["derivation"] == 1
    assert anonymised.calls["key pool"] >= 1


def test_afterwards_everything_is_as_it_was() -> None:
    def look() -> list[object]:
        import edna.records.bag

        places = [(module, name) for seams in SEAMS.values() for module, name in seams if "." not in name]
        own = [getattr(sys.modules[module], name) for module, name in places]
        return [
            *own,
            edna.records.bag.seal,
            edna.keypool.KeyPool.take,
            CursorWrapper.__getattr__,
            connection.execute_wrappers[:],
        ]

    with drilling():
        pass
    before = look()
    with drilling():
        assert all(now is not then for now, then in zip(look(), before, strict=True))
    assert look() == before


def test_a_function_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parts.SEAMS, "sealing", (("edna.crypto.sealing", "seal_everything"),))
    with pytest.raises(SeamGone, match=r"edna\.crypto\.sealing\.seal_everything is gone"), drilling():
        pass


def test_a_clock_drills_between_timing_and_counting() -> None:
    @contextmanager
    def three_statements() -> Iterator:
        order.append("counting")
        yield lambda: 3

    @contextmanager
    def watching() -> Iterator[Stopwatch]:
        order.append("drill")
        yield Stopwatch()
        order.append("drilled")

    order: list[str] = []
    clock, key = Clock(three_statements, (watching, lambda seen: {"parts_n": len(seen)})), Key("delete", "edna")
    for number in clock.rounds(range(8), warm_up=1, drilled=2, counted=2):
        clock(key, lambda n=number: order.append(f"work {n}"), rows=1)
    assert order == [
        *(f"work {number}" for number in range(4)),
        *("drill", "work 4", "work 5", "drilled"),
        *("counting", "work 6", "counting", "work 7"),
    ]
    (made,) = clock.results(app="websubmit", level="library", database="sqlite", scale="tiny")
    assert (made.n, made.statements, made.extra) == (3, 3, {"parts_n": 2})
    clock(key, lambda: None, rows=1)
    assert len(clock.samples[key]) == 4, "the next ones are timed again"


@pytest.mark.parametrize(("items", "timed", "drilled"), [(2, 1, 0), (3, 1, 0), (4, 1, 1), (8, 5, 1), (16, 1, 8)])
def test_a_clock_with_few_items_drills_into_one_of_them_if_there_is_one_to_spare(
    items: int, timed: int, drilled: int
) -> None:
    @contextmanager
    def three_statements() -> Iterator:
        yield lambda: 3

    @contextmanager
    def watching() -> Iterator[Stopwatch]:
        yield Stopwatch()

    clock, key = Clock(three_statements, (watching, lambda seen: {})), Key("delete", "edna")
    for _ in clock.rounds(range(items)):
        clock(key, lambda: None, rows=1)
    assert (len(clock.samples[key]), len(clock.drilled.get(key, []))) == (timed, drilled)
    assert clock.statements[key] == {3}
