"""What the site promises its students: leaving and returning, staying anonymous and reclaiming."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core import mail
from django.core.checks import run_checks
from django.test import Client
from django.urls import reverse

import edna
from apps.showcase.tests.counting import counted_alike
from apps.showcase.tests.tables import thief
from apps.websubmit.models import Answer, Lecture, Question, User

from .conftest import PASSWORD, Person, dump

pytestmark = pytest.mark.django_db


def leave(person: Person, **key: str) -> str:
    """Delete the account on the page; returns the receipt."""
    response = person.client.post(reverse("websubmit:delete"), {"password": PASSWORD, **key})
    assert "Good-bye" in response.content.decode()
    return str(response.context["receipt"])


def come_back(client: Any, **data: str) -> Any:
    response = client.post(reverse("websubmit:return"), data)
    assert response.status_code == 200
    return response


def anonymise(staff: Person, lecture: Lecture) -> None:
    response = staff.client.post(
        reverse("websubmit:staff-anonymise-lecture", args=[lecture.pk]), {"confirmation": lecture.label}
    )
    assert response.status_code == 302


def opened(person: Person, **key: str) -> Any:
    return person.client.post(reverse("websubmit:anonymised"), key or {"password": PASSWORD})


def reclaim(person: Person, receipt: str) -> str:
    """What the page says."""
    answer = person.client.post(reverse("websubmit:reclaim"), {"receipt": receipt, "password": PASSWORD})
    return str(answer.content.decode())


def edited(person: Person, answer: Answer, text: str, **key: str) -> Any:
    rows = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1"}
    row = {"form-0-answer": str(answer.pk), "form-0-question": str(answer.question_id), "form-0-text": text}
    return person.client.post(reverse("websubmit:anonymised-edit"), {**rows, **row, **(key or {"password": PASSWORD})})


def test_delete_and_return_leave_every_row_as_it_was(
    answered: list[Lecture], bea: Person, staff: Person, client: Any
) -> None:
    LogEntry.objects.create(
        user=bea.user, content_type=ContentType.objects.get_for_model(User), object_repr="x", action_flag=2
    )
    before = dump()
    receipt = leave(bea, everything="on")

    assert not User.objects.filter(email="bea@example.org").exists()
    assert Answer.objects.count() == 4
    for trace in ("bea@", "bea ", bea.user.apikey, bea.recovery_code, receipt, PASSWORD):
        assert trace not in thief()
    assert receipt in mail.outbox[0].body
    assert mail.outbox[0].to == ["bea@example.org"]
    assert "http://testserver/websubmit/return/" in mail.outbox[0].body

    response = come_back(client, email="bea@example.org", password=PASSWORD, receipt=receipt)
    assert "Welcome back!" in response.content.decode()
    assert dump() == before


@pytest.mark.parametrize("key", ["password", "recovery_code"])
def test_return_without_a_receipt(key: str, answered: list[Lecture], bea: Person, client: Any) -> None:
    before = dump()
    leave(bea)
    given = {
        "password": {"email": "BEA@example.org", "password": PASSWORD},
        "recovery_code": {"recovery_code": bea.recovery_code.lower()},
    }
    assert "Welcome back!" in come_back(client, **given[key]).content.decode()
    assert dump() == before


def test_returning_twice_is_explained(bea: Person, client: Any) -> None:
    receipt = leave(bea)
    come_back(Client(), email="bea@example.org", password=PASSWORD)
    assert (
        "used already"
        in come_back(client, email="bea@example.org", password=PASSWORD, receipt=receipt).content.decode()
    )
    assert "it is here already" in come_back(client, email="bea@example.org", password=PASSWORD).content.decode()


def test_a_taken_address_loses_nothing(bea: Person, client: Any) -> None:
    before = dump()
    leave(bea)
    squatter = User.objects.create_user("bea@example.org", "another password")
    response = come_back(client, email="bea@example.org", password=PASSWORD)
    assert "Somebody else has an account with this e-mail address" in response.content.decode()
    squatter.delete()
    assert "Welcome back!" in come_back(client, email="bea@example.org", password=PASSWORD).content.decode()
    assert dump() == before


def test_coming_back_under_another_address(answered: list[Lecture], bea: Person, client: Any) -> None:
    new = {"new_email": "Bea.Again@example.org"}
    leave(bea)
    User.objects.create_user("bea@example.org", "another password")
    refused = come_back(client, email="bea@example.org", password=PASSWORD, new_email="carl@example.org")
    assert "has an account with this e-mail address" in refused.content.decode()
    response = come_back(client, email="bea@example.org", password=PASSWORD, **new)
    assert "Welcome back!" in response.content.decode()
    assert "a new e-mail address: <strong>bea.again@example.org</strong>" in response.content.decode()
    user = User.objects.get(email="bea.again@example.org")
    assert user.answers.count() == 4
    # The password opens the key together with the new address now, and no longer with the old one.
    client.force_login(user)
    client.post(reverse("websubmit:delete"), {"password": PASSWORD})
    assert "does not open a key" in come_back(client, email="bea@example.org", password=PASSWORD).content.decode()
    assert "Welcome back!" in come_back(client, email="bea.again@example.org", password=PASSWORD).content.decode()


def test_an_answer_given_again_holds_the_reclaimed_one_back(
    answered: list[Lecture], bea: Person, staff: Person
) -> None:
    anonymise(staff, answered[0])
    again = Answer.objects.create(author=bea.user, question=answered[0].questions.first(), text="Again.")
    [entry] = opened(bea).context["history"]
    shown = reclaim(bea, entry.receipt)
    assert "Some carry your name again" in shown
    assert "Withdraw that one" in shown
    again.delete()
    assert "They carry your name again" in reclaim(bea, entry.receipt)
    assert bea.user.answers.count() == 4


def test_what_was_anonymised_again_since_is_said_to_wait(answered: list[Lecture], bea: Person, staff: Person) -> None:
    """The first of two is reclaimed first: nothing of it shows the name yet; with the second, all of it does."""
    anonymise(staff, answered[0])
    staff.client.post(reverse("websubmit:staff-anonymise-all"), {"confirmation": "all lectures"})
    history = opened(bea).context["history"]
    [first] = [entry for entry in history if answered[0].label in entry.title]
    shown = reclaim(bea, first.receipt)
    assert "Not yet" in shown
    assert "What was made anonymous again since" in shown
    assert "<li>2 answers</li>" in shown
    assert "still sealed" not in shown
    assert not bea.user.answers.exists()
    for entry in opened(bea).context["history"]:
        assert "They carry your name again" in reclaim(bea, entry.receipt)
    assert bea.user.answers.count() == 4


def test_answers_to_a_question_that_is_gone_stay_sealed(answered: list[Lecture], bea: Person, client: Any) -> None:
    leave(bea)
    Question.objects.first().delete()
    response = come_back(client, email="bea@example.org", password=PASSWORD)
    assert "Welcome back, almost" in response.content.decode()
    assert Answer.objects.filter(author__email="bea@example.org").count() == 3


def test_registering_again_tells_nobody_whether_the_old_password_was_right(bea: Person, client: Any) -> None:
    leave(bea)
    pages = []
    for password in (PASSWORD, "none of anybody's words"):
        data = {"email": "bea@example.org", "new_password": password, "again": password}
        page = client.post(reverse("websubmit:register"), data).content.decode()
        pages.append(re.sub(r"[A-Za-z0-9_-]{16,}", "something random", page))
        client.logout()
        User.objects.get(email="bea@example.org").delete()
    assert pages[0] == pages[1]


def test_anonymised_answers_have_one_anonymous_author_per_student_and_lecture(
    answered: list[Lecture], staff: Person
) -> None:
    anonymise(staff, answered[0])
    authors = User.objects.filter(is_anon=True)
    assert authors.count() == 2
    assert not authors.filter(is_active=True).exists()
    assert not authors.exclude(joined_on=None).exists()
    assert Answer.objects.filter(question__lecture=answered[0], author__is_anon=True).count() == 4
    assert Answer.objects.filter(question__lecture=answered[1], author__is_anon=True).count() == 0


def test_edit_under_disguise_stays_anonymous_and_survives_reclaiming(
    answered: list[Lecture], bea: Person, carl: Person, staff: Person
) -> None:
    before = dump()
    anonymise(staff, answered[0])
    page = opened(bea)
    mine = {form["answer"].value() for form in page.context["formset"]}
    assert len(mine) == 2
    answer = Answer.objects.get(pk=min(mine))
    author = answer.author_id
    assert "bea@example.org thinks" in page.content.decode()
    assert "carl@example.org thinks" not in page.content.decode()

    assert edited(bea, answer, "A better thought.").status_code == 302
    answer.refresh_from_db()
    assert (answer.text, answer.author_id, answer.author.is_anon) == ("A better thought.", author, True)

    [entry] = page.context["history"]
    assert "Virtual memory" in entry.title
    response = bea.client.post(reverse("websubmit:reclaim"), {"receipt": entry.receipt, "password": PASSWORD})
    assert "They carry your name again" in response.content.decode()
    answer.refresh_from_db()
    assert (answer.text, answer.author_id) == ("A better thought.", bea.user.pk)
    assert User.objects.filter(is_anon=True).count() == 1

    # Nothing else has changed: the other answers are as they were, and the other student's are still anonymous.
    after = {row[0]: row for row in dump()["websubmit_answer"]}
    untouched = [row for row in before["websubmit_answer"] if row[0] != answer.pk]
    assert sum(after[row[0]] == row for row in untouched) == 5
    assert [entry.counts for entry in opened(carl).context["history"]] == [["2 answers"]]


def test_nobody_edits_what_another_wrote(answered: list[Lecture], bea: Person, carl: Person, staff: Person) -> None:
    anonymise(staff, answered[0])
    [theirs, *_] = [form["answer"].value() for form in opened(carl).context["formset"]]
    answer = Answer.objects.get(pk=theirs)
    for person in (bea, staff):
        response = edited(person, answer, "Mine now.")
        assert "only its real author" in response.content.decode()
        assert "Mine now." in response.content.decode()  # what was typed is not lost
        assert Answer.objects.get(pk=theirs).text == answer.text


def test_a_wrong_password_keeps_what_was_typed(answered: list[Lecture], bea: Person, staff: Person) -> None:
    anonymise(staff, answered[0])
    [mine, *_] = [form["answer"].value() for form in opened(bea).context["formset"]]
    response = edited(bea, Answer.objects.get(pk=mine), "A long new thought.", password="wrong")
    assert "does not open a key" in response.content.decode()
    assert "A long new thought." in response.content.decode()


def test_somebody_elses_receipt_reclaims_nothing(
    answered: list[Lecture], bea: Person, carl: Person, staff: Person
) -> None:
    anonymise(staff, answered[0])
    [entry] = opened(carl).context["history"]
    before = dump()
    response = bea.client.post(reverse("websubmit:reclaim"), {"receipt": entry.receipt, "password": PASSWORD})
    assert "belongs to somebody else" in response.content.decode()
    assert dump() == before


def test_anonymise_all_then_leave_with_the_key_then_return(
    answered: list[Lecture], bea: Person, staff: Person, client: Any
) -> None:
    staff.client.post(reverse("websubmit:staff-anonymise-all"), {"confirmation": "All lectures"})
    before = dump()
    assert Answer.objects.filter(author__is_anon=True).count() == 8
    leave(bea, everything="on")
    assert Answer.objects.count() == 4
    assert "bea@" not in thief()
    assert "Welcome back!" in come_back(client, recovery_code=bea.recovery_code).content.decode()
    assert dump() == before


@pytest.mark.once
def test_the_page_asks_for_the_key_where_it_alone_finds_all(
    answered: list[Lecture], bea: Person, staff: Person
) -> None:
    """It is ticked, and the page says why; who unticks it leaves what was anonymised."""

    def page() -> tuple[bool, bool]:
        response = bea.client.get(reverse("websubmit:delete"))
        return "Only your key finds them" in response.content.decode(), bool(
            response.context["form"]["everything"].value()
        )

    assert page() == (False, False)
    anonymise(staff, answered[0])
    assert page() == (True, True)


def test_without_the_key_anonymised_answers_stay(answered: list[Lecture], bea: Person, staff: Person) -> None:
    anonymise(staff, answered[0])
    leave(bea)
    assert Answer.objects.count() == 6


def test_unregistered_authors_stop_the_anonymising(answered: list[Lecture], staff: Person) -> None:
    stranger = User.objects.create_user("dora@example.org", PASSWORD)
    Answer.objects.create(author=stranger, question=Question.objects.first(), text="x")
    before = dump()
    for method in (staff.client.get, staff.client.post):
        response = method(reverse("websubmit:staff-anonymise-all"), {"confirmation": "all lectures"})
        assert response.status_code == 200
    assert "have no key yet" in response.content.decode()
    assert dump() == before


def test_the_specifications_pass_ednas_checks() -> None:
    assert {"websubmit.delete-account", "websubmit.anonymize-lecture", "websubmit.anonymize-all"} <= set(
        edna.registry.disguises()
    )
    assert [message for message in run_checks() if message.id.startswith("edna.E")] == []


@pytest.mark.once
@pytest.mark.parametrize("lecture_first", [False, True])
def test_plan_history_outcome_commands_and_pages_count_each_row_once(
    answered: list[Lecture], bea: Person, lecture_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on top of a lecture that was anonymised, whose pseudoprincipals go with the account."""

    def bring_back(receipt: edna.Receipt) -> list[str]:
        data = {"email": bea.user.email, "password": PASSWORD, "receipt": str(receipt)}
        lines: list[str] = come_back(Client(), **data).context["restored"]
        return lines

    if lecture_first:
        edna.disguise("websubmit.anonymize-lecture", bea.user, params={"lecture": answered[0].pk})
    counts = counted_alike(
        "websubmit.delete-account",
        bea.user,
        bea.recovery_code,
        monkeypatch=monkeypatch,
        bring_back=bring_back,
        previewed=lambda: bea.client.get(reverse("websubmit:delete")).context["preview"],
        with_key=lecture_first,
    )
    assert counts == {"websubmit.user": 1, "websubmit.answer": 4}


@pytest.mark.once
def test_what_is_reclaimed_is_counted_as_the_list_counts_it(
    answered: list[Lecture], bea: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def listed(receipt: edna.Receipt) -> list[str]:
        history = opened(bea).context["history"]
        lines: list[str] = next(entry.counts for entry in history if entry.receipt == str(receipt))
        return lines

    def bring_back(receipt: edna.Receipt) -> list[str]:
        key = {"receipt": str(receipt), "password": PASSWORD}
        lines: list[str] = bea.client.post(reverse("websubmit:reclaim"), key).context["restored"]
        return lines

    counts = counted_alike(
        "websubmit.anonymize-lecture",
        bea.user,
        bea.recovery_code,
        monkeypatch=monkeypatch,
        bring_back=bring_back,
        listed=listed,
        lecture=answered[0].pk,
    )
    assert counts == {"websubmit.answer": 2}
