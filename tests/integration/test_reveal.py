"""Revealing: nothing that happened since is overwritten, what cannot come back yet stays sealed, and the outcome says why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

import edna
from apps.websubmit.disguises import Anonymous
from apps.websubmit.models import Answer, Lecture, Question, User
from edna import Decorrelate, Disguise, Held, Modify, Param, Reason, Remove, placeholders, store
from edna.errors import RevealRefused
from edna.records.locator import BagKind
from edna.testing import application_dump
from tests.databases import first_everywhere
from tests.installed import registering
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    edna_dump,
    enrol,
    make_course,
    nothing_changes,
    rows_of,
)

pytestmark = pytest.mark.django_db

USER, ANSWER = "websubmit.user", "websubmit.answer"


@pytest.fixture
def course() -> list[Lecture]:
    return make_course()


@pytest.fixture
def bea(course: list[Lecture]) -> Student:
    student = enrol("bea@example.org")
    answer_everything(student)
    return student


@pytest.fixture
def carl(course: list[Lecture]) -> Student:
    student = enrol("carl@example.org")
    answer_everything(student)
    return student


def answers_of(student: Student) -> list[Answer]:
    return list(Answer.objects.filter(author=student.user.pk).order_by("pk"))


def bag_count() -> int:
    return len(rows_of("edna_bag", ["id"]))


class TestRemovedRows:
    def test_a_taken_unique_value_holds_the_user_and_what_belongs_to_them(self, bea: Student) -> None:
        """Somebody else has the e-mail address now: the account waits, and the answers wait for the account."""
        before = application_dump()
        keys = {answer.pk for answer in answers_of(bea)}
        receipt = bea.disguise(DELETE)
        other = User.objects.create_user(bea.email)

        outcome = bea.reveal(receipt)

        assert not outcome.complete
        assert outcome.restored == {}
        assert Held(USER, bea.user.pk, Reason.UNIQUE_TAKEN, "email") in outcome.held
        children = {held for held in outcome.held if held.model == ANSWER}
        assert {held.pk for held in children} == keys
        assert {(held.reason, held.field) for held in children} == {(Reason.REFERENCE_MISSING, "author")}
        assert list(User.objects.all()) == [other]

        other.delete()
        assert bea.reveal(receipt).complete
        assert application_dump() == before

    @pytest.mark.only_on("postgresql")
    def test_a_taken_value_is_found_without_a_statement_that_fails(self, bea: Student, registered: Any) -> None:
        """PostgreSQL writes failing statements to its log, and the values are still sealed: the row's, and a column's."""
        registered(Masked)
        failed: list[str] = []

        def watch(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
            try:
                return execute(sql, params, many, context)
            except Exception as error:
                failed.append(f"{type(error).__name__}: {sql}")
                raise

        masked, removed = bea.disguise("test.masked"), bea.disguise(DELETE)
        squatter = User.objects.create_user("bea@example.org")
        with connection.execute_wrapper(watch):
            assert bea.reveal(removed).complete
            assert [held.reason for held in bea.reveal(masked).held] == [Reason.UNIQUE_TAKEN]
            squatter.delete()
            assert bea.reveal(masked).complete
            again = bea.disguise(DELETE)
            User.objects.create_user("bea@example.org")
            assert Reason.UNIQUE_TAKEN in {held.reason for held in bea.reveal(again).held}
        assert failed == []

    def test_an_override_resolves_a_taken_unique_value(self, bea: Student) -> None:
        """The owner comes back under a new address; everything else is as it was, and it can be disguised again."""
        apikey, texts = bea.user.apikey, bea.texts()
        receipt = bea.disguise(DELETE)
        other = User.objects.create_user(bea.email)

        outcome = bea.reveal(receipt, overrides={"websubmit.User.email": "bea2@example.org"})

        assert outcome.complete
        back = User.objects.get(pk=bea.user.pk)
        assert (back.email, back.apikey) == ("bea2@example.org", apikey)
        assert bea.texts() == texts
        assert User.objects.get(pk=other.pk).email == "bea@example.org"
        bea.reveal(bea.disguise(DELETE))
        assert User.objects.get(pk=bea.user.pk).email == "bea2@example.org"

    def test_an_override_gives_nobody_what_they_did_not_have(self, bea: Student) -> None:
        """Only columns that must be unique take other values: it is a way round a collision, and no way to come back as somebody else."""
        receipt = bea.disguise(DELETE)
        User.objects.create_user(bea.email)
        overrides = {"websubmit.user.email": "bea2@example.org", "websubmit.user.is_anon": True}
        assert bea.reveal(receipt, overrides=overrides).complete
        back = User.objects.get(pk=bea.user.pk)
        assert (back.email, back.is_anon) == ("bea2@example.org", False)

    def test_an_override_that_is_taken_too_changes_nothing(self, bea: Student, carl: Student) -> None:
        receipt = bea.disguise(DELETE)
        User.objects.create_user(bea.email)
        before = application_dump()
        outcome = bea.reveal(receipt, overrides={"websubmit.user.email": carl.email})
        assert Held(USER, bea.user.pk, Reason.UNIQUE_TAKEN, "email") in outcome.held
        assert application_dump() == before

    @pytest.mark.once
    def test_an_override_is_not_used_where_nothing_is_taken(self, bea: Student) -> None:
        before = application_dump()
        receipt = bea.disguise(DELETE)
        assert bea.reveal(receipt, overrides={"websubmit.user.email": "unused@example.org"}).complete
        assert application_dump() == before

    def test_a_row_with_the_same_key_is_never_overwritten(self, bea: Student, carl: Student) -> None:
        """Another row sits at the primary key: that row alone waits, the others come back (promises 19, 20)."""
        victim = answers_of(bea)[1]
        receipt = bea.disguise(DELETE)
        question = Question.objects.create(lecture=victim.question.lecture, number=99, text="New?")
        squatter = Answer.objects.create(pk=victim.pk, author=carl.user, question=question, text="mine")

        outcome = bea.reveal(receipt)

        assert outcome.held == [Held(ANSWER, victim.pk, Reason.ROW_EXISTS, None)]
        assert outcome.restored == {USER: 1, ANSWER: 3}
        squatter.refresh_from_db()
        assert (squatter.author_id, squatter.text) == (carl.user.pk, "mine")

        [entry] = bea.history()
        assert entry.counts == {ANSWER: 1}
        squatter.delete()
        outcome = bea.reveal(receipt)
        assert (outcome.restored, outcome.held) == ({ANSWER: 1}, [])
        assert Answer.objects.get(pk=victim.pk).text == victim.text
        assert bea.history() == []

    def test_a_question_that_was_deleted_holds_its_answers(self, bea: Student, carl: Student) -> None:
        """The account and the other answers come back; once the question is there again, so do the rest."""
        first = Question.objects.order_by("pk").first()
        mine = Answer.objects.get(author=bea.user, question=first)
        question = (first.pk, first.lecture_id, first.number, first.text)
        before = [(a.pk, a.text, a.author_id, a.question_id) for a in answers_of(bea)]
        receipt = bea.disguise(DELETE)
        first.delete()

        outcome = bea.reveal(receipt)

        assert outcome.held == [Held(ANSWER, mine.pk, Reason.REFERENCE_MISSING, "question")]
        assert outcome.restored == {USER: 1, ANSWER: 3}
        assert User.objects.filter(pk=bea.user.pk).exists()

        Question.objects.create(pk=question[0], lecture_id=question[1], number=question[2], text=question[3])
        assert bea.reveal(receipt).restored == {ANSWER: 1}
        assert [(a.pk, a.text, a.author_id, a.question_id) for a in answers_of(bea)] == before

    def test_the_account_itself_came_back_otherwise(self, bea: Student) -> None:
        """Whoever has that row now may be somebody else: it is not touched, and the answers wait for their own author."""
        values = User.objects.filter(pk=bea.user.pk).values().get()
        receipt = bea.disguise(DELETE)
        User.objects.create(**values | {"is_active": False})
        outcome = bea.reveal(receipt)
        assert outcome.held[0] == Held(USER, bea.user.pk, Reason.ROW_EXISTS, None)
        assert {(held.model, held.reason, held.field) for held in outcome.held[1:]} == {
            (ANSWER, Reason.REFERENCE_MISSING, "author")
        }
        assert outcome.restored == {}
        assert User.objects.get(pk=bea.user.pk).is_active is False
        User.objects.filter(pk=bea.user.pk).delete()
        assert bea.reveal(receipt).restored == {USER: 1, ANSWER: 4}

    def test_a_composite_unique_constraint_names_a_field(self, bea: Student) -> None:
        """An answer to the same question exists: only one of the two can be."""
        receipt = bea.disguise(ANONYMISE_ALL)
        question = Question.objects.order_by("pk").first()
        mine = Answer.objects.get(question=question)
        Answer.objects.create(author=bea.user, question=question, text="again")
        outcome = bea.reveal(receipt)
        assert outcome.held == [Held(ANSWER, mine.pk, Reason.UNIQUE_TAKEN, "question")]
        assert outcome.restored == {ANSWER: 3}

    @pytest.mark.once
    def test_the_outcome_is_plain_data(self, bea: Student) -> None:
        receipt = bea.disguise(DELETE)
        User.objects.create_user(bea.email)
        outcome = bea.reveal(receipt)
        shown = json.loads(json.dumps(outcome.as_dict()))
        assert set(shown) == {"restored", "deferred", "altered", "dropped", "accepted", "held", "complete"}
        assert shown["complete"] is False
        user = {"model": USER, "pk": bea.user.pk, "reason": "unique_taken", "field": "email"}
        assert user in shown["held"]
        assert len(shown["held"]) == 5


class TestPartialReveals:
    def test_refused_where_all_is_wanted(self, bea: Student) -> None:
        """With allow_partial=False nothing changes, and the error carries what a partial reveal would have said."""
        victim = answers_of(bea)[0]
        receipt = bea.disguise(DELETE)
        victim.question.delete()
        with nothing_changes(), pytest.raises(RevealRefused, match=r"^1 row of ") as caught:
            bea.reveal(receipt, allow_partial=False)
        assert caught.value.outcome.held == [Held(ANSWER, victim.pk, Reason.REFERENCE_MISSING, "question")]
        assert bea.reveal(receipt).restored == {USER: 1, ANSWER: 3}

    def test_the_bag_keeps_only_what_is_held(self, bea: Student) -> None:
        """One bag before and after; the history counts what is left, under the same receipt, name and time."""
        victim = answers_of(bea)[0]
        receipt = bea.disguise(DELETE)
        [whole] = bea.history()
        victim.question.delete()
        bea.reveal(receipt)
        [rest] = bea.history()
        assert (whole.counts, rest.counts) == ({USER: 1, ANSWER: 4}, {ANSWER: 1})
        assert (rest.receipt, rest.name, rest.applied_at) == (receipt, DELETE, whole.applied_at)
        assert bag_count() == 1

    def test_revealing_again_while_the_cause_stands_changes_nothing(self, bea: Student) -> None:
        """However often it is tried, the record is there afterwards (promise 18)."""
        victim = answers_of(bea)[0]
        receipt = bea.disguise(DELETE)
        victim.question.delete()
        bea.reveal(receipt)
        before = application_dump()
        for _ in range(5):
            outcome = bea.reveal(receipt)
            assert (outcome.restored, len(outcome.held)) == ({}, 1)
        assert application_dump() == before
        assert [entry.counts for entry in bea.history()] == [{ANSWER: 1}]

    def test_a_partly_revealed_account_can_be_disguised_again(self, bea: Student) -> None:
        """Two disguises of the same person at once, each with its own receipt, revealed in either order."""
        victim = answers_of(bea)[0]
        first = bea.disguise(DELETE)
        question = Question.objects.filter(pk=victim.question_id).values().get()
        Question.objects.filter(pk=victim.question_id).delete()
        bea.reveal(first)
        second = bea.disguise(DELETE)
        Question.objects.create(**question)
        outcome = bea.reveal(first)
        assert (outcome.restored, outcome.deferred, outcome.held) == ({}, {ANSWER: 1}, [])
        assert bea.reveal(second).complete
        assert len(answers_of(bea)) == 4


class TestChangedRows:
    @pytest.fixture
    def receipt(self, bea: Student) -> edna.Receipt:
        return bea.disguise(ANONYMISE_ALL)

    def test_an_answer_edited_under_disguise_keeps_the_edit_and_gets_its_author_back(
        self, bea: Student, receipt: edna.Receipt
    ) -> None:
        """Only the author was disguised, so only the author is restored."""
        answer = Answer.objects.order_by("pk").first()
        with bea.unlock() as unlocked:
            voice = edna.speak_as(unlocked, answer)
        assert voice == answer.author
        Answer.objects.filter(pk=answer.pk, author=voice).update(text="better")
        assert bea.reveal(receipt).complete
        answer.refresh_from_db()
        assert (answer.text, answer.author_id) == ("better", bea.user.pk)

    def test_an_answer_given_to_somebody_else_is_held(self, bea: Student, carl: Student, receipt: edna.Receipt) -> None:
        """It has another owner now; what is not as the disguise left it is not overwritten."""
        answer = Answer.objects.filter(author__is_anon=True).order_by("pk").first()
        Answer.objects.filter(author=carl.user, question=answer.question_id).delete()
        was = answer.author_id
        Answer.objects.filter(pk=answer.pk).update(author=carl.user)

        outcome = bea.reveal(receipt)

        assert outcome.held == [Held(ANSWER, answer.pk, Reason.CHANGED, "author")]
        assert outcome.restored == {ANSWER: 3}
        assert Answer.objects.get(pk=answer.pk).author == carl.user
        # The anonymous author that the held record speaks of stays, or the record could never be revealed.
        assert User.objects.filter(pk=was).exists()

        Answer.objects.filter(pk=answer.pk).update(author=was)
        assert bea.reveal(receipt).complete
        assert not User.objects.filter(is_anon=True).exists()

    def test_an_answer_that_was_deleted_is_held(self, bea: Student, receipt: edna.Receipt) -> None:
        """There is nothing to give back; if the row returns with its anonymous author, so does the ownership."""
        answer = Answer.objects.order_by("pk").first()
        values = Answer.objects.filter(pk=answer.pk).values().get()
        answer.delete()
        outcome = bea.reveal(receipt)
        assert outcome.held == [Held(ANSWER, values["id"], Reason.ROW_MISSING, None)]
        assert outcome.restored == {ANSWER: 3}
        Answer.objects.create(**values)
        assert bea.reveal(receipt).complete
        assert not User.objects.filter(is_anon=True).exists()

    def test_the_owner_is_away_when_the_answers_should_come_back(self, bea: Student, receipt: edna.Receipt) -> None:
        """anonymise, delete, reveal the first: nothing visible happens, and nothing is lost (promise 9)."""
        leaving = bea.disguise(DELETE)
        outcome = bea.reveal(receipt)
        assert (outcome.restored, outcome.deferred, outcome.held) == ({}, {ANSWER: 4}, [])
        assert bea.reveal(leaving).complete
        assert len(answers_of(bea)) == 4

    @pytest.mark.once
    def test_nobody_else_can_reveal_it(self, bea: Student, carl: Student, receipt: edna.Receipt) -> None:
        with nothing_changes(), pytest.raises(edna.errors.ReceiptForeign):
            carl.reveal(receipt)


class Masked(Disguise):
    name = "test.masked"
    transformations = [
        Modify(
            User,
            set={"email": placeholders.random_email(), "joined_on": placeholders.truncated_date(to="year")},
        ),
        Modify(Answer, owner="author", set={"text": placeholders.constant("[removed]")}),
    ]


class Gone(Disguise):
    """The answers go, the account stays under another name."""

    name = "test.gone"
    params = {"lecture": int}
    transformations = [
        Modify(Answer, owner="author", set={"text": "[removed]"}),
        Remove(Answer, owner="author", where=Q(question__lecture=Param("lecture"))),
    ]


@pytest.fixture
def registered() -> Iterator[Any]:
    """Registers disguises for one test."""
    added: list[type[Disguise]] = []

    def add(*disguises: type[Disguise]) -> None:
        for cls in disguises:
            edna.register(cls)
            added.append(cls)

    yield add
    for cls in added:
        edna.unregister(cls)


class TestModifiedRows:
    def test_columns_get_their_values_back(self, bea: Student, registered: Any) -> None:
        """Of the user's own row too (promise 21)."""
        registered(Masked)
        before = application_dump()
        receipt = bea.disguise("test.masked")
        user = User.objects.get(pk=bea.user.pk)
        assert user.email.endswith("@anonymous.invalid")
        assert (user.joined_on.month, user.joined_on.day) == (1, 1)
        assert user.joined_on.year == bea.user.joined_on.year
        assert set(Answer.objects.values_list("text", flat=True)) == {"[removed]"}
        assert bea.reveal(receipt).restored == {USER: 1, ANSWER: 4}
        assert application_dump() == before

    def test_a_column_that_was_changed_since_is_held(self, bea: Student, registered: Any) -> None:
        """Somebody corrected the placeholder; their value stays, and the other rows come back."""
        registered(Masked)
        receipt = bea.disguise("test.masked")
        victim = Answer.objects.order_by("pk").first()
        Answer.objects.filter(pk=victim.pk).update(text="moderated")
        outcome = bea.reveal(receipt)
        assert outcome.held == [Held(ANSWER, victim.pk, Reason.CHANGED, "text")]
        assert outcome.restored == {USER: 1, ANSWER: 3}
        assert Answer.objects.get(pk=victim.pk).text == "moderated"

    def test_a_value_that_was_taken_since_is_held_or_overridden(self, bea: Student, registered: Any) -> None:
        registered(Masked)
        receipt = bea.disguise("test.masked")
        User.objects.create_user("bea@example.org")
        outcome = bea.reveal(receipt)
        assert outcome.held == [Held(USER, bea.user.pk, Reason.UNIQUE_TAKEN, "email")]
        assert outcome.restored == {ANSWER: 4}
        assert bea.reveal(receipt, overrides={"websubmit.user.email": "bea2@example.org"}).complete
        user = User.objects.get(pk=bea.user.pk)
        assert (user.email, user.joined_on) == ("bea2@example.org", bea.user.joined_on)

    def test_modified_twice_comes_back_in_steps(self, bea: Student, registered: Any) -> None:
        """Newest first each step is exact; the other way round the first waits until the second is gone."""
        registered(Masked)
        before = application_dump()
        first = bea.disguise("test.masked")
        between = application_dump()
        second = bea.disguise("test.masked")
        assert bea.reveal(second).complete
        assert application_dump() == between
        assert bea.reveal(first).complete
        assert application_dump() == before

    @pytest.mark.once
    def test_a_drawn_value_that_was_drawn_again_comes_back_with_the_later_one(
        self, bea: Student, registered: Any
    ) -> None:
        registered(Masked)
        first = bea.disguise("test.masked")
        second = bea.disguise("test.masked")
        assert bea.reveal(first).deferred[USER] == 1
        assert bea.reveal(second).complete
        assert User.objects.get(pk=bea.user.pk).email == "bea@example.org"

    def test_a_row_that_is_both_modified_and_removed_is_removed(self, bea: Student, registered: Any) -> None:
        registered(Gone)
        before = application_dump()
        lecture = Lecture.objects.first()
        receipt = bea.disguise("test.gone", lecture=lecture.pk)
        assert set(Answer.objects.values_list("question__lecture", "text")) == {
            (Lecture.objects.last().pk, "[removed]")
        }
        assert bea.reveal(receipt).complete
        assert application_dump() == before


