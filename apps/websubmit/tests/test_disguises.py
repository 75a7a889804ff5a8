"""What the site promises its students: leaving and returning, staying anonymous and reclaiming."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.checks import run_checks
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse, reverse_lazy

import edna
from apps.showcase.tests.counting import counted_alike
from apps.showcase.tests.tables import thief
from apps.websubmit.models import Answer, Lecture, Question, User
from edna.pages import words

from .conftest import PASSWORD, Person, dump

pytestmark = [pytest.mark.django_db, pytest.mark.long]

LEAVING = reverse_lazy("websubmit-privacy:apply", args=["websubmit.delete-account"])


def leave(person: Person) -> str:
    """Delete the account on the page; returns the receipt."""
    return send(person, **told(person))


def told(person: Person, *, key: str = "password") -> dict[str, str]:
    """What is sent by whoever has read what would go, and gives this to prove who they are."""
    seen = person.client.get(LEAVING).context["form"]["seen"].value()
    return {key: {"password": PASSWORD, "recovery_code": person.recovery_code}[key], "seen": seen}


def send(person: Person, **sent: str) -> str:
    """The receipt."""
    response = person.client.post(LEAVING, sent)
    assert "Good-bye" in response.content.decode()
    return str(response.context["receipt"])


def statements(work: Callable[[], object]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured if not query["sql"].startswith(("BEGIN", "COMMIT"))]


def come_back(client: Any, **data: str) -> Any:
    response = client.post(reverse("websubmit-privacy:return"), data)
    assert response.status_code == 200
    return response


def anonymise(staff: Person, lecture: Lecture) -> None:
    response = staff.client.post(
        reverse("websubmit:staff-anonymise-lecture", args=[lecture.pk]), {"confirmation": lecture.label}
    )
    assert response.status_code == 302


def opened(person: Person, **key: str) -> Any:
    return person.client.post(reverse("websubmit:anonymised"), key or {"password": PASSWORD})


def hidden(person: Person) -> list[Any]:
    """What the page of what is hidden lists."""
    answer = person.client.post(reverse("websubmit-privacy:hidden"), {"password": PASSWORD})
    entries: list[Any] = answer.context["entries"] + answer.context["waiting"]
    return entries


def reclaim(person: Person, receipt: Any) -> str:
    """What the page says."""
    sent = {"receipt": str(receipt), "password": PASSWORD}
    return str(person.client.post(reverse("websubmit-privacy:bring-back"), sent).content.decode())


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
    receipt = leave(bea)

    assert not User.objects.filter(email="bea@example.org").exists()
    assert Answer.objects.count() == 4
    for trace in ("bea@", "bea ", bea.user.apikey, bea.recovery_code, receipt, PASSWORD):
        assert trace not in thief()
    response = come_back(client, identifier="bea@example.org", password=PASSWORD, receipt=receipt)
    assert "It is back" in response.content.decode()
    assert dump() == before


@pytest.mark.parametrize(("key", "most"), [("password", 22), ("recovery_code", 26)])
def test_a_deletion_reads_what_goes_once(key: str, most: int, answered: list[Lecture], bea: Person) -> None:
    """What the page has told is compared with the plan that is done, under its lock: nothing is planned before, and nothing again. No other
    people's disguises are asked whether they are offered, nor which ways there are to the key."""
    given = told(bea, key=key)
    sent = statements(lambda: send(bea, **given))
    read = [sql for sql in sent if sql.startswith("SELECT") and "FROM " in sql and "EXISTS" not in sql]
    for table in ("websubmit_answer", "django_admin_log"):
        assert len([sql for sql in read if f"FROM {connection.ops.quote_name(table)}" in sql]) == 1, table
    assert not [sql for sql in sent if "edna_audiences" in sql or ("edna_keyslot" in sql and key == "password")]
    assert len(sent) <= most, "\n".join(sent)


