"""The site around the sample applications: the page that leads to them, their first data, and its error pages."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth import authenticate
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

import edna
from apps.showcase import applications
from apps.websubmit.models import User

pytestmark = pytest.mark.long

ALL = pytest.mark.parametrize("application", applications.ALL, ids=lambda application: application.key)


def body(response: Any) -> str:
    return response.content.decode()


@pytest.mark.once
def test_the_landing_page_asks_the_database_nothing(db: None, client: Client) -> None:
    with CaptureQueriesContext(connection) as queries:
        response = client.get("/")
    assert response.status_code == 200
    assert len(queries) == 0


@pytest.mark.once
@ALL
def test_the_landing_page_leads_to_every_application(
    db: None, client: Client, application: applications.Application
) -> None:
    """With somebody to try it as."""
    page = body(client.get("/"))
    assert f'href="{application.path}"' in page
    assert application.password in page
    assert all(account.login in page and account.role in page for account in application.accounts)
    assert 'href="/admin/"' in page
    assert client.get(application.path).status_code in (200, 302)


@ALL
def test_every_application_is_found_by_its_path(application: applications.Application) -> None:
    assert applications.of_path(application.path) is application
    assert applications.of_path(f"{application.path}anything") is application
    assert applications.of_path(f"/{application.key}x/") is None


@pytest.mark.parametrize("path", ["", "/", "//", "/admin/", "*", "http://localhost/websubmit/"])
def test_other_paths_are_no_applications(path: str) -> None:
    assert applications.of_path(path) is None


@pytest.mark.once
@pytest.mark.parametrize("path", ["/nowhere/", "/lobsters/nowhere", "/hotcrp/nowhere/", "/websubmit/nowhere/"])
def test_a_missing_page_leads_back_to_where_one_was(db: None, client: Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    found = applications.of_path(path)
    assert f'href="{found.path if found else "/"}"' in body(response)
    assert "There is nothing at this address" in body(response)


def test_an_internal_error_shows_a_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("apps.showcase.views.render", broken)
    client.raise_request_exception = False
    response = client.get("/")
    assert response.status_code == 500
    assert "our fault, not yours" in body(response)


@pytest.mark.once
def test_forms_come_in_utf_8(db: None, client: Client) -> None:
    response = client.post(
        "/websubmit/login/", b"username=%E4", content_type="application/x-www-form-urlencoded; charset=latin-1"
    )
    assert response.status_code == 400


CREDENTIALS = {"lobsters": "lobsters_username", "hotcrp": "hotcrp_email", "websubmit": "username"}


@pytest.mark.slow
@pytest.mark.once
def test_each_empty_application_gets_data_and_everybody_it_names_can_log_in(db: None) -> None:
    """And a second time nothing happens, but that it says again where everything is."""
    out = io.StringIO()
    call_command("showcase_seed", site="http://localhost:8123/", stdout=out)
    for application in applications.ALL:
        assert f"http://localhost:8123{application.path}" in out.getvalue()
        for account in application.accounts:
            credentials = {CREDENTIALS[application.key]: account.login, "password": application.password}
            user = authenticate(**credentials)
            assert isinstance(user, application.model)
            assert edna.is_registered(user)
    assert out.getvalue().count("Recovery code") == 3
    counted = {application.key: application.model._base_manager.count() for application in applications.ALL}

    again = io.StringIO()
    call_command("showcase_seed", stdout=again)
    assert {application.key: application.model._base_manager.count() for application in applications.ALL} == counted
    assert "Recovery code" not in again.getvalue()
    assert "http://localhost:8000/lobsters/" in again.getvalue()


@pytest.mark.once
def test_the_deployment_checks_warn_of_nothing_but_plain_http(db: None) -> None:
    """`make serve` is for http://localhost; with EDNA_HTTPS=1 these are gone, too."""
    out, err = io.StringIO(), io.StringIO()
    call_command("check", deploy=True, stdout=out, stderr=err)
    said = out.getvalue() + err.getvalue()
    warned = {word.strip("()") for word in said.split() if word.startswith("(") and word.endswith(")") and "." in word}
    assert warned <= {"security.W004", "security.W008", "security.W012", "security.W016"}, said


@pytest.mark.once
@ALL
def test_staff_see_people_of_every_application_and_can_neither_add_nor_delete_any(
    db: None, client: Client, application: applications.Application
) -> None:
    """Adding would make somebody without a key; deleting would take away the way back."""
    staff = User.objects.create_user("staff@example.org", "a long walk home", is_admin=True)
    client.force_login(staff, backend="django.contrib.auth.backends.ModelBackend")
    names = {"lobsters": {"username": "bea", "email": "bea@example.org"}}
    somebody = application.model.objects.create_user(**names.get(application.key, {"email": "bea@example.org"}))
    prefix = f"admin:{application.model._meta.label_lower.replace('.', '_')}"
    assert "bea" in body(client.get(reverse(f"{prefix}_changelist")))
    assert client.get(reverse(f"{prefix}_change", args=[somebody.pk])).status_code == 200
    assert client.get(reverse(f"{prefix}_add")).status_code == 403
    assert client.get(reverse(f"{prefix}_delete", args=[somebody.pk])).status_code == 403
    client.post(reverse(f"{prefix}_change", args=[somebody.pk]), {"is_active": "on"})
    assert not LogEntry.objects.exists()


@pytest.mark.once
def test_a_refused_page_is_a_line_in_the_log_and_no_traceback(
    db: None, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What breaks keeps its traceback."""
    console = next(each for each in logging.getLogger("django").handlers if type(each) is logging.StreamHandler)
    monkeypatch.setattr(console, "stream", io.StringIO())
    student = User.objects.create_user("bea@example.org", "a long walk home")
    client.force_login(student, backend="django.contrib.auth.backends.ModelBackend")
    assert client.get(reverse("websubmit:staff-lectures")).status_code == 403
    assert console.stream.getvalue() == "Forbidden (Permission denied): /websubmit/staff/lectures/\n"
    client.raise_request_exception = False
    monkeypatch.setattr("apps.websubmit.views.staff.Lecture", None)
    student.is_admin = True
    student.save()
    assert client.get(reverse("websubmit:staff-lectures")).status_code == 500
    assert "Traceback" in console.stream.getvalue()
