"""Students whose keys stay in their browsers: the pages that are particular to this site, in Chromium. Pictures are in
``build/screenshots/websubmit-in-browser``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.showcase.tests.key_in_browser import FIRST, KeyInBrowser
from apps.websubmit.models import Answer, Lecture, User
from edna.testing.search import finds

from .conftest import PASSWORD

pytestmark = pytest.mark.browser


class Student(ByKeyboard, KeyInBrowser):
    namespace = "websubmit-in-browser"

    def go(self, name: str, *args: Any) -> None:
        self.page.goto(self.site + reverse(f"websubmit:{name}", args=args))

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"websubmit-privacy:{name}", args=args))


@pytest.fixture(autouse=True)
def key_in_browser(settings: Any) -> None:
    settings.EDNA = {**settings.EDNA, "CUSTODY": "browser"}


def test_a_student_whose_key_stays_in_the_browser(
    page: Any, live_server: Any, transactional_db: None, course: list[Lecture]
) -> None:
    """Registers, makes a key, changes an answer that the staff have made anonymous, takes its name back, leaves and returns under
    another address. The site never gets the password of the key."""
    student = Student(page, live_server.url)
    student.go("register")
    student.fill(email="bea@example.org", new_password=PASSWORD, again=PASSWORD)
    student.press("Create my account")
    student.sees("Make your key")
    student.picture("01-make-key")
    code = student.makes_a_key()
    student.picture("02-code")
    student.keeps(code)
    bea = User.objects.get(email="bea@example.org")
    for question in course[0].questions.all():
        Answer.objects.create(author=bea, question=question, text="An address is not a place.")
    student.go("change-password")
    student.sees("That of your key is another one")

    edna.disguise_all("websubmit.anonymize-lecture", params={"lecture": course[0].pk})
    student.go("anonymised")
    student.opens("Show my anonymised answers", "a guess")
    student.sees("This does not open your key.")
    student.opens("Show my anonymised answers")
    student.sees("Save without revealing your name")
    student.picture("03-anonymised-answers")
    student.types("Question 1", "An address is a promise.")
    student.opens_by_code("Save the changes, stay anonymous", code)
    student.sees("Saved 1 anonymous answer.")
    assert Answer.objects.get(text="An address is a promise.").author.is_anon
    student.privacy("hidden")
    student.opens("Show it")
    student.sees("The staff took the names off “Virtual memory”", "2 answers")
    student.picture("04-hidden")
    student.press(re.compile("^Bring it back"))
    student.opens("Bring it back")
    student.sees("It is back", "2 answers")
    assert Answer.objects.get(text="An address is a promise.").author == bea

    student.privacy("apply", "websubmit.delete-account")
    student.sees("2 answers")
    student.opens("Delete your account")
    student.sees("Good-bye")
    assert not User.objects.filter(pk=bea.pk).exists()
    User.objects.create_user("bea@example.org", "finders keepers")
    student.privacy("return")
    student.fill(identifier="bea@example.org")
    student.opens("Bring my account back")
    student.sees("Somebody else has what was yours")
    student.types_into(page.get_by_label("Another E-mail address"), "beatrix@example.org")
    student.opens("Try again")
    student.sees("Your account is here, as beatrix@example.org.")
    student.picture("05-back")
    assert Answer.objects.filter(author__email="beatrix@example.org").count() == 2
    assert student.errors == []
    sent = b"\n".join(student.sent)
    assert finds(sent, {"password of the log-in": PASSWORD.replace(" ", "+")}) != [], "the search finds what was sent"
    assert finds(sent, {"password of the key": FIRST, "code": code}) == []