class Restoring(Disguise):
    name = "test.restoring"
    transformations = [Decorrelate(Answer, owner="author", group_by=edna.ALL)]
    pseudoprincipal = Anonymous


class Deleting(Restoring):
    name = "test.deleting"
    references = {"websubmit.Answer.author": "delete"}


class Retaining(Restoring):
    name = "test.retaining"
    references = {"websubmit.Answer.author": "retain"}


class Blanked(Disguise):
    name = "test.blanked"
    transformations = [Modify(Answer, owner="author", set={"text": ""})]


def test_bags_sealed_to_an_anonymous_author_become_its_owners(bea: Student, registered: Any) -> None:
    """Its answers were blanked under its own key: when it is let go of, the same receipt opens with its owner's."""
    registered(Restoring, Blanked)
    before, tables = application_dump(), edna_dump()
    [first] = edna.disguise_all("test.restoring")
    [second] = edna.disguise_all("test.blanked")

    assert bea.reveal(first).complete
    assert set(bea.texts().values()) == {""}
    assert len(bea.texts()) == 4
    assert not User.objects.filter(is_anon=True).exists()
    assert bea.reveal(second).complete
    assert application_dump() == before
    assert edna_dump() == tables


class TestReferencesMadeSince:
    """Rows that came to refer to an anonymous author after the disguise (promises 6, 16)."""

    @pytest.fixture
    def later(self, bea: Student) -> Question:
        return Question.objects.create(lecture=Lecture.objects.first(), number=77, text="Later?")

    def disguised(self, bea: Student, name: str, later: Question) -> tuple[edna.Receipt, Answer, User]:
        receipt = bea.disguise(name)
        voice = User.objects.get(is_anon=True)
        made = Answer.objects.create(author=voice, question=later, text="said under disguise")
        return receipt, made, voice

    def test_restore_gives_them_to_the_owner(self, bea: Student, later: Question, registered: Any) -> None:
        registered(Restoring)
        receipt, made, _ = self.disguised(bea, "test.restoring", later)
        outcome = bea.reveal(receipt)
        assert outcome.complete
        made.refresh_from_db()
        assert (made.author_id, made.text) == (bea.user.pk, "said under disguise")
        assert not User.objects.filter(is_anon=True).exists()
        assert bag_count() == 0

    def test_delete_deletes_them(self, bea: Student, later: Question, registered: Any) -> None:
        registered(Deleting)
        receipt, made, _ = self.disguised(bea, "test.deleting", later)
        assert bea.reveal(receipt).complete
        assert not Answer.objects.filter(pk=made.pk).exists()
        assert len(answers_of(bea)) == 4
        assert not User.objects.filter(is_anon=True).exists()

    def test_retain_leaves_them_and_their_author(self, bea: Student, later: Question, registered: Any) -> None:
        """The student goes on speaking for that author."""
        registered(Retaining)
        receipt, made, voice = self.disguised(bea, "test.retaining", later)
        assert bea.reveal(receipt).complete
        made.refresh_from_db()
        assert made.author == voice
        assert len(answers_of(bea)) == 4
        with bea.unlock() as unlocked:
            assert edna.speaks_for(unlocked) == [voice.pk]
            assert edna.speak_as(unlocked, made) == voice
        # And takes it along when they leave with their key.
        bea.disguise(DELETE, with_key=True)
        assert Answer.objects.count() == 0
        bea.reveal_everything()

    def test_what_cannot_be_restored_is_held_and_said(self, bea: Student, later: Question, registered: Any) -> None:
        """The owner has an answer of their own to that question by now: the later one stays with its anonymous author."""
        registered(Restoring)
        before = edna_dump()
        receipt, made, voice = self.disguised(bea, "test.restoring", later)
        own = Answer.objects.create(author=bea.user, question=later, text="my own")

        outcome = bea.reveal(receipt)

        assert outcome.held == [Held(ANSWER, made.pk, Reason.UNIQUE_TAKEN, "question")]
        made.refresh_from_db()
        assert made.author == voice
        with bea.unlock() as unlocked:
            assert edna.speak_as(unlocked, made) == voice

        own.delete()
        assert bea.reveal(receipt).complete
        made.refresh_from_db()
        assert made.author_id == bea.user.pk
        assert edna_dump() == before

    @pytest.mark.parametrize("given_up", [False, True])
    def test_what_cannot_be_restored_waits_until_it_can_be_or_is_given_up(
        self, bea: Student, later: Question, registered: Any, given_up: bool
    ) -> None:
        registered(Restoring)
        receipt, made, voice = self.disguised(bea, "test.restoring", later)
        own = Answer.objects.create(author=bea.user, question=later, text="my own")
        held = bea.reveal(receipt).held
        with bea.unlock() as unlocked, nothing_changes():
            [waiting] = edna.waiting(unlocked)
        assert (waiting.receipt, waiting.held, waiting.ready) == (receipt, held, {})
        if given_up:
            outcome = bea.reveal(receipt, accept=waiting.held)
            assert (outcome.held, outcome.restored, outcome.accepted) == ([], {}, {ANSWER: 1})
            made.refresh_from_db()
            assert made.author == voice
        else:
            own.delete()
            with bea.unlock() as unlocked:
                [waiting] = edna.waiting(unlocked)
            assert (waiting.held, waiting.ready) == ([], {ANSWER: 1})
            assert bea.reveal(receipt).restored == {ANSWER: 1}
        with bea.unlock() as unlocked:
            assert edna.waiting(unlocked) == []

    def test_an_anonymous_author_whose_answers_are_all_gone_is_removed(self, bea: Student, registered: Any) -> None:
        registered(Restoring)
        receipt = bea.disguise("test.restoring")
        assert bea.reveal(receipt).complete
        assert not User.objects.filter(is_anon=True).exists()


