"""Members with a key, and a browser without scripts."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client

from edna.testing import Person
from tests.pages.bare.club.models import Comment, Note
from tests.pages.bare.visitor import Visitor

PASSWORD = "a long walk home, bea"


def join(name: str, password: str = PASSWORD) -> Person:
    """Somebody with two notes, and a remark to the first note that there is."""
    user = User.objects.create_user(name, f"{name}@example.org", password)
    for text in ("Deadlock", "Starvation"):
        Note.objects.create(author=user, text=f"{name} on {text}")
    Comment.objects.create(author=user, note=Note.objects.earliest("pk"), text=f"{name} agrees")
    return Person.registered(user, password=password)


def a_browser() -> Client:
    """It sends no form without the token of its page."""
    return Client(enforce_csrf_checks=True, headers={"host": "localhost"})


@pytest.fixture
def bea(db: None) -> Person:
    return join("bea")


@pytest.fixture
def browser(bea: Person) -> Client:
    """Bea's, logged in."""
    client = a_browser()
    client.force_login(bea.user)
    return client


@pytest.fixture
def visitor(browser: Client) -> Visitor:
    """Bea, logged in."""
    return Visitor(browser)


@pytest.fixture(autouse=True)
def nothing_is_missing(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Django's log of a variable that a template misses prints all the others: none may be missed."""
    with caplog.at_level(logging.DEBUG, logger="django.template"):
        yield
    said = [record.getMessage() for record in caplog.get_records("call") if record.name == "django.template"]
    assert [message for message in said if "'django/" not in message] == []  # those know of one widget only
