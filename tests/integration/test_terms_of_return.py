"""On which terms rows come back: what the specification says today, whatever was sealed, and whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db.migrations import Migration, RunPython
from django.db.migrations.loader import MigrationLoader
from django.db.models import F

import edna
from apps.websubmit.models import Answer, User
from edna import AS_IT_WAS, NOTHING, Disguise, Modify, Remove, placeholders, recordmigrations
from edna.engine.forwarding import table_history
from edna.errors import RevealRefused, SpecError
from edna.testing import application_dump
from tests.installed import registering
from tests.support import Student, enrol_in_course, statements

pytestmark = pytest.mark.django_db

USER, ANSWER, ENTRY = "websubmit.user", "websubmit.answer", "admin.logentry"
BY_HAND = "terms.by-hand"


def leave(
    *, user: Any = None, answers: Any = None, name: str = "terms.leave", extra: tuple[Any, ...] = ()
) -> type[Disguise]:
    """A disguise that removes an account, with terms for its tables."""
    steps = [
        *extra,
        Remove(Answer, owner="author", returning=answers),
        Remove(LogEntry, owner="user"),
        Remove(User, returning=user),
    ]
    return type("Leave", (Disguise,), {"name": name, "transformations": steps})


@pytest.fixture(autouse=True)
def nothing_else_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other disguises say of these models must not decide here."""
    monkeypatch.setattr(edna.registry, "_disguises", {})


@pytest.fixture
def bea() -> Student:
    student = enrol_in_course("bea@example.org")
    User.objects.update(is_admin=True)
    student.user.refresh_from_db()
    return student


@pytest.fixture
def by_hand() -> Iterator[None]:
    def callback(revealed: edna.Revealed) -> None: ...

    edna.on_reveal(BY_HAND, returning={User: {"is_admin": False}})(callback)
    yield
    edna.unregister(callback)


def came_back(student: Student) -> User:
    return User.objects.get(pk=student.user.pk)


def test_a_column_comes_back_with_the_specifications_value(bea: Student) -> None:
    with registering(leave(user={"is_admin": False})):
        outcome = bea.reveal(bea.disguise("terms.leave"))
    assert not came_back(bea).is_admin
    assert (outcome.complete, outcome.altered, outcome.dropped) == (True, {USER: {"is_admin": 1}}, {})
    assert outcome.as_dict()["altered"] == {USER: {"is_admin": 1}}


def test_everything_else_comes_back_to_the_byte(bea: Student) -> None:
    User.objects.update(is_admin=False)
    before = application_dump()
    with registering(leave(user={"is_admin": False})):
        outcome = bea.reveal(bea.disguise("terms.leave"))
    assert application_dump() == before
    assert outcome.altered == {}, "it was so already"


def test_no_statement_more(bea: Student) -> None:
    counted = []
    for terms in ({}, {"is_admin": False, "joined_on": placeholders.null()}):
        with registering(leave(user=terms)):
            receipt = bea.disguise("terms.leave")
            counted.append(len(statements(lambda receipt=receipt: bea.reveal(receipt))))
    assert counted[0] == counted[1]


def test_a_row_that_stands_in_all_of_them_is_looked_up_once(bea: Student) -> None:
    ghost = User.objects.create(email="ghost@example.org")
    with registering(leave(answers={"author": placeholders.row(User, email=ghost.email)})):
        receipt = bea.disguise("terms.leave")
        asked = statements(lambda: bea.reveal(receipt))
    assert set(Answer.objects.values_list("author", flat=True)) == {ghost.pk}
    assert len([sql for sql in asked if "LIMIT 2" in sql]) == 1


@pytest.mark.once
def test_what_is_said_later_holds_for_who_left_before(bea: Student) -> None:
    with registering(leave()):
        receipt = bea.disguise("terms.leave")
    with registering(leave(user={"is_admin": False})):
        bea.reveal(receipt)
    assert not came_back(bea).is_admin


def test_rows_that_do_not_come_back_are_counted_and_erased(bea: Student) -> None:
    with registering(leave(answers=NOTHING)):
        receipt = bea.disguise("terms.leave")
        outcome = bea.reveal(receipt)
        with bea.unlock() as unlocked:
            assert edna.history(unlocked) == []
    assert not Answer.objects.exists()
    assert came_back(bea).is_admin
    assert (outcome.complete, outcome.dropped) == (True, {ANSWER: 4})
    assert outcome.restored == {USER: 1}