class TestReceiptsAndHistory:
    @pytest.mark.once
    def test_the_history_lists_newest_first_with_parameters(self, bea: Student) -> None:
        lecture = Lecture.objects.first()
        first = bea.disguise(ANONYMISE_LECTURE, lecture=lecture.pk)
        second = bea.disguise(DELETE)
        newest, oldest = bea.history()
        assert (newest.receipt, newest.name, newest.params) == (second, DELETE, {})
        assert (oldest.receipt, oldest.name, oldest.params) == (first, ANONYMISE_LECTURE, {"lecture": lecture.pk})
        assert oldest.applied_at < newest.applied_at
        assert oldest.counts == {ANSWER: 2}
        assert newest.counts == {USER: 1, ANSWER: 2}

    @pytest.mark.once
    def test_a_disguise_that_met_no_rows_is_in_the_history_and_can_be_revealed(self, bea: Student) -> None:
        receipt = bea.disguise(ANONYMISE_LECTURE, lecture=-5)
        [entry] = bea.history()
        assert (entry.receipt, entry.counts) == (receipt, {})
        outcome = bea.reveal(receipt)
        assert (outcome.restored, outcome.held) == ({}, [])
        assert bea.history() == []
        assert bag_count() == 0

    @pytest.mark.once
    def test_a_receipt_reveals_in_any_wrapping(self, bea: Student) -> None:
        """As text, as the object, wrapped by a mail program."""
        before = application_dump()
        text = str(bea.disguise(DELETE))
        assert bea.reveal(f"  {text[:20]}\r\n > {text[20:]}\n".replace(">", "")).complete
        assert application_dump() == before

    @pytest.mark.once
    def test_the_removed_disguise_class_does_not_hinder_a_reveal(self, bea: Student, registered: Any) -> None:
        """A project may drop a disguise from its code while data is under it."""

        class Temporary(Restoring):
            name = "test.temporary"

        before = application_dump()
        edna.register(Temporary)
        receipt = bea.disguise("test.temporary")
        edna.unregister(Temporary)
        assert bea.reveal(receipt).complete
        assert application_dump() == before

    @first_everywhere("segments", [[1], [4], [0, 1, 2], [3, 4]], ids=str)
    def test_a_missing_part_of_a_disguise_is_noticed(self, segments: list[int], bea: Student, settings: Any) -> None:
        """A large disguise has several bags; if one is gone, the last one too, the rest must not be taken for the whole."""
        settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
        receipt = bea.disguise(DELETE)
        assert bag_count() == 5
        store.delete_bags([receipt.locator.index(BagKind.DIFF, number) for number in segments], using="default")
        with nothing_changes(), pytest.raises(edna.errors.BagMissing):
            bea.reveal(receipt)
        with bea.unlock() as unlocked, nothing_changes():
            assert edna.history(unlocked) == []
            assert [type(error) for error in unlocked.damaged] == [edna.errors.BagMissing]

    @pytest.mark.parametrize("kind", [BagKind.DIFF, BagKind.SPEAKS_FOR])
    @first_everywhere("segments", [[0], [3], [1, 2], [0, 1, 2, 3]], ids=str)
    def test_a_missing_bag_of_either_kind_is_noticed(
        self, kind: BagKind, segments: list[int], bea: Student, registered: Any, settings: Any
    ) -> None:
        """One of several, or all of a kind: the other kind's bags say that there were some."""
        registered(EachAlone)
        settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": 1}
        receipt = bea.disguise(EachAlone.name)
        assert bag_count() == 8
        store.delete_bags([receipt.locator.index(kind, number) for number in segments], using="default")
        with nothing_changes(), pytest.raises(edna.errors.BagMissing):
            bea.reveal(receipt)
        with bea.unlock() as unlocked, nothing_changes():
            assert edna.history(unlocked) == []
            assert {type(error) for error in unlocked.damaged} == {edna.errors.BagMissing}
        if kind is BagKind.SPEAKS_FOR:
            # Rows that the missing keys lead to would stay behind, and their owner would not know.
            with bea.unlock() as unlocked, nothing_changes(), pytest.raises(edna.errors.BagMissing):
                edna.disguise(DELETE, bea.user, unlocked=unlocked)


