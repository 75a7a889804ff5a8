"""Disguises by hand: one transaction, one receipt, and a reveal like any other; blobs go to the application's function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F

import edna
from apps.websubmit.models import Answer, Lecture, Question, User
from edna.engine.revealing import blobs
from edna.errors import (
    ConstraintRefused,
    DatabaseBusy,
    NotYours,
    PrincipalNotRegistered,
    RevealRefused,
    SessionClosed,
    SpecError,
    UnknownDisguise,
)
from edna.testing import Person, application_dump
from edna.testing.search import finds
from tests.support import (
    ANONYMISE_ALL,
    DELETE,
    Student,
    counts,
    edna_dump,
    enrol,
    enrol_in_course,
    enrol_many,
    loot,
    make_course,
    nothing_changes,
    statements,
    whole_dump,
)

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NAME = "test.by-hand"


class Callback:
    """The application's function: writes down what it is given, and does what the test says."""

    def __init__(self) -> None:
        self.calls: list[edna.Revealed] = []
        self.then: Any = None

    def __call__(self, revealed: edna.Revealed) -> None:
        self.calls.append(revealed)
        if self.then is not None:
            self.then(revealed)

    @property
    def blobs(self) -> tuple[bytes, ...]:
        [call] = self.calls
        return call.blobs


@pytest.fixture(autouse=True)
def callback() -> Iterator[Callback]:
    function = Callback()
    edna.on_reveal(NAME)(function)
    yield function
    edna.unregister(function)


@pytest.fixture
def bea() -> Student:
    return enrol_in_course("bea@example.org", "carl@example.org")


@pytest.fixture
def carl(bea: Student) -> User:
    return User.objects.get(email="carl@example.org")


def answers_of(user: User) -> list[Answer]:
    return list(Answer.objects.filter(author=user).order_by("pk"))


# Rows


