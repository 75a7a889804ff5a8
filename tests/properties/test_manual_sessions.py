"""Whatever is done by hand, and in whatever order it is revealed: everything is as it was, and every blob came back once."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edna
from apps.websubmit.models import Answer, User
from edna.engine.revealing import blobs
from edna.testing import application_dump
from tests.support import Student, answer_everything, edna_dump, enrol, make_course

pytestmark = pytest.mark.django_db

NAME = "test.whatever"
ANSWERS = 4

row = st.integers(0, ANSWERS - 1)
step = st.one_of(
    st.tuples(st.just("modify"), st.lists(row, min_size=1), st.text(alphabet="ab", max_size=2)),
    st.tuples(st.just("decorrelate"), st.lists(row, min_size=1), st.booleans()),
    st.tuples(st.just("remove"), st.lists(row, min_size=1)),
    st.tuples(st.just("account"), st.text(alphabet="ab", min_size=1, max_size=2)),
    st.tuples(st.just("ghost")),
    st.tuples(st.just("save"), st.binary(max_size=3)),
    st.tuples(st.just("save"), st.integers(1, 3).map(lambda parts: b"x" * (parts * blobs.PART_BYTES // 2))),
)
sessions = st.lists(st.lists(step, max_size=6), min_size=1, max_size=4)


class Course:
    """One student, whose rows the steps name by number; those that are not there are passed over."""

    def __init__(self) -> None:
        make_course(lectures=1, questions=ANSWERS)
        self.bea: Student = enrol("bea@example.org")
        answer_everything(self.bea)
        self.keys = list(Answer.objects.order_by("pk").values_list("pk", flat=True))

    def rows(self, numbers: list[int]) -> list[Answer]:
        return list(Answer.objects.filter(pk__in=[self.keys[number] for number in numbers]))

    def run(self, steps: list[Any], unlocked: edna.Unlocked) -> tuple[edna.Receipt, list[bytes]]:
        saved = []
        with edna.session(self.bea.user, NAME, unlocked=unlocked) as s:
            ghost: Any = None
            for kind, *details in steps:
                if kind == "modify":
                    s.modify(self.rows(details[0]), text=details[1])
                elif kind == "decorrelate":
                    s.decorrelate(self.rows(details[0]), "author", to=ghost if details[1] else None)
                elif kind == "remove":
                    s.remove(self.rows(details[0]))
                elif kind == "account":
                    s.modify(User.objects.filter(pk=self.bea.user.pk), apikey=details[0])
                elif kind == "ghost":
                    ghost = s.new_pseudoprincipal()
                else:
                    s.save(details[0])
                    saved.append(details[0])
        assert s.receipt is not None
        return s.receipt, saved


@pytest.mark.slow
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(sessions=sessions, data=st.data())
def test_every_session_is_undone_in_every_order(db: None, sessions: list[list[Any]], data: st.DataObject) -> None:
    """Each receipt once: what lies under a later session is deferred to it, and comes back with it."""
    revealed: list[tuple[bytes, ...]] = []

    def callback(given: edna.Revealed) -> None:
        revealed.append(given.blobs)

    edna.on_reveal(NAME)(callback)
    try:
        with transaction.atomic():
            course = Course()
            before, tables = application_dump(), edna_dump()
            with course.bea.unlock() as unlocked:
                done = [course.run(steps, unlocked) for steps in sessions]
                order = data.draw(st.permutations(done))
                for receipt, saved in order:
                    revealed.clear()
                    outcome = edna.reveal(receipt, unlocked)
                    assert outcome.complete, outcome
                    assert revealed == ([tuple(saved)] if saved else [])
            assert application_dump() == before
            assert edna_dump() == tables
            transaction.set_rollback(True)
    finally:
        edna.unregister(callback)