class EachAlone(Disguise):
    """A pseudoprincipal for each answer."""

    name = "test.each-alone"
    transformations = [Decorrelate(Answer, owner="author")]


@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_disguises_of_many_segments_come_back(chunk: int, bea: Student, carl: Student, settings: Any) -> None:
    """CHUNK_ROWS splits records over bags; more bags than are asked for at once are found too."""
    settings.EDNA = {**settings.EDNA, "CHUNK_ROWS": chunk}
    before, tables = application_dump(), edna_dump()
    edna.disguise_all(ANONYMISE_ALL)
    edna.disguise_all(ANONYMISE_ALL)
    receipt = bea.disguise(DELETE, with_key=True)
    if chunk == 1:
        assert bag_count() > 12
    assert bea.reveal(receipt).complete
    for student in (bea, carl):
        student.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.once
def test_a_disguise_by_the_staff_between_looking_and_revealing_is_not_lost(bea: Student, registered: Any) -> None:
    """An unlocked principal remembers whom it speaks for; what others did to those meanwhile is looked up again."""
    registered(Restoring)
    one, two = Lecture.objects.order_by("pk")
    before, tables = application_dump(), edna_dump()
    edna.disguise_all("test.restoring")
    edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": one.pk})
    with bea.unlock() as unlocked:
        newest = edna.history(unlocked)[0]
        # The one author of all answers gets a second bag, after the capability has read the list of the first.
        edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": two.pk})
        assert edna.reveal(newest.receipt, unlocked).complete
    assert len(bea.history()) == 2
    bea.reveal_everything()
    assert application_dump() == before
    assert edna_dump() == tables