class TestRows:
    def test_all_three_and_back(self, bea: Student) -> None:
        """Everything is as it was, to the byte, and edna's tables hold nothing more."""
        before, tables = application_dump(), edna_dump()
        first, second, third, fourth = answers_of(bea.user)
        with edna.session(bea.user, NAME) as s:
            s.remove(first)
            s.modify(second, text="[gone]")
            s.decorrelate(third, "author")
            s.decorrelate(Answer.objects.filter(pk=fourth.pk), "author")
            s.modify(bea.user, email="somebody@example.org")
        assert isinstance(s.receipt, edna.Receipt)
        assert not Answer.objects.filter(pk=first.pk).exists()
        assert Answer.objects.get(pk=second.pk).text == "[gone]"
        authors = set(Answer.objects.filter(pk__in=[third.pk, fourth.pk]).values_list("author", flat=True))
        assert len(authors) == 2
        assert all(edna.is_pseudoprincipal(user) for user in User.objects.filter(pk__in=authors))
        [entry] = bea.history()
        assert (entry.receipt, entry.name) == (s.receipt, NAME)
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before
        assert edna_dump() == tables

    def test_each_step_is_there_at_once(self, bea: Student) -> None:
        """The block's own statements see it, and the objects that it holds do not bring the old values back."""
        answer, other = answers_of(bea.user)[:2]
        with edna.session(bea.user, NAME) as s:
            s.modify([answer, other], text="[gone]")
            assert {answer.text, other.text} == {"[gone]"}
            s.decorrelate(answer, "author")
            assert answer.author_id != bea.user.pk
            assert answer.author.is_anon
            answer.save()
            s.remove(other)
            assert not Answer.objects.filter(pk=other.pk).exists()
            assert s.receipt is None
        assert bea.reveal(s.receipt).complete
        assert len(bea.texts()) == 4
        assert all("bea@" in text for text in bea.texts().values())

    @pytest.mark.once
    def test_one_row_many_times(self, bea: Student) -> None:
        before = application_dump()
        answer = answers_of(bea.user)[0]
        with edna.session(bea.user, NAME) as s:
            s.modify(answer, text="one")
            s.modify(answer, text="two")
            s.decorrelate(answer, "author")
            s.modify(answer, text="three")
            s.remove(answer)
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before

    def test_placeholders_and_querysets(self, bea: Student) -> None:
        before = application_dump()
        mine = Answer.objects.filter(author=bea.user)
        with edna.session(bea.user, NAME) as s:
            s.modify(
                mine, text=edna.placeholders.random_string(), submitted_at=edna.placeholders.truncated_date(to="year")
            )
        texts = set(mine.values_list("text", flat=True))
        assert (len(texts), {len(text) for text in texts}) == (4, {32})
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before

    @pytest.mark.once
    def test_a_removed_account_and_its_session(self, bea: Student) -> None:
        """Rows that refer to each other go in one call, in whatever order they are given."""
        before, tables = application_dump(), edna_dump()
        with edna.session(bea.user, NAME) as s:
            s.remove(bea.user, Answer.objects.filter(author=bea.user))
        assert not User.objects.filter(pk=bea.user.pk).exists()
        assert finds(loot(), {"address": "bea@example.org", "text": "An answer of bea"}) == []
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.once
    def test_nothing_at_all_has_a_receipt_too(self, bea: Student) -> None:
        with edna.session(bea.user, NAME) as s:
            pass
        assert bea.reveal(s.receipt).complete
        assert bea.history() == []

    def test_a_change_since_is_not_overwritten(self, bea: Student) -> None:
        answer = answers_of(bea.user)[0]
        with edna.session(bea.user, NAME) as s:
            s.modify(answer, text="[gone]")
        Answer.objects.filter(pk=answer.pk).update(text="edited")
        [held] = bea.reveal(s.receipt).held
        assert (held.pk, held.reason, held.field) == (answer.pk, edna.Reason.CHANGED, "text")

    def test_with_a_disguise_on_top_in_either_order(self, bea: Student) -> None:
        before, tables = application_dump(), edna_dump()
        for newest_first in (True, False):
            with edna.session(bea.user, NAME) as s:
                s.modify(answers_of(bea.user)[0], text="[gone]")
                s.decorrelate(answers_of(bea.user)[1], "author")
            receipts = [s.receipt, bea.disguise(DELETE, with_key=True)]
            for receipt in reversed(receipts) if newest_first else receipts:
                bea.reveal(receipt)
            assert application_dump() == before
            assert edna_dump() == tables

    @pytest.mark.once
    def test_what_lies_under_pseudoprincipals_with_the_key(self, bea: Student) -> None:
        before = application_dump()
        edna.disguise_all(ANONYMISE_ALL)
        middle = application_dump()
        mine = [answer for answer in Answer.objects.all() if "bea@" in answer.text]
        with bea.unlock() as unlocked:
            with edna.session(bea.user, NAME, unlocked=unlocked) as s:
                s.decorrelate(mine, "author")
            assert len(edna.speaks_for(unlocked)) == 2 + 4
        assert application_dump() != middle
        assert bea.reveal(s.receipt).complete
        assert application_dump() == middle
        bea.reveal_everything()
        # Carl's are still anonymous.
        assert len(bea.texts()) == len(before["websubmit_answer"]) / 2

    def test_statements_do_not_depend_on_rows(self) -> None:
        make_course(lectures=10, questions=25)
        sent = []
        for number, student in zip((10, 200), enrol_many(2), strict=True):
            questions = Question.objects.order_by("pk")[:number]
            Answer.objects.bulk_create(Answer(author=student.user, question=each, text="x") for each in questions)

            def work(student: Student = student) -> None:
                mine = Answer.objects.filter(author=student.user)
                half = list(mine.order_by("pk"))[::2]
                with edna.session(student.user, NAME) as s:
                    s.modify(mine, text="[gone]")
                    s.modify(half, text="[really]")
                    s.decorrelate(half, "author")
                    s.remove(mine)
                student.reveal(s.receipt)

            sent.append(len(statements(work)))
            assert len(student.texts()) == number
        assert sent[0] == sent[1]


