"""Where people log in by their address, and have a user name that they have never seen."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.test import Client
from django.urls import path

import edna
from edna.pages.keys import GivesKeyAtLogin, give_key_at_login
from edna.urls import Pages
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.conftest import PASSWORD, a_browser
from tests.pages.bare.visitor import Visitor

ADDRESS = "bea@example.org"
UNSEEN = "8d8e3d5e-2f5c-4c6b-9f0a"


class Backend(ModelBackend):
    """Gives a key, where the page of the log-in is a package's."""

    def authenticate(self, request: Any, username: Any = None, password: Any = None, **options: Any) -> Any:
        account = User.objects.get(email=username)
        user = super().authenticate(request, username=account.get_username(), password=password)
        if user is not None:
            give_key_at_login(user, password=str(password), identifier=ADDRESS, has_code=False)
        return user


@pytest.fixture(params=["a column", "a method"], autouse=True)
def pages(request: Any, settings: Any) -> Pages:
    class ByAddress(Pages):
        def identifier_of(self, account: Any) -> str:
            return str(account.email)

    privacy = Pages(login_field="email") if request.param == "a column" else ByAddress()

    class Login(GivesKeyAtLogin, LoginView):
        template_name = "club/login.html"
        next_page = "edna:home"
        pages = privacy

    addresses = [
        path("favicon.ico", lambda request: HttpResponse(status=204)),
        path("login/", Login.as_view(), name="login"),
        path("privacy/", privacy.urls),
    ]
    settings.ROOT_URLCONF = type("Site", (), {"urlpatterns": addresses})
    return privacy


@pytest.fixture
def user(db: None) -> User:
    user = User.objects.create_user(UNSEEN, ADDRESS, PASSWORD)
    note = Note.objects.create(author=user, text="On addresses")
    Comment.objects.create(author=user, note=note, text="bea agrees")
    return user


@pytest.fixture
def client(user: User) -> Client:
    """Bea's, who has logged in, and got her key at that."""
    client = Client(headers={"host": "localhost"})
    client.post("/login/", {"username": UNSEEN, "password": PASSWORD})
    assert edna.is_registered(user)
    return client


def test_who_is_logged_in_needs_no_more_than_the_password(client: Client, user: User) -> None:
    edna.disguise("club.disown-remarks", user)
    visitor = Visitor(client)
    visitor.open("/privacy/hidden/")
    assert "1 remark" in visitor.press("Show it", password=PASSWORD)
    visitor.press("Bring it back …")
    assert "This is back: 1 remark" in visitor.press("Bring it back", password=PASSWORD)


def test_who_is_away_comes_back_by_address_and_password(client: Client, user: User, pages: Pages) -> None:
    edna.disguise("club.leave", user)
    away = Visitor(a_browser())
    page = away.open("/privacy/return/")
    assert ("Email address" in page) is ("Username" not in page) is bool(pages.login_field)
    page = away.press("Bring my account back", identifier=ADDRESS, password=PASSWORD)
    assert "Your account is here." in page
    assert User.objects.get(username=UNSEEN).email == ADDRESS


@pytest.mark.parametrize("pages", ["a column"], indirect=True)
def test_a_recovery_code_says_by_what_one_logs_in(client: Client, pages: Pages) -> None:
    assert pages.login_field == "email"
    visitor = Visitor(client)
    visitor.open("/privacy/key/code/")
    assert ADDRESS in visitor.press("Make a recovery code", password=PASSWORD)
    assert UNSEEN not in visitor.response.content.decode()
    assert ADDRESS in visitor.press("Download", step="download")
    visitor.open("/privacy/hidden/")
    # For a manager of passwords.
    shown = re.search(r'autocomplete="username"[^>]*value="([^"]*)"', visitor.response.content.decode())
    assert shown is not None
    assert shown[1] == ADDRESS


def test_a_person_by_hand_has_the_same_identifier(user: User) -> None:
    """What the site registers with its own code opens on the pages."""
    edna.register_principal(user, password=PASSWORD, identifier=ADDRESS)
    visitor = Visitor(a_browser())
    visitor.client.force_login(user)
    visitor.open("/privacy/hidden/")
    assert "Nothing of yours is hidden now" in visitor.press("Show it", password=PASSWORD)


@pytest.mark.parametrize("pages", ["a column"], indirect=True)
def test_a_backend_gives_a_key_where_the_page_of_the_log_in_is_a_packages(user: User, settings: Any) -> None:
    """Nobody is shown a recovery code there, so none is made, and the pages say so."""
    settings.AUTHENTICATION_BACKENDS = [f"{__name__}.Backend"]
    client = Client(headers={"host": "localhost"})
    client.post("/login/", {"username": ADDRESS, "password": "a guess"})
    assert not edna.is_registered(user)
    client.post("/login/", {"username": ADDRESS, "password": PASSWORD})
    assert edna.is_registered(user)
    visitor = Visitor(client)
    assert "You have no recovery code yet." in visitor.open("/privacy/")
    visitor.open("/privacy/hidden/")
    assert "Nothing of yours is hidden now" in visitor.press("Show it", password=PASSWORD)
