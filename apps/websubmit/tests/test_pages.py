"""Every page: what it shows, to whom, how it says no, and how many statements it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import SESSION_KEY
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import edna
from apps.websubmit.models import Answer, Lecture, Question, User

from .conftest import PASSWORD, Person

pytestmark = [pytest.mark.django_db, pytest.mark.only_on("sqlite3", "mysql"), pytest.mark.long]

PUBLIC = ("home", "register", "login")
MEMBERS = ("lectures", "anonymised", "account", "change-password")
STAFF = ("staff-lectures", "staff-users", "staff-anonymise", "staff-anonymise-all")
OF_A_LECTURE = ("staff-lecture", "staff-answers", "staff-anonymise-lecture")


def text_of(response: Any) -> str:
    content: str = response.content.decode()
    return content


def statements(client: Client, url: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(url).status_code == 200
    return len(captured)


# Who may see what


@pytest.mark.once
@pytest.mark.parametrize("name", PUBLIC)
def test_public_pages(name: str, client: Client) -> None:
    assert client.get(reverse(f"websubmit:{name}")).status_code == 200


@pytest.mark.once
@pytest.mark.parametrize("name", MEMBERS + STAFF)
def test_strangers_are_sent_to_the_login(name: str, client: Client) -> None:
    url = reverse(f"websubmit:{name}")
    assert client.get(url).headers["Location"] == f"{reverse('websubmit:login')}?next={url}"


@pytest.mark.once
@pytest.mark.parametrize("name", MEMBERS)
def test_member_pages(name: str, bea: Person, course: list[Lecture]) -> None:
    assert bea.client.get(reverse(f"websubmit:{name}")).status_code == 200


@pytest.mark.once
@pytest.mark.parametrize("name", STAFF)
def test_staff_pages(name: str, bea: Person, staff: Person, course: list[Lecture]) -> None:
    url = reverse(f"websubmit:{name}")
    assert staff.client.get(url).status_code == 200
    refused = bea.client.get(url)
    assert refused.status_code == 403
    assert "for the course staff only" in text_of(refused)
    assert bea.client.post(url, {"confirmation": "all lectures"}).status_code == 403


@pytest.mark.once
@pytest.mark.parametrize("name", OF_A_LECTURE)
def test_staff_pages_of_a_lecture(name: str, bea: Person, staff: Person, answered: list[Lecture]) -> None:
    assert staff.client.get(reverse(f"websubmit:{name}", args=[answered[0].pk])).status_code == 200
    assert staff.client.get(reverse(f"websubmit:{name}", args=[10**6])).status_code == 404
    assert bea.client.get(reverse(f"websubmit:{name}", args=[answered[0].pk])).status_code == 403


@pytest.mark.once
def test_missing_pages_are_in_the_sites_style(client: Client) -> None:
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "There is nothing at this address" in text_of(response)


@pytest.mark.once
def test_an_internal_error_is_in_the_sites_style(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("apps.websubmit.views.public.render", broken)
    client.raise_request_exception = False
    response = client.get(reverse("websubmit:home"))
    assert response.status_code == 500
    assert "our fault, not yours" in text_of(response)


@pytest.mark.once
def test_a_form_without_a_token_is_explained(bea: Person) -> None:
    strict = Client(enforce_csrf_checks=True)
    response = strict.post(reverse("websubmit:login"), {})
    assert response.status_code == 403
    assert "This form is too old" in text_of(response)


# Register, log in


@pytest.mark.once
def test_register_shows_the_recovery_code_once(client: Client, db: None) -> None:
    data = {"email": "New@Example.org", "new_password": PASSWORD, "again": PASSWORD}
    response = client.post(reverse("websubmit:register"), data)
    code = str(response.context["code"])
    assert code in text_of(response)
    assert "no-store" in response.headers["Cache-Control"]
    assert client.session[SESSION_KEY] == str(User.objects.get(email="new@example.org").pk)
    stored = repr(dict(client.session)) + repr(list(User.objects.values_list()))
    assert code not in stored
    assert PASSWORD not in stored
    assert code not in text_of(client.get(reverse("websubmit:account")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"again": "something else"}, "The two passwords differ"),
        ({"new_password": "short", "again": "short"}, "too short"),
        ({"email": "nonsense"}, "valid email address"),
        ({"email": "bea@example.org"}, "There is an account with this e-mail address already"),
        ({"email": "BEA@example.org"}, "There is an account with this e-mail address already"),
    ],
)
def test_register_refuses(change: dict[str, str], message: str, client: Client, bea: Person) -> None:
    data = {"email": "new@example.org", "new_password": PASSWORD, "again": PASSWORD, **change}
    assert message in text_of(client.post(reverse("websubmit:register"), data))
    assert User.objects.count() == 1


def test_login_and_logout(client: Client, bea: Person) -> None:
    response = client.post(reverse("websubmit:login"), {"username": "Bea@Example.org", "password": PASSWORD})
    assert response.headers["Location"] == reverse("websubmit:lectures")
    client.post(reverse("websubmit:logout"))
    assert SESSION_KEY not in client.session
    refused = client.post(reverse("websubmit:login"), {"username": "bea@example.org", "password": "wrong"})
    assert "you can return to it" in text_of(refused)


# Answers


def test_answer_edit_and_withdraw(bea: Person, course: list[Lecture]) -> None:
    url = reverse("websubmit:lecture", args=[course[0].pk])
    first, second = course[0].questions.all()
    bea.client.post(url, {f"question_{first.pk}": "One\r\nTwo", f"question_{second.pk}": ""})
    answer = Answer.objects.get()
    assert (answer.text, answer.author, answer.question) == ("One\nTwo", bea.user, first)
    bea.client.post(url, {f"question_{first.pk}": "Better"})
    assert Answer.objects.get().pk == answer.pk
    assert Answer.objects.get().text == "Better"
    bea.client.post(url, {f"question_{second.pk}": "Also"})  # what a form leaves out is left alone
    assert Answer.objects.count() == 2
    bea.client.post(url, {f"question_{first.pk}": "  "})
    assert Answer.objects.get().question == second


@pytest.mark.once
def test_students_see_their_own_answers_only(bea: Person, answered: list[Lecture]) -> None:
    shown = text_of(bea.client.get(reverse("websubmit:lecture", args=[answered[0].pk])))
    assert "bea@example.org thinks" in shown
    assert "carl@example.org" not in shown


@pytest.mark.once
def test_a_too_long_answer_is_refused(bea: Person, course: list[Lecture]) -> None:
    question = course[0].questions.first()
    response = bea.client.post(
        reverse("websubmit:lecture", args=[course[0].pk]), {f"question_{question.pk}": "x" * 20_001}
    )
    assert "at most 20000 characters" in text_of(response)
    assert not Answer.objects.exists()


@pytest.mark.once
def test_text_is_escaped(bea: Person, staff: Person, course: list[Lecture]) -> None:
    Answer.objects.create(author=bea.user, question=course[0].questions.first(), text="<script>alert(1)</script>")
    assert "<script>" not in text_of(staff.client.get(reverse("websubmit:staff-answers", args=[course[0].pk])))


def test_api_answers(client: Client, bea: Person, answered: list[Lecture]) -> None:
    url = reverse("websubmit:api-answers")
    assert client.get(url).status_code == 401
    assert client.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 401
    rows = client.get(url, headers={"Authorization": f"Bearer {bea.user.apikey}"}).json()["answers"]
    assert [(row["lecture"], row["question"]) for row in rows] == [
        ("Virtual memory", 1),
        ("Virtual memory", 2),
        ("Deadlock", 1),
        ("Deadlock", 2),
    ]


@pytest.mark.once
def test_no_script_reads_as_an_anonymous_author(
    client: Client, staff: Person, bea: Person, answered: list[Lecture]
) -> None:
    """Not even once somebody of the staff has activated the placeholder in the admin site, where its API key can be read."""
    edna.disguise("websubmit.anonymize-all", bea.user)
    User.objects.filter(is_anon=True).update(is_active=True)
    for apikey in User.objects.filter(is_anon=True).values_list("apikey", flat=True):
        headers = {"Authorization": f"Bearer {apikey}"}
        assert client.get(reverse("websubmit:api-answers"), headers=headers).status_code == 401


# Account


@pytest.mark.once
def test_an_account_made_without_a_key_gets_one_at_the_next_login(client: Client, db: None) -> None:
    user = User.objects.create_user("dora@example.org", PASSWORD)
    client.post(reverse("websubmit:login"), {"username": "dora@example.org", "password": PASSWORD})
    assert edna.is_registered(user)
    edna.unlock(identifier="dora@example.org", password=PASSWORD).close()


@pytest.mark.once
def test_change_password_opens_the_key_too(bea: Person) -> None:
    url, new = reverse("websubmit:change-password"), "another long walk"
    refused = bea.client.post(url, {"old_password": "wrong", "new_password1": new, "new_password2": new})
    assert "entered incorrectly" in text_of(refused)
    sent = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert "Your password is changed." in text_of(bea.client.post(url, sent, follow=True))
    assert bea.client.get(reverse("websubmit:account")).status_code == 200  # still logged in
    edna.unlock(identifier="bea@example.org", password=new).close()


# Staff


@pytest.mark.once
def test_staff_add_and_edit_a_lecture(staff: Person, db: None) -> None:
    response = staff.client.post(reverse("websubmit:staff-lectures"), {"label": "Consensus"}, follow=True)
    lecture = Lecture.objects.get()
    url = reverse("websubmit:staff-lecture", args=[lecture.pk])
    assert response.redirect_chain[-1][0] == url
    for number in (1, 2):
        staff.client.post(url, {"text": f"Why {number}?"})
    assert list(lecture.questions.values_list("number", "text")) == [(1, "Why 1?"), (2, "Why 2?")]
    staff.client.post(url, {"label": "Agreement"})
    question = lecture.questions.get(number=2)
    staff.client.post(reverse("websubmit:staff-question", args=[question.pk]), {"text": "Why not?"})
    lecture.refresh_from_db()
    question.refresh_from_db()
    assert (lecture.label, question.text) == ("Agreement", "Why not?")


def test_staff_read_answers_in_pages_or_all_at_once(staff: Person, course: list[Lecture], db: None) -> None:
    question = course[0].questions.first()
    authors = User.objects.bulk_create(User(email=f"s{number}@example.org") for number in range(250))
    Answer.objects.bulk_create(Answer(author=author, question=question, text="Yes.") for author in authors)
    url = reverse("websubmit:staff-answers", args=[course[0].pk])
    assert text_of(staff.client.get(url)).count("<tr>") == 201
    assert text_of(staff.client.get(url, {"page": 2})).count("<tr>") == 51
    assert text_of(staff.client.get(url, {"page": "nonsense"})).count("<tr>") == 201
    assert text_of(staff.client.get(url, {"all": 1})).count("<tr>") == 251


@pytest.mark.once
def test_staff_do_not_see_names_of_anonymous_authors(staff: Person, answered: list[Lecture]) -> None:
    url = reverse("websubmit:staff-anonymise-lecture", args=[answered[0].pk])
    preview = text_of(staff.client.get(url))
    assert "4 answers: given an anonymous author" in preview
    assert "2 anonymous authors made" in preview
    assert "Type exactly" in text_of(staff.client.post(url, {"confirmation": "yes"}))
    staff.client.post(url, {"confirmation": " virtual memory "})
    shown = text_of(staff.client.get(reverse("websubmit:staff-answers", args=[answered[0].pk])))
    assert shown.count("<em>anonymous</em>") == 4
    assert ".invalid" not in shown
    assert ".invalid" not in text_of(staff.client.get(reverse("websubmit:staff-users")))


@pytest.mark.once
def test_the_admin_site_keeps_no_history_about_people(staff: Person, bea: Person, answered: list[Lecture]) -> None:
    from django.contrib.admin.models import LogEntry

    url = reverse("admin:websubmit_user_change", args=[bea.user.pk])
    assert staff.client.get(url).status_code == 200
    assert staff.client.post(url, {"is_active": ""}).status_code == 302
    assert not User.objects.get(pk=bea.user.pk).is_active
    assert not LogEntry.objects.exists()
    assert staff.client.get("/admin/password_change/").headers["Location"] == reverse("websubmit:change-password")
    for model in ("user", "answer", "lecture"):
        assert staff.client.get(reverse(f"admin:websubmit_{model}_changelist")).status_code == 200


# Statements


def fill(answers: int, lecture: Lecture, enrol: Callable[..., Person]) -> None:
    authors = User.objects.bulk_create(User(email=f"{lecture.pk}-{number}@example.org") for number in range(answers))
    Answer.objects.bulk_create(
        Answer(author=author, question=lecture.questions.first(), text="Yes.") for author in authors
    )


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("lectures", 4),
        ("lecture", 6),
        ("account", 3),
        ("staff-lectures", 3),
        ("staff-answers", 5),
        ("staff-users", 5),
        ("staff-anonymise", 3),
    ],
)
def test_statements_do_not_grow_with_rows(
    name: str, most: int, staff: Person, answered: list[Lecture], enrol: Callable[..., Person]
) -> None:
    url = reverse(f"websubmit:{name}", args=[answered[0].pk] if name in ("lecture", "staff-answers") else [])
    before = statements(staff.client, url)
    assert before <= most
    fill(30, answered[0], enrol)
    Question.objects.bulk_create(Question(lecture=answered[0], number=number, text="?") for number in range(3, 20))
    Lecture.objects.bulk_create(Lecture(label=f"Lecture {number}") for number in range(20))
    assert statements(staff.client, url) == before


@pytest.mark.parametrize("count", [1, 2])
def test_saving_answers_takes_as_many_statements_for_one_as_for_two(
    count: int, bea: Person, course: list[Lecture]
) -> None:
    data = {f"question_{question.pk}": "Yes." for question in list(course[0].questions.all())[:count]}
    with CaptureQueriesContext(connection) as captured:
        bea.client.post(reverse("websubmit:lecture", args=[course[0].pk]), data)
    writes = [
        query["sql"] for query in captured if query["sql"].startswith("INSERT") and "websubmit_answer" in query["sql"]
    ]
    assert len(writes) == 1
