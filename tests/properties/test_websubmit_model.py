"""Whatever students and staff do, in whatever order: nothing is lost, and in the end everything is whose it was.

The machine does the same to the database and to a model of a few dictionaries, which knows what each answer says and whose
it is *in truth*. Disguises never change the truth; they change what can be seen of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

import edna
from apps.websubmit.models import Answer, Question, User
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    edna_dump,
    enrol_many,
    make_course,
)

STUDENTS = 3
who = st.integers(0, STUDENTS - 1)
what = st.integers(0, 3)
texts = st.text(alphabet=st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), max_size=12)


class Course(RuleBasedStateMachine):
    """Three students, two lectures of two questions."""

    def __init__(self) -> None:
        super().__init__()
        self.example = transaction.atomic()
        self.example.__enter__()
        lectures = make_course(lectures=2, questions=2)
        self.lectures = [lecture.pk for lecture in lectures]
        self.questions = list(Question.objects.order_by("pk").values_list("pk", flat=True))
        self.students: list[Student] = enrol_many(STUDENTS)
        self.accounts = set(User.objects.values_list("pk", "email"))
        self.tables = edna_dump()
        #: In truth: answer -> (student, question, text).
        self.truth: dict[int, tuple[int, int, str]] = {}
        self.away: set[int] = set()
        #: Answers that went along when their author left.
        self.gone: set[int] = set()
        #: The global disguises that an answer is under, by number, oldest first.
        self.layers: dict[int, list[int]] = {}
        self.applied = 0
        self.numbers: dict[str, int] = {}

    def teardown(self) -> None:
        try:
            for student in self.students:
                student.reveal_everything()
            found = {a.pk: (a.author_id, a.question_id, a.text) for a in Answer.objects.all()}
            assert found == {
                key: (self.students[author].user.pk, question, text)
                for key, (author, question, text) in self.truth.items()
            }
            assert set(User.objects.values_list("pk", "email")) == self.accounts
            assert edna_dump() == self.tables
            connection.check_constraints()
        finally:
            transaction.set_rollback(True)
            self.example.__exit__(None, None, None)

    def visible(self, author: int) -> list[int]:
        return sorted(
            key
            for key, (owner, _, _) in self.truth.items()
            if owner == author and key not in self.gone and not self.layers[key]
        )

    def anonymous(self, author: int) -> list[int]:
        return sorted(
            key
            for key, (owner, _, _) in self.truth.items()
            if owner == author and key not in self.gone and self.layers[key]
        )

    # What students do

    @rule(author=who, number=what, text=texts)
    def answer(self, author: int, number: int, text: str) -> None:
        question = self.questions[number]
        if author in self.away or any((a, q) == (author, question) for a, q, _ in self.truth.values()):
            return
        made = Answer.objects.create(author=self.students[author].user, question_id=question, text=text)
        self.truth[made.pk] = (author, question, text)
        self.layers[made.pk] = []

    @rule(author=who, text=texts, data=st.data())
    def edit(self, author: int, text: str, data: Any) -> None:
        mine = self.visible(author)
        if author in self.away or not mine:
            return
        key = data.draw(st.sampled_from(mine))
        assert Answer.objects.filter(pk=key, author=self.students[author].user).update(text=text) == 1
        self.truth[key] = (author, self.truth[key][1], text)

    @rule(author=who, text=texts, data=st.data())
    def edit_as_pseudoprincipal(self, author: int, text: str, data: Any) -> None:
        mine = self.anonymous(author)
        if not mine:
            return
        key = data.draw(st.sampled_from(mine))
        answer = Answer.objects.get(pk=key)
        with self.students[author].unlock() as unlocked:
            voice = edna.speak_as(unlocked, answer)
        assert (voice.pk, voice.is_anon) == (answer.author_id, True)
        Answer.objects.filter(pk=key).update(text=text)
        self.truth[key] = (author, self.truth[key][1], text)

    @rule(author=who, with_key=st.booleans())
    def leave(self, author: int, with_key: bool) -> None:
        if author in self.away:
            return
        self.students[author].disguise(DELETE, with_key=with_key)
        self.away.add(author)
        self.gone |= set(self.visible(author)) | (set(self.anonymous(author)) if with_key else set())

    @rule(author=who)
    def reveal_latest(self, author: int) -> None:
        student = self.students[author]
        entries = student.history()
        if not entries:
            return
        newest = entries[0]
        before = self.owners()
        outcome = student.reveal(newest.receipt)
        assert outcome.complete, outcome
        if newest.name == DELETE:
            self.away.remove(author)
            self.gone -= {key for key, (owner, _, _) in self.truth.items() if owner == author}
            return
        after = self.owners()
        changed = {key for key in before if before[key] != after[key]}
        # Exactly one of the groups that this disguise gave authors to has gone back to whom it had before.
        number = self.numbers[str(newest.receipt)]
        groups = self.groups(key for key in before if self.layers[key][-1:] == [number])
        assert changed in [keys for (owner, *_), keys in groups.items() if owner == author]
        for key in changed:
            self.layers[key].pop()

    @precondition(lambda self: self.away)
    @rule(author=who)
    def come_back(self, author: int) -> None:
        while author in self.away:
            self.reveal_latest(author)

    # What the staff do

    @rule(lecture=st.integers(0, 1))
    def anonymise_lecture(self, lecture: int) -> None:
        receipts = edna.disguise_all(ANONYMISE_LECTURE, params={"lecture": self.lectures[lecture]})
        self.covered(receipts, {key for key in self.owners() if self.lecture_of(key) == lecture})

    @rule()
    def anonymise_all(self) -> None:
        self.covered(edna.disguise_all(ANONYMISE_ALL), set(self.owners()))

    def covered(self, receipts: list[edna.Receipt], keys: set[int]) -> None:
        """Everybody who owned one of these answers got a receipt, anonymous authors included."""
        owners = {
            (self.truth[key][0], *self.layers[key], self.lecture_of(key) if self.layers[key] else "") for key in keys
        }
        assert len(receipts) == len(owners)
        self.applied += 1
        self.numbers |= {str(receipt): self.applied for receipt in receipts}
        for key in keys:
            self.layers[key].append(self.applied)

    def groups(self, keys: Iterable[int]) -> dict[tuple[int, ...], set[int]]:
        """Answers by what one bag holds of them: one student's, under the same disguises, and once anonymous of one lecture."""
        found: dict[tuple[int, ...], set[int]] = {}
        for key in keys:
            deeper = len(self.layers[key]) > 1
            group = (self.truth[key][0], *self.layers[key], self.lecture_of(key) if deeper else -1)
            found.setdefault(group, set()).add(key)
        return found

    def lecture_of(self, key: int) -> int:
        return self.questions.index(self.truth[key][1]) // 2

    @staticmethod
    def owners() -> dict[int, int]:
        return dict(Answer.objects.values_list("pk", "author"))

    # What always holds

    @invariant()
    def the_table_shows_what_it_should(self) -> None:
        rows = {a.pk: (a.author_id, a.question_id, a.text) for a in Answer.objects.all()}
        assert rows.keys() == self.truth.keys() - self.gone
        for key, (owner, question, text) in rows.items():
            author, true_question, true_text = self.truth[key]
            assert (question, text) == (true_question, true_text)
            if self.layers[key]:
                assert owner < 0
            else:
                assert owner == self.students[author].user.pk
        # Two answers have one anonymous author only if they are one student's, of one lecture, hidden together.
        for left, right in itertools.combinations(rows, 2):
            if rows[left][0] == rows[right][0] < 0:
                same = [(self.truth[k][0], self.lecture_of(k), self.layers[k]) for k in (left, right)]
                assert same[0] == same[1]
        accounts = set(User.objects.filter(is_anon=False).values_list("pk", flat=True))
        assert accounts == {s.user.pk for number, s in enumerate(self.students) if number not in self.away}


@pytest.mark.django_db
def test_everything_comes_back_to_whom_it_belongs_to() -> None:
    """A hundred stories of up to a dozen steps each, fewer on a server; at the end everybody reveals everything, newest first."""
    run_state_machine_as_test(
        Course,
        settings=settings(
            max_examples=100 if connection.vendor == "sqlite" else 25,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
        ),
    )