@pytest.mark.once
def test_leaving_with_a_capability_from_before_takes_all_along(bea: Student) -> None:
    """What the staff anonymised after the key was unlocked belongs to the student as well."""
    before = application_dump()
    with bea.unlock() as unlocked:
        assert edna.speaks_for(unlocked) == []
        edna.disguise_all(ANONYMISE_ALL)
        edna.disguise(DELETE, bea.user, unlocked=unlocked)
    assert Answer.objects.count() == 0
    bea.reveal_everything()
    assert application_dump() == before


@pytest.mark.once
def test_people_who_return_are_known_again(bea: Student) -> None:
    """After a return the account is registered as before; in between its key belongs to nobody in particular."""
    receipt = bea.disguise(DELETE)
    assert not edna.is_registered(bea.user)
    bea.reveal(receipt)
    assert edna.is_registered(bea.user)
    assert not edna.is_pseudoprincipal(bea.user)
    assert bea.disguise(DELETE)


class Scrambled(Disguise):
    """Another text, whoever the author is."""

    name = "test.scrambled"
    transformations = [Modify(Answer, owner="author", set={"text": placeholders.random_string()})]


@pytest.mark.once
def test_the_later_of_two_disguises_clears_away_the_first_ones_pseudoprincipals(bea: Student) -> None:
    """What the first one kept lies in the second one's bag after the first reveal: nothing else is left to do."""
    before = application_dump()
    [first] = edna.disguise_all(ANONYMISE_ALL)
    edna.register(Scrambled)
    try:
        edna.disguise_all(Scrambled.name)
        assert bea.reveal(first).complete
        bea.reveal_everything()
    finally:
        edna.unregister(Scrambled)
    assert application_dump() == before