# Pseudoprincipals


class TestPseudoprincipals:
    def test_a_new_one_is_a_usable_row(self, bea: Student) -> None:
        """Several rows of one author; what the application gives it itself comes back to the owner, too."""
        before, tables = application_dump(), edna_dump()
        first, second, third, _ = answers_of(bea.user)
        with edna.session(bea.user, NAME) as s:
            ghost = s.new_pseudoprincipal()
            assert isinstance(ghost, User)
            assert ghost.is_anon
            s.decorrelate([first, second], "author", to=ghost)
            third.author = ghost
            third.save()
        assert Answer.objects.filter(author=ghost).count() == 3
        with bea.unlock() as unlocked:
            assert edna.speaks_for(unlocked) == [ghost.pk]
            assert edna.speak_as(unlocked, third) == ghost
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before
        assert edna_dump() == tables

    @pytest.mark.once
    def test_the_options_of_the_name_hold(self, bea: Student, callback: Callback) -> None:
        """Its own placeholders, and its own rule for what came to a pseudoprincipal meanwhile."""

        class Ghost(edna.Pseudoprincipal):
            model = User
            values = {
                "email": edna.placeholders.random_email(domain="ghosts.invalid"),
                "apikey": edna.placeholders.random_string(),
                "password": "!",
                "is_active": False,
            }

        def other(revealed: edna.Revealed) -> None:
            raise AssertionError

        edna.on_reveal("test.ghosts", pseudoprincipal=Ghost, references={"websubmit.Answer.author": "delete"})(other)
        answer, moved = answers_of(bea.user)[:2]
        with edna.session(bea.user, "test.ghosts") as s:
            s.decorrelate(answer, "author")
        assert answer.author.email.endswith("@ghosts.invalid")
        Answer.objects.filter(pk=moved.pk).update(author=answer.author)
        assert bea.reveal(s.receipt).complete
        assert not Answer.objects.filter(pk=moved.pk).exists()
        edna.unregister(other)

    @pytest.mark.once
    def test_the_name_may_keep_its_locators_off_the_server(self, bea: Student) -> None:
        def other(revealed: edna.Revealed) -> None:
            assert revealed.blobs == (b"blob",)

        edna.on_reveal("test.client-only", locators="client")(other)
        with edna.session(bea.user, "test.client-only") as s:
            s.save(b"blob")
            s.decorrelate(answers_of(bea.user)[0], "author")
        assert bea.history() == []
        assert bea.reveal(str(s.receipt)).complete
        edna.unregister(other)

    @pytest.mark.once
    def test_only_one_of_this_session_can_be_shared(self, bea: Student, carl: User) -> None:
        with edna.session(bea.user, NAME) as s:
            ghost = s.new_pseudoprincipal()
        with nothing_changes(), pytest.raises(NotYours), edna.session(bea.user, NAME) as s:
            s.decorrelate(answers_of(bea.user)[0], "author", to=ghost)
        with nothing_changes(), pytest.raises(NotYours), edna.session(bea.user, NAME) as s:
            s.decorrelate(answers_of(bea.user)[0], "author", to=carl)


# Blobs