@pytest.mark.parametrize(("key", "most"), [("password", 35), ("recovery_code", 35)])
def test_a_deletion_of_what_was_anonymised_reads_what_goes_twice(
    key: str, most: int, answered: list[Lecture], bea: Person, staff: Person
) -> None:
    """What the page has told is what goes without the key; with the key more of it goes."""
    anonymise(staff, answered[0])
    given = told(bea, key=key)
    sent = statements(lambda: send(bea, **given))
    read = [sql for sql in sent if sql.startswith("SELECT") and "EXISTS" not in sql]
    assert len([sql for sql in read if f"FROM {connection.ops.quote_name('websubmit_answer')}" in sql]) == 2
    assert len(sent) <= most, "\n".join(sent)


@pytest.mark.parametrize(("anonymised", "most"), [(False, 28), (True, 32)])
def test_a_return_opens_nothing_once_all_of_it_is_back(
    answered: list[Lecture], bea: Person, staff: Person, client: Any, anonymised: bool, most: int
) -> None:
    """Nothing is sealed any more that could wait. So many statements SQLite takes; others take less."""
    if anonymised:
        anonymise(staff, answered[0])
    leave(bea)
    answers: list[Any] = []
    sent = statements(lambda: answers.append(come_back(client, recovery_code=bea.recovery_code)))
    assert "It is back" in answers[0].content.decode()
    gone = next(place for place, sql in enumerate(sent) if sql.startswith("DELETE") and "edna_bag" in sql)
    assert not [sql for sql in sent[gone + 1 :] if "edna_bag" in sql]
    assert len(sent) <= most, "\n".join(sent)


@pytest.mark.parametrize("key", ["password", "recovery_code"])
def test_return_without_a_receipt(key: str, answered: list[Lecture], bea: Person, client: Any) -> None:
    before = dump()
    leave(bea)
    given = {
        "password": {"identifier": "BEA@example.org", "password": PASSWORD},
        "recovery_code": {"recovery_code": bea.recovery_code.lower()},
    }
    assert "It is back" in come_back(client, **given[key]).content.decode()
    assert dump() == before


def test_coming_back_under_another_address(answered: list[Lecture], bea: Person, client: Any) -> None:
    """Nothing is lost meanwhile; the password opens the key together with the new address then."""
    receipt = leave(bea)
    User.objects.create_user("bea@example.org", "another password")
    asked = come_back(client, identifier="bea@example.org", password=PASSWORD)
    assert "Somebody else has what was yours" in asked.content.decode()
    field = "instead-websubmit.user.email"
    assert field in asked.content.decode()
    sent = {"receipt": receipt, "identifier": "bea@example.org", "password": PASSWORD, field: "bea.again@example.org"}
    done = client.post(reverse("websubmit-privacy:bring-back"), sent)
    assert "Your account is here, as bea.again@example.org." in done.content.decode()
    user = User.objects.get(email="bea.again@example.org")
    assert user.answers.count() == 4
    edna.unlock(identifier="bea.again@example.org", password=PASSWORD).close()


def test_an_answer_given_again_holds_the_reclaimed_one_back(
    answered: list[Lecture], bea: Person, staff: Person
) -> None:
    anonymise(staff, answered[0])
    again = Answer.objects.create(author=bea.user, question=answered[0].questions.first(), text="Again.")
    [entry] = hidden(bea)
    shown = reclaim(bea, entry["receipt"])
    assert "Not all of it could come back" in shown
    assert "Withdraw that one" in shown
    again.delete()
    assert "It is back" in reclaim(bea, entry["receipt"])
    assert bea.user.answers.count() == 4


@pytest.mark.once
def test_what_was_anonymised_again_since_is_said_to_wait(answered: list[Lecture], bea: Person, staff: Person) -> None:
    """The first of two is reclaimed first: nothing of it shows the name yet; with the second, all of it does."""
    anonymise(staff, answered[0])
    staff.client.post(reverse("websubmit:staff-anonymise-all"), {"confirmation": "all lectures"})
    [first] = [entry for entry in hidden(bea) if answered[0].label in entry["title"]]
    shown = reclaim(bea, first["receipt"])
    assert "It comes back with a later one" in shown
    assert "<li>2 answers</li>" in shown
    assert not bea.user.answers.exists()
    for entry in hidden(bea):
        assert "It is back" in reclaim(bea, entry["receipt"])
    assert bea.user.answers.count() == 4