@pytest.mark.once
def test_said_to_come_back_as_it_was(bea: Student) -> None:
    before = application_dump()
    for terms in (AS_IT_WAS, {"is_admin": AS_IT_WAS}):
        with registering(leave(user=terms, answers=AS_IT_WAS)):
            outcome = bea.reveal(bea.disguise("terms.leave"))
        assert application_dump() == before
        assert not outcome.altered
        assert not outcome.dropped


def test_placeholders_of_every_kind(bea: Student) -> None:
    drawn = iter(["drawn@example.org"])
    terms = {
        "email": placeholders.call(lambda: next(drawn), unique=True),
        "apikey": placeholders.random_string(),
        "joined_on": placeholders.truncated_date(to="year"),
        "is_admin": placeholders.derived(lambda was: not was),
    }
    with registering(leave(user=terms)):
        bea.reveal(bea.disguise("terms.leave"))
    user = came_back(bea)
    assert (user.email, user.is_admin) == ("drawn@example.org", False)
    assert (user.joined_on.month, user.joined_on.day) == (1, 1)
    assert user.apikey != bea.user.apikey


@pytest.mark.once
def test_an_override_of_the_caller_does_not_reach_what_the_specification_decides(bea: Student) -> None:
    with registering(leave(user={"email": placeholders.constant("kept@example.org")})):
        receipt = bea.disguise("terms.leave")
        User.objects.create_user("kept@example.org")
        outcome = bea.reveal(receipt, overrides={"websubmit.User.email": "mine@example.org"})
    assert [held.field for held in outcome.held if held.model == USER] == ["email"]
    assert not outcome.altered, "it is not back"


@pytest.mark.once
def test_what_is_held_comes_back_on_the_same_terms(bea: Student) -> None:
    with registering(leave(user={"is_admin": False})):
        receipt = bea.disguise("terms.leave")
        other = User.objects.create_user("bea@example.org")
        with pytest.raises(RevealRefused):
            bea.reveal(receipt, allow_partial=False)
        assert not bea.reveal(receipt).complete
        other.delete()
        assert bea.reveal(receipt).complete
    assert not came_back(bea).is_admin


@pytest.mark.once
def test_a_disguise_that_is_not_registered_any_more_comes_back_on_the_terms_of_the_others(bea: Student) -> None:
    with registering(leave(name="terms.former")):
        receipt = bea.disguise("terms.former")
    with registering(leave(user={"is_admin": False})):
        outcome = bea.reveal(receipt)
    assert not came_back(bea).is_admin
    assert outcome.complete


@pytest.mark.once
def test_rows_of_a_former_disguise_are_dropped_only_if_all_others_say_so(bea: Student) -> None:
    with registering(leave(name="terms.former")):
        first = bea.disguise("terms.former")
    with registering(leave(answers=NOTHING), leave(name="terms.other")):
        assert not bea.reveal(first).dropped


@pytest.mark.once
def test_a_disguise_has_its_own_terms(bea: Student) -> None:
    with registering(leave(user={"is_admin": False}, answers=NOTHING), leave(name="terms.other")):
        outcome = bea.reveal(bea.disguise("terms.other"))
    assert (outcome.altered, outcome.dropped) == ({}, {})
    assert came_back(bea).is_admin


def test_records_that_fold_into_a_later_disguise(bea: Student) -> None:
    """What an earlier one of the same person had changed lies in the record of the later one by the time that that comes back."""
    soften = type(
        "Soften",
        (Disguise,),
        {"name": "terms.soften", "transformations": [Modify(User, set={"is_admin": False, "joined_on": None})]},
    )
    with registering(leave(user={"is_admin": False}), soften):
        first, second = bea.disguise("terms.soften"), bea.disguise("terms.leave")
        bea.reveal(first)
        outcome = bea.reveal(second)
    assert outcome.altered == {USER: {"is_admin": 1}}
    assert (came_back(bea).is_admin, came_back(bea).joined_on) == (False, bea.user.joined_on)


@pytest.mark.once
def test_rows_that_wait_in_another_bag_were_dropped_before(bea: Student) -> None:
    """The answers' own disguise is revealed while the account is away: they would wait in its bag, and come back with it."""
    shred = type(
        "Shred",
        (Disguise,),
        {"name": "terms.shred", "transformations": [Remove(Answer, owner="author", returning=NOTHING)]},
    )
    with registering(leave(), shred):
        first, second = bea.disguise("terms.shred"), bea.disguise("terms.leave")
        assert bea.reveal(first).dropped == {ANSWER: 4}
        bea.reveal(second)
    assert not Answer.objects.exists()


