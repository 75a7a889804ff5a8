"""Two who do something at the same moment: the database ends one of them, and nobody sees that."""

from __future__ import annotations

import pytest
from django.urls import reverse

from apps.showcase.tests.meeting import met
from apps.websubmit.models import Answer, Lecture, Question, User

from .conftest import Person

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.only_on("mysql")]


def test_an_answer_is_saved_while_its_author_is_put_away(course: list[Lecture], bea: Person) -> None:
    """It shares the locks of author and question, taken one after the other."""
    question, author = course[0].questions.get(number=1), User.objects.filter(pk=bea.user.pk)
    address, texts = reverse("websubmit:lecture", args=[course[0].pk]), {f"question_{question.pk}": "Forty-two."}
    status = met(lambda: bea.client.post(address, texts), first=Question.objects.filter(pk=question.pk), then=author)
    assert status == 302
    assert Answer.objects.filter(author=bea.user, question=question, text="Forty-two.").count() == 1
