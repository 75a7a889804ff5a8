"""`edna.testing`: each assertion holds for a sound disguise, and sees what is wrong with a bad one."""

from __future__ import annotations

import subprocess
import sys
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import TestCase

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Modify, Remove, conf, placeholders
from edna.models import PrincipalEntry
from edna.testing import (
    DisguiseAssertions,
    Person,
    application_dump,
    assert_nothing_left,
    assert_same,
    cheap_keys,
    dumps,
    everything_returns,
)
from tests.installed import registering
from tests.support import DELETE, enrol_in_course, statements

ROOT = Path(__file__).resolve().parents[2]
EMAIL, TEXT = "bea@example.org", "Because of the sea."

pytest_plugins = ["edna.testing.plugin"]
pytestmark = pytest.mark.django_db


class LeavesTheText(Disguise):
    """Takes the name away, and not what it stands in."""

    name = "testing.leaves-the-text"
    transformations = [Decorrelate(Answer, owner="author")]


class TellsTheText(Disguise):
    """A placeholder that is made of what was there."""

    name = "testing.tells-the-text"
    transformations = [
        Modify(Answer, owner="author", set={"text": placeholders.derived(lambda text: text.encode().hex())})
    ]


def count_one() -> str:
    Lecture.objects.update(label="One has left")
    return ""


class CountsWhoLeft(Disguise):
    """Changes what no record says: it stays when the person returns."""

    name = "testing.counts-who-left"
    transformations = [Modify(Answer, owner="author", set={"text": placeholders.call(count_one)})]


class ReturnsAnother(Disguise):
    name = "testing.returns-another"
    transformations = [Remove(Answer, owner="author", returning={"text": "[removed]"})]


BAD = (LeavesTheText, TellsTheText, CountsWhoLeft, ReturnsAnother)


@pytest.fixture
def bea(db: None) -> Iterator[Person]:
    bea = enrol_in_course(EMAIL, "carl@example.org")
    Answer.objects.filter(author=bea.user).update(text=TEXT)
    with registering(*BAD):
        yield bea


def comes_back(bea: Person, name: str) -> None:
    bea.reveal(bea.disguise(name))


def test_a_sound_disguise_passes(bea: Person) -> None:
    with everything_returns():
        receipt = bea.disguise(DELETE)
        assert_nothing_left(EMAIL, TEXT)
        bea.reveal(receipt)


@pytest.mark.once
def test_a_text_that_stays_is_found_with_its_place(bea: Person) -> None:
    bea.disguise(LeavesTheText.name)
    with pytest.raises(AssertionError, match=r"websubmit_answer\.text holds 'Because of the sea\.'"):
        assert_nothing_left(TEXT)
    assert_nothing_left(TEXT, ignore=["websubmit_answer.text"])
    assert_nothing_left(TEXT, ignore=["websubmit_answer"])


def test_an_encoded_text_is_found(bea: Person) -> None:
    bea.disguise(TellsTheText.name)
    with pytest.raises(AssertionError, match=r"websubmit_answer\.text holds"):
        assert_nothing_left(TEXT)


@pytest.mark.once
def test_what_a_session_holds_is_found(bea: Person) -> None:
    bea.disguise(DELETE)
    data = Session.get_session_store_class()().encode({"name": EMAIL})
    Session.objects.create(session_key="k" * 32, session_data=data, expire_date="2040-01-01T00:00:00Z")
    with pytest.raises(AssertionError, match="the contents of django_session holds"):
        assert_nothing_left(EMAIL)


def test_a_row_of_edna_s_that_tells_is_found(bea: Person) -> None:
    bea.disguise(DELETE)
    PrincipalEntry.objects.filter(reference=None).update(locators=EMAIL.encode())
    with pytest.raises(AssertionError, match=r"edna_principalentry\.locators holds"):
        assert_nothing_left(EMAIL)


@pytest.mark.once
@pytest.mark.parametrize("nothing", [(), ("",), ("bea@example.org", b"")])
def test_to_search_for_nothing_is_no_search(bea: Person, nothing: tuple[str | bytes, ...]) -> None:
    with pytest.raises(ValueError, match="name what must not be found"):
        assert_nothing_left(*nothing)


@pytest.mark.once
def test_too_short_a_text_is_refused(bea: Person) -> None:
    """A small primary key is somewhere in every table."""
    with pytest.raises(ValueError, match="fewer than 3 characters"):
        assert_nothing_left(EMAIL, "2")


@pytest.mark.once
def test_what_no_record_says_is_seen_to_stay(bea: Person) -> None:
    with (
        pytest.raises(AssertionError, match="websubmit_lecture: 2 rows are missing, 2 are new; changed: label"),
        everything_returns(),
    ):
        comes_back(bea, CountsWhoLeft.name)
    with everything_returns(ignore=["websubmit_lecture"]):
        comes_back(bea, CountsWhoLeft.name)
    Lecture.objects.update(label="None has left")
    with everything_returns(ignore=["websubmit_lecture.label"]):
        comes_back(bea, CountsWhoLeft.name)


