"""Whatever is typed, sent or forged into a form: a page, a redirect or a refusal, and never an error of the server."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from apps.websubmit.models import Answer, Lecture, Question

from .conftest import PASSWORD, Person

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

RUBBISH = {
    "empty": "",
    "long": "x" * 30_000,
    "long-number": "9" * 5_000,
    "number": str(10**30),
    "64-bit": str(2**63),
    "negative": "-1",
    "word": "abc",
    "nul": "a\0b",
    "lines": "a\r\nb\u2028c",
    "emoji": "👩‍🎓 à la carte",
    "foreign-digits": "١٢",
    "long-address": "a" * 60 + "@" + "b" * 60 + ("." + "c" * 60) * 3 + ".example",
    "address-with-nul": "a\0@example.org",
}
KEY = {"password": PASSWORD, "recovery_code": ""}
NEW = {"new_password": "a longer walk home", "again": "a longer walk home"}
ROW = {"form-0-answer": "1", "form-0-question": "1", "form-0-text": "Better."}
COUNTS = {"form-TOTAL_FORMS": "1", "form-INITIAL_FORMS": "1"}
PAGES: dict[str, dict[str, str]] = {
    "register": {"email": "new@example.org", **NEW},
    "login": {"username": "bea@example.org", "password": PASSWORD, "next": "/"},
    "privacy:return": {"identifier": "bea@example.org", **KEY, "receipt": "edna1:"},
    "privacy:bring-back": {"receipt": "edna1:", **KEY, "instead-websubmit.user.email": "new@example.org"},
    "privacy:give-up": {"receipt": "edna1:", **KEY, "row": "websubmit.answer/changed/1", "final": "on"},
    "privacy:apply": {**KEY, "seen": "", "also_earlier": "on"},
    "privacy:forgotten": {"recovery_code": "", **NEW},
    "lecture": {"question_1": "Better.", "question_2": "Worse."},
    "anonymised": {"lecture": "1", **KEY},
    "anonymised-edit": {**COUNTS, **ROW, **KEY},
    "change-password": {"old_password": PASSWORD, "new_password1": "a longer walk", "new_password2": "a longer walk"},
    "staff-lectures": {"label": "Paging"},
    "staff-lecture": {"label": "Paging", "text": "Why?"},
    "staff-question": {"text": "Why?"},
    "staff-anonymise-lecture": {"confirmation": "Deadlock"},
    "staff-anonymise-all": {"confirmation": "all lectures"},
}
OF_A_LECTURE = {"lecture", "staff-lecture", "staff-anonymise-lecture"}


def address(page: str) -> str:
    if page in OF_A_LECTURE:
        return reverse(f"websubmit:{page}", args=[Lecture.objects.order_by("pk")[0].pk])
    if page == "privacy:apply":
        return reverse("websubmit-privacy:apply", args=["websubmit.delete-account"])
    if page.startswith("privacy:"):
        return reverse(f"websubmit-{page}")
    if page == "staff-question":
        return reverse(f"websubmit:{page}", args=[Question.objects.order_by("pk")[0].pk])
    return reverse(f"websubmit:{page}")


def client_for(page: str, bea: Person, staff: Person) -> Client:
    if page in ("register", "login", "privacy:return", "privacy:forgotten"):
        return Client()
    return staff.client if page.startswith("staff-") else bea.client


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send, with the primary keys that there are."""
    fields = PAGES[page]
    if page == "lecture":
        keys = Question.objects.order_by("pk").values_list("pk", flat=True)[:2]
        return {f"question_{key}": text for key, text in zip(keys, fields.values(), strict=True)}
    if page == "anonymised-edit":
        answer = Answer.objects.order_by("pk")[0]
        return {**fields, "form-0-answer": str(answer.pk), "form-0-question": str(answer.question_id)}
    return fields


@pytest.mark.parametrize("page", PAGES)
def test_rubbish_in_a_field(page: str, answered: list[Lecture], bea: Person, staff: Person) -> None:
    """In each field of an otherwise proper form, and in all at once."""
    fields = fields_of(page)
    url = address(page)
    for rubbish in RUBBISH.values():
        for sent in [{**fields, name: rubbish} for name in fields] + [dict.fromkeys(fields, rubbish)]:
            assert client_for(page, bea, staff).post(url, sent).status_code in (200, 302, 409)


@pytest.mark.once
@pytest.mark.parametrize("page", PAGES)
def test_fields_that_are_missing(page: str, answered: list[Lecture], bea: Person, staff: Person) -> None:
    fields, url = fields_of(page), address(page)
    for name in fields:
        sent = {key: value for key, value in fields.items() if key != name}
        assert client_for(page, bea, staff).post(url, sent).status_code in (200, 302, 409)
    assert client_for(page, bea, staff).post(url, {"other": "1"}).status_code in (200, 302, 409)


@pytest.mark.parametrize("page", PAGES)
def test_bytes_that_are_no_text(page: str, answered: list[Lecture], bea: Person, staff: Person) -> None:
    """Lone surrogates: as UTF-8 would write them, and in an encoding that can; then bytes that are nothing."""
    fields, url = fields_of(page), address(page)
    form = "application/x-www-form-urlencoded"
    for broken in ("%ED%A0%80", "%FF%FE", "%", "%00"):
        body = "&".join(f"{quote(name)}={broken}" for name in fields)
        assert client_for(page, bea, staff).generic("POST", url, body, form).status_code in (200, 302, 409)
    part = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\na+2AA-b@example.org\r\n'
    multipart = "".join(map(part.format, fields)) + "--x--\r\n"
    for charset in ("utf-7", "utf-16", "nonsense"):
        kind = f"multipart/form-data; boundary=x; charset={charset}"
        assert client_for(page, bea, staff).generic("POST", url, multipart, kind).status_code in (200, 302, 400, 409)
        kind = f"{form}; charset={charset}"
        assert client_for(page, bea, staff).generic("POST", url, urlencode(fields), kind).status_code in (
            200,
            302,
            400,
            409,
        )


@pytest.mark.parametrize("name", ["form-0-question", "form-0-answer"])
@pytest.mark.parametrize("rubbish", ["abc", "9" * 30, "", "-1"])
def test_a_forged_hidden_field(rubbish: str, name: str, answered: list[Lecture], bea: Person) -> None:
    """What was typed is still there, and a sentence says what to do."""
    response = bea.client.post(address("anonymised-edit"), {**fields_of("anonymised-edit"), name: rubbish})
    text = response.content.decode()
    assert response.status_code == 200
    assert "Open the page again" in text
    assert "Better." in text


@pytest.mark.once
def test_a_form_without_its_counts(answered: list[Lecture], bea: Person) -> None:
    response = bea.client.post(address("anonymised-edit"), {**ROW, **KEY})
    assert response.headers["Location"] == reverse("websubmit:anonymised")
    assert "Open the page again" in str(*get_messages(response.wsgi_request))


@pytest.mark.parametrize("rubbish", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_in_an_address(rubbish: str, answered: list[Lecture], staff: Person) -> None:
    url = reverse("websubmit:staff-answers", args=[answered[0].pk])
    assert staff.client.get(url, {"page": rubbish}).status_code == 200
    assert staff.client.get(reverse("websubmit:staff-users"), {"page": rubbish}).status_code == 200
    assert staff.client.get(f"/websubmit/staff/lectures/{quote(rubbish)}/").status_code in (200, 404)
    headers: Any = {"Authorization": f"Bearer {rubbish}"}
    assert staff.client.get(reverse("websubmit:api-answers"), headers=headers).status_code == 401