class TestBlobs:
    @pytest.mark.once
    def test_they_come_back_in_order(self, bea: Student, callback: Callback) -> None:
        saved = (b"", b"first", bytes(range(256)), b"first", "zwölf".encode())
        with edna.session(bea.user, NAME) as s:
            for blob in saved[:3]:
                s.save(blob)
            s.remove(answers_of(bea.user)[0])
            s.save(bytearray(saved[3]))
            s.save(memoryview(saved[4]))
        [entry] = bea.history()
        assert entry.counts == {"websubmit.answer": 1, NAME: 5}
        outcome = bea.reveal(s.receipt)
        assert outcome.complete
        assert outcome.restored == {"websubmit.answer": 1, NAME: 5}
        assert callback.blobs == saved

    @pytest.mark.once
    def test_the_function_gets_what_it_needs(self, bea: Student, callback: Callback) -> None:
        """The rows are back, the person is there, and the capability is open."""
        answer = answers_of(bea.user)[0]

        def look(revealed: edna.Revealed) -> None:
            assert revealed.name == NAME
            assert revealed.principal == bea.user
            assert revealed.outcome.restored == {"websubmit.user": 1, "websubmit.answer": 4}
            assert Answer.objects.filter(pk=answer.pk).exists()
            assert edna.speaks_for(revealed.unlocked) == []
            assert revealed.applied_at.tzinfo is not None
            assert "secret" not in repr(revealed)

        callback.then = look
        with edna.session(bea.user, NAME) as s:
            s.save(b"secret")
            s.remove(bea.user, Answer.objects.filter(author=bea.user))
        bea.reveal(s.receipt)
        assert len(callback.calls) == 1

    @pytest.mark.once
    def test_without_blobs_it_is_not_called(self, bea: Student, callback: Callback) -> None:
        with edna.session(bea.user, NAME) as s:
            s.remove(answers_of(bea.user)[0])
        bea.reveal(s.receipt)
        assert callback.calls == []

    def test_large_ones_are_cut_into_segments(self, bea: Student, callback: Callback) -> None:
        blob = bytes(range(251)) * 40_000  # 10 MB, and no part is like another
        with edna.session(bea.user, NAME) as s:
            s.save(b"before")
            s.save(blob)
            s.save(b"after")
        assert counts()["edna_bag"] > 1
        assert bea.history()[0].counts == {NAME: 3}
        assert bea.reveal(s.receipt).complete
        assert callback.blobs == (b"before", blob, b"after")
        assert counts()["edna_bag"] == 0

    @pytest.mark.once
    def test_nobody_else_can_read_them(self, bea: Student) -> None:
        with edna.session(bea.user, NAME) as s:
            s.save(b"what nobody may read")
        assert finds(loot(), {"blob": b"what nobody may read", "name": NAME}) == []

    @pytest.mark.once
    def test_if_the_function_fails_nothing_is_revealed(self, bea: Student, callback: Callback) -> None:
        with edna.session(bea.user, NAME) as s:
            s.save(b"blob")
            s.remove(answers_of(bea.user)[0])

        def fail(revealed: edna.Revealed) -> None:
            Lecture.objects.create(label="half done")
            raise LookupError("the basket service is down")

        callback.then = fail
        with nothing_changes(), pytest.raises(LookupError, match="basket"):
            bea.reveal(s.receipt)
        callback.then = None
        assert bea.reveal(s.receipt).complete
        assert not Lecture.objects.filter(label="half done").exists()

    @pytest.mark.once
    def test_if_it_fails_no_frame_of_ours_shows_what_was_sealed(self, bea: Student, callback: Callback) -> None:
        """Error pages and mails print the variables of every frame of a traceback."""
        with edna.session(bea.user, NAME) as s:
            s.save(b"what nobody may read")
            s.save(b"x" * (blobs.PART_BYTES + 1))

        def fail(revealed: edna.Revealed) -> None:
            raise LookupError

        callback.then = fail
        with pytest.raises(LookupError) as failure:
            bea.reveal(s.receipt)
        shown = [repr(value) for entry in failure.traceback for value in entry.frame.f_locals.values()]
        assert len(shown) > 20
        assert not any("what nobody may read" in value or "xxxxxxxx" in value for value in shown)

    @pytest.mark.once
    def test_it_may_hold_some_or_all(self, bea: Student, callback: Callback) -> None:
        with edna.session(bea.user, NAME) as s:
            for number in range(4):
                s.save(b"%d" % number)
            s.remove(answers_of(bea.user)[0])
        callback.then = lambda revealed: revealed.hold("courier-gone", [1, 3])
        outcome = bea.reveal(s.receipt)
        held = [(each.model, each.pk, each.reason, each.field) for each in outcome.held]
        assert held == [(NAME, number, edna.Reason.CALLBACK_REFUSED, "courier-gone") for number in (1, 3)]
        assert outcome.restored == {NAME: 2, "websubmit.answer": 1}
        callback.then = lambda revealed: revealed.hold("still-gone")
        held = [(each.pk, each.field) for each in bea.reveal(s.receipt).held]
        assert held == [(1, "still-gone"), (3, "still-gone")]
        assert callback.calls[-1].blobs == (b"1", b"3")
        callback.then = None
        assert bea.reveal(s.receipt).complete
        assert callback.calls[-1].blobs == (b"1", b"3")
        assert bea.history() == []

    @pytest.mark.once
    def test_a_large_one_can_be_held(self, bea: Student, callback: Callback) -> None:
        blob = bytes(range(251)) * (2 * blobs.PART_BYTES // 100)
        with edna.session(bea.user, NAME) as s:
            s.save(b"small")
            s.save(blob)
            s.save(b"last")
        callback.then = lambda revealed: revealed.hold("too-large", [1])
        assert len(bea.reveal(s.receipt).held) == 1
        callback.then = None
        assert bea.reveal(s.receipt).complete
        assert callback.calls[-1].blobs == (blob,)

    @pytest.mark.once
    def test_a_held_one_refuses_a_reveal_of_all_or_nothing(self, bea: Student, callback: Callback) -> None:
        with edna.session(bea.user, NAME) as s:
            s.save(b"blob")
            s.remove(answers_of(bea.user)[0])
        callback.then = lambda revealed: revealed.hold("not-now")
        with nothing_changes(), pytest.raises(RevealRefused) as refusal:
            bea.reveal(s.receipt, allow_partial=False)
        assert refusal.value.outcome.held[0].field == "not-now"

    @pytest.mark.once
    @pytest.mark.parametrize("words", ["", "what Bea wrote", None, 7, "x" * 101])
    def test_a_reason_is_a_word(self, bea: Student, callback: Callback, words: Any) -> None:
        with edna.session(bea.user, NAME) as s:
            s.save(b"blob")
        callback.then = lambda revealed: revealed.hold(words)
        with nothing_changes(), pytest.raises(ValueError, match="word"):
            bea.reveal(s.receipt)
        callback.then = lambda revealed: revealed.hold("word", [1])
        with nothing_changes(), pytest.raises(ValueError, match="positions"):
            bea.reveal(s.receipt)

    @pytest.mark.once
    def test_when_the_function_is_gone_they_are_held(self, bea: Student, callback: Callback) -> None:
        """Rows come back without it."""
        with edna.session(bea.user, NAME) as s:
            s.save(b"one")
            s.save(b"two")
            s.decorrelate(answers_of(bea.user)[0], "author")
        edna.unregister(callback)
        outcome = bea.reveal(s.receipt)
        assert [(each.pk, each.reason) for each in outcome.held] == [
            (0, edna.Reason.CALLBACK_MISSING),
            (1, edna.Reason.CALLBACK_MISSING),
        ]
        assert len(bea.texts()) == 4
        edna.on_reveal(NAME)(callback)
        assert bea.reveal(s.receipt).complete
        assert callback.blobs == (b"one", b"two")

    @pytest.mark.once
    def test_a_function_that_disguises_the_same_person_is_refused(self, bea: Student, callback: Callback) -> None:
        """The reveal has read the list of this person's bags already, and would lose the new one."""
        with edna.session(bea.user, NAME) as s:
            s.save(b"blob")
        callback.then = lambda revealed: edna.disguise(ANONYMISE_ALL, revealed.principal)
        with nothing_changes(), pytest.raises(SpecError, match="after the reveal"):
            bea.reveal(s.receipt)

    @pytest.mark.once
    @pytest.mark.parametrize("what", ["text", None, 7, ["list"]])
    def test_only_bytes_are_taken(self, bea: Student, what: Any) -> None:
        with nothing_changes(), pytest.raises(TypeError, match="bytes"), edna.session(bea.user, NAME) as s:
            s.save(what)


# What goes wrong


class TestRefusals:
    def test_leaving_by_an_exception_changes_nothing(self, bea: Student) -> None:
        def half() -> None:
            with edna.session(bea.user, NAME) as s:
                s.remove(answers_of(bea.user)[0])
                s.new_pseudoprincipal()
                s.save(b"blob")
                raise LookupError("by the application")

        with nothing_changes(), pytest.raises(LookupError, match="by the application"):
            half()

    def test_the_applications_own_integrity_error_is_not_dressed_up(self, bea: Student) -> None:
        with nothing_changes(), pytest.raises(IntegrityError), edna.session(bea.user, NAME):
            User.objects.create(email="carl@example.org")

    def test_a_call_that_fails_does_nothing_and_the_block_goes_on(self, bea: Student, carl: User) -> None:
        before = application_dump()
        with edna.session(bea.user, NAME) as s:
            with pytest.raises(NotYours):
                s.decorrelate([*answers_of(bea.user), *answers_of(carl)], "author")
            with pytest.raises(ConstraintRefused):
                s.modify(bea.user, email="carl@example.org")
            with pytest.raises(ConstraintRefused):
                s.remove(Question.objects.first())
            assert application_dump() == before
            s.modify(bea.user, email="other@example.org")
        outcome = bea.reveal(s.receipt)
        assert outcome.restored == {"websubmit.user": 1}
        assert application_dump() == before

    def test_what_is_still_referred_to_is_not_removed(self, bea: Student) -> None:
        """On every database, at once, and the error names the field."""
        lecture = Lecture.objects.first()
        with (
            nothing_changes(),
            pytest.raises(ConstraintRefused, match=r"websubmit\.Question\.lecture"),
            edna.session(bea.user, NAME) as s,
        ):
            s.remove(lecture)

    @pytest.mark.django_db(transaction=True)
    def test_what_the_database_refuses_at_the_commit(self, bea: Student) -> None:
        """A reference from a table of no model: seen when the row is deleted, or when the transaction ends."""
        execute = connection.cursor().execute
        key = "BIGINT" if connection.vendor != "sqlite" else "INTEGER"
        late = "" if connection.vendor == "mysql" else " DEFERRABLE INITIALLY DEFERRED"
        execute(
            f"CREATE TABLE test_note (answer {key} NOT NULL, FOREIGN KEY (answer) REFERENCES websubmit_answer (id){late})"
        )
        answer = answers_of(bea.user)[0]
        execute("INSERT INTO test_note VALUES (%s)", [answer.pk])
        try:
            before = whole_dump()
            with pytest.raises(ConstraintRefused) as refused, edna.session(bea.user, NAME) as s:
                s.remove(answer)
            assert refused.value.__cause__ is None
            assert "An answer" not in str(refused.value)
            assert s.receipt is None
            assert whole_dump() == before
        finally:
            execute("DROP TABLE test_note")

    def test_it_is_part_of_the_callers_transaction(self, bea: Student) -> None:
        def inside() -> None:
            with transaction.atomic():
                with edna.session(bea.user, NAME) as s:
                    s.remove(answers_of(bea.user)[0])
                assert s.receipt is not None
                raise LookupError

        with nothing_changes(), pytest.raises(LookupError):
            inside()

    def test_a_busy_database(self, bea: Student, monkeypatch: pytest.MonkeyPatch) -> None:
        """Said in one word, whenever it happens; the block is the caller's code, and is not run again."""
        runs = []

        def deadlock(*_: Any, **__: Any) -> None:
            raise OperationalError(1213, "Deadlock found when trying to get lock")

        def block() -> None:
            with edna.session(bea.user, NAME) as s:
                runs.append(name)
                s.modify(answers_of(bea.user)[0], text="[gone]")

        for name in ("row_changes.modify", "execute.finish"):
            with monkeypatch.context() as patched, nothing_changes():
                patched.setattr(f"edna.engine.disguising.{name}", deadlock)
                with pytest.raises(DatabaseBusy):
                    block()
        assert runs == ["row_changes.modify", "execute.finish"]

    @pytest.mark.once
    def test_a_name_needs_a_function(self, bea: Student) -> None:
        with (
            nothing_changes(),
            pytest.raises(UnknownDisguise, match="on_reveal"),
            edna.session(bea.user, "test.nothing"),
        ):
            pass
        with nothing_changes(), pytest.raises(UnknownDisguise, match="on_reveal"), edna.session(bea.user, DELETE):
            pass
        with nothing_changes(), pytest.raises(UnknownDisguise, match=r"edna\.session"):
            bea.disguise(NAME)

    @pytest.mark.once
    def test_a_person_without_a_key(self, bea: Student) -> None:
        nobody = User.objects.create_user("nobody@example.org")
        with nothing_changes(), pytest.raises(PrincipalNotRegistered), edna.session(nobody, NAME):
            pass

    @pytest.mark.once
    def test_somebody_elses_key(self, bea: Student) -> None:
        other = enrol()
        with (
            other.unlock() as unlocked,
            nothing_changes(),
            pytest.raises(NotYours),
            edna.session(bea.user, NAME, unlocked=unlocked),
        ):
            pass

    @pytest.mark.once
    def test_somebody_elses_rows_are_not_decorrelated(self, bea: Student, carl: User) -> None:
        """It would make their row one of a pseudoprincipal for whom this person speaks."""
        for rows in (answers_of(carl)[0], Answer.objects.all()):
            with nothing_changes(), pytest.raises(NotYours), edna.session(bea.user, NAME) as s:
                s.decorrelate(rows, "author")
        edna.disguise_all(ANONYMISE_ALL)
        mine = [answer for answer in Answer.objects.all() if "bea@" in answer.text]
        with nothing_changes(), pytest.raises(NotYours, match="unlocked"), edna.session(bea.user, NAME) as s:
            s.decorrelate(mine[0], "author")

    @pytest.mark.once
    def test_somebody_elses_account_is_not_removed(self, bea: Student, carl: User) -> None:
        with nothing_changes(), pytest.raises(NotYours), edna.session(bea.user, NAME) as s:
            s.remove(carl, Answer.objects.filter(author=carl))

    @pytest.mark.once
    def test_pseudoprincipals_are_removed_with_the_key_only(self, bea: Student) -> None:
        before = application_dump()
        receipt = bea.disguise(ANONYMISE_ALL)
        middle = application_dump()
        mine = Answer.objects.filter(author__is_anon=True)
        authors = list(User.objects.filter(is_anon=True))
        with nothing_changes(), pytest.raises(NotYours), edna.session(bea.user, NAME) as s:
            s.remove(mine, authors)
        with bea.unlock() as unlocked:
            with edna.session(bea.user, NAME, unlocked=unlocked) as s:
                s.remove(mine, authors)
            assert edna.speaks_for(unlocked) == []
            assert edna.reveal(s.receipt, unlocked).complete
            assert len(edna.speaks_for(unlocked)) == 2
        assert application_dump() == middle
        assert bea.reveal(receipt).complete
        assert application_dump() == before

    @pytest.mark.once
    @pytest.mark.parametrize(
        "values",
        [{"nothing": 1}, {"id": 7}, {"pk": 7}, {"answers": []}, {"text": F("submitted_at")}],
    )
    def test_columns_that_cannot_be_set(self, bea: Student, values: dict[str, Any]) -> None:
        with nothing_changes(), pytest.raises(SpecError), edna.session(bea.user, NAME) as s:
            s.modify(answers_of(bea.user)[0], **values)

    @pytest.mark.once
    @pytest.mark.parametrize("owner", ["question", "text", "nothing", "id"])
    def test_columns_that_are_no_owners(self, bea: Student, owner: str) -> None:
        with nothing_changes(), pytest.raises(SpecError), edna.session(bea.user, NAME) as s:
            s.decorrelate(answers_of(bea.user)[0], owner)

    @pytest.mark.once
    def test_objects_that_are_not_saved(self, bea: Student) -> None:
        with nothing_changes(), pytest.raises(SpecError, match="not saved"), edna.session(bea.user, NAME) as s:
            s.remove(Answer(author=bea.user))

    @pytest.mark.once
    def test_after_its_end_it_does_nothing(self, bea: Student) -> None:
        with edna.session(bea.user, NAME) as s:
            assert repr(s) == f"<Session {NAME} open>"
        answer = answers_of(bea.user)[0]
        with nothing_changes():
            for late in (
                lambda: s.remove(answer),
                lambda: s.modify(answer, text="x"),
                lambda: s.decorrelate(answer, "author"),
                lambda: s.new_pseudoprincipal(),
                lambda: s.save(b"blob"),
            ):
                with pytest.raises(SessionClosed):
                    late()

    @pytest.mark.once
    def test_the_unlocked_principal_sees_what_was_made(self, bea: Student) -> None:
        with bea.unlock() as unlocked:
            assert edna.speaks_for(unlocked) == []
            with edna.session(bea.user, NAME, unlocked=unlocked) as s:
                ghost = s.new_pseudoprincipal()
            assert edna.speaks_for(unlocked) == [ghost.pk]


# Other shapes


def person(world: Any, handle: str) -> Person:
    user = world.Person.objects.create(handle=handle)
    return Person(user, edna.register_principal(user).secret_key)


class TestShapes:
    def test_trees_and_hidden_tables(self, world: Any) -> None:
        """A note with replies, tags and a pin, removed in one call; replies of others lose their parent and get it back."""
        bea, carl = person(world, "bea"), person(world, "carl")
        tag = world.Tag.objects.create(name="a tag")
        root = world.Note.objects.create(author=bea.user, text="root")
        below = world.Note.objects.create(author=bea.user, text="below", reply_to=root)
        reply = world.Note.objects.create(author=carl.user, text="reply", reply_to=below)
        below.tags.add(tag)
        world.Pin.objects.create(note=below, place="door")
        before = application_dump()
        with edna.session(bea.user, NAME) as s:
            s.remove(world.Pin.objects.all(), world.Note.tags.through.objects.all(), root, below)
        reply.refresh_from_db()
        assert reply.reply_to_id is None
        assert world.Note.objects.count() == 1
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before

    def test_composite_and_natural_keys(self, world: Any) -> None:
        user = world.Member.objects.create(code="m1")
        member = Person(user, edna.register_principal(user).secret_key)
        seats = [world.Seat.objects.create(room="a", number=number, owner=user) for number in (1, 2, 3)]
        badge = world.Badge.objects.create(owner=user, title="badge")
        before = application_dump()
        with edna.session(user, NAME) as s:
            s.decorrelate(seats[0], "owner")
            s.decorrelate(badge, "owner")
            s.modify(badge, title="[gone]")
            s.remove(world.Seat.objects.filter(number__gt=1))
        assert world.Seat.objects.get().owner_id == seats[0].owner_id != "m1"
        assert (badge.title, badge.owner_id) == ("[gone]", world.Badge.objects.get().owner_id)
        assert member.reveal(s.receipt).complete
        assert application_dump() == before

    def test_uuid_principals(self, world: Any) -> None:
        bea = person(world, "bea")
        notes = [world.Note.objects.create(author=bea.user, text=f"note {number}") for number in range(3)]
        before = application_dump()
        with edna.session(bea.user, NAME) as s:
            ghost = s.new_pseudoprincipal()
            s.decorrelate(notes[:2], "author", to=ghost)
            s.decorrelate(notes[2], "author")
            s.modify(notes[0], reply_to=notes[1], slug="slug")
        assert world.Note.objects.filter(author=ghost).count() == 2
        assert bea.reveal(s.receipt).complete
        assert application_dump() == before