def leave_half_done() -> None:
    Lecture.objects.update(label="Half done")
    raise ValueError("refused")


@pytest.mark.once
def test_what_an_error_has_left_is_seen(bea: Person) -> None:
    """Who expects a refusal around the block hears of it."""
    with pytest.raises(AssertionError, match="changed: label"), everything_returns():
        leave_half_done()


def test_what_returns_otherwise_is_seen(bea: Person) -> None:
    with (
        pytest.raises(AssertionError, match="websubmit_answer: 4 rows are missing, 4 are new; changed: text"),
        everything_returns(),
    ):
        comes_back(bea, ReturnsAnother.name)


@pytest.mark.once
def test_whoever_has_not_returned_is_missed(bea: Person) -> None:
    with pytest.raises(AssertionError, match="websubmit_user: 1 rows are missing, 0 are new"), everything_returns():
        bea.disguise(DELETE)


@pytest.mark.once
def test_a_failure_tells_no_contents(bea: Person) -> None:
    with pytest.raises(AssertionError) as failure, everything_returns():
        bea.disguise(DELETE)
    assert EMAIL not in str(failure.value)
    assert EMAIL.encode().hex() not in str(failure.value).lower()


def test_two_dumps_are_compared_row_by_row(bea: Person) -> None:
    before = application_dump()
    Question.objects.create(lecture=Lecture.objects.all()[0], number=9, text="And?")
    assert_same(application_dump(), application_dump())
    with pytest.raises(AssertionError, match="websubmit_question: 0 rows are missing, 1 are new"):
        assert_same(before, application_dump())


def test_a_dump_asks_at_once_which_tables_are_empty(bea: Person) -> None:
    dump = application_dump()
    asked = statements(application_dump)
    times = {table: sum(connection.ops.quote_name(table) in sql for sql in asked) for table in dump}
    assert {times[table] for table, rows in dump.items() if rows} == {3}, (
        "whether it is empty, its columns, and its rows"
    )
    assert {times[table] for table, rows in dump.items() if not rows} == {1}


def test_of_more_tables_than_one_statement_takes(bea: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    before = application_dump()
    monkeypatch.setattr(dumps, "_TABLES_AT_ONCE", 2)
    assert application_dump() == before


@pytest.mark.only_on("sqlite3")  # the others keep no value of another type in a column
def test_a_value_of_another_type_is_another_value(bea: Person) -> None:
    before = application_dump()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE websubmit_answer SET text = CAST(text AS BLOB)")
    with pytest.raises(AssertionError, match="changed: text"):
        assert_same(before, application_dump())


@pytest.mark.once
def test_cheap_keys_cost_the_least_and_open_what_was_made_before(db: None) -> None:
    user = User.objects.create_user(EMAIL)
    with cheap_keys():
        assert conf.argon2_costs()[0] == (1, 8192)
    usual = conf.argon2_costs()[0]
    edna.register_principal(user, password="four zebras")
    with cheap_keys():
        assert usual in conf.argon2_costs()
        with edna.unlock(password="four zebras", identifier=EMAIL):
            pass
    assert conf.argon2_costs()[0] == usual


@pytest.mark.once
def test_the_fixture_gives_a_key_that_a_password_opens(db: None, edna_person: Callable[..., Person]) -> None:
    assert conf.argon2_costs()[0] == (1, 8192)
    bea = edna_person(User.objects.create_user(EMAIL), password="four zebras")
    with edna.unlock(password="four zebras", identifier=EMAIL), bea.unlock():
        pass
    assert EMAIL not in repr(bea)
    assert bea.recovery_code not in repr(bea)


def cases() -> type[TestCase]:
    """Made where it is run, so that pytest does not collect it."""

    class Leaving(DisguiseAssertions, TestCase):
        def setUp(self) -> None:
            self.bea = self.person(User.objects.create_user(EMAIL), password="four zebras")

        def test_sound(self) -> None:
            assert conf.argon2_costs()[0] == (1, 8192)
            with self.assertEverythingReturns():
                receipt = self.bea.disguise(DELETE)
                self.assertNothingLeft(EMAIL)
                self.bea.reveal(receipt)

        def test_left(self) -> None:
            self.assertNothingLeft(EMAIL)

        def test_gone(self) -> None:
            with self.assertEverythingReturns():
                self.bea.disguise(DELETE)

    return Leaving


@pytest.mark.once
def test_a_testcase_has_the_same_assertions(db: None) -> None:
    usual = conf.argon2_costs()
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(cases())
    result = unittest.TestResult()
    suite.run(result)
    assert result.testsRun == 3
    assert result.errors == []
    assert sorted(str(test).partition(" ")[0] for test, _ in result.failures) == ["test_gone", "test_left"]
    assert conf.argon2_costs() == usual


@pytest.mark.once
def test_it_needs_no_pytest_and_no_apps_that_are_ready() -> None:
    program = (
        "import sys; sys.modules['pytest'] = None\n"
        "import edna.testing\n"
        "from django.apps import apps; assert not apps.ready\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT, env={"DJANGO_SETTINGS_MODULE": "config.settings_test", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