@pytest.mark.once
def test_a_row_of_which_one_column_waits_is_deferred(bea: Student) -> None:
    """The other column is back; the row is whole when the later disguise is taken back."""
    before, [first, *_] = application_dump(), answers_of(bea)
    everything = {"text": "[gone]", "submitted_at": placeholders.constant(first.submitted_at.replace(year=2000))}
    changes = [{"transformations": [Modify(Answer, owner="author", set=each)]} for each in (everything, {"text": "-"})]
    disguises = [type(f"D{n}", (Disguise,), each | {"name": f"sample.d{n}"}) for n, each in enumerate(changes)]
    with registering(*disguises):
        receipts = [bea.disguise(each.name) for each in disguises]
        outcome = bea.reveal(receipts[0])
        assert (outcome.held, outcome.restored) == ([], {})
        assert outcome.deferred == {ANSWER: len(answers_of(bea))}
        assert answers_of(bea)[0].submitted_at == first.submitted_at
        assert bea.reveal(receipts[1]).restored == outcome.deferred
    assert application_dump() == before


@pytest.mark.once
def test_what_the_application_has_written_between_two_disguises_is_not_taken_for_theirs(bea: Student) -> None:
    """An older disguise found the same constant, of one that is older still: it lies beneath what was written since."""
    [answer, *_] = answers_of(bea)

    def rewrite(text: str) -> None:
        Answer.objects.filter(pk=answer.pk).update(text=text)

    once, twice = (
        type(
            f"D{text}",
            (Disguise,),
            {"name": f"sample.{text}", "transformations": [Modify(Answer, owner="author", set={"text": text})]},
        )
        for text in ("once", "twice")
    )
    with registering(once, twice):
        receipts = [bea.disguise(once.name), bea.disguise(twice.name)]
        rewrite("by a moderator")
        receipts.append(bea.disguise(once.name))
        rewrite("by another moderator")

        assert [(held.pk, held.reason) for held in bea.reveal(receipts[2]).held] == [(answer.pk, Reason.CHANGED)]

        rewrite("once")
        assert bea.reveal(receipts[2]).complete
        assert Answer.objects.get(pk=answer.pk).text == "by a moderator"
        rewrite("twice")
        assert [bea.reveal(receipt).complete for receipt in receipts[1::-1]] == [True, True]
        assert Answer.objects.get(pk=answer.pk).text == answer.text
