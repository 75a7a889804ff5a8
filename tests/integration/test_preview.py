"""What an operator is shown before a disguise is applied: the plan itself, bounded, for those for whom it can be done."""

from __future__ import annotations

import pytest

import edna
from apps.websubmit.models import Answer, Question, User
from edna.errors import InvalidParameters, UnknownDisguise
from edna.operations import jobs
from edna.operations.jobs import preview
from tests.support import (
    ANONYMISE_ALL,
    ANONYMISE_LECTURE,
    DELETE,
    Student,
    answer_everything,
    enrol_many,
    make_course,
    nothing_changes,
    statements,
)

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.fixture
def students(db: None) -> list[Student]:
    make_course()
    students = enrol_many(3)
    answer_everything(*students)
    return students


def test_of_one_person_it_is_the_plan_that_would_be_executed(students: list[Student]) -> None:
    for name in (DELETE, ANONYMISE_ALL):
        with nothing_changes():
            made = preview.preview(name, principals=[students[0].user])
        assert made.plan is not None
        assert made.plan.as_dict() == edna.plan(name, students[0].user).as_dict()
        assert made.people == 1


def test_of_several_it_is_the_sum_of_their_plans(students: list[Student]) -> None:
    made = preview.preview(DELETE, principals=[student.user for student in students[:2]])
    assert made.plan is not None
    assert made.plan.rows == sum(edna.plan(DELETE, student.user).rows for student in students[:2])


def test_of_everybody_it_is_the_plan_for_all(students: list[Student]) -> None:
    lecture = Question.objects.order_by("pk")[0].lecture_id
    made = preview.preview(ANONYMISE_LECTURE, params={"lecture": lecture})
    assert made.plan is not None
    assert made.plan.as_dict() == edna.plan_all(ANONYMISE_LECTURE, params={"lecture": lecture}).as_dict()
    assert (made.people, made.without_key) == (3, 0)


def test_of_everybody_those_without_a_key_are_counted(students: list[Student]) -> None:
    answer_everything(Student(User.objects.create_user("guest@example.org"), students[0].secret_key))
    made = preview.preview(ANONYMISE_ALL)
    assert (made.people, made.without_key) == (4, 1)


def test_beyond_the_bound_there_is_no_plan_and_few_rows_are_looked_at(
    students: list[Student], monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, planned in ((Answer.objects.count() - 1, False), (Answer.objects.count(), True)):
        monkeypatch.setattr(preview, "MOST_ROWS", most)
        assert (preview.preview(ANONYMISE_ALL).plan is not None) is planned
        chosen = [student.user for student in students]
        assert (preview.preview(ANONYMISE_ALL, principals=chosen).plan is not None) is planned
    monkeypatch.setattr(preview, "MOST_ROWS", 2)
    counting = [sql for sql in statements(lambda: preview.preview(ANONYMISE_ALL)) if "websubmit_answer" in sql]
    assert len(counting) == 1
    assert "LIMIT 3" in counting[0]


def test_the_time_goes_by_jobs_with_the_same_disguise(students: list[Student], monkeypatch: pytest.MonkeyPatch) -> None:
    """And of more than a few people: a short one is all beginning and end."""
    chosen = [students[0].user]
    assert preview.preview(ANONYMISE_ALL, principals=chosen).people_per_second is None
    jobs.run(jobs.start(ANONYMISE_ALL, principals=[students[1].user]).id)
    assert preview.preview(DELETE, principals=chosen).people_per_second is None
    assert preview.preview(ANONYMISE_ALL, principals=chosen).people_per_second is None
    monkeypatch.setattr(preview, "_FEWEST_TO_GO_BY", 1)
    made = preview.preview(ANONYMISE_ALL, principals=chosen)
    assert made.people_per_second is not None
    assert made.seconds == pytest.approx(1 / made.people_per_second)


def test_those_chosen_are_sorted_by_what_can_be_done_for_them(students: list[Student]) -> None:
    students[0].disguise(ANONYMISE_ALL)
    guest = User.objects.create_user("guest@example.org")
    placeholders = list(User.objects.filter(is_anon=True))
    chosen = preview.choose(User, [guest, students[0].user, *placeholders])
    assert chosen.ready == (students[0].user,)
    assert (chosen.without_key, chosen.placeholders) == (1, len(placeholders))
    few = statements(lambda: preview.choose(User, [guest]))
    assert len(few) == len(statements(lambda: preview.choose(User, list(User.objects.all())))) - 1


def test_what_cannot_be_planned_is_refused(students: list[Student]) -> None:
    with pytest.raises(UnknownDisguise):
        preview.preview("no.such")
    with pytest.raises(InvalidParameters):
        preview.preview(ANONYMISE_LECTURE, params={"lecture": "first"})
