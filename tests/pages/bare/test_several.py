"""The pages, included several times: each keeps to its own addresses, frame and people."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import path

import edna
from edna.pages.hidden_data import titles
from edna.testing import Person
from edna.urls import Pages
from tests.pages.bare.conftest import PASSWORD
from tests.pages.bare.visitor import Visitor


@pytest.fixture(autouse=True)
def several(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.pages.bare.several_urls"


@pytest.mark.parametrize("root", ["/first/", "/second/", "/members/privacy/"])
def test_a_page_leads_to_those_that_were_included_with_it(visitor: Visitor, root: str) -> None:
    """In links, forms and redirects, and in the mail with the receipt."""

    def stays_there() -> None:
        content = visitor.response.content.decode()
        found = re.findall(r'(?:href|action|data-edna-reload)="(/[^"]+)"', content)
        led = [address for address in found if not address.startswith("/static/")]
        assert [address for address in led if not address.startswith((root, "/members/login/"))] == []

    visitor.open(f"{root}give-up/")
    assert visitor.address == f"{root}hidden/"
    stays_there()
    visitor.press("Show it", password=PASSWORD)
    assert "Nothing of yours is hidden now" in visitor.text
    visitor.open(root)
    stays_there()
    visitor.open(f"{root}do/club.disown-remarks/")
    visitor.press("Disown remarks", password=PASSWORD)
    stays_there()
    visitor.press("Send", address="bea@example.org")
    assert f"http://localhost{root}back/" in mail.outbox[0].body


def test_each_has_its_own_frame_login_and_views(client: Client, visitor: Visitor) -> None:
    refused = client.get("/members/privacy/")
    assert refused.headers["Location"] == "/members/login/?next=/members/privacy/"
    assert "Your diary · Members" in visitor.open("/members/privacy/")
    assert "Members" not in visitor.open("/second/")
    visitor.open("/diary/")  # one of their views, at another address
    assert 'href="/members/privacy/hidden/"' in visitor.response.content.decode()


def test_the_fragment_leads_to_the_pages_that_it_names(visitor: Visitor) -> None:
    visitor.open("/settings/")
    led = re.findall(r'href="(.*)hidden/"|href="(.*)take-along/"', visitor.response.content.decode())
    assert [second for _, second in led] == ["/members/privacy/", "/first/"]


def test_a_site_may_keep_the_page_that_makes_keys_to_itself(client: Client, db: None, settings: Any) -> None:
    """Then nobody is led there, and who has no key is told whom to ask."""
    pages = Pages(views={"make-key": None})
    settings.ROOT_URLCONF = type("Site", (), {"urlpatterns": [path("", pages.urls)]})
    client.force_login(User.objects.create_user("dora", password=PASSWORD))
    told = client.get("/hidden/").content.decode()
    assert "Those who run this site can tell you how you get one." in told
    assert 'href="/key/' not in told
    assert client.get("/key/").status_code == 404
    assert 'href="/key/"' not in client.get("/").content.decode()


def test_what_a_site_mistypes_is_told() -> None:
    with pytest.raises(TypeError, match="Pages has no login_adress"):
        Pages(login_adress="/login/")


def test_pages_are_for_their_own_people(bea: Person) -> None:
    """What is about other people than those is none of theirs."""
    assert Pages(user_model=User).is_for(bea.user)
    assert not Pages(user_model="club.Note").is_for(bea.user)
    assert Pages(user_model="auth.User").concern("club.leave")
    assert not Pages(user_model="club.Note").concern("club.leave")
    assert titles(Pages(user_model="auth.User"))["others"] == []
    assert "club.leave" in titles(Pages(user_model="club.Note"))["others"]


def test_every_page_is_in_the_frame_of_its_own_site() -> None:
    """None of the templates names one."""
    for template in (Path(edna.__file__).parent / "templates/edna").glob("*.html"):
        assert 'extends "edna/base.html"' not in template.read_text(), template.name
