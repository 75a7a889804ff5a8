"""The whole story in a browser, by the keyboard alone, with a picture of every page in ``build/screenshots``."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.urls import reverse

import edna
from apps.showcase.tests.by_keyboard import ByKeyboard
from apps.websubmit.models import Answer, Lecture, Question, User

from .conftest import PASSWORD, Person

pytestmark = pytest.mark.browser


class Walker(ByKeyboard):
    namespace = "websubmit"

    def privacy(self, name: str, *args: str) -> None:
        self.page.goto(self.site + reverse(f"websubmit-privacy:{name}", args=args))

    def log_in(self, email: str) -> None:
        self.page.context.clear_cookies()
        self.go("login")
        self.fill(username=email, password=PASSWORD)
        self.press("Log in")


@pytest.fixture
def walker(page: Any, live_server: Any) -> Walker:
    return Walker(page, live_server.url)


@pytest.fixture
def small_course(transactional_db: None, course: list[Lecture]) -> list[Lecture]:
    return course


def test_the_whole_story(walker: Walker, small_course: list[Lecture], staff: Person, carl: Person) -> None:
    first = small_course[0]
    for question in Question.objects.all():
        Answer.objects.create(author=carl.user, question=question, text="Counting pages is harder than turning them.")

    walker.go("home")
    walker.picture("01-home")

    # Register
    walker.go("register")
    walker.picture("02-register")
    walker.fill(email="bea@example.org", new_password=PASSWORD, again="something else")
    walker.press("Create my account")
    walker.picture("03-register-error")
    walker.fill(new_password=PASSWORD, again=PASSWORD)
    walker.press("Create my account")
    recovery_code = walker.page.locator("#edna-code").inner_text()
    assert re.fullmatch(r"(\w{4}-){6}\w{4}", recovery_code)
    walker.picture("04-recovery-code")

    # Answer
    walker.go("lectures")
    walker.picture("05-lectures")
    walker.follow(re.compile("Virtual memory"))
    walker.picture("06-lecture-open")
    walker.types("Question 1", "An address is not a place.")
    walker.types("Question 2", "The second look-up costs as much as the first.")
    walker.press("Save my answers")
    walker.sees("Your answers are saved.")
    walker.picture("07-lecture-answered")
    walker.go("account")
    walker.picture("08-account")
    walker.go("change-password")
    walker.picture("09-change-password")

    # Delete, good-bye
    walker.privacy("home")
    walker.picture("10-your-data")
    walker.follow("Delete your account")
    walker.sees("2 answers")
    walker.picture("10-delete")
    walker.fill(password="wrong")
    walker.press("Delete your account")
    walker.picture("11-delete-error")
    walker.fill(password=PASSWORD)
    walker.press("Delete your account")
    walker.sees("Good-bye")
    walker.picture("12-good-bye")
    assert walker.page.reload().request.method == "GET"
    assert not User.objects.filter(email="bea@example.org").exists()
    assert Answer.objects.count() == 4

    # Return
    walker.log_in("bea@example.org")
    walker.sees("you can return to it")
    walker.picture("13-login-error")
    walker.follow("Return to it")
    walker.picture("14-return")
    walker.fill(identifier="bea@example.org", password="wrong", receipt="edna1:websubmit")
    walker.press("Bring my account back")
    walker.picture("15-return-error")
    walker.fill(identifier="bea@example.org", password=PASSWORD, receipt="")
    walker.press("Bring my account back")
    walker.sees("It is back")
    walker.picture("16-returned")
    walker.log_in("bea@example.org")
    walker.go("lecture", first.pk)
    walker.sees("Virtual memory")
    assert walker.page.get_by_label("Question 1").input_value() == "An address is not a place."

    # Staff anonymise
    walker.log_in("staff@example.org")
    walker.go("staff-lectures")
    walker.picture("20-staff-lectures")
    walker.go("staff-lecture", first.pk)
    walker.picture("21-staff-lecture")
    walker.go("staff-users")
    walker.picture("22-staff-people")
    walker.go("staff-answers", first.pk)
    walker.sees("bea@example.org")
    walker.picture("23-staff-answers")
    walker.go("staff-anonymise")
    walker.picture("24-staff-anonymise")
    walker.follow(re.compile("Virtual memory"))
    walker.sees("4 answers")
    walker.picture("25-staff-anonymise-preview")
    walker.fill(confirmation="Virtual memory")
    walker.press("Take the names off")
    walker.sees("are anonymous now")
    walker.picture("26-staff-anonymised")
    walker.go("staff-answers", first.pk)
    assert "bea@example.org" not in walker.page.content()
    walker.sees("An address is not a place.")
    walker.picture("27-staff-answers-anonymous")

    # Edit under disguise
    walker.log_in("bea@example.org")
    walker.go("lecture", first.pk)
    walker.picture("30-lecture-anonymised")
    walker.go("anonymised")
    walker.picture("31-anonymised")
    walker.presses(walker.page.locator("summary"))
    walker.fill(recovery_code=recovery_code)
    walker.press("Show my anonymised answers")
    walker.picture("32-anonymised-answers")
    walker.types("Question 1", "An address is a promise.")
    walker.fill(password="wrong")
    walker.press("Save the changes, stay anonymous")
    walker.sees("Nothing has been saved yet.")
    walker.picture("32-anonymised-answers-error")
    walker.fill(password=PASSWORD)
    walker.press("Save the changes, stay anonymous")
    walker.sees("Saved 1 anonymous answer")
    walker.picture("33-anonymised-saved")
    assert Answer.objects.get(text="An address is a promise.").author.is_anon

    # Reclaim
    walker.follow("what is hidden now")
    walker.fill(password=PASSWORD)
    walker.press("Show it")
    walker.sees("The staff took the names off “Virtual memory”")
    walker.picture("34-hidden")
    walker.press(re.compile("^Bring it back"))
    walker.fill(password=PASSWORD)
    walker.press("Bring it back")
    walker.sees("It is back", "2 answers")
    walker.picture("35-reclaimed")
    assert Answer.objects.get(text="An address is a promise.").author.email == "bea@example.org"

    walker.page.goto(walker.site + "/nowhere/")
    walker.picture("40-not-found")
    assert [error for error in walker.errors if "404" not in error] == []


def test_pages_beside_the_story(walker: Walker, small_course: list[Lecture], staff: Person, bea: Person) -> None:
    for question in Question.objects.all():
        Answer.objects.create(author=bea.user, question=question, text="It depends.")

    # A new password
    walker.log_in("bea@example.org")
    walker.go("change-password")
    walker.fill(old_password=PASSWORD, new_password1="short", new_password2="shorter")
    walker.press("Change the password")
    walker.picture("55-change-password-error")

    # Staff edit a question, and anonymise twice
    walker.log_in("staff@example.org")
    walker.go("staff-question", Question.objects.order_by("pk")[0].pk)
    walker.picture("57-staff-question")
    walker.fill(text="")
    walker.page.evaluate("document.querySelector('main form').noValidate = true")
    walker.press("Save the question")
    walker.picture("58-staff-question-error")
    walker.go("staff-anonymise-lecture", small_course[0].pk)
    walker.fill(confirmation="Virtual memory")
    walker.press("Take the names off")
    walker.go("staff-anonymise-all")
    walker.picture("59-staff-anonymise-all")
    walker.fill(confirmation="all lectures")
    walker.press("Take the names off")
    walker.sees("are anonymous now")

    # The address is somebody else's by now, and a question is gone
    question = Question.objects.order_by("pk")[0]
    Answer.objects.create(author=bea.user, question=question, text="It still depends.")
    edna.disguise("websubmit.delete-account", bea.user)
    User.objects.create_user("bea@example.org", "another password")
    question.delete()
    walker.page.context.clear_cookies()
    walker.privacy("return")
    walker.fill(identifier="bea@example.org", password=PASSWORD)
    walker.press("Bring my account back")
    walker.sees("Somebody else has what was yours")
    walker.picture("62-return-address-taken")
    walker.types_into(walker.page.get_by_label("Another E-mail address"), f"{'long' * 12}@x.org")
    walker.fill(password=PASSWORD)
    walker.press("Try again")
    walker.sees("Your account is here, as long", "perhaps the course staff have deleted it")
    walker.picture("63-returned-under-another-address")

    # What could not come back is told at the next login, and listed
    walker.go("login")
    walker.fill(username=f"{'long' * 12}@x.org", password=PASSWORD)
    walker.press("Log in")
    walker.sees("this could not come back yet: 1 answer")
    walker.picture("92-told-at-login")
    walker.privacy("hidden")
    walker.fill(password=PASSWORD)
    walker.press("Show it")
    walker.picture("93-what-waits")
    walker.ticks(walker.page.locator(".edna-rows input"))
    walker.press("Give up what is ticked …")
    walker.sees("This is final")
    walker.picture("91-give-up")
    assert walker.errors == []


def test_it_works_without_javascript(
    page_without_scripts: Any, live_server: Any, bea: Person, small_course: list[Lecture]
) -> None:
    walker = Walker(page_without_scripts, live_server.url)
    walker.log_in("bea@example.org")
    walker.privacy("apply", "websubmit.delete-account")
    walker.fill(password=PASSWORD)
    walker.press("Delete your account")
    walker.sees("Your receipt")
    walker.privacy("return")
    walker.fill(identifier="bea@example.org", password=PASSWORD)
    walker.press("Bring my account back")
    walker.sees("It is back")


def test_too_busy(
    walker: Walker, small_course: list[Lecture], bea: Person, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser shows the page of a refused request as any other."""
    monkeypatch.setattr("edna.throttle._now", lambda: 1_800_000_008.0)
    settings.ROOT_URLCONF = "apps.showcase.tests.busy_urls"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": __name__}}
    settings.EDNA = {**settings.EDNA, "REQUEST_RATE_PER_SECOND": 0.1}
    for _ in range(3):
        walker.page.goto(f"{walker.site}/unlock/")
    walker.sees("Too busy just now", "Nothing was changed; please try again in 2 seconds.")
    walker.picture("90-too-busy")
    walker.log_in("bea@example.org")
    walker.privacy("apply", "websubmit.delete-account")
    walker.fill(password=PASSWORD)
    walker.press("Delete your account")
    walker.sees("Nothing was changed; please try again in 12 seconds.")
    walker.picture("91-delete-too-busy")
    assert User.objects.filter(email="bea@example.org").exists()
