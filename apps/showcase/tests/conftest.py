"""Who the tests of the three applications together are about."""

from __future__ import annotations

import pytest

from apps.hotcrp_sim.auth import identifier as hotcrp_identifier
from apps.hotcrp_sim.models import ContactInfo, Paper, PaperReview
from apps.lobsters_sim.keys import identifier as lobsters_identifier
from apps.lobsters_sim.models import SavedStory, Story
from apps.lobsters_sim.models import User as Member
from apps.showcase.tests.beas import EMAIL, NUMBER, PASSWORD, Bea, somebody
from apps.websubmit.models import Answer, Lecture, Question
from apps.websubmit.models import User as Student


@pytest.fixture
def beas() -> dict[str, Bea]:
    student = Student.objects.create_user(EMAIL, PASSWORD, pk=NUMBER)
    member = Member.objects.create_user("bea", EMAIL, PASSWORD, pk=NUMBER)
    contact = ContactInfo.objects.create_user(EMAIL, PASSWORD, pk=NUMBER)
    question = Question.objects.create(lecture=Lecture.objects.create(label="Deadlock"), number=1, text="Why?")
    Answer.objects.create(author=student, question=question, text="Because everybody waits.")
    SavedStory.objects.create(user=member, story=Story.objects.create(user=member, title="Locks considered"))
    PaperReview.objects.create(paper=Paper.objects.create(title="Locks"), contact=contact, review_type=2)
    return {
        "websubmit": somebody("websubmit", student, EMAIL),
        "lobsters": somebody("lobsters", member, lobsters_identifier("bea")),
        "hotcrp": somebody("hotcrp", contact, hotcrp_identifier(EMAIL)),
    }