@pytest.mark.once
def test_answers_to_a_question_that_is_gone_stay_sealed(answered: list[Lecture], bea: Person, client: Any) -> None:
    leave(bea)
    Question.objects.first().delete()
    response = come_back(client, identifier="bea@example.org", password=PASSWORD)
    assert "Not all of it could come back" in response.content.decode()
    assert Answer.objects.filter(author__email="bea@example.org").count() == 3


@pytest.mark.once
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


@pytest.mark.once
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

    [entry] = hidden(bea)
    assert "Virtual memory" in entry["title"]
    assert "It is back" in reclaim(bea, entry["receipt"])
    answer.refresh_from_db()
    assert (answer.text, answer.author_id) == ("A better thought.", bea.user.pk)
    assert User.objects.filter(is_anon=True).count() == 1

    # Nothing else has changed: the other answers are as they were, and the other student's are still anonymous.
    after = {row[0]: row for row in dump()["websubmit_answer"]}
    untouched = [row for row in before["websubmit_answer"] if row[0] != answer.pk]
    assert sum(after[row[0]] == row for row in untouched) == 5
    assert [entry["covers"] for entry in hidden(carl)] == [["2 answers"]]


@pytest.mark.once
def test_nobody_edits_what_another_wrote(answered: list[Lecture], bea: Person, carl: Person, staff: Person) -> None:
    anonymise(staff, answered[0])
    [theirs, *_] = [form["answer"].value() for form in opened(carl).context["formset"]]
    answer = Answer.objects.get(pk=theirs)
    for person in (bea, staff):
        response = edited(person, answer, "Mine now.")
        assert "only its real author" in response.content.decode()
        assert "Mine now." in response.content.decode()  # what was typed is not lost
        assert Answer.objects.get(pk=theirs).text == answer.text


@pytest.mark.once
def test_a_wrong_password_keeps_what_was_typed(answered: list[Lecture], bea: Person, staff: Person) -> None:
    anonymise(staff, answered[0])
    [mine, *_] = [form["answer"].value() for form in opened(bea).context["formset"]]
    response = edited(bea, Answer.objects.get(pk=mine), "A long new thought.", password="wrong")
    assert "does not open your key" in response.content.decode()
    assert "A long new thought." in response.content.decode()


def test_anonymise_all_then_leave_with_the_key_then_return(
    answered: list[Lecture], bea: Person, staff: Person, client: Any
) -> None:
    staff.client.post(reverse("websubmit:staff-anonymise-all"), {"confirmation": "All lectures"})
    before = dump()
    assert Answer.objects.filter(author__is_anon=True).count() == 8
    leave(bea)
    assert Answer.objects.count() == 4
    assert "bea@" not in thief()
    assert "It is back" in come_back(client, recovery_code=bea.recovery_code).content.decode()
    assert dump() == before


@pytest.mark.once
def test_unregistered_authors_stop_the_anonymising(answered: list[Lecture], staff: Person) -> None:
    stranger = User.objects.create_user("dora@example.org", PASSWORD)
    Answer.objects.create(author=stranger, question=Question.objects.first(), text="x")
    before = dump()
    for method in (staff.client.get, staff.client.post):
        response = method(reverse("websubmit:staff-anonymise-all"), {"confirmation": "all lectures"})
        assert response.status_code == 200
    assert "have no key yet" in response.content.decode()
    assert dump() == before


@pytest.mark.once
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
        data = {"identifier": bea.user.email, "password": PASSWORD, "receipt": str(receipt)}
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
        previewed=lambda: bea.client.get(reverse("websubmit-privacy:apply", args=["websubmit.delete-account"])).context[
            "preview"
        ],
        with_key=lecture_first,
        said=words.counts,
    )
    assert counts == {"websubmit.user": 1, "websubmit.answer": 4}