def test_in_chunks(bea: Student, settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 2}
    with registering(leave(user={"is_admin": False}, answers=NOTHING)):
        outcome = bea.reveal(bea.disguise("terms.leave"))
    assert (outcome.altered, outcome.dropped) == ({USER: {"is_admin": 1}}, {ANSWER: 4})
    assert outcome.complete


@pytest.mark.once
def test_after_a_rotation(bea: Student) -> None:
    with registering(leave(user={"is_admin": False})):
        receipt = bea.disguise("terms.leave")
        with bea.unlock() as unlocked:
            made = edna.rotate(unlocked)
        with edna.unlock(secret_key=made.secret_key) as unlocked:
            edna.reveal(receipt, unlocked)
    assert not came_back(bea).is_admin


@pytest.mark.once
def test_by_hand(bea: Student, by_hand: None) -> None:
    with edna.session(bea.user, BY_HAND) as session:
        session.remove(bea.user, *bea.user.answers.all())
    outcome = bea.reveal(session.receipt)
    assert outcome.altered == {USER: {"is_admin": 1}}
    assert not came_back(bea).is_admin


@pytest.mark.once
def test_a_replayed_update_is_done_first(bea: Student) -> None:
    """The specification has the last word, as it has over everything that was sealed."""
    with registering(leave(user={"joined_on": None})):
        receipt = bea.disguise("terms.leave")
        edna.replay(User, where={"email": "bea@example.org"}, set={"is_active": False, "joined_on": "2001-01-01"})
        bea.reveal(receipt)
    assert (came_back(bea).is_active, came_back(bea).joined_on) == (False, None)


@pytest.mark.once
@pytest.mark.parametrize("terms", [{"no_such": 1}, {"joined_on": "rubbish"}, {"is_admin": F("is_admin")}], ids=str)
def test_terms_that_cannot_be_kept_let_nothing_come_back(bea: Student, terms: Any) -> None:
    with registering(leave()):
        receipt = bea.disguise("terms.leave")
    with registering(leave(user=terms)), pytest.raises(SpecError, match="Nothing was changed") as raised:
        bea.reveal(receipt)
    assert "no_such" in terms or raised.value.__context__ is None, "what it caught may quote what was sealed"
    assert not User.objects.exists()


@pytest.mark.once
def test_the_plan_says_it(bea: Student) -> None:
    with registering(leave(user={"is_admin": False, "email": AS_IT_WAS}, answers=NOTHING)):
        plan = edna.plan("terms.leave", bea.user)
    assert {line.model: line.returning for line in plan.tables} == {
        ANSWER: "not at all",
        ENTRY: "",
        USER: "is_admin set anew",
    }


@pytest.mark.once
def test_after_a_record_migration(bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a migration makes of the record comes first: it does not give the right back."""

    def promote(record: edna.SealedRecord) -> edna.SealedRecord:
        record.derive("is_admin", lambda old: True, "is_admin")
        record.derive("email", lambda old: f"moved-{old}", "email")
        return record

    with registering(leave(user={"is_admin": False})):
        receipt = bea.disguise("terms.leave")
        loader = MigrationLoader(None)
        last = loader.graph.leaf_nodes("websubmit")[0]
        key = ("websubmit", "9999_everybody_moves")
        made = Migration(key[1], key[0])
        made.operations, made.dependencies = [RunPython(RunPython.noop)], [last]
        loader.graph.add_node(key, made)
        loader.graph.add_dependency(made, key, last)
        loader.disk_migrations[key] = made
        edna.record_migration(*key, models=[USER])(promote)
        try:
            with monkeypatch.context() as patched:
                patched.setattr(table_history, "_loader", lambda: loader)
                forget_history()
                outcome = bea.reveal(receipt)
        finally:
            recordmigrations.unregister(*key)
            forget_history()
    assert outcome.complete
    assert outcome.altered == {USER: {"is_admin": 1}}
    assert (came_back(bea).is_admin, came_back(bea).email) == (False, f"moved-{bea.email}")


def forget_history() -> None:
    table_history._newest.cache_clear()
    table_history.history.cache_clear()
